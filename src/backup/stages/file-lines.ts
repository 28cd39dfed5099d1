import type { FileLine } from "../files/file-copies.ts";
import { LIMITS } from "../model/limits.ts";
import { SECTIONS } from "../model/part.ts";
import type { JobLists, NumberedPart } from "../model/stage.ts";
import { placeIn } from "../model/stage.ts";

type ReadLines = (part: NumberedPart) => Promise<readonly string[]>;

/** The files of a step, and the position of the next step. Undefined: there are no more files. */
export async function filesAt(
  position: string,
  lists: Pick<JobLists, "partsOf">,
  readLines: ReadLines,
): Promise<{ readonly files: readonly FileLine[]; readonly next: string } | undefined> {
  const found = await linesAt(SECTIONS.media, LIMITS.parallel, position, lists, readLines);
  return found && { files: found.lines.map((text) => JSON.parse(text) as FileLine), next: found.next };
}

/** Some lines of a section, at most `most`, and the position after them. Undefined: there are no more. */
export async function linesAt(
  section: string,
  most: number,
  position: string,
  lists: Pick<JobLists, "partsOf">,
  readLines: ReadLines,
): Promise<{ readonly lines: readonly string[]; readonly next: string } | undefined> {
  const at = placeIn(position, { part: 0, line: 0 });
  const [part] = lists.partsOf(section, at.part, 1);
  if (part === undefined) return undefined;
  const all = await readLines(part);
  const line = part.number === at.part ? at.line : 0;
  const lines = all.slice(line, line + most);
  const end = line + lines.length;
  const next = end < all.length ? { part: part.number, line: end } : { part: part.number + 1, line: 0 };
  return { lines, next: JSON.stringify(next) };
}
