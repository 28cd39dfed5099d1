/**
 * A database that stores files and what belongs to them. Number 0 is the directory, which has everything else besides;
 * a platform of one database has no other.
 */
export interface Shard {
  readonly number: number;
  readonly db: D1Database;
}

/** By number, without a gap. The first one is always there. */
export type Shards = readonly [Shard, ...Shard[]];

/** An id has one byte for it. */
export const MOST_SHARDS = 256;

/** The binding of a shard. */
export const shardBinding = (number: number): string =>
  number === 0 ? "DB" : `SHARD_${String(number).padStart(2, "0")}`;

/** The databases that are bound. */
export function shardsOf(bindings: { readonly DB: D1Database }): Shards {
  const others: Shard[] = [];
  for (let number = 1; number < MOST_SHARDS; number++) {
    const db = (bindings as unknown as Readonly<Record<string, D1Database | undefined>>)[shardBinding(number)];
    if (db === undefined) break;
    others.push({ number, db });
  }
  return [{ number: 0, db: bindings.DB }, ...others];
}

/** Our choice: a Worker has six connections that wait for an answer. */
export const SHARDS_AT_ONCE = 6;

/** Port to the directory: the shard with the files of a tenant. */
export interface Placement {
  /** An unknown tenant has the first one. */
  shardOf(tenant: string, nowMs: number): Promise<number>;
}
