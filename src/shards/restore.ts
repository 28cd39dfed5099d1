import type { ObjectShards } from "../platform/storage/object-shards.ts";
import type { PrepareOutcome, Restorable, RestoreTo } from "../platform/storage/object-restore.ts";
import { shardObjectName, type ObjectNamespace } from "../platform/storage/shards.ts";

/** Takes a shard that is an object back to an earlier time. Undefined: the shard is no object. */
export const createRestoreShard =
  (objects: ObjectNamespace, shards: ObjectShards) =>
  async (shard: number, to: RestoreTo): Promise<PrepareOutcome | undefined> => {
    if (!shards.has(shard)) return undefined;
    const stub = () => objects.getByName(shardObjectName(shard)) as Restorable;
    const prepared = await stub().prepareRestore(to);
    if (prepared.kind === "impossible") return prepared;
    // The session ends before it can answer.
    await Promise.resolve(stub().restart()).catch(() => undefined);
    return prepared;
  };
