import { masterKey, pinnedKey, variantKey } from "./blob-store.ts";
import type { MediaContext } from "./context.ts";
import type { VariantJob } from "./job.ts";
import { LIMITS } from "./limits.ts";
import type { RemovedFile } from "./store/removed-files.ts";

/**
 * What has to be done with removed files that are due: their bytes are deleted, and a second look at the bucket, when
 * nobody can write any more, forgets the row. May run twice, at once too, or break off at any place: what is left
 * undone stays due. The cost in D1 does not depend on how many files these are.
 */
export async function settleRemoved(media: MediaContext, files: readonly RemovedFile[], nowMs: number): Promise<void> {
  const fresh = files.filter(({ isPurged }) => !isPurged);
  const purged = files.filter(({ isPurged }) => isPurged);
  if (fresh.length > 0) await purgeFiles(media, fresh, nowMs);
  if (purged.length > 0) await lookForBytes(media, idsOf(purged), nowMs);
}

/** The bytes that the rows know of, and what uploads left. */
async function purgeFiles(media: MediaContext, files: readonly RemovedFile[], nowMs: number): Promise<void> {
  const fileIds = idsOf(files);
  const [makings, incoming] = await Promise.all([media.removed.makingsOf(fileIds), media.blobs.listIncoming(fileIds)]);
  await media.blobs.delete([...files.flatMap(masterKeys), ...makings.map(keyOf), ...incoming]);
  await media.removed.settlePurged(fileIds, nowMs);
}

/**
 * The proof: a listing of every place where a file has bytes, at a time when its upload link has ended and no job runs
 * that began before it was removed. What it finds is written down, deleted and listed again.
 */
async function lookForBytes(media: MediaContext, fileIds: readonly string[], nowMs: number): Promise<void> {
  const late = await filesWithBytes(media, fileIds);
  let left: readonly string[] = [];
  if (late.length > 0) {
    await media.removed.recordLate(late);
    await media.blobs.delete(late.flatMap(({ keys }) => keys));
    left = (
      await filesWithBytes(
        media,
        late.map(({ fileId }) => fileId),
      )
    ).map(({ fileId }) => fileId);
    if (left.length > 0) await media.removed.lookLater(left, nowMs + LIMITS.lookAgainMs);
  }
  await media.removed.settleVerified(
    fileIds.filter((fileId) => !left.includes(fileId)),
    nowMs,
  );
}

const filesWithBytes = async (media: MediaContext, fileIds: readonly string[]) =>
  (await media.blobs.listAll(fileIds)).filter(({ keys }) => keys.length > 0);

/** A job that still runs on one of them finds its row gone and deletes what it wrote. */
export async function purgeVariants(media: MediaContext, makings: readonly VariantJob[]): Promise<void> {
  if (makings.length === 0) return;
  await media.blobs.delete(makings.map(keyOf));
  await media.variants.forget(makings);
}

const idsOf = (files: readonly RemovedFile[]): readonly string[] => files.map(({ id }) => id);

const masterKeys = ({ id, blobKey, pinnedEtag }: RemovedFile): readonly string[] => [
  blobKey ?? masterKey(id),
  ...(pinnedEtag === null ? [] : [pinnedKey(id, pinnedEtag)]),
];

const keyOf = ({ fileId, nonce }: VariantJob): string => variantKey(fileId, nonce);
