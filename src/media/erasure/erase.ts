import {
  collectedKey,
  incomingKey,
  masterKey,
  pinnedKey,
  variantKey,
  type BlobStore,
  type FileKeys,
} from "../blobs/blob-store.ts";
import type { JobQueue } from "../model/job.ts";
import { LIMITS } from "../model/limits.ts";
import type { Erasure, ErasureStore } from "./erasure-store.ts";
import type { RemovedFile, RemovedFileStore } from "./removed-store.ts";

/**
 * The deletion of bytes, and its proof:
 *
 *   removed ── bytes deleted ──→ purged ── a day after the creation, an hour after the removal ──→ looked for
 *   looked for ── nothing found ──→ verified, and the row deleted
 *              ── found: recorded, deleted ──→ looked for again
 *
 * The proof asks R2 for each place where the file can have bytes. For most files, rows name all places: the master, an
 * unfinished upload and each rendition. For other files the proof lists the file's prefixes, which costs more: files
 * uploaded by a presigned link, files with a removed rendition, files with more than `LIMITS.namedPlaces` renditions,
 * files that moved to this shard with a pending rendition, files of an older release, and those whose rows a restore of
 * the database brought back: a copy or a rendition that was made since then has no row.
 */
interface PurgeDeps {
  readonly blobs: BlobStore;
  readonly removed: RemovedFileStore;
  readonly lastRestoreAt: () => Promise<number | undefined>;
}

export interface EraseDeps extends PurgeDeps {
  readonly erasures: ErasureStore;
  readonly queue: JobQueue;
}

/**
 * Does one step of a deletion: as many pages of its files as fit an invocation. A step may be repeated, run twice at
 * once or break off anywhere: unfinished work stays due, and the sweep sends the deletion again.
 */
export async function eraseStep(deps: EraseDeps, id: string, nowMs: number): Promise<undefined> {
  for (let page = 1; ; page++) {
    const due = await deps.erasures.takePage(id, nowMs, LIMITS.eraseRows);
    const files = withFewAsking(due);
    await processRemoved(deps, files, nowMs);
    const isCut = files.length < due.length || due.length === LIMITS.eraseRows;
    if (!isCut && !(await deps.erasures.finishPages(id, nowMs))) return undefined;
    if (page === LIMITS.erasePages || files.some(asks)) break;
  }
  await deps.queue.send([{ work: "erase", id }]);
  return undefined;
}

/** True if this file needs requests to the bucket: whether its bytes are gone, or where they are. */
const asks = ({ purgedAt, knownPlaces }: RemovedFile): boolean => purgedAt !== null || knownPlaces === null;

/** Returns the first files, of which at most `LIMITS.erasePage` need requests to the bucket. */
function withFewAsking(files: readonly RemovedFile[]): readonly RemovedFile[] {
  let asking = 0;
  const end = files.findIndex((file) => asks(file) && ++asking > LIMITS.erasePage);
  return end === -1 ? files : files.slice(0, end);
}

/** Starts the work after the answer: erases few files here, and sends many to the queue. */
export const startErasure = (deps: EraseDeps, erasure: Erasure, nowMs: number): Promise<unknown> =>
  erasure.files <= LIMITS.erasePage
    ? eraseStep(deps, erasure.id, nowMs)
    : deps.queue.send([{ work: "erase", id: erasure.id }]);

/**
 * Deletes the bytes of a file that was deleted alone, after the answer. Its row is due at the time of the proof. If the
 * deletion of the bytes fails, the row becomes due at once; if it breaks off, the bytes are deleted before the proof.
 */
export async function purgeAlone(deps: PurgeDeps, fileId: string, nowMs: number): Promise<void> {
  try {
    await purgeFiles(deps, await deps.removed.named([fileId]), nowMs);
  } catch (thrown) {
    await deps.removed.postpone([fileId], nowMs);
    throw thrown;
  }
}

