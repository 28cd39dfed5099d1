import type { LocationHint } from "../platform/storage/object-shards.ts";
import { FIRST_TENANT_OBJECT, MOST_NUMBERS } from "../platform/storage/tenant-objects.ts";

/** The directory's table of tenant objects (platform/storage/tenant-objects.ts). A number is never used again. */
export type TenantObjectStore = ReturnType<typeof createTenantObjectStore>;

export interface TenantObject {
  readonly number: number;
  readonly tenant: string;
  readonly near: LocationHint | null;
}

/** The content of an object at its last sweep: committed files, their bytes, and the size of its database. */
export interface Stored {
  readonly files: number;
  readonly bytes: number;
  readonly databaseBytes: number;
}

interface IsNew {
  readonly isNew: boolean;
}

interface Overdue {
  readonly rows: number;
  readonly sinceMs: number | null;
  readonly number: number | null;
}

interface NearQuota {
  readonly tenant: string;
  readonly files: number;
  readonly bytes: number;
  readonly mostFiles: number | null;
  readonly mostBytes: number | null;
}

/** A count of overdue objects ends at this number. */
const MOST_COUNTED = 1_000;

const NEXT = `coalesce(max(number), ${FIRST_TENANT_OBJECT - 1}) + 1`;
/** SQL: the condition is beside the aggregate, which has a row even of an empty table. */
const allotIf = (condition: string): string => `INSERT INTO tenant_object (number, tenant, near)
  SELECT ${NEXT}, ?1, ?2 FROM tenant_object WHERE true HAVING ${NEXT} < ${MOST_NUMBERS} AND ${condition}
  ON CONFLICT (tenant) DO NOTHING`;
const LISTED = `SELECT number, tenant, near, files, bytes, database_bytes AS databaseBytes, reported_at AS reportedAt
  FROM tenant_object`;
/** SQL: the tenant does not exist, and had no place before. */
const IS_NEW = `NOT EXISTS (SELECT 1 FROM tenant WHERE id = ?1) AND NOT EXISTS (SELECT 1 FROM tenant_shard WHERE tenant = ?1)`;

export const TENANT_OBJECT_SQL = {
  allot: allotIf("true"),
  allotNew: allotIf(IS_NEW),
  placeNew: `INSERT INTO tenant_shard (tenant, shard) SELECT tenant, number FROM tenant_object
    WHERE tenant = ?1 AND ${IS_NEW} ON CONFLICT DO NOTHING`,
  renumber: `UPDATE tenant_object SET number = (SELECT max(number) FROM tenant_object) + ?3
    WHERE tenant = ?1 AND number = ?2 AND (SELECT max(number) FROM tenant_object) + ?3 < ${MOST_NUMBERS}`,
  place: `UPDATE tenant_shard SET shard = (SELECT number FROM tenant_object WHERE tenant = ?1)
    WHERE tenant = ?1 AND shard = ?2`,
  ofTenant: `SELECT number, tenant, near FROM tenant_object WHERE tenant = ?1`,
  ofNumber: `SELECT number, tenant, near FROM tenant_object WHERE number = ?1`,
  page: `SELECT number, tenant, near FROM tenant_object WHERE number > ?1 ORDER BY number LIMIT ?2`,
  ofTenants: `SELECT number FROM tenant_object WHERE tenant IN (SELECT value FROM json_each(?1))
    ORDER BY number LIMIT ?2`,
  list: `${LISTED} WHERE number > ?1 ORDER BY number LIMIT ?2 OFFSET ?3`,
  listOf: `${LISTED} WHERE tenant = ?4 AND number > ?1 LIMIT ?2 OFFSET ?3`,
  report: `UPDATE tenant_object SET files = ?2, bytes = ?3, database_bytes = ?4, due_at = ?5, reported_at = ?6
    WHERE number = ?1 AND reported_at <= ?6`,
  due: `UPDATE tenant_object SET due_at = min(coalesce(due_at, ?2), ?2) WHERE number = ?1`,
  failed: `UPDATE tenant_object SET due_at = min(coalesce(due_at, ?2), ?2), reported_at = ?2 WHERE number = ?1`,
  overdue: `SELECT count(*) AS rows, min(due_at) AS sinceMs, number
    FROM (SELECT due_at, number FROM tenant_object WHERE due_at <= ?1 ORDER BY due_at LIMIT ${MOST_COUNTED})`,
  sums: `SELECT count(*) AS objects, coalesce(sum(files), 0) AS files, coalesce(sum(bytes), 0) AS bytes,
    coalesce(sum(database_bytes), 0) AS databaseBytes FROM tenant_object`,
  byTenant: `SELECT tenant, files, bytes FROM tenant_object WHERE tenant >= ?1 AND tenant < ?2 AND files > 0`,
  nearQuota: `SELECT page.tenant, files, bytes, quota_files AS mostFiles, quota_bytes AS mostBytes
    FROM (SELECT tenant, files, bytes FROM tenant_object WHERE number > 0 ORDER BY number LIMIT ?2) AS page
      CROSS JOIN tenant ON tenant.id = page.tenant
    WHERE files >= ?1 * quota_files OR bytes >= ?1 * quota_bytes LIMIT ?3`,
} as const;

