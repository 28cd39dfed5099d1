import { json, type Answer } from "../../http/route.ts";
import type { FileStore } from "../files/file-store.ts";
import type { Links } from "../files/links.ts";
import { quoted } from "../files/representation.ts";
import { variantsToJson } from "../files/variant-json.ts";
import { toProblem } from "../model/failure.ts";
import type { VariantStore } from "../variants/variant-store.ts";
import type { FileOwner } from "./operated-store.ts";
import { contentLink, previewOf } from "./preview.ts";

export interface ShowDeps {
  readonly files: FileStore;
  readonly variants: VariantStore;
  readonly links: Links;
}

/** Shows a committed file with its metadata, as the text that was sent, and its variants with links to their bytes. */
export async function showFile(
  { files, variants, links }: ShowDeps,
  fileId: string,
  owner: FileOwner,
  { nowMs, publicBase }: { readonly nowMs: number; readonly publicBase: string },
): Promise<Answer> {
  const caller = { ...owner, isPerson: false };
  const [file, listed, metadata] = await Promise.all([
    files.findCommitted(fileId, undefined),
    variants.list(fileId, caller),
    files.readMetadata(fileId, caller),
  ]);
  if (file === undefined || listed === undefined || metadata === undefined) return toProblem({ kind: "no_file" });
  const linkTo = (which: Parameters<typeof contentLink>[4]) =>
    contentLink(links, publicBase, owner.visibility, fileId, which, nowMs);
  const preview = previewOf({ ...file, variants: listed.variants });
  const shown = variantsToJson({ links }, publicBase, owner.visibility, fileId, listed.variants);
  return json(
    200,
    {
      id: fileId,
      ...owner,
      "Content-Type": file.contentType,
      size: file.sizeBytes,
      etag: quoted(file.etag),
      fileName: file.fileName,
      committedAt: file.committedAt,
      metadataText: metadata,
      variants: await Promise.all(
        shown.map(async (one, at) => {
          const row = listed.variants[at]!;
          return row.state === "ready" ? { ...one, link: await linkTo(row) } : one;
        }),
      ),
      link: await linkTo("master"),
      ...(preview === undefined ? {} : { preview: await linkTo(preview) }),
    },
    { "cache-control": "no-store" },
  );
}
