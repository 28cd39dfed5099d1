import type { Shards } from "../../platform/storage/shards.ts";
import { deleteExpired, type DropAnchors } from "../homes/expiry.ts";
import type { HeldTokens, TokenPlace } from "../homes/held-token.ts";
import type { UserStore } from "../users/user-store.ts";
import { createCodeStore, type CodeStore } from "./code-store.ts";

/** Authorization codes of all databases. A code lies where its session lies, and its text says where. */
export type Codes = ReturnType<typeof createCodes>;

export function createCodes(shards: Shards, users: UserStore, tokens: HeldTokens) {
  const stores = shards.map(({ db, number }) => createCodeStore(db, users, number === 0));
  return {
    tokens,
    in: ({ shard }: Pick<TokenPlace, "shard">): CodeStore => stores[shard]!,
    /** Deletes at most `limit` codes of each database whose tokens have expired. Returns the largest number. */
    deleteExpired: (nowMs: number, limit: number, dropAnchors: DropAnchors): Promise<number> =>
      deleteExpired(stores, { nowMs, limit, dropAnchors }),
  };
}
