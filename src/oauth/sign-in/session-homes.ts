import { mapInParallel } from "../../platform/runtime/parallel.ts";
import { SHARDS_AT_ONCE, type Shards } from "../../platform/storage/shards.ts";
import { deleteExpired, type DropAnchors } from "../homes/expiry.ts";
import type { HeldToken, HeldTokens, TokenPlace } from "../homes/held-token.ts";
import { homeOf, homesOf } from "../../platform/storage/home.ts";
import { toSignedIn, type SessionRow, type SignedIn, type UserStore } from "../users/user-store.ts";
import {
  createSessionStore,
  type Listed,
  type ListedSession,
  type SessionStore,
  type SignIns,
} from "./session-store.ts";

/**
 * Sessions of all databases. A new session lies in the home of its person (homes/home.ts), which its cookie names. Its
 * codes, their grants, and the clients to tell of its end lie there too. So each change of a sign-in is one
 * transaction.
 *
 * The person is in the directory. Person and session are read at the same time, since the cookie has the address. A
 * time in the person's row ends earlier sign-ins, so the order of the two reads does not matter.
 */
export type Sessions = ReturnType<typeof createSessions>;

export function createSessions(shards: Shards, users: UserStore, tokens: HeldTokens) {
  const stores = shards.map(({ db, number }) => createSessionStore(db, number === 0));
  const [directory] = stores as [SessionStore, ...SessionStore[]];
  const storeOf = ({ shard }: Pick<TokenPlace, "shard">): SessionStore => stores[shard]!;
  /** The stores of a person's homes, without the directory. */
  const elsewhere = (email: string): readonly SessionStore[] =>
    homesOf(email, shards.length).flatMap((number) => (number === 0 ? [] : [stores[number]!]));
  const inHomes = async <T>(email: string, ask: (store: SessionStore) => Promise<T>): Promise<readonly T[]> =>
    mapInParallel(elsewhere(email), SHARDS_AT_ONCE, ask);

  const signedIn = async (row: SessionRow, shard: number): Promise<SignedIn | undefined> => {
    const user = await users.find(row.email);
    return user && toSignedIn(row, user, shard);
  };

  return {
    tokens,
    /** A cookie for a new session of this person. */
    newToken: (email: string): Promise<HeldToken> => tokens.make(email, homeOf(email, shards.length)),
    in: storeOf,
    /** The session with its user. One round trip of the directory, or one of each database. */
    async find(token: TokenPlace, nowMs: number): Promise<SignedIn | undefined> {
      const { hash, shard, email } = token;
      if (shard === 0) return users.findBySession(hash, nowMs);
      const row = storeOf(token).find("id_hash", hash, nowMs);
      if (email === undefined) {
        const found = await row;
        return found && signedIn(found, shard);
      }
      const [found, user] = await Promise.all([row, users.find(email)]);
      return found && user && toSignedIn(found, user, shard);
    },
    /** The session by its id in tokens, with its user. `email`: of the token. All homes are asked at the same time. */
    async findById(sid: string, email: string, nowMs: number): Promise<SignedIn | undefined> {
      const asked = homesOf(email, shards.length).map((number) =>
        number === 0
          ? users.findBySessionId(sid, nowMs)
          : storeOf({ shard: number })
              .find("sid", sid, nowMs)
              .then((row) => row && signedIn(row, number)),
      );
      return (await Promise.all(asked)).find((found) => found !== undefined);
    },
    /** The valid sessions of a person, the browser that asks first, then the last used. */
    async list(
      { email, signedOutAtMs }: { readonly email: string; readonly signedOutAtMs: number },
      ownHash: string,
      listed: Listed,
    ): Promise<SignIns> {
      const [here, others] = await Promise.all([
        directory.list(email, ownHash, listed),
        inHomes(email, (store) => store.listElsewhere(email, ownHash, signedOutAtMs, listed)),
      ]);
      return { ...here, sessions: merged([here.sessions, ...others], listed) };
    },
    /** The valid sessions of a person, the last used first. */
    async listAll(email: string, listed: Listed): Promise<readonly ListedSession[]> {
      const here = await directory.listAll(email, listed);
      if (elsewhere(email).length === 0) return here;
      const signedOutAtMs = await users.signedOutAt(email);
      if (signedOutAtMs === undefined) return here;
      const others = await inHomes(email, (store) => store.listElsewhere(email, "", signedOutAtMs, listed));
      return merged([here, ...others], listed);
    },
    /** True if the session, or a grant that is left of it, is the user's. It never becomes another's. */
    async owns(email: string, sid: string): Promise<boolean> {
      const stored = [directory, ...elsewhere(email)];
      return (await mapInParallel(stored, SHARDS_AT_ONCE, (store) => store.owns(email, sid))).includes(true);
    },
    /** Deletes at most `limit` expired sessions of each database. Returns the largest number. */
    deleteExpired: (nowMs: number, limit: number, dropAnchors: DropAnchors): Promise<number> =>
      deleteExpired(stores, { nowMs, limit, dropAnchors }),
  };
}

const merged = (lists: readonly (readonly ListedSession[])[], { limit }: Listed): readonly ListedSession[] =>
  lists
    .flat()
    .sort((a, b) => b.isCurrent - a.isCurrent || b.seenAtMs - a.seenAtMs)
    .slice(0, limit);
