import { masterKey, pinnedKey, variantKey, type BlobStore } from "../blobs/blob-store.ts";
import type { JobQueue } from "../model/job.ts";
import { LIMITS } from "../model/limits.ts";
import type { Erasure, ErasureStore } from "./erasure-store.ts";
import type { RemovedFile, RemovedFileStore } from "./removed-store.ts";

interface PurgeDeps {
  readonly blobs: BlobStore;
  readonly removed: RemovedFileStore;
}

export interface EraseDeps extends PurgeDeps {
  readonly erasures: ErasureStore;
  readonly queue: JobQueue;
}

/**
 * Does one step of a deletion, a page of its files. May be repeated, run twice at once or break off anywhere:
 * unfinished work stays due, and the sweep sends the deletion again.
 */
export async function eraseStep(deps: EraseDeps, id: string, nowMs: number): Promise<undefined> {
  const files = await deps.erasures.takePage(id, nowMs, LIMITS.erasePage);
  await processRemoved(deps, files, nowMs);
  const isMore = files.length === LIMITS.erasePage || (await deps.erasures.finishPages(id, nowMs));
  if (isMore) await deps.queue.send([{ work: "erase", id }]);
  return undefined;
}

/** Starts the work after the answer: few files at once, many by the queue. */
export const startErasure = (deps: EraseDeps, erasure: Erasure, nowMs: number): Promise<void> =>
  erasure.files <= LIMITS.erasePage
    ? eraseStep(deps, erasure.id, nowMs)
    : deps.queue.send([{ work: "erase", id: erasure.id }]);

/**
 * Works on removed files that are due: deletes their bytes; later, when nobody can write any more, proves by a listing
 * that none are left, and deletes the row. May be repeated, run twice at once or break off anywhere: unfinished files
 * stay due. The number of statements does not depend on the number of files.
 */
export async function processRemoved(deps: PurgeDeps, files: readonly RemovedFile[], nowMs: number): Promise<void> {
  const fresh = files.filter(({ purgedAt }) => purgedAt === null);
  const purged = files.filter(({ purgedAt }) => purgedAt !== null);
  if (fresh.length > 0) await purgeFiles(deps, fresh, nowMs);
  if (purged.length > 0) await verifyErased(deps, idsOf(purged), nowMs);
}

/** Deletes the bytes that the rows know of, and unfinished uploads. */
async function purgeFiles(deps: PurgeDeps, files: readonly RemovedFile[], nowMs: number): Promise<void> {
  const fileIds = idsOf(files);
  const [renditions, incoming] = await Promise.all([
    deps.removed.renditionsOf(fileIds),
    deps.blobs.listIncoming(fileIds),
  ]);
  const variants = renditions.map(({ fileId, nonce }) => variantKey(fileId, nonce));
  await deps.blobs.delete([...files.flatMap(masterKeys), ...variants, ...incoming]);
  await deps.removed.markPurged(fileIds, nowMs);
}

/**
 * Proves the deletion: lists all keys of each file, at a time when its upload link has ended and every job that began
 * before the removal is over. Objects that it finds are recorded, deleted and listed again.
 */
async function verifyErased(deps: PurgeDeps, fileIds: readonly string[], nowMs: number): Promise<void> {
  const late = await filesWithBytes(deps, fileIds);
  let left: readonly string[] = [];
  if (late.length > 0) {
    await deps.removed.recordLate(late);
    await deps.blobs.delete(late.flatMap(({ keys }) => keys));
    left = (
      await filesWithBytes(
        deps,
        late.map(({ fileId }) => fileId),
      )
    ).map(({ fileId }) => fileId);
    if (left.length > 0) await deps.removed.postpone(left, nowMs + LIMITS.verifyAgainMs);
  }
  await deps.removed.markVerified(
    fileIds.filter((fileId) => !left.includes(fileId)),
    nowMs,
  );
}

const filesWithBytes = async (deps: PurgeDeps, fileIds: readonly string[]) =>
  (await deps.blobs.listAll(fileIds)).filter(({ keys }) => keys.length > 0);

const idsOf = (files: readonly RemovedFile[]): readonly string[] => files.map(({ id }) => id);

const masterKeys = ({ id, blobKey, pinnedEtag }: RemovedFile): readonly string[] => [
  blobKey ?? masterKey(id),
  ...(pinnedEtag === null ? [] : [pinnedKey(id, pinnedEtag)]),
];
