import type { Isolate } from "../../platform/copies/isolate.ts";
import { callEndpoint } from "../../platform/delivery/call.ts";
import {
  healthAfterAnswer,
  isSilent,
  pausedUntilMs,
  WELL,
  type EndpointHealth,
} from "../../platform/delivery/endpoint-health.ts";
import { errorOf, judge, type EndpointResponse } from "../../platform/delivery/response.ts";
import { afterAttempt } from "../../platform/delivery/retry-schedule.ts";
import { parseOutboundUrl } from "../../platform/outside/outbound-url.ts";
import type { Meter } from "../../platform/ports/metrics.ts";
import type { Tracing } from "../../platform/ports/tracing.ts";
import { DAY_MS } from "../../platform/runtime/clock.ts";
import type { Log } from "../../platform/runtime/log.ts";
import type { Trust } from "../tokens/trust.ts";
import type { AfterFailure, FailedAttempt, LogoutNotice, LogoutStore } from "./logout-store.ts";
import { issueLogoutToken } from "./logout-token.ts";

export interface AttemptDeps {
  readonly store: LogoutStore;
  readonly trust: Pick<Trust, "signingKey">;
  readonly isolate: Pick<Isolate, "nowMs" | "chance" | "pause">;
  readonly log: Log;
  readonly meter: Meter;
  readonly tracing: Tracing;
  readonly allowLoopback: boolean;
}

/** How long a notice waits: as long as a topic keeps events by default. */
export const WAITS_MS = 7 * DAY_MS;
/** A drain that takes a notice has it for this time. */
export const LEASE_MS = 30_000;
/** Attempts to change the health, against other drains. */
const HEALTH_CHANGES = 5;

/** An attempt to tell a client. */
export interface Told {
  /** Undefined: no further attempt. */
  readonly dueAtMs: number | undefined;
  readonly health: EndpointHealth;
}

/** Attempts to tell clients (logout.ts), and the health of their endpoints. */
export function createAttempts({ store, trust, isolate, log, meter, tracing, allowLoopback }: AttemptDeps) {
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
    const untilMs = isolate.nowMs() + LEASE_MS;
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
    if (!(await takeProbe(notice)) || !(await store.take(notice, isolate.nowMs() + LEASE_MS))) return undefined;
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

  return { tell, changeHealth };
}

const hostOf = (address: string): string => URL.parse(address)?.host ?? "";
