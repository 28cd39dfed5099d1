import { toHex } from "../platform/encoding.ts";
import type { Random } from "../platform/random.ts";

/**
 * Event ids: 64 random bits in hex, which make them unique and hard to guess, then "-" and shard and position in base 36,
 * so that an id leads to its event without an index. Clients treat them as opaque.
 */
export function newEventIds(count: number, shard: number, firstSeq: number, random: Random): string[] {
  const bytes = random.bytes(count * RANDOM_BYTES);
  return Array.from({ length: count }, (_, index) => {
    const part = toHex(bytes.subarray(index * RANDOM_BYTES, (index + 1) * RANDOM_BYTES));
    return `${part}-${((firstSeq + index) * SHARD_FACTOR + shard).toString(36)}`;
  });
}

const RANDOM_BYTES = 8;
/** The largest number of shards (contract 3.2). */
const SHARD_FACTOR = 16;
