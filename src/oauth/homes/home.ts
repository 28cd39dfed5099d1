import { homesOf } from "../../platform/storage/home.ts";

/**
 * The home of a person (platform/storage/home.ts): the shard with their sign-ins from now on: sessions, codes, refresh
 * grants and their tokens. Earlier ones stay in the homes that the person has had, since what their holders have names
 * its shard (held-token.ts). The address of a person never changes.
 *
 * Where sessions ended: in one database, in the homes of a person, or nobody knows.
 */
export type EndedWhere = { readonly shard: number } | { readonly email: string } | "anywhere";

/** The shards besides the directory. */
export const shardsOfEnd = (where: EndedWhere, shards: number): readonly number[] => {
  if (where === "anywhere") return Array.from({ length: shards - 1 }, (_, at) => at + 1);
  const numbers = "shard" in where ? [where.shard] : homesOf(where.email, shards);
  return numbers.filter((number) => number > 0);
};
