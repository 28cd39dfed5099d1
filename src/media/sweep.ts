import { describeError, type Log } from "../platform/log.ts";
import { incomingKey } from "./blobs/blob-store.ts";
import type { Consistency } from "./consistency/run.ts";
import { finishRemoved, type EraseDeps } from "./erasure/erase.ts";
import { LIMITS } from "./model/limits.ts";
import type { PinnedUploadStore } from "./uploads/pinned-upload-store.ts";
import { purgeVariants, type PurgeVariantsDeps } from "./variants/purge.ts";

interface SweepDeps extends EraseDeps, PurgeVariantsDeps {
  readonly log: Log;
  readonly pinned: PinnedUploadStore;
}

/**
 * Finishes what time or a crash left: files that nobody committed within a day, bytes of what was removed, deletions and
 * variants whose message was lost. Works in pages, each as a whole, and a bounded number of them; what is left over, and
 * a page that failed, is the next run's.
 */
export async function sweepMedia(deps: SweepDeps, consistency: Consistency, nowMs: number): Promise<void> {
  await inPages(deps, "files", () => sweepFiles(deps, nowMs));
  await inPages(deps, "ended links", () => sweepLinks(deps, nowMs));
  await inPages(deps, "deletions", () => sweepErasures(deps, nowMs));
  await inPages(deps, "variants", () => sweepVariants(deps, nowMs));
  await inPages(deps, "consistency", () => consistency.sweep(nowMs));
}

/** `sweepPage` answers how many rows it found due. */
async function inPages(deps: SweepDeps, what: string, sweepPage: () => Promise<number>): Promise<void> {
  try {
    for (let page = 0; page < LIMITS.sweepPages; page++) if ((await sweepPage()) < LIMITS.sweepRows) return;
  } catch (thrown) {
    deps.log.error("sweep of a page failed", { what, error: describeError(thrown) });
  }
}

async function sweepFiles(deps: SweepDeps, nowMs: number): Promise<number> {
  const files = await deps.removed.due(nowMs, LIMITS.sweepRows);
  await finishRemoved(deps, files, nowMs);
  return files.length;
}

async function sweepErasures(deps: SweepDeps, nowMs: number): Promise<number> {
  const forgotten = await deps.erasures.deleteExpired(nowMs, LIMITS.sweepRows);
  const due = await deps.erasures.takeDue(nowMs, LIMITS.sweepRows);
  await deps.queue.send(due.map((id) => ({ work: "erase", id })));
  return Math.max(forgotten, due.length);
}

/** What presigned links brought after the commits. */
async function sweepLinks(deps: SweepDeps, nowMs: number): Promise<number> {
  const fileIds = await deps.pinned.endedLinks(nowMs, LIMITS.sweepRows);
  if (fileIds.length === 0) return 0;
  await deps.blobs.delete(fileIds.map(incomingKey));
  await deps.pinned.markLinksEnded(fileIds);
  return fileIds.length;
}

async function sweepVariants(deps: SweepDeps, nowMs: number): Promise<number> {
  const due = await deps.variants.due(nowMs, LIMITS.sweepRows);
  const pending = due.filter(({ state }) => state === "pending").map(({ fileId, nonce }) => ({ fileId, nonce }));
  if (pending.length > 0) {
    // Put off before they are sent: a send that fails is tried again then, one that was needless does no harm.
    await deps.variants.postpone(pending, nowMs + LIMITS.variantResendMs);
    await deps.queue.send(pending);
  }
  await purgeVariants(
    deps,
    due.filter(({ state }) => state === "removed"),
  );
  return due.length;
}
