import { err, ok, type Result } from "../../platform/result.ts";

/**
 * The words of `q` and `sort`: bare, or between quotation marks with `\"` for a mark and `\\` for a backslash (before
 * anything else a backslash stands for itself). Pure.
 */
export interface Word {
  readonly text: string;
  /** Where what follows it begins. */
  readonly end: number;
}

/** Reads the word at `start`. `bare` matches the characters that need no marks. The error says what is wrong. */
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
