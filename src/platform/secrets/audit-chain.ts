import { utf8 } from "../text/encoding.ts";

/**
 * Copies of the audit log as JSON lines, chained by hashes: the first line describes the copy, every other one is a
 * row. Each line ends with the SHA-256 of the previous hash and of its own text without the hash; the first line
 * continues from the last line of the previous copy. To change, remove, insert or move a line, all later hashes would
 * have to change.
 */
export interface CopyFacts {
  readonly number: number;
  readonly rows: number;
  /** Sequence numbers of the first and last row. */
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** The hash of the last line of the previous copy. */
  readonly previous: string;
}

/** The hash before the first copy. */
export const GENESIS = "0".repeat(64);

/** Uses functions of every runtime, since copies are checked on other machines with Node. */
async function link(previous: string, text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", utf8(`${previous}\n${text}`));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Returns the copy's lines and the hash of the last one. */
export async function chain(
  facts: CopyFacts,
  rows: readonly object[],
): Promise<{ readonly lines: readonly string[]; readonly head: string }> {
  const lines: string[] = [];
  let head = facts.previous;
  for (const content of [facts, ...rows]) {
    const text = JSON.stringify(content);
    head = await link(head, text);
    lines.push(`${text.slice(0, -1)},"chain":"${head}"}`);
  }
  return { lines, head };
}

const LINE = /^(\{.*),"chain":"([0-9a-f]{64})"\}$/s;

/** Finds the first line that was changed, by its number. `head` is the hash of the last line in the database. */
export async function findBreak(
  lines: readonly string[],
  facts: CopyFacts & { readonly head: string },
): Promise<{ readonly line: number; readonly reason: string } | undefined> {
  let before = facts.previous;
  let seq = 0;
  for (const [index, line] of lines.entries()) {
    const at = index + 1;
    const [, text = "", stated] = LINE.exec(line) ?? [];
    if (stated === undefined) return { line: at, reason: "the line is none of a copy" };
    const hash = await link(before, `${text}}`);
    const own = index === 0 ? undefined : seqOf(line);
    if (hash !== stated) return { line: at, reason: whyBroken(seq, own) };
    before = hash;
    seq = own ?? 0;
  }
  if (lines.length < facts.rows + 1)
    return { line: lines.length + 1, reason: `${facts.rows + 1 - lines.length} lines are missing at the end` };
  if (lines.length > facts.rows + 1) return { line: facts.rows + 2, reason: "there are lines behind the last one" };
  if (before !== facts.head)
    return {
      line: lines.length,
      reason: `its hash is ${before}, and the database has ${facts.head}: the copy was written anew`,
    };
  return undefined;
}

/** The sequence number of a line, if it can be read. */
const seqOf = (line: string): number => Number(/^\{"seq":(\d{1,15}),/.exec(line)?.[1] ?? 0);

function whyBroken(before: number, seq: number | undefined): string {
  if (seq === undefined) return "the first line was changed, or does not go on from the copy before";
  if (seq <= before) return `row ${seq} stands behind row ${before}: rows were moved`;
  return `row ${seq} was changed, or rows between ${before} and ${seq} were taken out`;
}
