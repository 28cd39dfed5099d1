import type { ObjectShards } from "../platform/storage/object-shards.ts";
import type { PrepareOutcome, Restorable, RestoreTo } from "../platform/storage/object-restore.ts";
import { shardObjectName, type ObjectNamespace } from "../platform/storage/shards.ts";

/** Restores a shard that is a Durable Object to an earlier time. Undefined: the shard is not an object. */
export const createRestoreShard =
  (objects: ObjectNamespace, shards: ObjectShards) =>
  async (shard: number, to: RestoreTo): Promise<PrepareOutcome | undefined> => {
    if (!shards.has(shard)) return undefined;
    const stub = () => objects.getByName(shardObjectName(shard)) as Restorable;
    const prepared = await stub().prepareRestore(to);
    if (prepared.kind === "impossible") return prepared;
    // The object restarts before it can answer this call.
    await Promise.resolve(stub().restart()).catch(() => undefined);
    return prepared;
  };
