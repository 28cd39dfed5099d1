import type { Links } from "../files/links.ts";
import type { Visibility } from "../model/file.ts";
import type { VariantName } from "../model/sizes.ts";
import type { ListedFile, ListedVariant } from "../search/listing-store.ts";

/**
 * The preview of an image in a grid is the smallest variant that is large enough, or else the image itself if it is
 * small. Otherwise there is none, because a page of originals could have hundreds of megabytes.
 */
const ENOUGH_PIXELS = 160;
const SMALL_BYTES = 200_000;
/** The types of images that browsers show. */
const SHOWN = /^image\/(jpeg|png|gif|webp|avif|svg\+xml)\b/i;

type Pictured = Pick<ListedFile, "contentType" | "sizeBytes" | "variants">;

/** Chooses the preview: a variant, `master`, or none. Pure. */
export function previewOf({ contentType, sizeBytes, variants }: Pictured): VariantName | "master" | undefined {
  const [smallest] = variants.filter(isEnough).toSorted((a, b) => (a.sizeBytes ?? 0) - (b.sizeBytes ?? 0));
  if (smallest !== undefined) return smallest;
  return SHOWN.test(contentType) && sizeBytes <= SMALL_BYTES ? "master" : undefined;
}

/** Tests the size that was asked for. A variant of a smaller image may have fewer pixels. */
const isEnough = ({ state, size }: ListedVariant): boolean =>
  state === "ready" && Math.max(...size.split("x").map(Number)) >= ENOUGH_PIXELS;

/** Returns links to the previews of files, by their ids. Links of private files are valid for some minutes. */
export async function previewsOf(
  links: Links,
  publicBase: string,
  visibility: Visibility,
  files: readonly ListedFile[],
  nowMs: number,
): Promise<ReadonlyMap<string, string>> {
  const found = await Promise.all(
    files.map(async (file): Promise<readonly [string, string] | undefined> => {
      const preview = previewOf(file);
      if (preview === undefined) return undefined;
      return [file.id, await contentLink(links, publicBase, visibility, file.id, preview, nowMs)];
    }),
  );
  return new Map(found.filter((one) => one !== undefined));
}

/** Returns the address of the bytes. For a private file it is signed and expires. */
export async function contentLink(
  links: Links,
  publicBase: string,
  visibility: Visibility,
  fileId: string,
  which: VariantName | "master",
  nowMs: number,
): Promise<string> {
  const variant = which === "master" ? undefined : which;
  return visibility === "public"
    ? links.content(publicBase, fileId, variant)
    : links.temporaryContent(publicBase, fileId, variant, nowMs);
}
