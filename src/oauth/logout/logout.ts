import { pausedUntilMs, WELL, windowSize, withoutPause } from "../../platform/delivery/endpoint-health.ts";
import { ENDPOINT } from "../../platform/delivery/limits.ts";
import { throwTogether } from "../../platform/runtime/attempt-each.ts";
import { inParallel } from "../../platform/runtime/parallel.ts";
import { SHARDS_AT_ONCE } from "../../platform/storage/shards.ts";
import { shardsOfEnd, type EndedWhere } from "../homes/home.ts";
import { createAttempts, LEASE_MS, WAITS_MS, type AttemptDeps, type Told } from "./attempt.ts";
import type { createLogoutShard, LogoutNotice, LogoutStore, SessionClient } from "./logout-store.ts";

/**
 * Back-channel logout (OpenID Connect Back-Channel Logout 1.0): a client that is registered with an address is told
 * there when a session ends in which its person signed in to it.
 *
 *   tokens for a client ── with the code ──▶ session_client: who is to be told
 *   the session ends ───── same transaction, by trigger ──▶ logout_notice, one for each client: pending
 *   pending ── an attempt: 2xx ────────────────────────────▶ told: its row is deleted
 *   pending ── any other answer, or none ──────────────────▶ pending, due by the schedule of push
 *   pending ── the ninth failure, 410, or a week ──────────▶ dead, kept for 30 days
 *   dead ── the operator redelivers ───────────────────────▶ pending, with its whole schedule
 *
 * A session of another database than the directory has its rows there, and the notice waits there until a drain has
 * brought it to the directory, which has the clients:
 *
 *   logout_notice of a shard ──▶ claimed by a drain ──▶ the same in the directory, by its id ──▶ removed there
 *
 * A notice whose drain was cut off is claimed again. The client may then get it twice, which can always happen.
 *
 * A session ends by `/end_session`, at the account page, by another person's sign-in in the browser, by a new password,
 * and by the operator. Clients know the 12 h of a session, so they are not told when these are over.
 *
 * The rules are those of push (platform/delivery): the meaning of an answer, the pauses, `Retry-After`, and the circuit
 * breaker, whose state is in logout_endpoint while the endpoint is not well. The request that ended a session starts a
 * drain after its answer, which also waits for notices that are due again within seconds. The cron sends the others,
 * every five minutes.
 *
 * At least once: a drain that is cut off after the client answered sends the notice again, with the same `jti`. Two
 * drains at a time share the notices, because taking one is a conditional write. So is a change of the health.
 */
export interface LogoutDeps extends AttemptDeps {
  /** The databases besides the directory, by number, from 1 on. */
  readonly elsewhere: readonly LogoutShard[];
}

/** A drain takes at most the 30 s that an invocation has after its answer: its last attempt begins before `runMs`. */
const DRAIN = { notices: 50, atOnce: 6, collected: 200, runMs: 12_000 } as const;
/** Dead letters of all clients, and those that one request sends again. */
const DEAD = { kept: 10_000, redelivered: 500 } as const;
/** How often an isolate looks for registered clients, on a platform that had none. */
const UNUSED_MS = 60_000;

type LogoutShard = ReturnType<typeof createLogoutShard>;

export type Logouts = ReturnType<typeof createLogouts>;

