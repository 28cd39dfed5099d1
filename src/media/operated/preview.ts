import type { Links } from "../files/links.ts";
import type { Visibility } from "../model/file.ts";
import type { VariantName } from "../model/sizes.ts";
import type { ListedFile, ListedVariant } from "../search/listing-store.ts";

/**
 * The picture that stands for an image in a grid: the smallest variant that is large enough, else the image itself if
 * it is small. Otherwise none: a page of originals would be hundreds of megabytes.
 */
const ENOUGH_PIXELS = 160;
const SMALL_BYTES = 200_000;
/** Images that browsers show. */
const SHOWN = /^image\/(jpeg|png|gif|webp|avif|svg\+xml)\b/i;

type Pictured = Pick<ListedFile, "contentType" | "sizeBytes" | "variants">;

/** A variant, `master`, or nothing. Pure. */
export function previewOf({ contentType, sizeBytes, variants }: Pictured): VariantName | "master" | undefined {
  const [smallest] = variants.filter(isEnough).toSorted((a, b) => (a.sizeBytes ?? 0) - (b.sizeBytes ?? 0));
  if (smallest !== undefined) return smallest;
  return SHOWN.test(contentType) && sizeBytes <= SMALL_BYTES ? "master" : undefined;
}

/** A variant of a smaller image may have fewer pixels than its size says. */
const isEnough = ({ state, size }: ListedVariant): boolean =>
  state === "ready" && Math.max(...size.split("x").map(Number)) >= ENOUGH_PIXELS;

/** Links to the pictures of files, by their ids; those of private files are valid for some minutes. */
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

/** The address of the bytes: of public files for ever, of private ones signed. */
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
