import { homesOf } from "../../platform/storage/home.ts";

/**
 * The home of a person (platform/storage/home.ts): the shard that takes the person's new sign-ins: sessions, codes,
 * refresh grants and their tokens. Earlier sign-ins stay in the person's earlier homes, since each token names its
 * shard (held-token.ts). The address of a person never changes.
 */

/** Where ended sessions may lie: in one database, in the homes of a person, or in any database. */
export type EndedWhere = { readonly shard: number } | { readonly email: string } | "anywhere";

/** The shards of ended sessions, without the directory. */
export const shardsOfEnd = (where: EndedWhere, shards: number): readonly number[] => {
  if (where === "anywhere") return Array.from({ length: shards - 1 }, (_, at) => at + 1);
  const numbers = "shard" in where ? [where.shard] : homesOf(where.email, shards);
  return numbers.filter((number) => number > 0);
};
