import { masterKey, variantKey } from "./blob-store.ts";
import type { MediaContext } from "./context.ts";
import { LIMITS } from "./limits.ts";
import type { DueFile } from "./store/due.ts";

/**
 * Deletes the bytes of what the rows call removed; may run twice or break off at any place, the sweep runs it again.
 *
 * The row of a file stays until the file is a day old: until then its upload link may still bring bytes, which the
 * second run takes away.
 */
export async function purgeFile(media: MediaContext, file: DueFile, nowMs: number): Promise<void> {
  const nonces = await media.due.noncesOf(file.id);
  await media.blobs.delete([masterKey(file.id), ...nonces.map((nonce) => variantKey(file.id, nonce))]);
  await media.blobs.deleteIncoming(file.id);
  const linkIsOverAtMs = file.createdAt + LIMITS.uncommittedTtlMs;
  if (nowMs >= linkIsOverAtMs) await media.due.forgetFile(file.id);
  else await media.due.postponeFile(file.id, linkIsOverAtMs);
}

/** A job that still runs on one of them finds its row gone and deletes what it wrote. */
export async function purgeVariants(media: MediaContext, fileId: string, nonces: readonly string[]): Promise<void> {
  if (nonces.length === 0) return;
  await media.blobs.delete(nonces.map((nonce) => variantKey(fileId, nonce)));
  await media.variants.forget(fileId, nonces);
}
