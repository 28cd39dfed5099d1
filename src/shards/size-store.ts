import { MOST_SHARDS } from "../platform/storage/object-shards.ts";
import { HOUR_MS } from "../platform/runtime/clock.ts";

/** The directory's table of shards, with the size and the number of tenants of each. */
export type SizeStore = ReturnType<typeof createSizeStore>;

export interface ShardSize {
  readonly shard: number;
  /** The size of the whole database when it was measured. */
  readonly bytes: number;
  readonly tenants: number;
  /** The time of the last measurement in ms; 0: never. */
  readonly measuredAt: number;
}

/** Our choice: a shard with an older measurement gets new tenants only if the measurements of all shards are older. */
const STALE_MS = 3 * HOUR_MS;

const BYTES = `coalesce(bytes, 0)`;
const TENANTS = `coalesce(tenants, 0)`;
/**
 * SQL: the emptiest shard. ?2 are the numbers of the shards as JSON, ?3 is now. A shard counts with its measured size,
 * or with its number of tenants times their mean size if that is more: new tenants have no files yet, and the size may
 * be an hour old.
 */
const EMPTIEST = `FROM json_each(?2) AS numbered LEFT JOIN shard_size ON shard_size.shard = numbered.value
  ORDER BY coalesce(measured_at, 0) < ?3 - ${STALE_MS}, max(${BYTES}, ${TENANTS} *
    (SELECT sum(bytes) * 1.0 / max(1, sum(tenants)) FROM shard_size)), ${TENANTS}, numbered.value LIMIT 1`;
/** SQL: the number of tenants by shard, without tenant objects. Files of a tenant without a place: the directory. */
const PLACED = `SELECT coalesce(shard, 0) AS shard, count(*) AS tenants
  FROM tenant LEFT JOIN tenant_shard ON tenant_shard.tenant = tenant.id
  WHERE coalesce(shard, 0) < ${MOST_SHARDS} GROUP BY 1`;
const IS_NEW = `NOT EXISTS (SELECT 1 FROM tenant WHERE id = ?1)`;

export const SIZE_SQL = {
  place: `INSERT INTO tenant_shard (tenant, shard) SELECT ?1, (SELECT numbered.value ${EMPTIEST}) WHERE ${IS_NEW}
    ON CONFLICT DO NOTHING`,
  count: `INSERT INTO shard_size (shard, bytes, tenants, measured_at)
    SELECT shard, 0, 1, 0 FROM tenant_shard WHERE tenant = ?1 AND shard < ${MOST_SHARDS} AND ${IS_NEW}
    ON CONFLICT DO UPDATE SET tenants = tenants + 1`,
  emptiest: `SELECT numbered.value AS shard ${EMPTIEST}`,
  all: `SELECT shard, bytes, tenants, measured_at AS measuredAt FROM shard_size`,
  tenants: PLACED,
  keep: `WITH placed AS MATERIALIZED (${PLACED})
    INSERT INTO shard_size (shard, bytes, tenants, measured_at)
    SELECT value ->> 'shard', value ->> 'bytes', coalesce(placed.tenants, 0), ?2
    FROM json_each(?1) LEFT JOIN placed ON placed.shard = value ->> 'shard' WHERE true
    ON CONFLICT DO UPDATE SET bytes = excluded.bytes, tenants = excluded.tenants, measured_at = excluded.measured_at`,
} as const;

/**
 * Returns the bytes of a database, without the space of deleted rows. Every statement reports them; this is the
 * cheapest.
 */
export const bytesOf = async (db: D1Database): Promise<number> => (await db.prepare(`SELECT 1`).all()).meta.size_after;

/** Returns the size of a database and the count that a statement selects as `n`, in one round trip. */
export async function bytesAndCount(counting: D1PreparedStatement): Promise<{ bytes: number; count: number }> {
  const { results, meta } = await counting.all<{ n: number }>();
  return { bytes: meta.size_after, count: results[0]!.n };
}

export const createSizeStore = (db: D1Database) => ({
  /** Gives a new tenant the emptiest shard and counts it there. The statements must run before the tenant's row. */
  placeStatements: (tenant: string, shards: readonly number[], nowMs: number): readonly D1PreparedStatement[] => [
    db.prepare(SIZE_SQL.place).bind(tenant, JSON.stringify(shards), nowMs),
    db.prepare(SIZE_SQL.count).bind(tenant),
  ],
  /** Returns the shard that the next new tenant gets. */
  emptiest: async (shards: readonly number[], nowMs: number): Promise<number> =>
    (await db.prepare(SIZE_SQL.emptiest).bind("", JSON.stringify(shards), nowMs).first<number>("shard")) ?? 0,
  all: async (): Promise<readonly ShardSize[]> => (await db.prepare(SIZE_SQL.all).all<ShardSize>()).results,
  /** Returns the number of tenants of each shard. */
  tenants: async (): Promise<ReadonlyMap<number, number>> => {
    const { results } = await db.prepare(SIZE_SQL.tenants).all<{ shard: number; tenants: number }>();
    return new Map(results.map(({ shard, tenants }) => [shard, tenants]));
  },
  /** Stores measured sizes, and counts the tenants of these shards again. */
  keep: async (sizes: readonly Pick<ShardSize, "shard" | "bytes">[], nowMs: number): Promise<void> =>
    void (await db.prepare(SIZE_SQL.keep).bind(JSON.stringify(sizes), nowMs).run()),
});
