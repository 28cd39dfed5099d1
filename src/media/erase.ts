import type { MediaContext } from "./context.ts";
import { LIMITS } from "./limits.ts";
import { settleRemoved } from "./purge.ts";
import type { Erasure } from "./store/erasures.ts";

/**
 * One step of a deletion: a page of its files. May run twice, at once too, or break off at any place: what a step leaves
 * undone is due, and the sweep sends the deletion again.
 */
export async function eraseStep(media: MediaContext, id: string, nowMs: number): Promise<undefined> {
  const files = await media.erasures.takePage(id, nowMs, LIMITS.erasePage);
  await settleRemoved(media, files, nowMs);
  const isMore = files.length === LIMITS.erasePage || (await media.erasures.finishPages(id, nowMs));
  if (isMore) await media.queue.send([{ work: "erase", id }]);
  return undefined;
}

/** Work after the answer of a deletion: few files at once, many by the queue. */
export const startErasing = (media: MediaContext, erasure: Erasure, nowMs: number): Promise<void> =>
  erasure.files <= LIMITS.erasePage
    ? eraseStep(media, erasure.id, nowMs)
    : media.queue.send([{ work: "erase", id: erasure.id }]);
