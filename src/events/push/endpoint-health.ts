import { healthAfterAnswer, WELL, type EndpointHealth } from "../../platform/delivery/endpoint-health.ts";
import { judge, type EndpointResponse } from "../../platform/delivery/response.ts";

/**
 * Health of the endpoint of one version of a subscription. A silent endpoint is probed with the least tried event, so
 * that an event it never answers does not keep it silent for the others.
 *
 *   any ── answers, none, Retry-After ─────────────────────────→ as for every endpoint (platform/delivery)
 *   any ── a test event gets a 2xx ────────────────────────────→ as for every endpoint, and not paused
 *   any ── an event is answered 410 ───────────────────────────→ unwanted: nothing is sent, and the record is disabled
 *   any ── the subscription is changed ────────────────────────→ well, not paused: it may be another endpoint; failed
 *          deliveries are due at once, until an attempt fails
 */
export interface Health extends EndpointHealth {
  /** Version of the record. Another version may have another endpoint, so its health starts anew. */
  readonly version: number;
  /** Deliveries not tried since this time are due, regardless of their schedule. */
  readonly anewFromMs?: number;
  /** The endpoint responded 410. Stored here, so that a crash before the update in D1 does not lose it. */
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

/** Health after a call of the endpoint, with or without a response. */
export const healthAfter = (before: Health, answer: EndpointResponse, nowMs: number): Health =>
  healthAfterAnswer(judge(answer, nowMs).kind === "delivered" ? before : onSchedule(before), answer, nowMs);
