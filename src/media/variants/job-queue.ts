import type { JobQueue, MediaJob } from "../model/job.ts";
import { LIMITS } from "../model/limits.ts";

export function createJobQueue(queue: Queue<MediaJob>): JobQueue {
  return {
    async send(jobs) {
      for (let at = 0; at < jobs.length; at += LIMITS.messagesPerSend)
        await queue.sendBatch(jobs.slice(at, at + LIMITS.messagesPerSend).map((body) => ({ body })));
    },
  };
}
