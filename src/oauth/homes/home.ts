import { utf8 } from "../../platform/text/encoding.ts";

/**
 * The home of a person: the shard with their sign-ins from now on: sessions, codes, refresh grants and their tokens.
 *
 * A hash of the address says which (Lamping and Veach, "jump consistent hash"): with one shard more, a person stays or
 * gets the new one. Nothing moves: earlier sign-ins stay where they are, since what their holders have names its shard
 * (held-token.ts). So a person's sign-ins lie in the homes that the person has had, some `ln(shards) + 0.6` of them:
 *
 *   1 shard: 0 │ 2 to 6 shards: 1 │ 7 shards and more: 6   ──▶ the homes are 0, 1 and 6; the last takes new sign-ins
 *
 * The address of a person never changes.
 */
export function homesOf(email: string, shards: number): readonly number[] {
  if (shards === 1) return DIRECTORY_ALONE;
  const homes: number[] = [];
  let state = hash64(email);
  for (let next = 0; next < shards;) {
    homes.push(next);
    state = BigInt.asUintN(64, state * 2_862_933_555_777_941_757n + 1n);
    next = Math.floor((next + 1) * (2 ** 31 / (Number(state >> 33n) + 1)));
  }
  return homes;
}

/** Where sessions ended: in one database, in the homes of a person, or nobody knows. */
export type EndedWhere = { readonly shard: number } | { readonly email: string } | "anywhere";

/** The shards besides the directory. */
export const shardsOfEnd = (where: EndedWhere, shards: number): readonly number[] => {
  if (where === "anywhere") return Array.from({ length: shards - 1 }, (_, at) => at + 1);
  const numbers = "shard" in where ? [where.shard] : homesOf(where.email, shards);
  return numbers.filter((number) => number > 0);
};

export const homeOf = (email: string, shards: number): number => homesOf(email, shards).at(-1)!;

const DIRECTORY_ALONE: readonly number[] = [0];

/** FNV-1a, 64 bits. */
function hash64(text: string): bigint {
  let hash = 0xcbf2_9ce4_8422_2325n;
  for (const byte of utf8(text)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100_0000_01b3n);
  return hash;
}
