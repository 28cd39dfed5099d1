import { shardFor } from "../../../src/events/model/topic.ts";

/** A name with this prefix, of a tenant or a key, that falls on the shard. */
export function inShard(shard: number, shards: number, prefix: string): string {
  for (let at = 0; ; at++) if (shardFor(`${prefix}${at}`, shards) === shard) return `${prefix}${at}`;
}
