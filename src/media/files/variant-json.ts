import type { Visibility, VariantRow } from "../model/file.ts";
import type { Links } from "./links.ts";
import { quoted } from "./representation.ts";

/** Returns variants as the HTTP interface shows them. Values that are not known yet are null. */
export function variantsToJson(
  deps: { readonly links: Links },
  publicBase: string,
  visibility: Visibility,
  fileId: string,
  variants: readonly Omit<VariantRow, "nonce" | "contentType">[],
): object[] {
  return variants.map((row) => ({
    type: row.type,
    size: row.size,
    width: row.width,
    height: row.height,
    bytes: row.sizeBytes,
    etag: row.etag === null ? null : quoted(row.etag),
    state: row.state,
    ...(row.reason === null ? {} : { reason: row.reason }),
    ...(visibility === "public" && row.state === "ready"
      ? { link: deps.links.content(publicBase, fileId, { type: row.type, size: row.size }) }
      : {}),
  }));
}
