import { objectDatabase } from "./object-database.ts";
import type { ObjectDatabase, WakingObject } from "./object-protocol.ts";
import { ANY_PLACE, LOCATION_HINTS, MOST_SHARDS, type LocationHint } from "./object-shards.ts";
import { shardObjectName, type ObjectNamespace, type Shard, type Shards } from "./shards.ts";

/**
 * A tenant object: a shard that is an object with the files of one tenant, near it. A platform may have a hundred
 * thousand of them. The shards of the deployment have numbers below `MOST_SHARDS` and are known to each isolate; the
 * directory numbers tenant objects from there (src/shards/tenant-object-store.ts). Sign-ins and push records never lie
 * in a tenant object.
 *
 * Nothing loops over all tenant objects to look for work: an object that was written to has an alarm, and its alarm
 * sends the job that sweeps it.
 */
export const FIRST_TENANT_OBJECT = MOST_SHARDS;

/** An id has 17 bits for the number of a tenant object (src/media/model/file.ts). */
export const MOST_NUMBERS = 2 ** 17;

export const isTenantObject = (shard: number): boolean => shard >= FIRST_TENANT_OBJECT;

/**
 * The job that sweeps a tenant object. It is a deletion with an id that no deletion has, since a previous release knows
 * only its own kinds of work, and does nothing about an unknown deletion.
 */
export const OBJECT_SWEEP = { work: "erase", id: "tenant-object" } as const;

export interface TenantObjects {
  /** Returns an object. The caller knows that the number is in use: the first call would create the object. */
  at(number: number): Shard;
  /** Ends the sweep of an object. `dueSql`: selects as `dueAt` when the next one is due. */
  rest(number: number, dueSql: string): Promise<void>;
  /** Notes where an object lies, before its first call. Null: where the deployment does. */
  place(number: number, near: LocationHint | null): void;
}

/**
 * The tenants that have an object, and where it lies unless somebody says otherwise. `asked`: tenants that an operator
 * moves to one; `new`: every new tenant too.
 */
export interface TenantObjectsSetting {
  readonly for: "asked" | "new";
  readonly near: LocationHint | undefined;
}

/** Parses `asked:auto` or `new:weur`. Undefined if the text does not have this form. */
export function parseTenantObjects(text: string): TenantObjectsSetting | undefined {
  const [, whom, place = ""] = /^(asked|new):([a-z]+)$/.exec(text) ?? [];
  const near = LOCATION_HINTS.find((known) => known === place);
  if (whom === undefined || (near === undefined && place !== ANY_PLACE)) return undefined;
  return { for: whom === "new" ? "new" : "asked", near };
}

/** Our choice: places of objects that an isolate notes, since only the first call of an object needs one. */
const MOST_PLACES = 1_000;

export function tenantObjects(objects: ObjectNamespace): TenantObjects {
  const places = new Map<number, LocationHint>();
  const stub = (number: number) => {
    const locationHint = places.get(number);
    return objects.getByName(shardObjectName(number), locationHint && { locationHint }) as ObjectDatabase &
      WakingObject;
  };
  return {
    at: (number) => ({ number, db: objectDatabase(() => stub(number), number) }),
    rest: (number, dueSql) => stub(number).rest(dueSql),
    place(number, near) {
      if (near === null) return;
      if (places.size >= MOST_PLACES) places.clear();
      places.set(number, near);
    },
  };
}

/** A thing for each shard, such as a store: made at once for the deployment's shards, and when needed for others. */
export interface OfShards<T> {
  readonly listed: readonly T[];
  at(shard: number): T;
}

/** Our choice: things of tenant objects that an isolate keeps, the last used ones. */
const MOST_KEPT = 64;

export function ofShards<T>(
  shards: Shards,
  objects: Pick<TenantObjects, "at"> | undefined,
  make: (shard: Shard) => T,
): OfShards<T> {
  const listed = shards.map(make);
  const kept = new Map<number, T>();
  return {
    listed,
    at(number) {
      const known = listed[number] ?? kept.get(number);
      if (known === undefined && (objects === undefined || !isTenantObject(number)))
        throw new Error(`shard ${number} is not bound`);
      if (!isTenantObject(number)) return known!;
      const one = known ?? make(objects!.at(number));
      kept.delete(number);
      kept.set(number, one);
      if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value!);
      return one;
    },
  };
}
