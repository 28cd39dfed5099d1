import { inParallel, mapInParallel } from "../../platform/runtime/parallel.ts";
import { SHARDS_AT_ONCE, type Shards } from "../../platform/storage/shards.ts";
import { RUNS_OF_A_DAY, sliceAt } from "../model/slice.ts";
import type { OwnerKind } from "../tokens/trust-store.ts";
import { createElsewhereDirectory, createElsewhereStore, type ElsewhereStore } from "./elsewhere-store.ts";
import type { RevokedGrant } from "./grant-revocation.ts";
import { homesOf } from "./home.ts";

/**
 * Refresh grants that lie elsewhere than in the directory, when all of a person, client, tenant or session ends. On a
 * platform of one database there are none, and nothing is asked.
 *
 * A person's grants are asked for in the person's homes (homes/home.ts), those of a client or tenant in every shard. No
 * transaction spans two databases; what the directory decides is in one of its own:
 *
 *   person             signed out or removed in the directory ──▶ removed elsewhere. Until then each use finds in the
 *                      directory that the sign-in is not valid.
 *   client, tenant     removed elsewhere ──▶ revoked until now in the directory, codes removed ──▶ removed elsewhere,
 *                      since codes may have been redeemed; if there were any, revoked until now once more
 *   session            its grants read ──▶ made void ──▶ revoked in the directory, each by its id ──▶ removed
 *                      elsewhere, until there are none
 *
 * A crash between two steps is an error for the caller, who repeats the request: each step can be repeated. Grants that
 * are left over are void, or of people and clients that are gone. They give nothing, and `sweep` removes them within a
 * day.
 */
export type Elsewhere = ReturnType<typeof createElsewhere>;

/** As grants/revoke-all-store.ts. */
const MAX_STEPS = 20;
/** Grants of a session that are revoked one by one, in one transaction. */
const SESSION_PAGE = 500;
/** Grants that one statement compares with the directory. */
const COMPARED = 500;

export function createElsewhere(shards: Shards) {
  const [{ db }] = shards;
  const directory = createElsewhereDirectory(db);
  const stores = shards.slice(1).map((shard) => createElsewhereStore(shard.db));
  const homes = (email: string): readonly ElsewhereStore[] =>
    homesOf(email, shards.length).flatMap((number) => stores[number - 1] ?? []);
  const placesOf = (kind: OwnerKind, key: string, email: string | undefined): readonly ElsewhereStore[] => {
    const person = kind === "user" ? key : email;
    return person === undefined ? stores : homes(person);
  };

  async function endIn(store: ElsewhereStore, kind: OwnerKind, key: string) {
    let [removed, mayHaveMore] = [0, true];
    for (let step = 0; step < MAX_STEPS && mayHaveMore; step++) {
      const ended = await store.end(kind, key);
      removed += ended.removed;
      ({ mayHaveMore } = ended);
    }
    return { removed, mayHaveMore };
  }

  /** Removes grants of a shard whose person, sign-in or client is gone from the directory, of a day's part of all. */
  async function sweepIn(store: ElsewhereStore, nowMs: number): Promise<void> {
    const part = sliceAt(nowMs, RUNS_OF_A_DAY);
    for (let after = part.from; ;) {
      const grants = await store.part(after, part, COMPARED);
      if (grants.length === 0) return;
      const over = new Set(await directory.over(grants));
      if (over.size > 0) {
        await store.remove([...over]);
        const people = grants.filter(({ id }) => over.has(id)).map(({ email }) => email);
        for (const email of await store.anchorsLeft([...new Set(people)])) await store.dropAnchor("user", email);
      }
      if (grants.length < COMPARED) return;
      after = grants.at(-1)!.id;
    }
  }

  return {
    homes,
    directory,
    /** Removes all grants of an owner. `email`: the person of a session, if known. */
    async end(
      kind: OwnerKind,
      key: string,
      email?: string,
    ): Promise<{ readonly removed: number; readonly mayHaveMore: boolean }> {
      const ended = await mapInParallel(placesOf(kind, key, email), SHARDS_AT_ONCE, (store) => endIn(store, kind, key));
      return {
        removed: ended.reduce((sum, { removed }) => sum + removed, 0),
        mayHaveMore: ended.some(({ mayHaveMore }) => mayHaveMore),
      };
    },
    /** Some grants of a session. */
    async ofSession(sid: string, email: string | undefined): Promise<readonly RevokedGrant[]> {
      const found = await mapInParallel(placesOf("session", sid, email), SHARDS_AT_ONCE, (store) =>
        store.ofSession(sid, SESSION_PAGE),
      );
      return found.flat().slice(0, SESSION_PAGE);
    },
    /** Removes all of a person or client that is removed from the directory, with its anchors. */
    async forget(kind: "user" | "client", key: string): Promise<void> {
      await inParallel(placesOf(kind, key, undefined), SHARDS_AT_ONCE, async (store) => {
        await endIn(store, kind, key);
        await store.dropAnchor(kind, key);
      });
    },
    /** Removes all grants of a person to a client, and returns how many. */
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
    /** Removes all of clients that nobody uses. */
    async endClients(clientIds: readonly string[]): Promise<void> {
      if (clientIds.length > 0) await inParallel(stores, SHARDS_AT_ONCE, (store) => store.endClients(clientIds));
    },
    /** Removes what is left over of people and clients that are gone. */
    async sweep(nowMs: number): Promise<void> {
      await inParallel(stores, SHARDS_AT_ONCE, (store) => sweepIn(store, nowMs));
    },
  };
}
