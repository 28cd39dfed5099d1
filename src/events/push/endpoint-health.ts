import { DELIVERY } from "../model/limits.ts";
import { judge, wasReached, type EndpointResponse } from "./response.ts";

/**
 * How the endpoint as a whole is, apart from any one delivery (contract 3.5): an endpoint that only times out is asked
 * ever more rarely, and a `Retry-After` holds for every event. A silent one is asked by what was tried least, so that events
 * that it never answers do not keep it silent for the others.
 *
 *   well ── an attempt without any answer ──────────────────────→ well        one place in the window less
 *   well ── the sixth of them in a row ─────────────────────────→ silent      pause of 5 s
 *   silent ── pause over, one attempt alone: no answer ─────────→ silent      pause twice as long, up to 1 h
 *   silent ── any answer, however bad ─────────────────────────→ well
 *   any ── Retry-After ────────────────────────────────────────→ as it was, paused until then, up to 1 h
 *   any ── a redelivery is asked for, a test arrives ──────────→ as it was, not paused: somebody knows better
 *   any ── an event is answered 410 ───────────────────────────→ unwanted: nothing is sent, and D1 is told (eligibility.ts)
 *   any ── the subscription is changed ────────────────────────→ well, not paused: it may be another endpoint; what
 *          failed before is due at once, until an attempt fails
 */
export interface Health {
  /** Of the record: what was learned about one version says nothing about another. */
  readonly version: number;
  /** Attempts in a row without any answer. */
  readonly silent: number;
  readonly silentUntilMs: number;
  readonly retryAfterUntilMs: number;
  /** What was tried, and not since this time, is due, whatever its schedule says. */
  readonly anewFromMs?: number;
  /** The endpoint answered 410. Stored with the attempt, so that a crash before D1 is told does not forget it. */
  readonly unwanted?: true;
}

export const wellOf = (version: number): Health => ({ version, silent: 0, silentUntilMs: 0, retryAfterUntilMs: 0 });

export const changedTo = (version: number, nowMs: number): Health => ({ ...wellOf(version), anewFromMs: nowMs });

/** From here on each delivery keeps to its schedule. */
export function onSchedule(health: Health): Health {
  if (health.anewFromMs === undefined) return health;
  const { anewFromMs: _, ...rest } = health;
  return rest;
}

/** What an answer, or none, of the endpoint tells about it. A call that was refused here tells only that it failed. */
export function learned(before: Health, answer: EndpointResponse, nowMs: number): Health {
  const verdict = judge(answer, nowMs);
  const health = verdict.kind === "delivered" ? before : onSchedule(before);
  if (answer.kind === "refused") return health;
  if (!wasReached(answer)) return unanswered(health, nowMs);
  return verdict.kind === "later" ? askedToWait(answered(health), verdict.atMs, nowMs) : answered(health);
}

export const answered = (health: Health): Health =>
  health.silent === 0 ? health : { ...health, silent: 0, silentUntilMs: 0 };

/** When the sixth is counted no other attempt is in flight: the window has closed with the silence. */
export function unanswered(health: Health, nowMs: number): Health {
  const silent = health.silent + 1;
  const over = silent - DELIVERY.silentAttempts;
  if (over < 0) return { ...health, silent };
  const pauseMs = Math.min(DELIVERY.minSilentPauseMs * 2 ** over, DELIVERY.maxSilentPauseMs);
  return { ...health, silent, silentUntilMs: nowMs + pauseMs };
}

export const askedToWait = (health: Health, atMs: number, nowMs: number): Health => ({
  ...health,
  retryAfterUntilMs: Math.max(
    credible(health.retryAfterUntilMs, DELIVERY.maxRetryAfterPauseMs, nowMs),
    Math.min(atMs, nowMs + DELIVERY.maxRetryAfterPauseMs),
  ),
});

/** Somebody has reason to believe that it answers again: it is asked now, after a silence by one attempt alone. */
export const probed = (health: Health): Health =>
  health.silentUntilMs === 0 && health.retryAfterUntilMs === 0
    ? health
    : { ...health, silentUntilMs: 0, retryAfterUntilMs: 0 };

/** Until when nothing is sent; a time that is over, or 0, when it is not paused. */
export const pausedUntilMs = ({ silentUntilMs, retryAfterUntilMs }: Health, nowMs: number): number =>
  Math.max(
    credible(silentUntilMs, DELIVERY.maxSilentPauseMs, nowMs),
    credible(retryAfterUntilMs, DELIVERY.maxRetryAfterPauseMs, nowMs),
  );

/** A pause that would last longer than any does was set before the clock was set back: it counts as none. */
const credible = (untilMs: number, maxMs: number, nowMs: number): number => (untilMs > nowMs + maxMs ? 0 : untilMs);

export const isSilent = ({ silent }: Health): boolean => silent >= DELIVERY.silentAttempts;

/** How many attempts may be in flight when it is not paused: the fewer, the longer it was silent; one as the probe. */
export const windowOf = (health: Health): number => Math.max(1, DELIVERY.window - health.silent);
