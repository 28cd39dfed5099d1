import type { Tracing } from "../../platform/ports/tracing.ts";
import { LIMITS } from "./limits.ts";

/**
 * A message of the media queue. It carries ids, not records: the consumer reads the current row, so a late or repeated
 * message does nothing.
 */
export type MediaJob = (VariantJob | LongJob) & {
  /** The `traceparent` of the request or sweep that sent it, if that has spans. */
  readonly trace?: string;
  /** The shard that has the row; undefined: the first one. */
  readonly shard?: number;
};

/** Makes one rendition of a variant. The key in R2 contains `nonce`, so the job touches no other rendition. */
export interface VariantJob {
  readonly fileId: string;
  readonly nonce: string;
}

/** Sends renditions that a batch has taken from a lane, at once: what follows the batch may fail. */
export type SendTaken = (jobs: readonly VariantJob[]) => void;

/** Does the next step of long work. The row of the work has the progress. */
export interface LongJob {
  readonly work: LongWork;
  readonly id: string;
}

const LONG_WORK = ["erase", "compare"] as const;
export type LongWork = (typeof LONG_WORK)[number];

/** Sends jobs. The sweep sends a lost job again, because its row is still due. */
export type JobQueue = ReturnType<typeof createJobQueue>;

/** Returns the job in a message's body; undefined if the body is not a job. */
export function parseJob(body: unknown): MediaJob | undefined {
  if (typeof body !== "object" || body === null) return undefined;
  const { fileId, nonce, work, id, trace, shard } = body as Partial<
    Record<keyof VariantJob | keyof LongJob | "trace" | "shard", unknown>
  >;
  const traced = {
    ...(typeof trace === "string" ? { trace } : {}),
    ...(typeof shard === "number" ? { shard } : {}),
  };
  if (typeof fileId === "string" && typeof nonce === "string") return { fileId, nonce, ...traced };
  const known = LONG_WORK.find((name) => name === work);
  return known !== undefined && typeof id === "string" ? { work: known, id, ...traced } : undefined;
}

export function createJobQueue(queue: Queue<MediaJob>, tracing: Tracing, shard: number) {
  const place = shard === 0 ? {} : { shard };
  return {
    async send(given: readonly MediaJob[], delaySeconds = 0): Promise<void> {
      const { traceparent: trace } = tracing.outgoing();
      const jobs = given.map((job) => ({ ...job, ...(trace === undefined ? {} : { trace }), ...place }));
      for (let at = 0; at < jobs.length; at += LIMITS.messagesPerSend)
        await queue.sendBatch(
          jobs.slice(at, at + LIMITS.messagesPerSend).map((body) => ({ body })),
          {
            delaySeconds,
          },
        );
    },
  };
}
