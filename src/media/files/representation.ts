import { err, ok, type Result } from "../../platform/model/result.ts";
import { variantKey } from "../blobs/blob-store.ts";
import type { MediaFailure } from "../model/failure.ts";
import type { VariantName } from "../model/sizes.ts";
import type { CommittedFile } from "./file-store.ts";

/** The bytes that a fetch returns, of the master or a variant. The bytes of a key and their ETag never change. */
export interface Representation {
  readonly key: string;
  /** The ETag with its quotes. */
  readonly etag: string;
  readonly sizeBytes: number;
  readonly contentType: string;
  readonly lastModifiedMs: number;
  readonly fileName: string | undefined;
  /** Undefined for the master. */
  readonly variant: VariantName | undefined;
}

export const quoted = (etag: string): string => `"${etag}"`;

/** Chooses the bytes to return. With `fallback`, the master stands in for a variant that is not ready. */
export function representationOf(
  file: CommittedFile,
  wanted: VariantName | undefined,
  fallback: boolean,
): Result<Representation, MediaFailure> {
  const common = { lastModifiedMs: file.committedAt, fileName: file.fileName ?? undefined };
  const { etag, sizeBytes, contentType, variant } = file;
  const master = { ...common, key: file.blobKey, etag: quoted(etag), sizeBytes, contentType, variant: undefined };
  if (wanted === undefined) return ok(master);
  if (variant?.state === "ready")
    return ok({
      ...common,
      key: variantKey(file.id, variant.nonce),
      etag: quoted(variant.etag ?? ""),
      sizeBytes: variant.sizeBytes ?? 0,
      contentType: variant.contentType ?? contentType,
      variant: wanted,
    });
  if (fallback) return ok(master);
  if (variant?.state === "failed") return err({ kind: "variant_failed", reason: variant.reason ?? "" });
  return err({ kind: variant?.state === "pending" ? "variant_pending" : "no_variant" });
}