export function createLogouts({ elsewhere, ...deps }: LogoutDeps) {
  const { store, isolate } = deps;
  const { tell, changeHealth } = createAttempts(deps);

  /** Sends these notices, as many at once as the health of endpoints allows. Returns when the first is due again. */
  async function tellAll(notices: readonly LogoutNotice[], endsMs: number): Promise<number> {
    const queue = [...notices];
    const healths = new Map(notices.map(({ clientId, health }) => [clientId, health?.health ?? WELL]));
    const inFlight = new Map<string, number>();
    let soonestMs = Infinity;
    const next = (): LogoutNotice | undefined => {
      const at = queue.findIndex(({ clientId }) => {
        const health = healths.get(clientId) ?? WELL;
        return (inFlight.get(clientId) ?? 0) < windowSize(health);
      });
      return at < 0 ? undefined : queue.splice(at, 1)[0];
    };
    const soonestOf = ({ dueAtMs = Infinity, health }: Told): number =>
      Math.max(dueAtMs, pausedUntilMs(health, isolate.nowMs()));
    const isPaused = ({ clientId, waitsSinceMs }: LogoutNotice): boolean =>
      pausedUntilMs(healths.get(clientId) ?? WELL, isolate.nowMs()) > isolate.nowMs() &&
      isolate.nowMs() - waitsSinceMs < WAITS_MS;
    const work = async (): Promise<void> => {
      for (let notice = next(); notice !== undefined && isolate.nowMs() < endsMs; notice = next()) {
        const { clientId, address } = notice;
        // A client that was unregistered meanwhile is not told.
        if (address === "") await store.settle(notice);
        if (address === "" || isPaused(notice)) continue;
        inFlight.set(clientId, (inFlight.get(clientId) ?? 0) + 1);
        try {
          const told = await tell(notice, () => healths.get(clientId) === WELL);
          if (told !== undefined) healths.set(clientId, told.health);
          if (told !== undefined) soonestMs = Math.min(soonestMs, soonestOf(told));
        } finally {
          inFlight.set(clientId, (inFlight.get(clientId) ?? 1) - 1);
        }
      }
    };
    // If a worker fails, the others do its share. A notice that it took is due again after its lease.
    const ends = await Promise.allSettled(Array.from({ length: DRAIN.atOnce }, work));
    throwTogether(ends.flatMap((end) => (end.status === "rejected" ? [end.reason as unknown] : [])));
    return soonestMs;
  }

  /** Brings the notices of a shard to the directory. */
  async function collect(shard: LogoutShard): Promise<void> {
    for (;;) {
      const nowMs = isolate.nowMs();
      const notices = await shard.claim(nowMs, nowMs + LEASE_MS, DRAIN.collected);
      if (notices.length === 0) return;
      await store.adopt(notices);
      await shard.drop(notices);
      if (notices.length < DRAIN.collected) return;
    }
  }

  const storeOf = (shard: number): Pick<LogoutStore, "rememberStatements" | "run"> =>
    shard === 0 ? store : elsewhere[shard - 1]!;

  /** The time at which no client was registered for notices. */
  let unusedAtMs = Number.NEGATIVE_INFINITY;
  return {
    /** Statements for the transaction that gives the client its tokens, in the database of the session. */
    rememberStatements: (told: SessionClient, shard: number): readonly D1PreparedStatement[] =>
      storeOf(shard).rememberStatements(told),
    /** The same in a transaction of its own. */
    remember: (told: SessionClient, shard: number): Promise<void> =>
      storeOf(shard).run(storeOf(shard).rememberStatements(told)),
    /** False while this isolate knows that no client is registered. The cron serves clients that register meanwhile. */
    isUsed: (): boolean => Math.abs(isolate.nowMs() - unusedAtMs) >= UNUSED_MS,
    recordsChanged: (): void => void (unusedAtMs = Number.NEGATIVE_INFINITY),
    /** Sends the notices that are due, and with "nothing is soon due" those that are due again within seconds. */
    async drain(until: "nothing is due" | "nothing is soon due", ended: EndedWhere): Promise<void> {
      const endsMs = isolate.nowMs() + DRAIN.runMs;
      await inParallel(shardsOfEnd(ended, elsewhere.length + 1), SHARDS_AT_ONCE, (number) =>
        collect(elsewhere[number - 1]!),
      );
      for (;;) {
        const nowMs = isolate.nowMs();
        const { due, isUsed } = await store.due(nowMs, DRAIN.notices, nowMs - WAITS_MS);
        unusedAtMs = isUsed ? Number.NEGATIVE_INFINITY : nowMs;
        const soonestMs = await tellAll(due, endsMs);
        if (isolate.nowMs() >= endsMs) return;
        if (due.length === DRAIN.notices) continue;
        if (until === "nothing is due" || soonestMs >= endsMs) return;
        await isolate.pause(Math.max(0, soonestMs - isolate.nowMs()));
      }
    },
    /** Redelivers dead letters of a client, the latest first, even to an endpoint that was silent. */
    async redeliver(clientId: string, address: string, audit: D1PreparedStatement): Promise<number> {
      const again = await store.redeliver(clientId, DEAD.redelivered, isolate.nowMs(), audit);
      await changeHealth({ clientId, address, health: await store.health(clientId, address) }, withoutPause);
      return again;
    },
    /** Removes dead letters that are too old or too many. */
    deleteDead: (nowMs: number, rows: number): Promise<number> =>
      store.deleteDead(nowMs - ENDPOINT.deadKeptMs, DEAD.kept, rows),
  };
}
