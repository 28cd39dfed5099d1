import { describeError } from "../platform/log.ts";
import type { MediaContext } from "./context.ts";
import { LIMITS } from "./limits.ts";
import { inParallel } from "./parallel.ts";
import { purgeFile, purgeVariants } from "./purge.ts";
import type { DueVariant } from "./store/due.ts";

/**
 * Finishes what time or a crash left: files that nobody committed within a day, bytes of what was removed, variants
 * whose message was lost. Bounded; what is left over is the next run's.
 */
export async function sweepMedia(media: MediaContext, nowMs: number): Promise<void> {
  for (let step = 0; step < LIMITS.sweepSteps; step++) {
    const expired = await media.due.expirePending(nowMs, LIMITS.sweepRows);
    const files = await media.due.removedFiles(nowMs, LIMITS.sweepRows);
    const variants = await media.due.dueVariants(nowMs, LIMITS.sweepRows);
    let done = expired;
    const count = async (what: string, work: Promise<void>): Promise<void> => {
      try {
        await work;
        done += 1;
      } catch (thrown) {
        media.log.error("sweep of one item failed", { what, error: describeError(thrown) });
      }
    };
    await inParallel(files, LIMITS.parallelPurges, (file) => count(file.id, purgeFile(media, file, nowMs)));
    await inParallel(variants, LIMITS.parallelPurges, (variant) =>
      count(variant.fileId, sweepVariant(media, variant, nowMs)),
    );
    if (done === 0) return;
  }
}

async function sweepVariant(media: MediaContext, { fileId, nonce, state }: DueVariant, nowMs: number): Promise<void> {
  if (state === "removed") return purgeVariants(media, fileId, [nonce]);
  // Put off before it is sent: a send that fails is tried again then, one that was needless does no harm.
  await media.due.postponeVariant(fileId, nonce, nowMs + LIMITS.variantResendMs);
  await media.queue.send([{ fileId, nonce }]);
}
