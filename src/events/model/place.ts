import { homeOf } from "../../platform/storage/home.ts";
import { StoreUnavailable } from "../../platform/storage/database.ts";
import { randomId, type Random } from "../../platform/runtime/random.ts";
import { toHex } from "../../platform/text/encoding.ts";

/**
 * All push records of a topic lie in one shard for as long as the topic exists: the home of its name
 * (platform/storage/home.ts) at its creation. The topic's incarnation and the ids of its subscriptions start with the
 * number of that shard as a byte, so either of them tells the shard:
 *
 *   32 characters of hex   the directory; also every topic from before there were shards
 *   34 characters          the number of the shard, and 128 random bits
 */
export const idIn = (shard: number, random: Random): string =>
  shard === 0 ? randomId(random) : toHex(Uint8Array.of(shard, ...random.bytes(RANDOM_BYTES)));

/** The incarnation of a new topic. */
export const incarnationOf = (name: string, shards: number, random: Random): string =>
  idIn(homeOf(name, shards), random);

/** The shard in an id that a caller sent, which may be any text. Undefined: there is no such shard. */
export function shardAsked(id: string, shards: number): number | undefined {
  const shard = shards === 1 || !OF_SHARD.test(id) ? 0 : Number.parseInt(id.slice(0, 2), 16);
  return shard < shards ? shard : undefined;
}

/** The shard in an incarnation or in the id of a subscription. */
export function shardIn(id: string, shards: number): number {
  const shard = shardAsked(id, shards);
  if (shard !== undefined) return shard;
  // While a deployment adds a shard, an older isolate may see a topic of the new shard.
  throw new StoreUnavailable(`shard ${Number.parseInt(id.slice(0, 2), 16)} is not bound`);
}

const RANDOM_BYTES = 16;
const OF_SHARD = /^[0-9a-f]{34}$/;
