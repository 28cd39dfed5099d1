import { summarize } from "../platform/runtime/log.ts";
import { withTimeout } from "../platform/runtime/with-timeout.ts";

const STATUSES = ["ok", "warn", "fail"] as const;
export type Status = (typeof STATUSES)[number];

/** A number, text or list for operators. */
type Fact = number | string | null | readonly object[];

export interface Verdict {
  readonly status: Status;
  readonly facts: Readonly<Record<string, Fact>>;
  /** One sentence: the fault and what to do next. Empty if there is nothing to do. */
  readonly next: string;
}

/** Checks one part of the platform. If it throws, the part has failed. */
export interface Check {
  readonly name: string;
  /** The sentence for a check that throws or gives no answer in time. */
  readonly unanswered: string;
  run(nowMs: number): Promise<Verdict>;
}

export interface CheckResult extends Verdict {
  readonly name: string;
  readonly tookMs: number;
}

/** Maximum time of a check. All checks run at the same time, so it is about the maximum time of the answer. */
export const CHECK_MS = 3_000;

/** The verdict by the first complaint that holds. The list begins with the worst. */
export function judge(facts: Verdict["facts"], ...complaints: readonly Complaint[]): Verdict {
  const [status, , next] = complaints.find(([, holds]) => holds) ?? (["ok", true, ""] as const);
  return { status, facts, next };
}
export type Complaint = readonly [status: "warn" | "fail", holds: boolean, next: string];

/** Runs one check; never throws. */
export async function runCheck(check: Check, clock: { nowMs(): number }): Promise<CheckResult> {
  const startMs = clock.nowMs();
  const verdict = await withTimeout(CHECK_MS, check.run(startMs)).catch((thrown: unknown): Verdict => ({
    status: "fail",
    facts: { error: summarize(thrown) },
    next: check.unanswered,
  }));
  return { name: check.name, tookMs: clock.nowMs() - startMs, ...verdict };
}

/** The worst status of all. */
export const worst = (results: readonly CheckResult[]): Status =>
  STATUSES.findLast((status) => results.some((result) => result.status === status)) ?? "ok";
