import type { FileLine } from "../files/file-copies.ts";
import { LIMITS } from "../model/limits.ts";
import { SECTIONS } from "../model/part.ts";
import type { JobLists, NumberedPart } from "../model/stage.ts";

/** The files of a step, and the position of the next step. Undefined: there are no more files. */
export async function filesAt(
  position: string,
  lists: Pick<JobLists, "partsOf">,
  readLines: (part: NumberedPart) => Promise<readonly string[]>,
): Promise<{ readonly files: readonly FileLine[]; readonly next: string } | undefined> {
  const at = position === "" ? { part: 0, line: 0 } : (JSON.parse(position) as { part: number; line: number });
  const [part] = lists.partsOf(SECTIONS.media, at.part, 1);
  if (part === undefined) return undefined;
  const lines = await readLines(part);
  const line = part.number === at.part ? at.line : 0;
  const files = lines.slice(line, line + LIMITS.parallel).map((text) => JSON.parse(text) as FileLine);
  const end = line + files.length;
  const next = end < lines.length ? { part: part.number, line: end } : { part: part.number + 1, line: 0 };
  return { files, next: JSON.stringify(next) };
}
