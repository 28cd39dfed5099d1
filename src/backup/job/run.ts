import type { Clock } from "../../platform/runtime/clock.ts";
import { describeError, summarize, type Log } from "../../platform/runtime/log.ts";
import { withCounts, withFindings, type JobRecord } from "../model/job.ts";
import { Refused, type JobLists, type Stage, type StepResult } from "../model/stage.ts";
import { LIMITS } from "../model/limits.ts";

/** The stages of a job by its kind and options, in order. */
export type StagesOf = (job: Pick<JobRecord, "kind" | "options">) => readonly Stage[];

/** Ports of the job's object. */
export interface JobPorts {
  readonly stagesOf: StagesOf;
  readonly clock: Clock;
  readonly log: Log;
}

export interface Advanced {
  readonly job: JobRecord;
  readonly result: StepResult;
}

/** Does the next step of a job. The caller stores the result; until it is stored, the same step runs again. */
export async function advance(
  job: JobRecord,
  stages: readonly Stage[],
  lists: JobLists,
  nowMs: number,
  log: Log,
): Promise<Advanced> {
  const at = stages.findIndex(({ name }) => name === job.stage);
  const stage = stages[at];
  const nothing: StepResult = { next: undefined };
  if (stage === undefined)
    return { job: failed(job, `This release has no stage ${job.stage}.`, nowMs), result: nothing };
  let result: StepResult;
  try {
    result = await stage.step({ job, position: job.position, lists, nowMs });
  } catch (thrown) {
    if (thrown instanceof Refused) return { job: failed(job, thrown.message, nowMs), result: nothing };
    log.warn("a step of a backup job failed", { job: job.id, stage: job.stage, error: describeError(thrown) });
    return { job: { ...job, failures: job.failures + 1, error: summarize(thrown) }, result: nothing };
  }
  const counted = withFindings(
    {
      ...job,
      counts: withCounts(job.counts, result.counts ?? {}),
      facts: { ...job.facts, ...result.facts },
      failures: 0,
      error: "",
    },
    result.findings ?? [],
  );
  if (result.next !== undefined) return { job: { ...counted, position: result.next }, result };
  const following = stages[at + 1];
  const next: JobRecord =
    following === undefined
      ? { ...counted, state: "done", finishedAt: nowMs, position: "" }
      : { ...counted, stage: following.name, position: "" };
  return { job: next, result };
}

const failed = (job: JobRecord, error: string, nowMs: number): JobRecord => ({
  ...job,
  state: "failed",
  finishedAt: nowMs,
  error,
});

/** The pause before a failed step is retried: doubled with each failure, up to a limit. */
export const pauseMs = ({ failures }: JobRecord): number =>
  failures === 0 ? 0 : Math.min(LIMITS.pauseMs.longest, LIMITS.pauseMs.first * 2 ** (failures - 1));
