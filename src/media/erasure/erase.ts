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
 * One step of a deletion: a page of its files. May run twice, at once too, or break off at any place: what a step leaves
 * undone is due, and the sweep sends the deletion again.
 */
export async function eraseStep(deps: EraseDeps, id: string, nowMs: number): Promise<undefined> {
  const files = await deps.erasures.takePage(id, nowMs, LIMITS.erasePage);
  await finishRemoved(deps, files, nowMs);
  const isMore = files.length === LIMITS.erasePage || (await deps.erasures.finishPages(id, nowMs));
  if (isMore) await deps.queue.send([{ work: "erase", id }]);
  return undefined;
}

/** Work after the answer of a deletion: few files at once, many by the queue. */
export const startErasing = (deps: EraseDeps, erasure: Erasure, nowMs: number): Promise<void> =>
  erasure.files <= LIMITS.erasePage
    ? eraseStep(deps, erasure.id, nowMs)
    : deps.queue.send([{ work: "erase", id: erasure.id }]);

/**
 * What has to be done with removed files that are due: their bytes are deleted, and a second look at the bucket, when
 * nobody can write any more, forgets the row. May run twice, at once too, or break off at any place: what is left
 * undone stays due. The cost in D1 does not depend on how many files these are.
 */
export async function finishRemoved(deps: PurgeDeps, files: readonly RemovedFile[], nowMs: number): Promise<void> {
  const fresh = files.filter(({ purgedAt }) => purgedAt === null);
  const purged = files.filter(({ purgedAt }) => purgedAt !== null);
  if (fresh.length > 0) await purgeFiles(deps, fresh, nowMs);
  if (purged.length > 0) await lookForBytes(deps, idsOf(purged), nowMs);
}

/** The bytes that the rows know of, and what uploads left. */
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
 * The proof: a listing of every place where a file has bytes, at a time when its upload link has ended and no job runs
 * that began before it was removed. What it finds is written down, deleted and listed again.
 */
async function lookForBytes(deps: PurgeDeps, fileIds: readonly string[], nowMs: number): Promise<void> {
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
    if (left.length > 0) await deps.removed.postpone(left, nowMs + LIMITS.lookAgainMs);
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
