import { attemptEach } from "../platform/runtime/attempt-each.ts";
import { describeError, type Log } from "../platform/runtime/log.ts";
import { withTimeout } from "../platform/runtime/with-timeout.ts";
import { incomingKey } from "./blobs/blob-store.ts";
import type { Consistency } from "./consistency/run.ts";
import type { DeadWorkStore } from "./dead/dead-work-store.ts";
import { eraseStep, processRemoved, type EraseDeps } from "./erasure/erase.ts";
import type { LaneStore } from "./lanes/lane-store.ts";
import { LIMITS } from "./model/limits.ts";
import type { PinnedUploadStore } from "./uploads/pinned-upload-store.ts";
import { purgeVariants, type PurgeVariantsDeps } from "./variants/purge.ts";

/** `heldFrom`: files created until then do not expire. Undefined: no hold, or the directory, whose database has it. */
interface FileSweepDeps extends EraseDeps {
  readonly heldFrom: () => Promise<number | undefined>;
}

interface SweepDeps extends FileSweepDeps, PurgeVariantsDeps {
  readonly log: Log;
  readonly pinned: PinnedUploadStore;
  readonly deadWork: DeadWorkStore;
  readonly lanes: LaneStore;
}

/**
 * Finishes work that expired or was interrupted: files without a commit after a day, bytes of removed files, and
 * deletions and variants whose message was lost. A run does a limited number of pages. The next run does the rest, and
 * repeats a page that failed; a failure stops no other kind of work. Each shard has a sweep of its own.
 */
export async function sweepMedia(deps: SweepDeps, consistency: Consistency | undefined, nowMs: number): Promise<void> {
  const pages: Record<string, () => Promise<number>> = {
    files: () => sweepFiles(deps, nowMs),
    "dead work": async () => {
      await deps.deadWork.deleteOld(nowMs);
      return 0;
    },
    "ended links": () => sweepLinks(deps, nowMs),
    deletions: () => sweepErasures(deps, nowMs),
    // First, because a page of the others passes over these.
    "waiting variants": () => deps.variants.postponeWaiting(nowMs, LIMITS.rowsPerPostponement),
    variants: () => sweepVariants(deps, nowMs),
    lanes: () => sweepLanes(deps, nowMs),
    ...(consistency === undefined ? {} : { consistency: () => consistency.sweep(nowMs) }),
  };
  await attemptEach(
    Object.entries(pages),
    async ([what, sweepPage]) => {
      const isMore = await inPages(sweepPage);
      if (isMore && what === "files") await deps.queue.send([removedWork(nowMs + LIMITS.removedWorkMs)]);
    },
    ([what], thrown) => deps.log.error("could not sweep a page", { what, error: describeError(thrown) }),
  );
}

/** `sweepPage` returns how many rows were due. Returns true if there may be more. Throws if a page gets no answer. */
async function inPages(sweepPage: () => Promise<number>): Promise<boolean> {
  for (let page = 0; page < LIMITS.sweepPages; page++)
    if ((await withTimeout(LIMITS.stepMs, sweepPage())) < LIMITS.sweepRows) return false;
  return true;
}

/** A job whose id begins so works on removed files of all owners, until the time that follows in the id. */
const ALL_OWNERS = "due-until-";
const removedWork = (untilMs: number) => ({ work: "erase", id: `${ALL_OWNERS}${untilMs}` }) as const;

/**
 * Does a step of a deletion, or a page of the removed files of all owners. Such a page sends a job for the next one
 * until shortly before the next sweep: 9,000 files in five minutes, where a sweep alone erases 500. The previous
 * release finds no deletion with such an id, and does nothing.
 */
export async function sweepOrErase(deps: FileSweepDeps, id: string, nowMs: number): Promise<undefined> {
  if (!id.startsWith(ALL_OWNERS)) return eraseStep(deps, id, nowMs);
  const untilMs = Number(id.slice(ALL_OWNERS.length));
  const files = await sweepFiles(deps, nowMs);
  if (files === LIMITS.sweepRows && nowMs < untilMs) await deps.queue.send([removedWork(untilMs)]);
  return undefined;
}

async function sweepFiles(deps: FileSweepDeps, nowMs: number): Promise<number> {
  const files = await deps.removed.due(nowMs, LIMITS.sweepRows, await deps.heldFrom());
  await processRemoved(deps, files, nowMs);
  return files.length;
}

async function sweepErasures(deps: SweepDeps, nowMs: number): Promise<number> {
  const forgotten = await deps.erasures.deleteExpired(nowMs, LIMITS.sweepRows);
  const due = await deps.erasures.takeDue(nowMs, LIMITS.sweepRows);
  const jobs = due.map((id) => ({ work: "erase", id }) as const);
  await deps.queue.send(await deps.deadWork.sendable(jobs, nowMs));
  return Math.max(forgotten, due.length);
}

/** Deletes uploads by presigned links that arrived after the commit, and copies of others than the committed one. */
async function sweepLinks(deps: SweepDeps, nowMs: number): Promise<number> {
  const ended = await deps.pinned.endedLinks(nowMs, LIMITS.sweepRows);
  if (ended.length === 0) return 0;
  const fileIds = ended.map(({ id }) => id);
  // A commit deletes them itself, so few are left.
  const several = ended.filter(({ hasSeveral }) => hasSeveral === 1);
  const masters = new Set(several.map(({ key }) => key));
  const copies = several.length === 0 ? [] : await deps.blobs.listMasters(several.map(({ id }) => id));
  await deps.blobs.delete([...fileIds.map(incomingKey), ...copies.filter((key) => !masters.has(key))]);
  await deps.pinned.markLinksEnded(fileIds);
  return ended.length;
}

/** Its variant then brings the others of its lane. */
async function sweepLanes(deps: SweepDeps, nowMs: number): Promise<number> {
  const woken = await deps.lanes.wake(nowMs, LIMITS.sweepRows);
  await deps.queue.send(woken);
  return woken.length;
}

async function sweepVariants(deps: SweepDeps, nowMs: number): Promise<number> {
  const due = await deps.variants.due(nowMs, LIMITS.variantRows);
  const pending = due.filter(({ state }) => state === "pending").map(({ fileId, nonce }) => ({ fileId, nonce }));
  if (pending.length > 0) {
    // They are postponed before they are sent, so a failed send is repeated then. A needless message does no harm.
    await deps.variants.postpone(pending, nowMs + LIMITS.variantResendMs);
    await deps.queue.send(pending);
  }
  await purgeVariants(
    deps,
    due.filter(({ state }) => state === "removed"),
    nowMs,
  );
  return due.length;
}
