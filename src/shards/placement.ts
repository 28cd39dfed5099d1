import { FreshCache } from "../platform/copies/fresh-cache.ts";
import type { Isolate } from "../platform/copies/isolate.ts";
import type { Placement } from "../platform/storage/shards.ts";
import { isTenantObject, type TenantObjects } from "../platform/storage/tenant-objects.ts";
import type { PlacementStore } from "./placement-store.ts";
import type { TenantCopies } from "./tenant-copies.ts";
import type { TenantObjectStore } from "./tenant-object-store.ts";

/** A place changes only when its tenant moves. With an old copy, the old shard reports that the tenant has left. */
const CACHE = { ttlMs: 600_000, maxEntries: 50_000 } as const;
/** No tenant has a longer id. */
const MAX_ID_CHARS = 128;

export interface PlacementDeps {
  readonly store: Pick<PlacementStore, "find">;
  /** The number of shards of the deployment. */
  readonly shards: number;
  /** Undefined: the platform has no tenant objects. */
  readonly objects: Objects | undefined;
  readonly isolate: Isolate;
}

interface Objects extends Pick<TenantObjects, "place">, Pick<TenantCopies, "copy"> {
  readonly store: Pick<TenantObjectStore, "find">;
}

/** Caches places in the isolate. It looks up an unknown tenant each time, because the tenant may be created. */
export function createPlacement({ store, shards, objects, isolate }: PlacementDeps): Placement & { clear(): void } {
  const cache = new FreshCache<string, number | undefined>(
    { ...CACHE, keeps: (shard) => shard !== undefined },
    isolate,
  );
  /** Tenant objects that exist. They never end. */
  const known = new Set<number>();

  /** `uncopied`: the object may be another tenant's, until the first copy shows that it is not (tenant-copies.ts). */
  async function find(tenant: string, wasCopied: boolean): Promise<number | "uncopied" | undefined> {
    const place = await store.find(tenant);
    if (place === undefined || !isTenantObject(place.shard)) return place?.shard;
    if (objects !== undefined && place.isUncopied === 1 && !wasCopied) return "uncopied";
    objects?.place(place.shard, place.near);
    known.add(place.shard);
    return place.shard;
  }

  return {
    async shardOf(tenant, nowMs) {
      const isOne = shards === 1 && objects === undefined;
      if (isOne || tenant === "" || tenant.length > MAX_ID_CHARS) return 0;
      const beganAtMs = isolate.nowMs();
      let mustCopy = false;
      const ask = (wasCopied: boolean) =>
        cache.get(tenant, nowMs + isolate.nowMs() - beganAtMs, async () => {
          const found = await find(tenant, wasCopied);
          mustCopy = found === "uncopied";
          return found === "uncopied" ? undefined : found;
        });
      let place = await ask(false);
      if (mustCopy) {
        // Not within `ask`: a tenant's object may fail without the database, which everybody asks.
        await objects?.copy(tenant);
        place = await ask(true);
      }
      const shard = place ?? 0;
      if (shard >= shards && (objects === undefined || !isTenantObject(shard)))
        throw new Error(`the files of a tenant are in shard ${shard}, which is not bound`);
      return shard;
    },
    async exists(shard) {
      if (!isTenantObject(shard)) return shard < shards;
      if (objects === undefined || known.has(shard)) return objects !== undefined;
      const object = await objects.store.find(shard);
      if (object === undefined) return false;
      objects.place(shard, object.near);
      known.add(shard);
      return true;
    },
    forget: (tenant) => cache.invalidate(tenant),
    clear() {
      cache.clear();
      known.clear();
    },
  };
}
