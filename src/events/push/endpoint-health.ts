import { healthAfterAnswer, WELL, type EndpointHealth } from "../../platform/delivery/endpoint-health.ts";
import { judge, type EndpointResponse } from "../../platform/delivery/response.ts";

/**
 * Health of the endpoint of one version of a subscription. A silent endpoint is probed with the least tried event, so
 * that an event it never answers does not keep it silent for the others.
 *
 *   any ── answers, none, Retry-After ─────────────────────────→ as for every endpoint (platform/delivery)
 *   any ── a test arrives ─────────────────────────────────────→ unchanged, not paused: somebody knows better
 *   any ── an event is answered 410 ───────────────────────────→ unwanted: nothing is sent; D1 is told (eligibility.ts)
 *   any ── the subscription is changed ────────────────────────→ well, not paused: it may be another endpoint; failed
 *          deliveries are due at once, until an attempt fails
 */
export interface Health extends EndpointHealth {
  /** The record's version: health of one version says nothing about another. */
  readonly version: number;
  /** Deliveries not tried since this time are due, regardless of their schedule. */
  readonly anewFromMs?: number;
  /** The endpoint responded 410. Stored with the attempt, so that a crash does not lose it before D1 is told. */
  readonly unwanted?: true;
}

export const healthy = (version: number): Health => ({ version, ...WELL });

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
export const healthAfter = (before: Health, answer: EndpointResponse, nowMs: number): Health =>
  healthAfterAnswer(judge(answer, nowMs).kind === "delivered" ? before : onSchedule(before), answer, nowMs);
