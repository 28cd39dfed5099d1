/**
 * Files and bytes of tenants. Triggers count committed files in the rows of their owners. Each query counts the pending
 * files, from an index that has only pending files.
 */
export type UsageStore = ReturnType<typeof createUsageStore>;

export interface Usage {
  readonly files: number;
  readonly bytes: number;
  /** The number of files without a commit, and the bytes reserved for them if the tenant has a quota of bytes. */
  readonly pending: { readonly files: number; readonly bytes: number };
}

/** The content of a tenant object: committed files, and their bytes in the bucket. `dueAt`: the next sweep. */
export interface ObjectReport {
  readonly files: number;
  readonly bytes: number;
  readonly databaseBytes: number;
  readonly dueAt: number | null;
}

export interface NearQuota {
  readonly tenant: string;
  readonly files: number;
  readonly bytes: number;
  readonly mostFiles: number | null;
  readonly mostBytes: number | null;
}

/** An object that prevents the removal of a client or tenant. */
export interface Dependent {
  readonly kind: string;
  readonly id: string;
}

type Column = "files" | "bytes";

/** SQL: committed files or bytes of a tenant, from one row for each of its clients. Retired owners do not count. */
const sumOf = (column: Column, tenant: string): string =>
  `(SELECT coalesce(sum(${column}), 0) FROM owner WHERE owner.tenant = ${tenant} AND owner.erasure_id IS NULL)`;

/** SQL: the number of a tenant's pending files, or the bytes reserved for them. Each client has a limited number. */
const reservedOf = (column: Column, tenant: string): string =>
  `(SELECT ${column === "files" ? "count(*)" : "coalesce(sum(waiting.reserved_bytes), 0)"}
    FROM file AS waiting INDEXED BY file_pending WHERE waiting.reserved_for = ${tenant} AND waiting.state = 'pending')`;

/**
 * SQL: one more committed file of this size exceeds the tenant's quota. The arguments are parameters or columns of the
 * surrounding statement. The file of `reservedFor` reserved its place and bytes within the quota of that tenant when it
 * was created and uploaded, so its commit does not add the reservations.
 */
export const overQuota = (tenant: string, sizeBytes: string, reservedFor: string): string => {
  const stored = (column: Column): string =>
    `${sumOf(column, tenant)} + iif(${reservedFor} IS ${tenant}, 0, ${reservedOf(column, tenant)})`;
  return `EXISTS (
  SELECT 1 FROM tenant WHERE tenant.id = ${tenant} AND (
    (quota_files IS NOT NULL AND quota_files < 1 + ${stored("files")})
    OR (quota_bytes IS NOT NULL AND quota_bytes < ${sizeBytes} + ${stored("bytes")})))`;
};

/** SQL: committed and pending files fill the tenant's quota of files. */
export const isFull = (tenant: string): string => `EXISTS (
  SELECT 1 FROM tenant WHERE tenant.id = ${tenant} AND quota_files IS NOT NULL
  AND quota_files < 1 + ${sumOf("files", tenant)} + ${reservedOf("files", tenant)})`;

/** SQL: the tenant has a quota of bytes, and less is left than so many. */
export const hasNoSpace = (tenant: string, bytes: string): string => `EXISTS (
  SELECT 1 FROM tenant WHERE tenant.id = ${tenant} AND quota_bytes IS NOT NULL AND ${bytes} > ${bytesLeft(tenant)})`;

/** SQL: the bytes that are left in a tenant's quota of bytes. */
export const bytesLeft = (tenant: string): string =>
  `tenant.quota_bytes - ${sumOf("bytes", tenant)} - ${reservedOf("bytes", tenant)}`;

const NAMED = `SELECT 'files' AS kind,
  'of the client ' || client || ' and the tenant ' || tenant || ' (' || files || ' ' || visibility || ')' AS id
  FROM owner WHERE erasure_id IS NULL AND files > 0`;

