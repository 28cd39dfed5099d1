import type { JobQueue, MediaJob } from "./job.ts";
import { LIMITS } from "./limits.ts";

export function createJobQueue(queue: Queue<MediaJob>): JobQueue {
  return {
    async send(jobs) {
      for (let at = 0; at < jobs.length; at += LIMITS.messagesPerSend)
        await queue.sendBatch(jobs.slice(at, at + LIMITS.messagesPerSend).map((body) => ({ body })));
    },
  };
}
