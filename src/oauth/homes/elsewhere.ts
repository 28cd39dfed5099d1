import { inParallel, mapInParallel } from "../../platform/runtime/parallel.ts";
import { SHARDS_AT_ONCE, type Shards } from "../../platform/storage/shards.ts";
import { RUNS_OF_A_DAY, RUNS_OF_AN_HOUR, keysAt } from "../../platform/storage/slice.ts";
import {
  createElsewhereDirectory,
  createElsewhereStore,
  type ComparedGrant,
  type ComparedSession,
  type ElsewhereStore,
  type EndedKind,
} from "./elsewhere-store.ts";
import type { RevokedGrant } from "./grant-revocation.ts";
import { homesOf } from "../../platform/storage/home.ts";

/**
 * Ends the sign-ins of a person, client, tenant or session that lie elsewhere than in the directory: sessions, codes
 * and refresh grants. A platform of one database has none, and makes no call.
 *
 * A person's sign-ins lie in the person's homes (homes/home.ts), those of a client or tenant in any shard. No
 * transaction spans two databases, so each end is a sequence of transactions:
 *
 *   person             signed out or removed in the directory ──▶ removed elsewhere. Until then each use finds in the
 *                      directory that the sign-in is not valid. Sign-ins that begin after that stay.
 *   client, tenant     removed elsewhere ──▶ revoked until now in the directory ──▶ removed elsewhere again, since a
 *                      code may have been made and redeemed meanwhile; if so, revoked until now once more
 *   session            session, codes and grants made void, in one transaction ──▶ revoked in the directory, each
 *                      grant by its id ──▶ codes and grants removed, until there are none ──▶ the session removed, so
 *                      that its clients are told. A void session issues no codes, so no new ones appear. Its row stays
 *                      until the last step, so the person can ask for its end again.
 *
 * A crash between two steps is an error for the caller, who repeats the request: each step can be repeated. Rows that
 * are left over are void, or belong to people and clients that are gone, so they give no access. The sweep removes left
 * over grants within a day, and sessions with clients to tell within an hour, or in a later round if a run has more to
 * do than its statements allow; other sessions, and codes, expire. The anchor of a person who is gone is deleted with
 * the last of these rows.
 */
export type Elsewhere = ReturnType<typeof createElsewhere>;

/** Transactions in one shard for one request; as many as in grants/revocation/revoke-all-store.ts. */
const MAX_STEPS = 20;

