import type { Isolate } from "../../platform/copies/isolate.ts";
import { callEndpoint } from "../../platform/delivery/call.ts";
import {
  healthAfterAnswer,
  isSilent,
  pausedUntilMs,
  WELL,
  windowSize,
  withoutPause,
  type EndpointHealth,
} from "../../platform/delivery/endpoint-health.ts";
import { ENDPOINT } from "../../platform/delivery/limits.ts";
import { errorOf, judge, type EndpointResponse } from "../../platform/delivery/response.ts";
import { afterAttempt } from "../../platform/delivery/retry-schedule.ts";
import { inParallel } from "../../platform/runtime/parallel.ts";
import { SHARDS_AT_ONCE } from "../../platform/storage/shards.ts";
import { shardsOfEnd, type EndedWhere } from "../homes/home.ts";
import { throwTogether } from "../../platform/runtime/attempt-each.ts";
import type { Log } from "../../platform/runtime/log.ts";
import { parseOutboundUrl } from "../../platform/outside/outbound-url.ts";
import type { Meter } from "../../platform/ports/metrics.ts";
import type { Tracing } from "../../platform/ports/tracing.ts";
import type { Trust } from "../tokens/trust.ts";
import type {
  AfterFailure,
  createLogoutShard,
  FailedAttempt,
  LogoutNotice,
  LogoutStore,
  SessionClient,
} from "./logout-store.ts";
import { issueLogoutToken } from "./logout-token.ts";
import { DAY_MS } from "../../platform/runtime/clock.ts";

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
export interface LogoutDeps {
  readonly store: LogoutStore;
  /** The databases besides the directory, by number, from 1 on. */
  readonly elsewhere: readonly LogoutShard[];
  readonly trust: Pick<Trust, "signingKey">;
  readonly isolate: Pick<Isolate, "nowMs" | "chance" | "pause">;
  readonly log: Log;
  readonly meter: Meter;
  readonly tracing: Tracing;
  readonly allowLoopback: boolean;
}

/** A drain takes at most the 30 s that an invocation has after its answer: its last attempt begins before `runMs`. */
const DRAIN = { notices: 50, atOnce: 6, collected: 200, runMs: 12_000, leaseMs: 30_000 } as const;
/** How long a notice waits: as long as a topic keeps events by default. */
const WAITS_MS = 7 * DAY_MS;
/** Dead letters of all clients, and those that one request sends again. */
const DEAD = { kept: 10_000, redelivered: 500 } as const;
/** Attempts to change the health, against other drains. */
const HEALTH_CHANGES = 5;

/** How often an isolate looks for registered clients, on a platform that had none. */
const UNUSED_MS = 60_000;

type LogoutShard = ReturnType<typeof createLogoutShard>;

export type Logouts = ReturnType<typeof createLogouts>;

export function createLogouts({ store, elsewhere, trust, isolate, log, meter, tracing, allowLoopback }: LogoutDeps) {
  /** Changes the health of the client's endpoint from what is stored now. Returns what it became. */
  async function changeHealth(
    notice: Pick<LogoutNotice, "clientId" | "address" | "health">,
    change: (health: EndpointHealth) => EndpointHealth,
  ): Promise<EndpointHealth> {
    let before = notice.health;
    for (let times = 0; ; times++) {
      const health = before?.health ?? WELL;
      const after = change(health);
      const isWell = after.silent === 0 && pausedUntilMs(after, isolate.nowMs()) <= isolate.nowMs();
      if (after === health && (before === undefined) === isWell) return after;
      const next = isWell ? undefined : { health: after, pausedUntilMs: pausedUntilMs(after, isolate.nowMs()) };
      if ((await store.setHealth(notice, before, next)) || times === HEALTH_CHANGES) return after;
      before = await store.health(notice.clientId, notice.address);
    }
  }

  /** Lets only one attempt try a silent endpoint: its pause begins with the attempt, for all drains. */
  async function takeProbe(notice: LogoutNotice): Promise<boolean> {
    const { health: before } = notice;
    if (before === undefined || !isSilent(before.health)) return true;
    const untilMs = isolate.nowMs() + DRAIN.leaseMs;
    return store.setHealth(notice, before, {
      health: { ...before.health, silentUntilMs: untilMs },
      pausedUntilMs: untilMs,
    });
  }

  /** Sends a notice. Returns the time of the next attempt, if there is one, and the endpoint's health. */
  async function tell(notice: LogoutNotice, isWell: () => boolean): Promise<Told | undefined> {
    const { id, clientId, sid, attempts, address, waitsSinceMs } = notice;
    const about = { noticeId: id, clientId, sessionId: sid, attempt: attempts + 1, host: hostOf(address) };
    if (isolate.nowMs() - waitsSinceMs >= WAITS_MS) {
      await store.expire(notice, isolate.nowMs());
      log.warn("client never told of a logout", about);
      return undefined;
    }
    if (!(await takeProbe(notice)) || !(await store.take(notice, isolate.nowMs() + DRAIN.leaseMs))) return undefined;
    const atMs = isolate.nowMs();
    const answer = await post(notice);
    const error = errorOf(answer);
    meter.add("logouts_told", { service: "oauth", label: error === undefined ? "delivered" : "failed" });
    if (error === undefined) {
      await store.settle(notice);
      log.info("client told of a logout", about);
    }
    // An endpoint that is well, as most are, needs no read here.
    const stored = notice.health === undefined && isWell() ? undefined : await store.health(clientId, address);
    const health = await changeHealth({ clientId, address, health: stored }, (before) =>
      healthAfterAnswer(before, answer, isolate.nowMs()),
    );
    if (error === undefined) return { dueAtMs: undefined, health };
    const status = answer.kind === "answered" ? answer.status : undefined;
    const last: FailedAttempt = { atMs, status, error };
    const after = afterFailure(notice, answer);
    await store.fail(notice, after, last);
    const outcome = after.state === "dead" ? "client never told of a logout" : "client not told of a logout";
    log.warn(outcome, { ...about, failed: status === undefined ? error : `status ${status}` });
    return { dueAtMs: after.state === "dead" ? undefined : after.dueAtMs, health };
  }

  /** The rule of push, except that there is no subscription to disable: a 410 refuses only this notice. */
  function afterFailure({ progress }: LogoutNotice, answer: EndpointResponse): AfterFailure {
    const nowMs = isolate.nowMs();
    const verdict = judge(answer, nowMs);
    const after = verdict.kind === "unwanted" ? undefined : afterAttempt(progress, verdict, nowMs, isolate.chance());
    if (after?.state !== "pending") return { state: "dead" };
    return { ...after, progress: { step: after.step, tries: progress.tries + 1 } };
  }

  async function post(notice: LogoutNotice): Promise<EndpointResponse> {
    const address = parseOutboundUrl(notice.address, allowLoopback);
    if (!address.ok) return { kind: "refused" };
    const body = new URLSearchParams({ logout_token: await issueLogoutToken(notice, trust, isolate.nowMs()) });
    return tracing.child("POST logout token", { "server.address": address.value.hostname }, async (span) => {
      const { answer } = await callEndpoint(address.value, {}, body);
      if (answer.kind === "answered") span.set({ "http.response.status_code": answer.status });
      else span.fail(answer.kind);
      return answer;
    });
  }

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
      const notices = await shard.claim(nowMs, nowMs + DRAIN.leaseMs, DRAIN.collected);
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

interface Told {
  /** Undefined: no further attempt. */
  readonly dueAtMs: number | undefined;
  readonly health: EndpointHealth;
}

const hostOf = (address: string): string => URL.parse(address)?.host ?? "";
