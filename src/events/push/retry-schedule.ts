import type { Random } from "../../platform/random.ts";
import { DELIVERY } from "../model/limits.ts";
import type { Verdict } from "./response.ts";

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
 * decides about the jitter. `scheduledMs` is when it was due, of an attempt that an update of the subscription brought
 * forward: if it fails, the schedule goes on as it stood, or updates that repair nothing would use it up.
 *
 * The first times that the endpoint names use up no step and hold exactly, nor does its wish for no more events: what is
 * due when the subscription is enabled again has its whole schedule still before it. Later ones use up a step like any
 * failure and may only make it longer: so an endpoint that always names a second takes no part of the schedule away.
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
  if (namedMs > 0 && tries - step < DELIVERY.namedTimes) return { state: "pending", dueAtMs: namedMs, step };
  if (scheduledMs !== undefined) return { state: "pending", dueAtMs: Math.max(scheduledMs, namedMs), step };
  const isStep = verdict.kind !== "unwanted";
  const waitMs = DELIVERY.retryMs[isStep ? step : 0];
  if (waitMs === undefined) return { state: "dead" };
  const dueAtMs = nowMs + Math.round(waitMs * (1 + DELIVERY.jitter * chance));
  return { state: "pending", dueAtMs: Math.max(dueAtMs, namedMs), step: isStep ? step + 1 : step };
}

/** From 0 up to 1, without it. */
export const chance = (random: Random): number => new DataView(random.bytes(4).buffer).getUint32(0) / 2 ** 32;
