import { variantKey, type BlobStore } from "../blobs/blob-store.ts";
import type { VariantJob } from "../model/job.ts";
import type { VariantStore } from "./variant-store.ts";

export interface PurgeVariantsDeps {
  readonly blobs: BlobStore;
  readonly variants: VariantStore;
}

/**
 * Deletes removed renditions. A job that is still running finds its row removed or gone, and deletes the bytes that it
 * wrote. The rows of renditions with a message go with that (lanes/lane-store.ts).
 */
export async function purgeVariants(
  deps: PurgeVariantsDeps,
  renditions: readonly VariantJob[],
  nowMs: number,
): Promise<void> {
  if (renditions.length === 0) return;
  await deps.blobs.delete(renditions.map(({ fileId, nonce }) => variantKey(fileId, nonce)));
  await deps.variants.delete(renditions, nowMs);
}