export function createElsewhere(shards: Shards) {
  const [{ db }] = shards;
  const directory = createElsewhereDirectory(db);
  const stores = shards.slice(1).map((shard) => createElsewhereStore(shard.db));
  const homes = (email: string): readonly ElsewhereStore[] =>
    homesOf(email, shards.length).flatMap((number) => stores[number - 1] ?? []);
  const placesOf = (person: string | undefined): readonly ElsewhereStore[] =>
    person === undefined ? stores : homes(person);

  async function endIn(store: ElsewhereStore, kind: EndedKind, key: string, untilMs?: number) {
    let [removed, mayHaveMore] = [0, true];
    for (let step = 0; step < MAX_STEPS && mayHaveMore; step++) {
      const ended = await store.end(kind, key, untilMs);
      removed += ended.removed;
      ({ mayHaveMore } = ended);
    }
    return { removed, mayHaveMore };
  }

  /** Removes grants of a shard that the directory finds not valid. */
  async function removeGrants(store: ElsewhereStore, grants: readonly ComparedGrant[]): Promise<void> {
    const notValid = new Set(await directory.notValid(grants));
    if (notValid.size === 0) return;
    await store.remove([...notValid]);
    await store.dropAnchors(grants.filter(({ id }) => notValid.has(id)).map(({ email }) => email));
  }

  /** Ends sessions of a shard that the directory finds not valid, so that their clients are told. */
  async function removeSessions(store: ElsewhereStore, sessions: readonly ComparedSession[]): Promise<void> {
    const notValid = await directory.notValid(sessions);
    if (notValid.length > 0) await store.endSessions(notValid);
  }

  /** Undefined also for people whose sign-ins all lie in the directory. */
  const signedOutAt = async (email: string): Promise<number | undefined> =>
    homes(email).length === 0 ? undefined : directory.signedOutAt(email);

  /** Removes the sign-ins of a person until the person was signed out. `untilMs`: this time, if it is known. */
  async function endSignedOut(email: string, untilMs?: number): Promise<{ readonly mayHaveMore: boolean }> {
    const endMs = untilMs ?? (await signedOutAt(email));
    if (endMs === undefined) return { mayHaveMore: false };
    const ended = await mapInParallel(homes(email), SHARDS_AT_ONCE, (store) => endIn(store, "user", email, endMs));
    return { mayHaveMore: ended.some(({ mayHaveMore }) => mayHaveMore) };
  }

  /** Removes the sign-ins and anchors of a person or client that is removed from the directory. */
  async function forget(kind: "user" | "client", key: string): Promise<void> {
    await inParallel(placesOf(kind === "user" ? key : undefined), SHARDS_AT_ONCE, async (store) => {
      await endIn(store, kind, key);
      await store.dropAnchor(kind, key);
    });
  }

  return {
    homes,
    directory,
    /** Removes all codes and grants of a client or tenant. */
    async end(
      kind: Exclude<EndedKind, "user">,
      key: string,
    ): Promise<{ readonly removed: number; readonly mayHaveMore: boolean }> {
      const ended = await mapInParallel(stores, SHARDS_AT_ONCE, (store) => endIn(store, kind, key));
      return {
        removed: ended.reduce((sum, { removed }) => sum + removed, 0),
        mayHaveMore: ended.some(({ mayHaveMore }) => mayHaveMore),
      };
    },
    endSignedOut,
    /** Makes a session void. Returns some of its codes and grants, which the caller revokes. `email`: if known. */
    async voidSession(sid: string, email: string | undefined): Promise<readonly RevokedGrant[]> {
      const found = await mapInParallel(placesOf(email), SHARDS_AT_ONCE, (store) => store.voidSession(sid, email));
      return found.flat();
    },
    /** Removes these codes and grants of a session. */
    async removeOfSession(sid: string, grants: readonly RevokedGrant[]): Promise<void> {
      await inParallel([...Map.groupBy(grants, ({ email }) => email)], SHARDS_AT_ONCE, async ([email, some]) => {
        const ids = some.map(({ id }) => id);
        for (const store of homes(email)) await store.removeOfSession(sid, email, ids);
      });
    },
    /** Removes a session that has no codes and grants any more. */
    async endSession(sid: string, email: string | undefined): Promise<void> {
      await inParallel(placesOf(email), SHARDS_AT_ONCE, (store) => store.endSession(sid));
    },
    forget,
    /** The same after the removal. If somebody has the address again, only sign-ins that are not valid go. */
    async forgetRemoved(kind: "user" | "client", key: string): Promise<void> {
      if (kind === "client" || (await signedOutAt(key)) === undefined) await forget(kind, key);
      else await endSignedOut(key);
    },
    /** Removes all codes and grants of a person for a client, and returns how many. */
    async endAccess(email: string, clientId: string): Promise<number> {
      const removed = await mapInParallel(homes(email), SHARDS_AT_ONCE, (store) => store.endAccess(email, clientId));
      return removed.reduce((sum, n) => sum + n, 0);
    },
    /** The last use of any grant of these clients, in ms; clients without grants are left out. */
    async lastUses(clientIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
      const uses = new Map<string, number>();
      if (clientIds.length === 0) return uses;
      const found = await mapInParallel(stores, SHARDS_AT_ONCE, (store) => store.lastUses(clientIds));
      for (const { clientId, lastUsedAtMs } of found.flat())
        uses.set(clientId, Math.max(uses.get(clientId) ?? 0, lastUsedAtMs));
      return uses;
    },
    /** Removes the grants and anchors of clients that nobody uses. */
    async endClients(clientIds: readonly string[]): Promise<void> {
      if (clientIds.length > 0) await inParallel(stores, SHARDS_AT_ONCE, (store) => store.endClients(clientIds));
    },
    /** Removes the anchors in a shard of those people that the directory does not know any more. */
    async dropAnchors(shard: number, emails: readonly string[]): Promise<void> {
      const gone = await directory.gone(emails);
      if (gone.length > 0) await stores[shard - 1]!.dropAnchors(gone);
    },
    /**
     * Checks of sign-ins against the directory, which remove those that are not valid. A step checks at most so many
     * and returns how many; fewer than the limit: the check is at its end. `chance`: returns a number in [0, 1).
     */
    checks: (nowMs: number, chance: () => number): readonly Check[] =>
      stores.flatMap((store) => [
        checkOf(keysAt(nowMs, RUNS_OF_AN_HOUR, chance()), store.sessionsWithClientsIn, (some) =>
          removeSessions(store, some),
        ),
        checkOf(keysAt(nowMs, RUNS_OF_A_DAY, chance()), store.grantsIn, (some) => removeGrants(store, some)),
      ]),
  };
}

export type Check = (limit: number) => Promise<number>;

/**
 * The check of a slice of a table. It begins anywhere in the slice, goes to the end, and then from the beginning on. So
 * rows get their turn in some round, even if no run comes through the whole slice.
 */
function checkOf<Row extends { readonly id: string }>(
  [from, middle, to]: readonly [string, string, string],
  read: (after: string, to: string, limit: number) => Promise<readonly Row[]>,
  removeNotValid: (rows: readonly Row[]) => Promise<void>,
): Check {
  const ends = [to, middle];
  let after = middle;
  return async (limit) => {
    for (let [end] = ends; end !== undefined; [end] = ends) {
      const rows = await read(after, end, limit);
      if (rows.length > 0) await removeNotValid(rows);
      after = rows.at(-1)?.id ?? after;
      if (rows.length === limit) return limit;
      ends.shift();
      after = from;
      if (rows.length > 0) return ends.length > 0 ? limit : rows.length;
    }
    return 0;
  };
}
