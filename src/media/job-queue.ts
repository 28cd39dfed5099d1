import type { MediaJob } from "./job.ts";
import { LIMITS } from "./limits.ts";

/** Where jobs are sent. One that is lost here is found by the sweep: its row still says that it waits. */
export interface JobQueue {
  send(jobs: readonly MediaJob[]): Promise<void>;
}

export function createJobQueue(queue: Queue<MediaJob>): JobQueue {
  return {
    async send(jobs) {
      for (let at = 0; at < jobs.length; at += LIMITS.messagesPerSend)
        await queue.sendBatch(jobs.slice(at, at + LIMITS.messagesPerSend).map((body) => ({ body })));
    },
  };
}