export const USAGE_SQL = {
  usage: `SELECT ${sumOf("files", "?1")} AS files, ${sumOf("bytes", "?1")} AS bytes,
    ${reservedOf("files", "?1")} AS pendingFiles, ${reservedOf("bytes", "?1")} AS pendingBytes`,
  total: `SELECT coalesce(sum(files), 0) AS files, coalesce(sum(bytes), 0) AS bytes FROM owner WHERE erasure_id IS NULL`,
  byTenant: `SELECT tenant, sum(files) AS files, sum(bytes) AS bytes FROM owner
    WHERE erasure_id IS NULL AND tenant >= ?1 AND tenant < ?2 GROUP BY tenant HAVING sum(files) > 0`,
  nearQuota: `SELECT * FROM (SELECT page.id AS tenant, quota_files AS mostFiles, quota_bytes AS mostBytes,
      ${sumOf("files", "page.id")} AS files, ${sumOf("bytes", "page.id")} AS bytes
    FROM (SELECT id, quota_files, quota_bytes FROM tenant WHERE id > ''
      AND NOT EXISTS (SELECT 1 FROM departed_tenant WHERE departed_tenant.tenant = tenant.id)
      ORDER BY id LIMIT ?2) AS page
    WHERE quota_files IS NOT NULL OR quota_bytes IS NOT NULL)
    WHERE files >= ?1 * mostFiles OR bytes >= ?1 * mostBytes LIMIT ?3`,
  filesOfClient: `${NAMED} AND client = ?1 AND (?3 IS NULL OR tenant = ?3) ORDER BY tenant, visibility LIMIT ?2`,
  filesOfTenant: `${NAMED} AND tenant = ?1 LIMIT ?2`,
} as const;

export const createUsageStore = (db: D1Database) => ({
  async usageOf(tenant: string): Promise<Usage> {
    const row = await db.prepare(USAGE_SQL.usage).bind(tenant).first<UsageRow>();
    const { files = 0, bytes = 0, pendingFiles = 0, pendingBytes = 0 } = row ?? {};
    return { files, bytes, pending: { files: pendingFiles, bytes: pendingBytes } };
  },
  /** Counts committed files and their bytes, of all tenants. */
  total: async (): Promise<{ readonly files: number; readonly bytes: number }> =>
    (await db.prepare(USAGE_SQL.total).first<{ files: number; bytes: number }>()) ?? { files: 0, bytes: 0 },
  /** Counts as `total` does; with the size of the database, and what `dueSql` selects as `dueAt` at a time. */
  async report(dueSql: string, nowMs: number): Promise<ObjectReport> {
    const statements = [db.prepare(USAGE_SQL.total), db.prepare(dueSql).bind(nowMs)];
    const [total, due] = await db.batch<ObjectReport>(statements);
    return { ...total!.results[0]!, ...due!.results[0]!, databaseBytes: total!.meta.size_after };
  },
  /** Returns tenants that have used at least this share of a quota. It reads only the first `among` tenants by id. */
  nearQuota: async (share: number, among: number, limit: number) =>
    (await db.prepare(USAGE_SQL.nearQuota).bind(share, among, limit).all<NearQuota>()).results,
  /** Returns the files and bytes of each tenant with files and an id of at least `from` and below `before`. */
  byTenant: async (from: string, before: string) =>
    (await db.prepare(USAGE_SQL.byTenant).bind(from, before).all<{ tenant: string; files: number; bytes: number }>())
      .results,
  /** Returns an entry for each tenant and visibility with files of the client. `id` is a text for people. */
  filesOfClient: async (client: string, limit: number, tenant?: string): Promise<readonly Dependent[]> =>
    (
      await db
        .prepare(USAGE_SQL.filesOfClient)
        .bind(client, limit, tenant ?? null)
        .all<Dependent>()
    ).results,
  /** Returns an entry for each client and visibility with files in the tenant. */
  filesOfTenant: async (tenant: string, limit: number): Promise<readonly Dependent[]> =>
    (await db.prepare(USAGE_SQL.filesOfTenant).bind(tenant, limit).all<Dependent>()).results,
});

interface UsageRow {
  readonly files: number;
  readonly bytes: number;
  readonly pendingFiles: number;
  readonly pendingBytes: number;
}
