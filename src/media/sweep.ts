import { describeError } from "../platform/log.ts";
import { attributesOf } from "./attributes.ts";
import { incomingKey } from "./blob-store.ts";
import type { Consistency } from "./consistency.ts";
import type { MediaContext } from "./context.ts";
import { LIMITS } from "./limits.ts";
import { purgeVariants, settleRemoved } from "./purge.ts";

/**
 * Finishes what time or a crash left: files that nobody committed within a day, bytes of what was removed, deletions and
 * variants whose message was lost. Works in pages, each as a whole, and a bounded number of them; what is left over, and
 * a page that failed, is the next run's.
 */
export async function sweepMedia(media: MediaContext, consistency: Consistency, nowMs: number): Promise<void> {
  await inPages(media, "files", () => sweepFiles(media, nowMs));
  await inPages(media, "ended links", () => sweepLinks(media, nowMs));
  await inPages(media, "deletions", () => sweepErasures(media, nowMs));
  await inPages(media, "variants", () => sweepVariants(media, nowMs));
  await inPages(media, "files without an index", () => sweepUnindexed(media), LIMITS.indexedFilesPerPage);
  await inPages(media, "consistency", () => consistency.sweep(nowMs));
}

/** `sweepPage` answers how many rows it found due. */
async function inPages(
  media: MediaContext,
  what: string,
  sweepPage: () => Promise<number>,
  pageRows: number = LIMITS.sweepRows,
): Promise<void> {
  try {
    for (let page = 0; page < LIMITS.sweepPages; page++) if ((await sweepPage()) < pageRows) return;
  } catch (thrown) {
    media.log.error("sweep of a page failed", { what, error: describeError(thrown) });
  }
}

async function sweepFiles(media: MediaContext, nowMs: number): Promise<number> {
  const files = await media.removed.due(nowMs, LIMITS.sweepRows);
  await settleRemoved(media, files, nowMs);
  return files.length;
}

async function sweepErasures(media: MediaContext, nowMs: number): Promise<number> {
  const forgotten = await media.erasures.forgetOld(nowMs, LIMITS.sweepRows);
  const due = await media.erasures.takeDue(nowMs, LIMITS.sweepRows);
  await media.queue.send(due.map((id) => ({ work: "erase", id })));
  return Math.max(forgotten, due.length);
}

/** What presigned links brought after the commits. */
async function sweepLinks(media: MediaContext, nowMs: number): Promise<number> {
  const fileIds = await media.pins.endedLinks(nowMs, LIMITS.sweepRows);
  if (fileIds.length === 0) return 0;
  await media.blobs.delete(fileIds.map(incomingKey));
  await media.pins.settleLinks(fileIds);
  return fileIds.length;
}

/** Files that were committed by a release without the index. */
async function sweepUnindexed(media: MediaContext): Promise<number> {
  const files = await media.index.missing(LIMITS.indexedFilesPerPage);
  const described = files.map(({ id, contentType, metadata }) => ({
    id,
    metadata,
    attributes: attributesOf(metadata, contentType),
  }));
  if (files.length > 0) await media.index.add(described);
  return files.length;
}

async function sweepVariants(media: MediaContext, nowMs: number): Promise<number> {
  const due = await media.due.dueVariants(nowMs, LIMITS.sweepRows);
  const pending = due.filter(({ state }) => state === "pending").map(({ fileId, nonce }) => ({ fileId, nonce }));
  if (pending.length > 0) {
    // Put off before they are sent: a send that fails is tried again then, one that was needless does no harm.
    await media.due.postponeVariants(pending, nowMs + LIMITS.variantResendMs);
    await media.queue.send(pending);
  }
  await purgeVariants(
    media,
    due.filter(({ state }) => state === "removed"),
  );
  return due.length;
}
