import { LIMITS } from "./limits.ts";

/**
 * Messages of the media queue. They carry ids and never a record: the consumer reads what the row says now, so that one
 * that comes late or twice does nothing.
 */
export type MediaJob = VariantJob | LongJob;

/** Asks for one rendition of a variant. `nonce` also names the place of the bytes, so no other rendition's are touched. */
export interface VariantJob {
  readonly fileId: string;
  readonly nonce: string;
}

/** Asks for the next step of work that takes several: its row knows how far it is. */
export interface LongJob {
  readonly work: LongWork;
  readonly id: string;
}

export const LONG_WORK = ["erase", "compare"] as const;
export type LongWork = (typeof LONG_WORK)[number];

/** Where jobs are sent. One that is lost here is found by the sweep: its row still says that it waits. */
export interface JobQueue {
  send(jobs: readonly MediaJob[]): Promise<void>;
}

/** The job of a message's body, or undefined when it is none. */
export function parseJob(body: unknown): MediaJob | undefined {
  if (typeof body !== "object" || body === null) return undefined;
  const { fileId, nonce, work, id } = body as Partial<Record<keyof VariantJob | keyof LongJob, unknown>>;
  if (typeof fileId === "string" && typeof nonce === "string") return { fileId, nonce };
  const known = LONG_WORK.find((name) => name === work);
  return known !== undefined && typeof id === "string" ? { work: known, id } : undefined;
}

export function createJobQueue(queue: Queue<MediaJob>): JobQueue {
  return {
    async send(jobs) {
      for (let at = 0; at < jobs.length; at += LIMITS.messagesPerSend)
        await queue.sendBatch(jobs.slice(at, at + LIMITS.messagesPerSend).map((body) => ({ body })));
    },
  };
}
