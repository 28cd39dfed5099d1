import type { ObjectShards } from "../platform/storage/object-shards.ts";
import type { PrepareOutcome, Restorable, RestoreTo } from "../platform/storage/object-restore.ts";
import { isTenantObject } from "../platform/storage/tenant-objects.ts";
import { shardObjectName, type ObjectNamespace } from "../platform/storage/shards.ts";

/**
 * Restores a shard that is a Durable Object, or a tenant object, to an earlier time. `exists`: a tenant has the tenant
 * object of this number. `movedSince`: a tenant that moved to or from it after a time. `lostSinceMs`: what was stored
 * after this time will be lost; undefined: that is not known. An answer of undefined: there is no such object.
 */
export const createRestoreShard =
  (
    objects: ObjectNamespace,
    shards: ObjectShards,
    exists: (number: number) => Promise<boolean>,
    movedSince: (shard: number, timeMs: number) => Promise<string | undefined>,
  ) =>
  async (shard: number, to: RestoreTo, lostSinceMs: number | undefined): Promise<PrepareOutcome | undefined> => {
    if (!(isTenantObject(shard) ? await exists(shard) : shards.has(shard))) return undefined;
    const moved = lostSinceMs === undefined ? undefined : await movedSince(shard, lostSinceMs);
    if (moved !== undefined)
      return {
        kind: "impossible",
        why: `tenant ${moved} has moved to or from it since then. Choose a later time, or restore the directory first, and then every shard.`,
      };
    const stub = () => objects.getByName(shardObjectName(shard)) as Restorable;
    const prepared = await stub().prepareRestore(to);
    if (prepared.kind === "impossible") return prepared;
    // The object restarts before it can answer this call.
    await Promise.resolve(stub().restart()).catch(() => undefined);
    return prepared;
  };
