import { env } from "cloudflare:workers";
import { createPlacementStore } from "../../../src/shards/placement-store.ts";
import { shardsOf, type Placement } from "../../../src/platform/storage/shards.ts";
import { FIRST_TENANT_OBJECT, isTenantObject } from "../../../src/platform/storage/tenant-objects.ts";
import { isOwn } from "../../support/shards.ts";
import { utf8 } from "../../../src/platform/text/encoding.ts";

/** A tenant whose files lie in the first shard, which a test may wrap. */
export const IN_DIRECTORY = "zero";

/** The objects of tenants if each has one; those of the same object do not know. */
export const OBJECTS: readonly number[] = [0, 1, 2, 3].map((at) => FIRST_TENANT_OBJECT + at);

/** A tenant of the directory has its place there. One that no operator made has the place of its name. */
export const testPlacement: Placement = {
  async shardOf(tenant) {
    if (tenant === IN_DIRECTORY) return 0;
    const places = isOwn ? OBJECTS : shardsOf(env).map(({ number }) => number);
    const byName = places[utf8(tenant).reduce((sum, byte) => sum + byte, 0) % places.length]!;
    return (await createPlacementStore(env.DB).find(tenant))?.shard ?? byName;
  },
  exists: async (shard) => shard < shardsOf(env).length || (isOwn && isTenantObject(shard)),
  forget() {},
};
