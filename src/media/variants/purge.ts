import { variantKey, type BlobStore } from "../blobs/blob-store.ts";
import type { VariantJob } from "../model/job.ts";
import type { VariantStore } from "./variant-store.ts";

export interface PurgeVariantsDeps {
  readonly blobs: BlobStore;
  readonly variants: VariantStore;
}

/** Deletes removed renditions. A job that is still running finds its row gone and deletes the bytes that it wrote. */
export async function purgeVariants(deps: PurgeVariantsDeps, renditions: readonly VariantJob[]): Promise<void> {
  if (renditions.length === 0) return;
  await deps.blobs.delete(renditions.map(({ fileId, nonce }) => variantKey(fileId, nonce)));
  await deps.variants.delete(renditions);
}
