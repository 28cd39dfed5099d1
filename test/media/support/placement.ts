import { env } from "cloudflare:workers";
import { createPlacementStore } from "../../../src/shards/placement-store.ts";
import { shardsOf, type Placement } from "../../../src/platform/storage/shards.ts";
import { utf8 } from "../../../src/platform/text/encoding.ts";

/** A tenant whose files lie in the first shard, which a test may wrap. */
export const IN_DIRECTORY = "zero";

/** A tenant of the directory has its place there. One that no operator made has the place of its name. */
export const testPlacement: Placement = {
  async shardOf(tenant) {
    const shards = shardsOf(env).length;
    const byName = utf8(tenant).reduce((sum, byte) => sum + byte, 0) % shards;
    return (await createPlacementStore(env.DB).find(tenant)) ?? byName;
  },
  forget() {},
};
