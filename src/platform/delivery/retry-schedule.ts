import { ENDPOINT } from "./limits.ts";
import type { Verdict } from "./response.ts";

/** Position of a delivery in its schedule since it was taken or redelivered. */
export interface Progress {
  /** Failures that used up a step of the schedule. */
  readonly step: number;
  /** Attempts of any outcome. */
  readonly tries: number;
}

export type AfterAttempt =
  | { readonly state: "delivered" | "dead" }
  | { readonly state: "pending"; readonly dueAtMs: number; readonly step: number };

/**
 * State of a delivery after an attempt. `before` does not count the attempt yet. `chance` in [0, 1) sets the jitter.
 * `scheduledMs` is the original due time if an update of the subscription triggered the attempt early. If such an
 * attempt fails, the schedule stays as it is: otherwise updates that repair nothing would use it up.
 *
 * The first times that the endpoint names hold exactly and use up no step; neither does a 410, so that an enabled
 * subscription has its whole schedule left. Later named times use up a step like any failure and can only extend the
 * delay, so an endpoint that always names one second does not shorten the schedule.
 */
export function afterAttempt(
  before: Progress,
  verdict: Verdict,
  nowMs: number,
  chance: number,
  scheduledMs?: number,
): AfterAttempt {
  if (verdict.kind === "delivered") return { state: "delivered" };
  const { step, tries } = before;
  const namedMs = verdict.kind === "later" ? verdict.atMs : 0;
  if (namedMs > 0 && tries - step < ENDPOINT.namedTimes) return { state: "pending", dueAtMs: namedMs, step };
  if (scheduledMs !== undefined) return { state: "pending", dueAtMs: Math.max(scheduledMs, namedMs), step };
  const isStep = verdict.kind !== "unwanted";
  const waitMs = ENDPOINT.retryMs[isStep ? step : 0];
  if (waitMs === undefined) return { state: "dead" };
  const dueAtMs = nowMs + Math.round(waitMs * (1 + ENDPOINT.jitter * chance));
  return { state: "pending", dueAtMs: Math.max(dueAtMs, namedMs), step: isStep ? step + 1 : step };
}