/**
 * Works on removed files that are due. First it deletes their bytes. Later, when nobody can write bytes any more, it
 * proves that none are left and deletes the rows. It may be repeated, run twice at once or break off anywhere:
 * unfinished files stay due. The number of statements does not depend on the number of files.
 */
export async function processRemoved(deps: PurgeDeps, files: readonly RemovedFile[], nowMs: number): Promise<void> {
  const fresh = files.filter(({ purgedAt }) => purgedAt === null);
  const purged = files.filter(({ purgedAt }) => purgedAt !== null);
  if (fresh.length > 0) await purgeFiles(deps, fresh, nowMs);
  if (purged.length > 0) await verifyErased(deps, purged, nowMs);
}

/** Deletes the bytes that the rows name, and unfinished uploads. */
async function purgeFiles(deps: PurgeDeps, files: readonly RemovedFile[], nowMs: number): Promise<void> {
  if (files.length === 0) return;
  const unknown = files.filter(({ knownPlaces }) => knownPlaces === null);
  const incoming = unknown.length === 0 ? [] : await deps.blobs.listIncoming(idsOf(unknown));
  await deps.blobs.delete([...files.flatMap(placesOf), ...incoming]);
  await deps.removed.markPurged(files, nowMs);
}

/**
 * Proves the deletion after the upload link has ended and every job that began before the removal is over. It records
 * and deletes the objects that it finds, and looks again.
 */
async function verifyErased(deps: PurgeDeps, files: readonly RemovedFile[], nowMs: number): Promise<void> {
  const restoredAt = files.some(isKnown) ? await deps.lastRestoreAt() : undefined;
  const late = await filesWithBytes(deps, files, restoredAt);
  let left: readonly string[] = [];
  if (late.length > 0) {
    await deps.removed.recordLate(late);
    await deps.blobs.delete(late.flatMap(({ keys }) => keys));
    const lateIds = new Set(late.map(({ fileId }) => fileId));
    const again = files.filter(({ id }) => lateIds.has(id));
    left = (await filesWithBytes(deps, again, restoredAt)).map(({ fileId }) => fileId);
    if (left.length > 0) await deps.removed.postpone(left, nowMs + LIMITS.verifyAgainMs);
  }
  const gone = files.filter(({ id }) => !left.includes(id));
  const held = await deps.removed.markVerified(gone, nowMs);
  if (held.length > 0) await deps.removed.postpone(held, nowMs + LIMITS.verifyAgainMs);
}

async function filesWithBytes(
  deps: PurgeDeps,
  files: readonly RemovedFile[],
  restoredAt = -1,
): Promise<readonly FileKeys[]> {
  const isSure = (file: RemovedFile): boolean => isKnown(file) && file.createdAt > restoredAt;
  const known = files.filter(isSure);
  const unknown = files.filter((file) => !isSure(file));
  const found = [
    ...(await deps.blobs.present(known.map((file) => ({ fileId: file.id, keys: placesOf(file) })))),
    ...(unknown.length === 0 ? [] : await deps.blobs.listAll(idsOf(unknown))),
  ];
  return found.filter(({ keys }) => keys.length > 0);
}

/**
 * True if rows name all places of the file. After a pin they do not: a commit may have begun copies in other places.
 */
const isKnown = ({ knownPlaces, pinnedEtag, blobKey, nonces }: RemovedFile): boolean =>
  knownPlaces !== null && pinnedEtag === null && blobKey === null && nonces.length <= LIMITS.namedPlaces;

const idsOf = (files: readonly RemovedFile[]): readonly string[] => files.map(({ id }) => id);

const placesOf = ({ id, blobKey, pinnedEtag, nonces }: RemovedFile): readonly string[] => [
  blobKey ?? masterKey(id),
  ...(pinnedEtag === null ? [] : [pinnedKey(id, pinnedEtag)]),
  incomingKey(id),
  collectedKey(id),
  ...nonces.map((nonce) => variantKey(id, nonce)),
];
