import { err, ok, type Result } from "../../platform/result.ts";
import { LIMITS } from "../model/limits.ts";
import { readWord } from "./quoted-text.ts";

/** One `key:value` of `q`; the key is a path into the metadata, with dots. */
export interface Term {
  readonly key: string;
  readonly value: string;
}

/** What needs no quotation marks: everything but white space, marks and the colon. */
const BARE = /[^\s":]/;

/**
 * `q` (specification, Query rules; contract 4.5): pairs of key and value with white space between them, repeats folded;
 * none in a blank text. Keys and values may stand in quotation marks. The error says what is wrong and where. Pure.
 */
export function parseQuery(source: string): Result<readonly Term[], string> {
  const terms = new Map<string, Term>();
  let at = afterSpace(source, 0);
  while (at < source.length) {
    const term = readTerm(source, at);
    if (!term.ok) return term;
    terms.set(JSON.stringify(term.value.term), term.value.term);
    if (terms.size > LIMITS.queryTerms) return err(`has more than ${LIMITS.queryTerms} terms`);
    at = afterSpace(source, term.value.end);
    if (at === term.value.end && at < source.length) return err(`needs a space before ${place(source, at)}`);
  }
  return ok([...terms.values()]);
}

function readTerm(source: string, start: number): Result<{ readonly term: Term; readonly end: number }, string> {
  const key = readWord(source, start, BARE);
  if (!key.ok) return key;
  if (key.value.text === "") return err(`needs a key at ${place(source, start)}`);
  if (source[key.value.end] !== ":") return err(`needs key:value at ${place(source, start)}`);
  const valueStart = key.value.end + 1;
  const value = readWord(source, valueStart, BARE);
  if (!value.ok) return value;
  if (value.value.end === valueStart) return err(`needs a value at ${place(source, valueStart)}`);
  if (source[value.value.end] === ":")
    return err(`needs quotation marks around the value at ${place(source, valueStart)}, since it has a colon`);
  return ok({ term: { key: key.value.text, value: value.value.text }, end: value.value.end });
}

function afterSpace(source: string, start: number): number {
  let at = start;
  while (at < source.length && /\s/.test(source[at]!)) at += 1;
  return at;
}

const place = (source: string, at: number): string => (at < source.length ? `character ${at + 1}` : "the end");
