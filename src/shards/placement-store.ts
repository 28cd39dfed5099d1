import type { LocationHint } from "../platform/storage/object-shards.ts";

/** The directory's table of places: the shard that has a tenant's files, and whether the tenant's copy there is due. */
export type PlacementStore = ReturnType<typeof createPlacementStore>;

/** The copy of a tenant that its shard must have. `exists`: 0 after the tenant's removal. */
export interface DueCopy extends Place {
  readonly tenant: string;
  /** The other shard of a move that is under way, which may show files of the tenant too; null: no move. */
  readonly otherShard: number | null;
  readonly version: number;
  readonly exists: 0 | 1;
  readonly disabled: 0 | 1;
  readonly quotaFiles: number | null;
  readonly quotaBytes: number | null;
}

/** A tenant's shard. `near`: the location of a tenant object; null: no object, or one where the deployment is. */
interface Place {
  readonly shard: number;
  readonly near: LocationHint | null;
}

/** `isUncopied`: 1 until the shard has a first copy of the tenant. */
interface FoundPlace extends Place {
  readonly isUncopied: 0 | 1;
}

/** SQL: the tenant of the row moves, and it is not certain that it has left the old shard. */
const MOVING = `tenant_move.tenant = tenant_shard.tenant AND tenant_move.state IN ('copying', 'switching', 'opening')`;
const MOVES = `EXISTS (SELECT 1 FROM tenant_move WHERE ${MOVING})`;
const DUE = `SELECT tenant_shard.tenant, shard, version,
    (SELECT near FROM tenant_object WHERE number = shard) AS near,
    (SELECT iif(to_shard = shard, from_shard, to_shard) FROM tenant_move WHERE ${MOVING}) AS otherShard, tenant.id IS NOT NULL AS "exists",
    coalesce(tenant.disabled, 1) AS disabled, quota_files AS quotaFiles, quota_bytes AS quotaBytes
  FROM tenant_shard LEFT JOIN tenant ON tenant.id = tenant_shard.tenant`;

/** Gives a tenant that is older than the shards its place. */
export const KEEP_PLACE = `
  INSERT INTO tenant_shard (tenant, shard) SELECT id, 0 FROM tenant WHERE id = ?1 ON CONFLICT DO NOTHING`;

const SQL = {
  /** Finds no row if there is no such tenant. A tenant without a place is older than the shards: its shard is 0. */
  find: `SELECT coalesce(tenant_shard.shard, 0) AS shard, near, tenant_shard.copied IS 0 AS isUncopied FROM tenant
    LEFT JOIN tenant_shard ON tenant_shard.tenant = tenant.id
    LEFT JOIN tenant_object ON tenant_object.number = tenant_shard.shard WHERE tenant.id = ?1`,
  keepPlace: KEEP_PLACE,
  // The directory has the record itself, and needs no copy.
  due: `${DUE} WHERE copied < version AND tenant_shard.tenant > '' AND (shard <> 0 OR ${MOVES})
    AND shard NOT IN (SELECT value FROM json_each(?2)) AND coalesce(otherShard, 0) NOT IN (SELECT value FROM json_each(?2))
    ORDER BY tenant_shard.tenant LIMIT ?1`,
  copyOf: `${DUE} WHERE tenant_shard.tenant = ?1`,
  dueOf: `${DUE} WHERE tenant_shard.tenant = ?1 AND copied < version AND (shard <> 0 OR ${MOVES})`,
  copied: `UPDATE tenant_shard SET copied = value ->> 'version' FROM json_each(?1)
    WHERE tenant = value ->> 'tenant' AND copied < value ->> 'version' AND shard = value ->> 'shard'`,
  settleFirst: `UPDATE tenant_shard SET copied = version WHERE copied < version AND tenant > '' AND +shard = 0
    AND NOT ${MOVES}`,
  copyAgain: `UPDATE tenant_shard SET copied = 0, version = max(version + 1, ?1) WHERE shard <> 0`,
  forgetDue: `UPDATE tenant_object SET due_at = NULL WHERE due_at IS NOT NULL`,
} as const;

export function createPlacementStore(db: D1Database) {
  return {
    /** Returns the shard of a tenant, and where its object lies; undefined: there is no such tenant. */
    find: async (tenant: string): Promise<FoundPlace | undefined> =>
      (await db.prepare(SQL.find).bind(tenant).first<FoundPlace>()) ?? undefined,

    /** Gives the tenant a place if it has none. It must run before the tenant's row is deleted. The place stays. */
    keepPlace: (tenant: string): D1PreparedStatement => db.prepare(SQL.keepPlace).bind(tenant),

    /**
     * Returns the copies that are due, without those to some shards. It first marks the copies to the directory as
     * done, since it needs none.
     */
    async due(limit: number, without: readonly number[] = []): Promise<readonly DueCopy[]> {
      const page = db.prepare(SQL.due).bind(limit, JSON.stringify(without));
      const [, found] = await db.batch<DueCopy>([db.prepare(SQL.settleFirst), page]);
      return found?.results ?? [];
    },
    /** Returns the copy of one tenant if it is due. */
    dueOf: async (tenant: string): Promise<readonly DueCopy[]> =>
      (await db.prepare(SQL.dueOf).bind(tenant).all<DueCopy>()).results,

    /** Returns the current copy of a tenant, due or not. */
    copyOf: async (tenant: string): Promise<DueCopy | undefined> =>
      (await db.prepare(SQL.copyOf).bind(tenant).first<DueCopy>()) ?? undefined,

    /** Records that shards have these versions. It leaves out tenants that have moved to another shard meanwhile. */
    copied: async (copies: readonly DueCopy[]): Promise<void> =>
      void (await db.prepare(SQL.copied).bind(JSON.stringify(copies)).run()),

    /**
     * Makes every copy due, with a version that is newer than any before, even than those of a restored shard. Forgets
     * when sweeps of tenant objects are due: they may have been done since the time of the restored directory.
     */
    copyAgain: async (nowMs: number): Promise<void> =>
      void (await db.batch([db.prepare(SQL.copyAgain).bind(nowMs), db.prepare(SQL.forgetDue)])),
  };
}
