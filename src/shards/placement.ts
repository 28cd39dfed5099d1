import { FreshCache } from "../platform/copies/fresh-cache.ts";
import type { Isolate } from "../platform/copies/isolate.ts";
import type { Placement } from "../platform/storage/shards.ts";
import type { PlacementStore } from "./placement-store.ts";

/** A place changes only when its tenant moves. With an old copy, the old shard reports that the tenant has left. */
const CACHE = { ttlMs: 600_000, maxEntries: 50_000 } as const;
/** No tenant has a longer id. */
const MAX_ID_CHARS = 128;

/** Caches places in the isolate. It looks up an unknown tenant each time, because the tenant may be created. */
export function createPlacement(
  store: Pick<PlacementStore, "find">,
  shards: number,
  isolate: Isolate,
): Placement & { clear(): void } {
  const cache = new FreshCache<string, number | undefined>(
    { ...CACHE, keeps: (shard) => shard !== undefined },
    isolate,
  );
  return {
    async shardOf(tenant, nowMs) {
      if (shards === 1 || tenant === "" || tenant.length > MAX_ID_CHARS) return 0;
      const shard = (await cache.get(tenant, nowMs, () => store.find(tenant))) ?? 0;
      if (shard >= shards) throw new Error(`the files of a tenant are in shard ${shard}, which is not bound`);
      return shard;
    },
    forget: (tenant) => cache.invalidate(tenant),
    clear: () => cache.clear(),
  };
}
