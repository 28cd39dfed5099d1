import { masterKey, variantKey } from "./blob-store.ts";
import type { MediaContext } from "./context.ts";
import { LIMITS } from "./limits.ts";
import type { VariantJob } from "./job.ts";

/**
 * Deletes the bytes of files that the rows call removed; may run twice or break off at any place, the sweep runs it
 * again. The cost in D1 does not depend on how many files these are.
 *
 * The row of a file stays until the file is a day old: until then its upload link may still bring bytes, which the
 * second run takes away.
 */
export async function purgeFiles(media: MediaContext, fileIds: readonly string[], nowMs: number): Promise<void> {
  const makings = await media.due.makingsOf(fileIds);
  await media.blobs.delete([...fileIds.map(masterKey), ...makings.map(keyOf)]);
  await media.blobs.deleteIncoming(fileIds);
  await media.due.settleRemoved(fileIds, nowMs, LIMITS.uncommittedTtlMs);
}

/** A job that still runs on one of them finds its row gone and deletes what it wrote. */
export async function purgeVariants(media: MediaContext, makings: readonly VariantJob[]): Promise<void> {
  if (makings.length === 0) return;
  await media.blobs.delete(makings.map(keyOf));
  await media.variants.forget(makings);
}

const keyOf = ({ fileId, nonce }: VariantJob): string => variantKey(fileId, nonce);
