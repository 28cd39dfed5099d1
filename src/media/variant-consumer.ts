import { describeError } from "../platform/log.ts";
import { variantKey } from "./blob-store.ts";
import type { MediaContext } from "./context.ts";
import { LIMITS } from "./limits.ts";
import { makeVariant } from "./make-variant.ts";
import { inParallel } from "./parallel.ts";
import { parseVariantJob, type VariantJob } from "./variant-job.ts";

/** Waits before the attempts after the first. */
const RETRY_DELAYS_SEC = [5, 10, 20, 40];

/** Queue and dead-letter queue. Each message is settled on its own, so one that fails does not repeat the others. */
export async function consumeVariantJobs(media: MediaContext, batch: MessageBatch): Promise<void> {
  const work = batch.queue.endsWith("-dead") ? giveUp : makeVariant;
  await inParallel(batch.messages, LIMITS.parallelJobs, async (message) => {
    const job = parseVariantJob(message.body);
    if (job === undefined) {
      media.log.error("a message is no variant job", { messageId: message.id });
      return message.ack();
    }
    const fields = { fileId: job.fileId, nonce: job.nonce, attempt: message.attempts };
    let fault: string | undefined;
    try {
      fault = await work(media, job);
    } catch (thrown) {
      fault = describeError(thrown);
    }
    if (fault === undefined) return message.ack();
    media.log.warn("variant job will be tried again", { ...fields, fault });
    message.retry({ delaySeconds: RETRY_DELAYS_SEC[message.attempts - 1] ?? RETRY_DELAYS_SEC.at(-1)! });
  });
}

/** After the last attempt. Whatever the row says now, bytes that it does not call ready go. */
async function giveUp(media: MediaContext, { fileId, nonce }: VariantJob): Promise<undefined> {
  await media.variants.markFailed(fileId, nonce, "The variant could not be made, in several attempts.");
  const row = await media.variants.findJob(fileId, nonce);
  if (row?.state === "ready") return undefined;
  await media.blobs.delete([variantKey(fileId, nonce)]);
  media.log.error("variant job given up", { fileId, nonce });
  return undefined;
}
