import { objectDatabase } from "./object-database.ts";
import type { ObjectDatabase } from "./object-protocol.ts";
import { MOST_SHARDS, parseObjectShards, type LocationHint, type ObjectShards } from "./object-shards.ts";

/**
 * A database that stores files and what belongs to them, and sign-ins: one of D1, or a Durable Object that has
 * the same shape (object-database.ts). Number 0 is the directory, which has everything else besides; a platform of one
 * database has no other.
 */
export interface Shard {
  readonly number: number;
  readonly db: D1Database;
}

/** By number, without a gap. The first one is always there. */
export type Shards = readonly [Shard, ...Shard[]];

/** The binding of a shard that is a database of D1. */
export const shardBinding = (number: number): string =>
  number === 0 ? "DB" : `SHARD_${String(number).padStart(2, "0")}`;

/** The bindings and variables that say which shards there are. */
export interface ShardBindings {
  readonly DB: D1Database;
  /** Which numbers are objects; a database that is bound to such a number stands before it. */
  readonly OBJECT_SHARDS?: string;
  readonly SHARD_DATABASE?: ObjectNamespace;
}

/** The objects of a class, for the Worker, a test or a script. */
export interface ObjectNamespace {
  getByName(name: string, options?: { readonly locationHint?: LocationHint }): unknown;
}

/** The name of an object that is a shard. */
export const shardObjectName = (number: number): string => `shard-${number}`;

/** The shards of a platform, up to the first number that is nowhere. */
export function shardsOf(bindings: ShardBindings): Shards {
  const { DB, OBJECT_SHARDS: given = "", SHARD_DATABASE: objects } = bindings;
  const databases = bindings as unknown as Readonly<Record<string, D1Database | undefined>>;
  const inObjects = new Map(
    objectShardsOf(parseObjectShards(given) ?? new Map(), objects).map((one) => [one.number, one]),
  );
  const others: Shard[] = [];
  for (let number = 1; number < MOST_SHARDS; number++) {
    const db = databases[shardBinding(number)] ?? inObjects.get(number)?.db;
    if (db === undefined) break;
    others.push({ number, db });
  }
  return [{ number: 0, db: DB }, ...others];
}

/** Shards that are objects. */
export const objectShardsOf = (shards: ObjectShards, objects: ObjectNamespace | undefined): readonly Shard[] =>
  [...shards].map(([number, locationHint]) => {
    if (objects === undefined) throw new Error(`shard ${number} is an object, and SHARD_DATABASE is not bound`);
    const options = locationHint && { locationHint };
    const stub = () => objects.getByName(shardObjectName(number), options) as ObjectDatabase;
    return { number, db: objectDatabase(stub) };
  });

/** Our choice: a Worker has six connections that wait for an answer. */
export const SHARDS_AT_ONCE = 6;

/** Port to the directory: the shard with the files of a tenant. */
export interface Placement {
  /** An unknown tenant has the first one. */
  shardOf(tenant: string, nowMs: number): Promise<number>;
  /** The tenant is not where it was: it is asked for again. */
  forget(tenant: string): void;
}
