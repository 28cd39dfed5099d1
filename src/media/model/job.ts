import type { Tracing } from "../../platform/ports/tracing.ts";
import { LIMITS } from "./limits.ts";

/**
 * Messages of the media queue. They carry ids, not records: the consumer reads the current row, so late and repeated
 * messages do nothing.
 */
export type MediaJob = (VariantJob | LongJob) & {
  /** The `traceparent` of the request or sweep that sent it, if that has spans. */
  readonly trace?: string;
  /** The shard with its row, if it is not the first one. */
  readonly shard?: number;
};

/** Makes one rendition of a variant. `nonce` also names its key in R2, so no other rendition is touched. */
export interface VariantJob {
  readonly fileId: string;
  readonly nonce: string;
}

/** Does the next step of long work. Its row has the progress. */
export interface LongJob {
  readonly work: LongWork;
  readonly id: string;
}

export const LONG_WORK = ["erase", "compare"] as const;
export type LongWork = (typeof LONG_WORK)[number];

/** Sends jobs. The sweep sends lost ones again, because their rows are still due. */
export type JobQueue = ReturnType<typeof createJobQueue>;

/** The job in a message's body, if it is one. */
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
    async send(given: readonly MediaJob[]): Promise<void> {
      const { traceparent: trace } = tracing.outgoing();
      const jobs = given.map((job) => ({ ...job, ...(trace === undefined ? {} : { trace }), ...place }));
      for (let at = 0; at < jobs.length; at += LIMITS.messagesPerSend)
        await queue.sendBatch(jobs.slice(at, at + LIMITS.messagesPerSend).map((body) => ({ body })));
    },
  };
}