export const createTenantObjectStore = (db: D1Database) => ({
  /**
   * Gives a tenant an object, or returns the one that it has; `isNew` tells which. Undefined: all numbers are used.
   */
  async allot(tenant: string, near: LocationHint | undefined): Promise<(TenantObject & IsNew) | undefined> {
    const [allotted, found] = await db.batch<TenantObject>([
      db.prepare(TENANT_OBJECT_SQL.allot).bind(tenant, near ?? null),
      db.prepare(TENANT_OBJECT_SQL.ofTenant).bind(tenant),
    ]);
    const [object] = found!.results;
    return object === undefined ? undefined : { ...object, isNew: allotted!.meta.changes > 0 };
  },
  /** Gives a new tenant an object. The statements must run before the tenant's row is written. */
  placeStatements: (tenant: string, near: LocationHint | undefined): readonly D1PreparedStatement[] => [
    db.prepare(TENANT_OBJECT_SQL.allotNew).bind(tenant, near ?? null),
    db.prepare(TENANT_OBJECT_SQL.placeNew).bind(tenant),
  ],
  /**
   * Gives a tenant another number, in its place too: the object of its number is another tenant's. `beyond`: how far
   * beyond the last number; it doubles, since a restore may have taken back many. Undefined: all numbers are used.
   */
  async renumber(tenant: string, number: number, beyond: number): Promise<TenantObject | undefined> {
    const [, , found] = await db.batch<TenantObject>([
      db.prepare(TENANT_OBJECT_SQL.renumber).bind(tenant, number, beyond),
      db.prepare(TENANT_OBJECT_SQL.place).bind(tenant, number),
      db.prepare(TENANT_OBJECT_SQL.ofTenant).bind(tenant),
    ]);
    const object = found?.results[0];
    return object?.number === number ? undefined : object;
  },
  find: async (number: number): Promise<TenantObject | undefined> =>
    (await db.prepare(TENANT_OBJECT_SQL.ofNumber).bind(number).first<TenantObject>()) ?? undefined,
  /** Returns objects with a larger number than `after`, in order. */
  page: async (after: number, limit: number): Promise<readonly TenantObject[]> =>
    (await db.prepare(TENANT_OBJECT_SQL.page).bind(after, limit).all<TenantObject>()).results,
  /** Returns objects with their reports, of one tenant if given. `reportedAt` is 0 before the first report. */
  async list(after: number, tenant: string | undefined, { skip, limit }: { skip: number; limit: number }) {
    const statement =
      tenant === undefined
        ? db.prepare(TENANT_OBJECT_SQL.list).bind(after, limit, skip)
        : db.prepare(TENANT_OBJECT_SQL.listOf).bind(after, limit, skip, tenant);
    return (await statement.all<TenantObject & Stored & { reportedAt: number }>()).results;
  },
  /** Returns the objects of these tenants, or of all tenants, up to `limit`. */
  async ofTenants(tenants: readonly string[] | undefined, limit: number): Promise<readonly number[]> {
    const some =
      tenants === undefined
        ? db.prepare(TENANT_OBJECT_SQL.page).bind(0, limit)
        : db.prepare(TENANT_OBJECT_SQL.ofTenants).bind(JSON.stringify(tenants), limit);
    return (await some.all<{ number: number }>()).results.map(({ number }) => number);
  },
  /** `dueAt`: the time of the next sweep; null: nothing will be due. */
  async report(number: number, report: Stored & { readonly dueAt: number | null }, nowMs: number): Promise<void> {
    const { files, bytes, databaseBytes, dueAt } = report;
    await db.prepare(TENANT_OBJECT_SQL.report).bind(number, files, bytes, databaseBytes, dueAt, nowMs).run();
  },
  /** The next sweep is due since then. */
  due: async (number: number, nowMs: number): Promise<void> =>
    void (await db.prepare(TENANT_OBJECT_SQL.due).bind(number, nowMs).run()),
  failed: async (number: number, nowMs: number): Promise<void> =>
    void (await db.prepare(TENANT_OBJECT_SQL.failed).bind(number, nowMs).run()),
  /** Counts objects whose sweep was due before this time, up to a number; with the one that has waited the longest. */
  overdue: async (dueBeforeMs: number): Promise<Overdue> =>
    (await db.prepare(TENANT_OBJECT_SQL.overdue).bind(dueBeforeMs).first<Overdue>())!,
  /** Sums the reports of all objects. */
  sums: async (): Promise<Stored & { readonly objects: number }> =>
    (await db.prepare(TENANT_OBJECT_SQL.sums).first<Stored & { objects: number }>())!,
  async nearQuota(share: number, among: number, limit: number) {
    const statement = db.prepare(TENANT_OBJECT_SQL.nearQuota).bind(share, among, limit);
    return (await statement.all<NearQuota>()).results;
  },
  /** Returns what tenants with files and an id of at least `from` and below `before` store, as reported. */
  byTenant: async (from: string, before: string) =>
    (
      await db
        .prepare(TENANT_OBJECT_SQL.byTenant)
        .bind(from, before)
        .all<{ tenant: string; files: number; bytes: number }>()
    ).results,
});
