import { DELIVERY } from "./limits.ts";
import type { Verdict } from "./push-answer.ts";

/** How far a delivery is in its schedule, since it was taken or delivered again. */
export interface Progress {
  /** Failures that the schedule answers for. */
  readonly step: number;
  /** Attempts of any outcome. */
  readonly tries: number;
}

export type AfterAttempt =
  | { readonly state: "delivered" | "dead" }
  | { readonly state: "pending"; readonly dueAtMs: number; readonly step: number };

/**
 * Where an attempt leaves its delivery (contract 3.5). `before` does not count the attempt yet. `chance` in [0, 1)
 * decides about the jitter.
 *
 * A time that the endpoint named uses up no step, nor does its wish for no more events: what is due when the subscription
 * is enabled again has its whole schedule still before it.
 */
export function afterAttempt(before: Progress, verdict: Verdict, nowMs: number, chance: number): AfterAttempt {
  if (verdict.kind === "delivered") return { state: "delivered" };
  if (before.tries + 1 >= DELIVERY.maxTries) return { state: "dead" };
  const { step } = before;
  if (verdict.kind === "later") return { state: "pending", dueAtMs: verdict.atMs, step };
  const failed = verdict.kind === "failed";
  const waitMs = DELIVERY.retryMs[failed ? step : 0];
  if (waitMs === undefined) return { state: "dead" };
  const dueAtMs = nowMs + Math.round(waitMs * (1 + DELIVERY.jitter * chance));
  return { state: "pending", dueAtMs, step: failed ? step + 1 : step };
}
