import * as z from "zod/mini";
import { err, ok, type Result } from "../../platform/model/result.ts";
import { metadataCondition, typeCondition, type Condition } from "../metadata/attributes.ts";
import { isContentType } from "../model/content-type.ts";
import { LIMITS } from "../model/limits.ts";
import { readWord } from "./quoted-text.ts";
import { parseSort } from "./sort-parameter.ts";

/** Query parameters that choose files and their order, the same in all operations. */
const parsed = <T>(parse: (text: string) => Result<T, string>) =>
  z.pipe(
    z.string(),
    z.transform((text: string, context): T => {
      const read = parse(text);
      if (read.ok) return read.value;
      context.issues.push({ code: "custom", message: read.error, input: text });
      return z.NEVER;
    }),
  );

export const filterParameters = {
  q: z.optional(parsed(parseQuery)),
  "content-type": z.optional(parsed(parseContentTypes)),
};

/** The `q` of a deletion. An empty one is refused, because it would match all files. */
export const deletionTerms = z.optional(parsed(parseTerms));

export const sortParameter = { sort: z.optional(parsed(parseSort)) };

export interface FilterParameters {
  readonly q?: readonly Term[] | undefined;
  readonly "content-type"?: readonly string[] | undefined;
}

export const conditionsOf = ({ q = [], "content-type": types }: FilterParameters): readonly Condition[] => [
  ...q.map(({ key, value }) => metadataCondition(key, value)),
  ...(types === undefined ? [] : [typeCondition(types)]),
];

function parseTerms(text: string): Result<readonly Term[], string> {
  const terms = parseQuery(text);
  return terms.ok && terms.value.length === 0 ? err("must have a term. To delete all files, leave it out") : terms;
}

/** Reads a list such as `image/png, text/plain`. A comma in quotation marks belongs to a parameter of a type. */
export function parseContentTypes(text: string): Result<readonly string[], string> {
  const types = (text.match(/(?:"[^"]*"|[^,"])+/g) ?? []).map((type) => restorePlus(type.trim()));
  if (types.length > LIMITS.contentTypesPerRequest)
    return err(`names more than ${LIMITS.contentTypesPerRequest} types`);
  const isWhole = types.length > 0 && types.every(isContentType);
  return isWhole ? ok(types) : err("must be content types such as image/png, separated by commas");
}

/**
 * Restores a `+`, which a query string decodes to a space. A type has no space, so `image/svg xml` was `image/svg+xml`.
 */
const restorePlus = (type: string): string =>
  type.replace(/^[^;]*/, (essence) => essence.replaceAll(/(?<=[^/\s]) (?=[^/\s])/g, "+"));

/** One `key:value` of `q`. The key is a path into the metadata, with dots. JSON also has an empty key: `"":value`. */
export interface Term {
  readonly key: string;
  readonly value: string;
}

/** Characters that need no quotation marks. */
const BARE = /[^\s":]/;

/**
 * Parses `q`: pairs of key and value, separated by white space. It drops repeated pairs. Keys and values may be quoted.
 * The error describes the mistake and its place. Pure.
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
  if (key.value.end === start) return err(`needs a key at ${place(source, start)}`);
  if (source[key.value.end] !== ":") {
    const orQuotes = start === 0 ? "" : ", or quotation marks around a value with spaces before it";
    return err(`needs key:value at ${place(source, start)}${orQuotes}`);
  }
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
