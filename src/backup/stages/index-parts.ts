import type { PartStore } from "../bucket/part-store.ts";
import type { Part } from "../model/part.ts";
import { readPart } from "./topic-walk.ts";
import { placeIn } from "../model/stage.ts";

/** Reads a page of the list of a backup's parts: one index part. */
export async function readIndex(
  parts: PartStore,
  index: readonly string[],
  position: string,
): Promise<{ readonly lines: readonly Part[]; readonly next: string | undefined }> {
  const at = placeIn(position, 0);
  const digest = index[at];
  if (digest === undefined) return { lines: [], next: undefined };
  const lines = (await readPart(parts, digest)).map((line) => JSON.parse(line) as Part);
  return { lines, next: at + 1 < index.length ? String(at + 1) : undefined };
}
