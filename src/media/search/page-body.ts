import { utf8 } from "../../platform/encoding.ts";
import { describeError, type Log } from "../../platform/log.ts";
import { twice } from "../../platform/twice.ts";
import { LIMITS } from "../model/limits.ts";
import type { ListedFile, ListingStore } from "./listing-store.ts";

export interface PageBodyDeps {
  readonly log: Log;
  readonly listing: ListingStore;
}

type ToText = (file: ListedFile, metadata: string) => string;

/**
 * The files of a page as a JSON array, in parts: the long metadata of a part is read when the client has taken those
 * before it, so that no more of it is in memory. An ordinary page is one part, and a text. A file that was removed
 * meanwhile is left out. If a later part cannot be read, the answer breaks off, which no JSON parser takes for an end.
 */
export async function pageBody(
  deps: PageBodyDeps,
  files: readonly ListedFile[],
  toText: ToText,
): Promise<string | ReadableStream<Uint8Array>> {
  const [part = [], ...later] = partsOf(files);
  const first = await textsOf(deps, part, toText);
  if (later.length === 0) return `[${first.join(",")}]`;
  return streamOf(chunksOf(deps, first, later, toText));
}

/** Nothing is made before it is asked for. */
const streamOf = (chunks: AsyncGenerator<Uint8Array, undefined>): ReadableStream<Uint8Array> =>
  new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { value } = await chunks.next();
        if (value === undefined) controller.close();
        else controller.enqueue(value);
      },
      cancel: async () => void (await chunks.return(undefined)),
    },
    { highWaterMark: 0 },
  );

async function* chunksOf(
  deps: PageBodyDeps,
  first: readonly string[],
  later: readonly (readonly ListedFile[])[],
  toText: ToText,
): AsyncGenerator<Uint8Array, undefined> {
  yield utf8(`[${first.join(",")}`);
  let isEmpty = first.length === 0;
  for (const part of later) {
    const texts = await textsOf(deps, part, toText).catch((thrown: unknown) => {
      deps.log.error("a list of files broke off", { error: describeError(thrown) });
      throw thrown;
    });
    if (texts.length === 0) continue;
    yield utf8(`${isEmpty ? "" : ","}${texts.join(",")}`);
    isEmpty = false;
  }
  yield utf8("]");
  return undefined;
}

/** Parts with as much long metadata as may be in memory; a single file always has a place. */
function partsOf(files: readonly ListedFile[]): readonly (readonly ListedFile[])[] {
  const parts: ListedFile[][] = [];
  let bytes = Infinity;
  for (const file of files) {
    const more = file.metadata === null ? file.metadataBytes : 0;
    if (bytes + more > LIMITS.metadataPartBytes) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)!.push(file);
    bytes += more;
  }
  return parts;
}

async function textsOf(deps: PageBodyDeps, files: readonly ListedFile[], toText: ToText): Promise<string[]> {
  const ids = files.filter(({ metadata }) => metadata === null).map(({ id }) => id);
  const long = ids.length === 0 ? undefined : await twice(() => deps.listing.metadataOf(ids));
  return files.flatMap((file) => {
    const metadata = file.metadata ?? long?.get(file.id);
    return metadata === undefined ? [] : [toText(file, metadata)];
  });
}
