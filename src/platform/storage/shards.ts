import { objectDatabase } from "./object-database.ts";
import type { ObjectDatabase } from "./object-protocol.ts";
import { MOST_SHARDS, parseObjectShards, type LocationHint, type ObjectShards } from "./object-shards.ts";

/**
 * A database with files, sign-ins and push records: a D1 database, or a Durable Object with the same interface
 * (object-database.ts). Shard 0 is the directory, which also has everything else. A platform of one database has only
 * this shard.
 */
export interface Shard {
  readonly number: number;
  readonly db: D1Database;
}

/** All shards, by number without a gap. The first one always exists. */
export type Shards = readonly [Shard, ...Shard[]];

/** The binding of a shard that is a database of D1. */
export const shardBinding = (number: number): string =>
  number === 0 ? "DB" : `SHARD_${String(number).padStart(2, "0")}`;

/** The bindings and variables that define the shards. */
export interface ShardBindings {
  readonly DB: D1Database;
  /** The shards that are objects. If a database is bound for the same number, the database is used. */
  readonly OBJECT_SHARDS?: string;
  readonly SHARD_DATABASE?: ObjectNamespace;
}

/** The objects of a class, for the Worker, a test or a script. */
export interface ObjectNamespace {
  getByName(name: string, options?: { readonly locationHint?: LocationHint }): unknown;
}

/** The name of an object that is a shard. */
export const shardObjectName = (number: number): string => `shard-${number}`;

/** The shards of a platform, up to the first number without a database or object. */
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

/** Number of shards that are asked at the same time: a Worker has six connections that wait for an answer. */
export const SHARDS_AT_ONCE = 6;

/** Port to the directory: the shard with the files of a tenant. */
export interface Placement {
  /** Returns the tenant's shard; the directory for an unknown tenant. */
  shardOf(tenant: string, nowMs: number): Promise<number>;
  /** Drops the cached place of a tenant that has moved. */
  forget(tenant: string): void;
  /** Tells whether a shard of the deployment or a tenant's object has this number. */
  exists(shard: number): Promise<boolean>;
}
