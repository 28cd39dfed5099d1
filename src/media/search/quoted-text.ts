import { err, ok, type Result } from "../../platform/model/result.ts";

/**
 * A word of `q` or `sort`: bare or in quotation marks. In quotation marks, `\"` is a quotation mark and `\\` a
 * backslash; before any other character a backslash stands for itself. Pure.
 */
export interface Word {
  readonly text: string;
  /** The place after the word. */
  readonly end: number;
}

/**
 * Reads the word at `start`. `bare` matches characters that need no quotation marks. The error describes the mistake.
 */
export function readWord(source: string, start: number, bare: RegExp): Result<Word, string> {
  if (source[start] !== '"') {
    let end = start;
    while (end < source.length && bare.test(source[end]!)) end += 1;
    return ok({ text: source.slice(start, end), end });
  }
  let text = "";
  for (let at = start + 1; at < source.length; at++) {
    const char = source[at]!;
    if (char === '"') return ok({ text, end: at + 1 });
    const next = source[at + 1];
    const isEscape = char === "\\" && (next === '"' || next === "\\");
    if (isEscape) at += 1;
    text += isEscape ? next : char;
  }
  return err(`leaves the quotation mark at character ${start + 1} open`);
}
