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
 * The proof asks for each place where the file can have bytes. Rows name all of them for most files: the master, an
 * upload on its way, and each rendition. Else it lists what is below the file's prefixes, which costs more: of files
 * that a link to the bucket brought, that had a rendition removed, or that an older release made.
 */
interface PurgeDeps {
  readonly blobs: BlobStore;
  readonly removed: RemovedFileStore;
}

export interface EraseDeps extends PurgeDeps {
  readonly erasures: ErasureStore;
  readonly queue: JobQueue;
}

/**
 * Does one step of a deletion: some pages of its files, as many as one invocation can. May be repeated, run twice at
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

/** The bucket is asked for this file: whether it is gone, or where its bytes are. */
const asks = ({ purgedAt, knownPlaces }: RemovedFile): boolean => purgedAt !== null || knownPlaces === null;

/** The first files, up to the one too many that asks. */
function withFewAsking(files: readonly RemovedFile[]): readonly RemovedFile[] {
  let asking = 0;
  const end = files.findIndex((file) => asks(file) && ++asking > LIMITS.erasePage);
  return end === -1 ? files : files.slice(0, end);
}

/** Starts the work after the answer: few files at once, many by the queue. */
export const startErasure = (deps: EraseDeps, erasure: Erasure, nowMs: number): Promise<unknown> =>
  erasure.files <= LIMITS.erasePage
    ? eraseStep(deps, erasure.id, nowMs)
    : deps.queue.send([{ work: "erase", id: erasure.id }]);

/**
 * Deletes the bytes of a file that was deleted alone, after the answer. The file is due when its proof is. If this
 * fails it is due at once; if it breaks off, the bytes are deleted before the proof.
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
 * Works on removed files that are due: deletes their bytes; later, when nobody can write any more, proves that none are
 * left, and deletes the row. May be repeated, run twice at once or break off anywhere: unfinished files stay due. The
 * number of statements does not depend on the number of files.
 */
export async function processRemoved(deps: PurgeDeps, files: readonly RemovedFile[], nowMs: number): Promise<void> {
  const fresh = files.filter(({ purgedAt }) => purgedAt === null);
  const purged = files.filter(({ purgedAt }) => purgedAt !== null);
  if (fresh.length > 0) await purgeFiles(deps, fresh, nowMs);
  if (purged.length > 0) await verifyErased(deps, purged, nowMs);
}

/** Deletes the bytes that the rows know of, and unfinished uploads. */
async function purgeFiles(deps: PurgeDeps, files: readonly RemovedFile[], nowMs: number): Promise<void> {
  if (files.length === 0) return;
  const unknown = files.filter(({ knownPlaces }) => knownPlaces === null);
  const incoming = unknown.length === 0 ? [] : await deps.blobs.listIncoming(idsOf(unknown));
  await deps.blobs.delete([...files.flatMap(placesOf), ...incoming]);
  await deps.removed.markPurged(files, nowMs);
}

/**
 * Proves the deletion, at a time when its upload link has ended and every job that began before the removal is over.
 * Objects that it finds are recorded, deleted and looked for again.
 */
async function verifyErased(deps: PurgeDeps, files: readonly RemovedFile[], nowMs: number): Promise<void> {
  const late = await filesWithBytes(deps, files);
  let left: readonly string[] = [];
  if (late.length > 0) {
    await deps.removed.recordLate(late);
    await deps.blobs.delete(late.flatMap(({ keys }) => keys));
    const lateIds = new Set(late.map(({ fileId }) => fileId));
    const again = files.filter(({ id }) => lateIds.has(id));
    left = (await filesWithBytes(deps, again)).map(({ fileId }) => fileId);
    if (left.length > 0) await deps.removed.postpone(left, nowMs + LIMITS.verifyAgainMs);
  }
  await deps.removed.markVerified(
    files.filter(({ id }) => !left.includes(id)),
    nowMs,
  );
}

async function filesWithBytes(deps: PurgeDeps, files: readonly RemovedFile[]): Promise<readonly FileKeys[]> {
  const known = files.filter(isKnown);
  const unknown = files.filter((file) => !isKnown(file));
  const found = [
    ...(await deps.blobs.present(known.map((file) => ({ fileId: file.id, keys: placesOf(file) })))),
    ...(unknown.length === 0 ? [] : await deps.blobs.listAll(idsOf(unknown))),
  ];
  return found.filter(({ keys }) => keys.length > 0);
}

/** Rows name all places of the file. A commit may have begun copies that only the bucket knows. */
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
