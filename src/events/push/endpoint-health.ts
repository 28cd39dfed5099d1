import { DELIVERY } from "../model/limits.ts";
import { judge, wasReached, type EndpointResponse } from "./response.ts";

/**
 * Health of the endpoint as a whole, across deliveries. An endpoint that only times out is tried ever more rarely, and
 * a `Retry-After` holds for every event. A silent endpoint is probed with the least tried event, so that an event it
 * never answers does not keep it silent for the others.
 *
 *   well ── an attempt without any answer ──────────────────────→ well        one slot less in the window
 *   well ── the sixth of them in a row ─────────────────────────→ silent      pause of 5 s
 *   silent ── pause over, one attempt alone: no answer ─────────→ silent      pause twice as long, up to 1 h
 *   silent ── any answer, however bad ─────────────────────────→ well
 *   any ── Retry-After ────────────────────────────────────────→ unchanged, paused until then, up to 1 h
 *   any ── a redelivery is asked for, a test arrives ──────────→ unchanged, not paused: somebody knows better
 *   any ── an event is answered 410 ───────────────────────────→ unwanted: nothing is sent; D1 is told (eligibility.ts)
 *   any ── the subscription is changed ────────────────────────→ well, not paused: it may be another endpoint; failed
 *          deliveries are due at once, until an attempt fails
 */
export interface Health {
  /** The record's version: health of one version says nothing about another. */
  readonly version: number;
  /** Consecutive attempts without any response. */
  readonly silent: number;
  readonly silentUntilMs: number;
  readonly retryAfterUntilMs: number;
  /** Deliveries not tried since this time are due, regardless of their schedule. */
  readonly anewFromMs?: number;
  /** The endpoint responded 410. Stored with the attempt, so that a crash does not lose it before D1 is told. */
  readonly unwanted?: true;
}

export const healthy = (version: number): Health => ({ version, silent: 0, silentUntilMs: 0, retryAfterUntilMs: 0 });

export const healthAfterChange = (version: number, nowMs: number): Health => ({
  ...healthy(version),
  anewFromMs: nowMs,
});

/** Returns deliveries to their schedule. */
export function onSchedule(health: Health): Health {
  if (health.anewFromMs === undefined) return health;
  const { anewFromMs: _, ...rest } = health;
  return rest;
}

/** Health after a response of the endpoint, or none. A call refused on our side only counts as a failure. */
export function healthAfter(before: Health, answer: EndpointResponse, nowMs: number): Health {
  const verdict = judge(answer, nowMs);
  const health = verdict.kind === "delivered" ? before : onSchedule(before);
  if (answer.kind === "refused") return health;
  if (!wasReached(answer)) return unanswered(health, nowMs);
  return verdict.kind === "later" ? askedToWait(answered(health), verdict.atMs, nowMs) : answered(health);
}

export const answered = (health: Health): Health =>
  health.silent === 0 ? health : { ...health, silent: 0, silentUntilMs: 0 };

/**
 * Counts an attempt without a response. At the sixth no other attempt is in flight, since the window shrank with each.
 */
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
    ignoreTooLate(health.retryAfterUntilMs, DELIVERY.maxRetryAfterPauseMs, nowMs),
    Math.min(atMs, nowMs + DELIVERY.maxRetryAfterPauseMs),
  ),
});

/**
 * Ends the pause, because somebody believes that the endpoint responds again. A silent one still gets a single
 * attempt.
 */
export const withoutPause = (health: Health): Health =>
  health.silentUntilMs === 0 && health.retryAfterUntilMs === 0
    ? health
    : { ...health, silentUntilMs: 0, retryAfterUntilMs: 0 };

/** End of the pause; 0 or a past time if it is not paused. */
export const pausedUntilMs = ({ silentUntilMs, retryAfterUntilMs }: Health, nowMs: number): number =>
  Math.max(
    ignoreTooLate(silentUntilMs, DELIVERY.maxSilentPauseMs, nowMs),
    ignoreTooLate(retryAfterUntilMs, DELIVERY.maxRetryAfterPauseMs, nowMs),
  );

/** Ignores a pause longer than the maximum: the clock was set back since. */
const ignoreTooLate = (untilMs: number, maxMs: number, nowMs: number): number =>
  untilMs > nowMs + maxMs ? 0 : untilMs;

export const isSilent = ({ silent }: Health): boolean => silent >= DELIVERY.silentAttempts;

/** Number of parallel attempts without a pause: fewer the longer the endpoint was silent, and one as the probe. */
export const windowSize = (health: Health): number => Math.max(1, DELIVERY.window - health.silent);
