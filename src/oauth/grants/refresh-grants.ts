import { inParallel, mapInParallel } from "../../platform/runtime/parallel.ts";
import { SHARDS_AT_ONCE, type Shards } from "../../platform/storage/shards.ts";
import type { HeldToken, HeldTokens } from "../homes/held-token.ts";
import type { GrantOf } from "../homes/grant-revocation.ts";
import { homeOf, homesOf } from "../../platform/storage/home.ts";
import type { UserStore } from "../users/user-store.ts";
import {
  createRefreshStore,
  type FoundRefreshToken,
  type RefreshGrant,
  type RefreshStore,
  type StoredRefreshToken,
  type Successor,
  type TokenOwner,
  type TokenUser,
} from "./refresh-store.ts";

/**
 * Refresh grants of all shards. A grant lies with its code, or in the home of its person (homes/home.ts), with all its
 * tokens, and stays there. The directory is one of the homes. "Elsewhere" means the others; a platform of one database
 * has none.
 *
 * No transaction spans two databases, so two changes take several steps:
 *
 *   revoke grants            made void elsewhere ──▶ revoked for good in the directory, with the audit row ──▶ removed
 *                            elsewhere ──▶ answered. A void grant still exists and gives no access: after an error
 *                            the caller can repeat the request, else the sweep removes the grant.
 *   end all of an owner      homes/elsewhere.ts
 */
export interface RefreshGrants {
  readonly tokens: HeldTokens;
  /** A token for a new grant of this person. */
  newToken(email: string): Promise<HeldToken>;
  add(grant: RefreshGrant, token: HeldToken, nowMs: number): Promise<void>;
  find(token: HeldToken): Promise<FoundRefreshToken | undefined>;
  use(
    token: HeldToken,
    successor: Successor | undefined,
    by: TokenUser,
    nowMs: number,
  ): Promise<StoredRefreshToken | undefined>;
  giveBack(token: HeldToken): Promise<void>;
  owners(tokens: readonly HeldToken[]): Promise<readonly TokenOwner[]>;
  /** Removes grants of the directory with all their tokens, as part of the caller's transaction. */
  removeStatement(grantIds: readonly string[]): D1PreparedStatement;
  /** Makes the grants that lie elsewhere void, so that they give no access. */
  voidElsewhere(grants: readonly GrantOf[]): Promise<void>;
  /** Removes the grants that lie elsewhere. Can be repeated. */
  removeElsewhere(grants: readonly GrantOf[]): Promise<void>;
  deleteUsed(nowMs: number, limit: number): Promise<number>;
}

export function createRefreshGrants(shards: Shards, users: UserStore, tokens: HeldTokens): RefreshGrants {
  const stores = shards.map(({ db, number }) => createRefreshStore(db, users, number === 0));
  const [directory] = stores as [RefreshStore, ...RefreshStore[]];
  const storeOf = ({ shard }: Pick<HeldToken, "shard">): RefreshStore => stores[shard]!;

  /** Runs for each shard where grants may lie, with their ids. */
  async function eachElsewhere(
    grants: readonly GrantOf[],
    act: (store: RefreshStore, ids: readonly string[]) => Promise<void>,
  ): Promise<void> {
    const places = grants.flatMap(({ id, email }) =>
      homesOf(email, shards.length).flatMap((shard) => (shard === 0 ? [] : [{ id, shard }])),
    );
    await inParallel([...Map.groupBy(places, ({ shard }) => shard)], SHARDS_AT_ONCE, ([shard, some]) =>
      act(
        storeOf({ shard }),
        some.map(({ id }) => id),
      ),
    );
  }

  return {
    tokens,
    newToken: (email) => tokens.make(email, homeOf(email, shards.length)),
    add: (grant, token, nowMs) => storeOf(token).add(grant, token.hash, nowMs),
    find: (token) => storeOf(token).find(token.hash),
    use: (token, successor, by, nowMs) => storeOf(token).use(token.hash, successor, by, nowMs),
    giveBack: (token) => storeOf(token).giveBack(token.hash),
    async owners(held) {
      const byShard = Map.groupBy(held, ({ shard }) => shard);
      const answers = await mapInParallel([...byShard], SHARDS_AT_ONCE, ([shard, some]) =>
        storeOf({ shard }).owners(some.map(({ hash }) => hash)),
      );
      const found = answers.flat();
      const unknown = new Set(found.flatMap((one) => (one.confidential === undefined ? [one.clientId] : [])));
      const clients = unknown.size === 0 ? undefined : await directory.confidential([...unknown]);
      return found.flatMap((one) => {
        const confidential = one.confidential ?? clients?.get(one.clientId);
        return confidential === undefined ? [] : [{ ...one, confidential }];
      });
    },
    removeStatement: (grantIds) => directory.removeStatement(grantIds),
    voidElsewhere: (grants) => eachElsewhere(grants, (store, ids) => store.makeVoid(ids)),
    removeElsewhere: (grants) => eachElsewhere(grants, (store, ids) => store.remove(ids)),
    async deleteUsed(nowMs, limit) {
      const deleted = await mapInParallel(stores, SHARDS_AT_ONCE, (store) => store.deleteUsed(nowMs, limit));
      return Math.max(...deleted);
    },
  };
}
