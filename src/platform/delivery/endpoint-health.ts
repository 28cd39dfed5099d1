import { ENDPOINT } from "./limits.ts";
import { judge, wasReached, type EndpointResponse } from "./response.ts";

/**
 * Health of an endpoint as a whole, across deliveries: its circuit breaker. An endpoint that only times out is tried
 * ever more rarely, and a `Retry-After` applies to all of its deliveries.
 *
 *   well ── an attempt without any answer ──────────────────────→ well        one slot less in the window
 *   well ── the sixth such attempt in a row ────────────────────→ silent      pause of 5 s
 *   silent ── pause over, one attempt: no answer ───────────────→ silent      pause twice as long, up to 1 h
 *   silent ── any answer, however bad ─────────────────────────→ well
 *   any ── Retry-After ────────────────────────────────────────→ unchanged, paused until then, up to 1 h
 *   any ── a redelivery is requested ──────────────────────────→ unchanged, no longer paused
 */
export interface EndpointHealth {
  /** Consecutive attempts without any response. */
  readonly silent: number;
  readonly silentUntilMs: number;
  readonly retryAfterUntilMs: number;
}

export const WELL: EndpointHealth = { silent: 0, silentUntilMs: 0, retryAfterUntilMs: 0 };

/** Health after an attempt. A call that the platform refused says nothing about the endpoint. */
export function healthAfterAnswer<H extends EndpointHealth>(health: H, answer: EndpointResponse, nowMs: number): H {
  if (answer.kind === "refused") return health;
  if (!wasReached(answer)) return unanswered(health, nowMs);
  const verdict = judge(answer, nowMs);
  return verdict.kind === "later" ? askedToWait(answered(health), verdict.atMs, nowMs) : answered(health);
}

export const answered = <H extends EndpointHealth>(health: H): H =>
  health.silent === 0 ? health : { ...health, silent: 0, silentUntilMs: 0 };

/**
 * Counts an attempt without a response. At the sixth no other attempt is in flight, since the window shrank with each.
 */
export function unanswered<H extends EndpointHealth>(health: H, nowMs: number): H {
  const silent = health.silent + 1;
  const over = silent - ENDPOINT.silentAttempts;
  if (over < 0) return { ...health, silent };
  const pauseMs = Math.min(ENDPOINT.minSilentPauseMs * 2 ** over, ENDPOINT.maxSilentPauseMs);
  return { ...health, silent, silentUntilMs: nowMs + pauseMs };
}

export const askedToWait = <H extends EndpointHealth>(health: H, atMs: number, nowMs: number): H => ({
  ...health,
  retryAfterUntilMs: Math.max(
    ignoreTooLate(health.retryAfterUntilMs, ENDPOINT.maxRetryAfterPauseMs, nowMs),
    Math.min(atMs, nowMs + ENDPOINT.maxRetryAfterPauseMs),
  ),
});

/**
 * Ends the pause, since whoever requested it expects a response. A silent endpoint still gets one attempt at a time.
 */
export const withoutPause = <H extends EndpointHealth>(health: H): H =>
  health.silentUntilMs === 0 && health.retryAfterUntilMs === 0
    ? health
    : { ...health, silentUntilMs: 0, retryAfterUntilMs: 0 };

/** End of the pause; 0 or a past time if it is not paused. */
export const pausedUntilMs = ({ silentUntilMs, retryAfterUntilMs }: EndpointHealth, nowMs: number): number =>
  Math.max(
    ignoreTooLate(silentUntilMs, ENDPOINT.maxSilentPauseMs, nowMs),
    ignoreTooLate(retryAfterUntilMs, ENDPOINT.maxRetryAfterPauseMs, nowMs),
  );

/** Ignores a pause longer than the maximum: the clock was set back since. */
const ignoreTooLate = (untilMs: number, maxMs: number, nowMs: number): number =>
  untilMs > nowMs + maxMs ? 0 : untilMs;

export const isSilent = ({ silent }: EndpointHealth): boolean => silent >= ENDPOINT.silentAttempts;

/** Maximum parallel attempts while there is no pause: one less after each attempt without a response, at least one. */
export const windowSize = (health: EndpointHealth): number => Math.max(1, ENDPOINT.window - health.silent);
