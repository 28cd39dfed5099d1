import { utf8 } from "../text/encoding.ts";

/**
 * The home of a name: the shard that takes new rows of its owner. Sign-ins of a person are placed by the person's
 * address (oauth/homes/home.ts), push records of a new topic by the topic's name (events/model/place.ts).
 *
 * The home is a hash of the name (Lamping and Veach, "jump consistent hash"): when a shard is added, the home stays the
 * same or becomes the new shard. Rows never move; each token or id names the shard of its row. So the sign-ins of a
 * person are in the homes that the person has had, about `ln(shards) + 0.6` of them:
 *
 *   1 shard: 0 │ 2 to 6 shards: 1 │ 7 shards and more: 6    ──▶ the homes are 0, 1 and 6; the last one takes new rows
 *
 * The name never changes.
 */
export function homesOf(name: string, shards: number): readonly number[] {
  if (shards === 1) return DIRECTORY_ALONE;
  const homes: number[] = [];
  let state = hash64(name);
  for (let next = 0; next < shards;) {
    homes.push(next);
    state = BigInt.asUintN(64, state * 2_862_933_555_777_941_757n + 1n);
    next = Math.floor((next + 1) * (2 ** 31 / (Number(state >> 33n) + 1)));
  }
  return homes;
}

export const homeOf = (name: string, shards: number): number => homesOf(name, shards).at(-1)!;

const DIRECTORY_ALONE: readonly number[] = [0];

/** FNV-1a, 64 bits. */
function hash64(text: string): bigint {
  let hash = 0xcbf2_9ce4_8422_2325n;
  for (const byte of utf8(text)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100_0000_01b3n);
  return hash;
}
