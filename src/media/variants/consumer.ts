import type { Clock } from "../../platform/runtime/clock.ts";
import { describeError, type Log } from "../../platform/runtime/log.ts";
import type { Meter } from "../../platform/ports/metrics.ts";
import type { Tracing } from "../../platform/ports/tracing.ts";
import { inParallel } from "../../platform/runtime/parallel.ts";
import { withTimeout } from "../../platform/runtime/with-timeout.ts";
import type { DeadWorkStore } from "../dead/dead-work-store.ts";
import { parseJob, type LongJob, type LongWork, type MediaJob } from "../model/job.ts";
import { LIMITS } from "../model/limits.ts";
import { giveUp, makeVariant, type MakeVariantDeps } from "./make.ts";
import type { WaitUntil } from "../../platform/runtime/wait-until.ts";

interface DoerDeps extends MakeVariantDeps {
  readonly deadWork: DeadWorkStore;
}

interface ConsumerDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly meter: Meter;
  readonly tracing: Tracing;
  /** Does the jobs of a shard. */
  readonly doerOf: (shard: number) => JobDoer;
  /** Notes for deep health that a variant waits for the end of an outage. */
  readonly noteOutage: (nowMs: number) => Promise<void>;
}

/** The backoff before each further attempt. `max_retries` in wrangler.toml is their number. */
const RETRY_DELAYS_SEC = [5, 10, 20, 40];

/** A step of long work. Returns the fault if another attempt may succeed. */
export type Step = (id: string, nowMs: number) => Promise<string | undefined>;

/**
 * Does a job, or the work that follows its last attempt. Returns the fault if another attempt may succeed. Throws if
 * what the job needs does not work.
 */
export type JobDoer = (job: MediaJob, isDead: boolean) => Promise<string | undefined>;

export const createJobDoer =
  (deps: DoerDeps, steps: Readonly<Record<LongWork, Step>>): JobDoer =>
  async (job, isDead) => {
    if (!("work" in job)) return isDead ? giveUp(deps, job) : makeVariant(deps, job);
    if (isDead) return waitLonger(deps, job);
    // R2 sets no limit of time. A step may run twice at once.
    return withTimeout(LIMITS.stepMs, steps[job.work](job.id, deps.clock.nowMs()));
  };

/**
 * Consumes the queue and its dead-letter queue. Each message is acknowledged by itself, so one failure does not repeat
 * the others. A variant whose last attempt fails by an outage stays pending, and the sweep sends its job again, for
 * `LIMITS.variantOutageMs`: the image is not at fault, and nobody requests it again.
 */
export async function consumeJobs(deps: ConsumerDeps, batch: MessageBatch, waitUntil: WaitUntil): Promise<void> {
  const isDead = batch.queue.endsWith("-dead");
  const run = async (job: MediaJob): Promise<string | undefined> => deps.doerOf(job.shard ?? 0)(job, isDead);
  /** Each job has a trace of its own, because many requests share a batch, with a link to the trace of its sender. */
  const runInSpan = (job: MediaJob, { id, attempts }: Message): Promise<string | undefined> => {
    const { trace: cause } = job;
    const name = `job ${"work" in job ? job.work : "variant"}`;
    const options = { name, kind: "consumer", cause, isSampled: cause !== undefined, waitUntil } as const;
    return deps.tracing.root(options, async (span) => {
      span.set({
        "messaging.message.id": id,
        "messaging.delivery.attempt": attempts,
        "messaging.destination.name": batch.queue,
        ...("work" in job ? { "job.id": job.id } : { "file.id": job.fileId }),
      });
      const fault = await run(job);
      if (fault !== undefined) span.fail("retried");
      return fault;
    });
  };
  await inParallel(batch.messages, LIMITS.parallelJobs, async (message) => {
    const job = parseJob(message.body);
    if (job === undefined) {
      deps.log.error("unknown message in the media queue", { messageId: message.id });
      return message.ack();
    }
    const by = { service: "media" } as const;
    const waitedMs = deps.clock.nowMs() - message.timestamp.getTime();
    if (message.attempts === 1) deps.meter.peak("job_age", by, Math.max(waitedMs, 0));
    let fault: string | undefined;
    let isOutage = false;
    try {
      fault = await runInSpan(job, message);
    } catch (thrown) {
      fault = describeError(thrown);
      isOutage = true;
    }
    deps.meter.add("jobs", { ...by, label: isDead ? "dead" : fault === undefined ? "done" : "retried" });
    if (fault === undefined) return message.ack();
    if (isOutage && !isDead && !("work" in job) && message.attempts > RETRY_DELAYS_SEC.length) {
      deps.log.error("a variant waits for the end of an outage", { ...job, fault });
      await deps.noteOutage(deps.clock.nowMs()).catch(() => undefined);
      return message.ack();
    }
    const level = isDead ? "error" : "warn";
    deps.log[level]("media job failed and will be retried", { ...job, attempt: message.attempts, fault, isDead });
    message.retry({ delaySeconds: RETRY_DELAYS_SEC[message.attempts - 1] ?? RETRY_DELAYS_SEC.at(-1)! });
  });
}

/** Long work is never given up. Its row stays due, and the sweep resumes it after a growing delay. */
async function waitLonger({ deadWork, log, clock }: DoerDeps, job: LongJob): Promise<undefined> {
  const failures = await deadWork.record(job, clock.nowMs());
  log.error("media work failed in every attempt", { ...job, failures });
  return undefined;
}
