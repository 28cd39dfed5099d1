import { attemptEach } from "../platform/attempt-each.ts";
import { describeError, type Log } from "../platform/log.ts";
import { incomingKey } from "./blobs/blob-store.ts";
import type { Consistency } from "./consistency/run.ts";
import { processRemoved, type EraseDeps } from "./erasure/erase.ts";
import { LIMITS } from "./model/limits.ts";
import type { PinnedUploadStore } from "./uploads/pinned-upload-store.ts";
import { purgeVariants, type PurgeVariantsDeps } from "./variants/purge.ts";

interface SweepDeps extends EraseDeps, PurgeVariantsDeps {
  readonly log: Log;
  readonly pinned: PinnedUploadStore;
}

/**
 * Finishes work that expired or was interrupted: files without a commit after a day, bytes of removed files, deletions
 * and variants whose message was lost. It works in a limited number of pages. The next run does the rest, and repeats a
 * page that failed; a failure stops no other kind of work.
 */
export async function sweepMedia(deps: SweepDeps, consistency: Consistency, nowMs: number): Promise<void> {
  const pages: Record<string, () => Promise<number>> = {
    files: () => sweepFiles(deps, nowMs),
    "ended links": () => sweepLinks(deps, nowMs),
    deletions: () => sweepErasures(deps, nowMs),
    variants: () => sweepVariants(deps, nowMs),
    consistency: () => consistency.sweep(nowMs),
  };
  await attemptEach(
    Object.entries(pages),
    ([, sweepPage]) => inPages(sweepPage),
    ([what], thrown) => deps.log.error("could not sweep a page", { what, error: describeError(thrown) }),
  );
}

/** `sweepPage` returns how many rows were due. */
async function inPages(sweepPage: () => Promise<number>): Promise<void> {
  for (let page = 0; page < LIMITS.sweepPages; page++) if ((await sweepPage()) < LIMITS.sweepRows) return;
}

async function sweepFiles(deps: SweepDeps, nowMs: number): Promise<number> {
  const files = await deps.removed.due(nowMs, LIMITS.sweepRows);
  await processRemoved(deps, files, nowMs);
  return files.length;
}

async function sweepErasures(deps: SweepDeps, nowMs: number): Promise<number> {
  const forgotten = await deps.erasures.deleteExpired(nowMs, LIMITS.sweepRows);
  const due = await deps.erasures.takeDue(nowMs, LIMITS.sweepRows);
  await deps.queue.send(due.map((id) => ({ work: "erase", id })));
  return Math.max(forgotten, due.length);
}

/** Deletes uploads by presigned links that arrived after the commit. */
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
    // Postponed before they are sent: a failed send is repeated then, and a needless one does no harm.
    await deps.variants.postpone(pending, nowMs + LIMITS.variantResendMs);
    await deps.queue.send(pending);
  }
  await purgeVariants(
    deps,
    due.filter(({ state }) => state === "removed"),
  );
  return due.length;
}
