import { LIMITS } from "./limits.ts";
import type { VariantJob } from "./variant-job.ts";

/** Where jobs are sent. A job that is lost here is found by the sweep: its row still says `pending`. */
export interface VariantQueue {
  send(jobs: readonly VariantJob[]): Promise<void>;
}

export function createVariantQueue(queue: Queue<VariantJob>): VariantQueue {
  return {
    async send(jobs) {
      for (let at = 0; at < jobs.length; at += LIMITS.messagesPerSend)
        await queue.sendBatch(jobs.slice(at, at + LIMITS.messagesPerSend).map((body) => ({ body })));
    },
  };
}
