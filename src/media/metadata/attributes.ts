import { createHash } from "node:crypto";
import { utf8 } from "../../platform/text/encoding.ts";
import { comparableTypes } from "../model/content-type.ts";
import { LIMITS } from "../model/limits.ts";

/**
 * Turns a file's metadata into pairs of key and value for search and sorting. Pure.
 *
 * - Keys are paths with a dot before each part: `.color`, `.size.width`. The member `{"size.width": 1}` has the same
 *   path as `{"size": {"width": 1}}`.
 * - The elements of an array, nested ones too, are values of the array's key.
 * - Numbers stay numbers, booleans become the texts `true` and `false`, and null is left out.
 * - A number that JavaScript writes differently, or cannot hold exactly, is also indexed as the text that was sent. So
 *   `1.50` is found as `1.50` and `1.5`, and long identifiers stay distinct. It sorts as a number.
 * - The index adds keys of its own: `#type`, the content type with and without its parameters; `#keys`, the set of keys
 *   that the file sorts by; `#more`, for a file with more pairs than the index takes; `#shared`, for a shared file;
 *   `#person`, for a file of a client that keeps people apart.
 *
 * Only the first `LIMITS.pairsPerFile` pairs count.
 */
export interface FileAttributes {
  /** The rows of the table `attribute`. */
  readonly rows: readonly IndexRow[];
  /** Index in `rows` of the row that a file sorts by, for each digest of a key. */
  readonly at: Readonly<Record<string, number>>;
  /** Digests (`pairDigest`) of the pairs beyond the index, separated by spaces. */
  readonly unindexed: string | null;
}

/** `leads` is 1 in the row that the file sorts by under this key. */
type IndexRow = readonly [key: string, value: IndexValue, leads: 0 | 1];
export type IndexValue = string | number;

export const TYPE_KEY = "#type";
export const KEYS_KEY = "#keys";
export const MORE_KEY = "#more";
const SHARED_KEY = "#shared";
const PERSON_KEY = "#person";

/** `metadata` is the text of a JSON object. */
export const hasTooManyPairs = (metadata: string): boolean =>
  pairsOf(metadata, LIMITS.pairsPerFile + 1).length > LIMITS.pairsPerFile;

/** Facts about a file beside its metadata. */
interface Marks {
  readonly isShared?: boolean;
  readonly person?: string | null;
}

/** `metadata` is the text of a JSON object. */
export function attributesOf(metadata: string, contentType: string, marks: Marks = {}): FileAttributes {
  const rows: IndexRow[] = [];
  const leading = new Map<string, number>();
  const unindexed: string[] = [];
  for (const { key, value, maySort } of pairsOf(metadata, LIMITS.pairsPerFile)) {
    if (rows.length === LIMITS.indexedPairs || utf8(key).byteLength > LIMITS.indexedBytes) {
      unindexed.push(pairDigest(key, value));
      continue;
    }
    const leads = maySort && !leading.has(key);
    if (leads) leading.set(key, rows.length);
    rows.push([key, value, leads ? 1 : 0]);
  }
  const keys = JSON.stringify([...leading.keys()].sort());
  leading.set(TYPE_KEY, rows.length);
  for (const [at, type] of comparableTypes(contentType).entries()) rows.push([TYPE_KEY, type, at === 0 ? 1 : 0]);
  rows.push([KEYS_KEY, digestOf(keys), 0]);
  if (unindexed.length > 0) rows.push([MORE_KEY, 1, 0]);
  if (marks.isShared === true) rows.push([SHARED_KEY, 1, 0]);
  if (typeof marks.person === "string") rows.push([PERSON_KEY, indexText(marks.person), 0]);
  const at = Object.fromEntries([...leading].map(([key, place]) => [digestOf(key), place]));
  return { rows, at, unindexed: unindexed.length === 0 ? null : unindexed.join(" ") };
}

interface Pair {
  readonly key: string;
  readonly value: IndexValue;
  /** False for the mere spelling of a number. */
  readonly maySort: boolean;
}

/** Returns the first `max` pairs, each once, as the index writes them. */
function pairsOf(metadata: string, max: number): readonly Pair[] {
  const pairs = new Map<string, Pair>();
  for (const found of valuesIn("", JSON.parse(metadata, keepSource))) {
    const { value } = found;
    const pair = { key: indexText(found.key), value: typeof value === "string" ? indexText(value) : value };
    const name = JSON.stringify([pair.key, pair.value]);
    pairs.set(name, { ...pair, maySort: found.maySort || pairs.get(name)?.maySort === true });
    if (pairs.size === max) break;
  }
  return [...pairs.values()];
}

class SourceNumber {
  readonly value: number;
  readonly text: string;
  constructor(value: number, text: string) {
    this.value = value;
    this.text = text;
  }
}

/** A reviver that keeps the source text of numbers. `JSON.parse` passes it the text of each primitive value. */
const keepSource = (_key: string, value: unknown, context?: { source: string }): unknown =>
  typeof value === "number" ? new SourceNumber(value, context!.source) : value;

function* valuesIn(key: string, value: unknown): Generator<Pair> {
  if (Array.isArray(value)) for (const element of value) yield* valuesIn(key, element);
  else if (value instanceof SourceNumber) yield* valuesOfNumber(key, value);
  else if (typeof value === "object" && value !== null)
    for (const [name, member] of Object.entries(value)) yield* valuesIn(`${key}.${name}`, member);
  else if (typeof value === "string") yield { key, value, maySort: true };
  else if (typeof value === "boolean") yield { key, value: String(value), maySort: true };
}

function* valuesOfNumber(key: string, { value, text }: SourceNumber): Generator<Pair> {
  // A number that is too large becomes infinite, which JSON cannot write and an order cannot place.
  if (Number.isFinite(value)) yield { key, value, maySort: true };
  if (!isSpelledBy(value, text)) yield { key, value: text, maySort: false };
}

/** True if this text, and no other, stands for the number. Integers of more than 53 bits have several texts. */
const isSpelledBy = (value: number, text: string): boolean =>
  Number.isFinite(value) && JSON.stringify(value) === text && (!Number.isInteger(value) || Number.isSafeInteger(value));

/** A condition on files: a key has one of these values. */
export interface Condition {
  readonly key: string;
  readonly values: readonly IndexValue[];
  /** Digests of the same pairs, for files with more pairs than the index takes. */
  readonly digests: readonly string[];
}

/** `key` is a path without its first dot. A text also matches the number or boolean that it spells. */
export function metadataCondition(key: string, text: string): Condition {
  const number = Number(text);
  return conditionOf(indexText(`.${key}`), [indexText(text), ...(isSpelledBy(number, text) ? [number] : [])]);
}

/** Matches files of one of these content types. A type without parameters also matches types with parameters. */
export const typeCondition = (types: readonly string[]): Condition =>
  conditionOf(TYPE_KEY, [...new Set(types.map((type) => comparableTypes(type)[0]))]);

/** Matches shared files. */
export const SHARED_CONDITION: Condition = { key: SHARED_KEY, values: [1], digests: [] };

/** Matches the files of this person. */
export const personCondition = (person: string): Condition => ({
  key: PERSON_KEY,
  values: [indexText(person)],
  digests: [],
});

const conditionOf = (key: string, values: readonly IndexValue[]): Condition => ({
  key,
  values,
  digests: values.map((value) => pairDigest(key, value)),
});

/** The index key of a metadata attribute to sort by. */
export const sortKey = (name: string): string => indexText(`.${name}`);

/** The JSON path, in `file.attributes`, of the place of the row that a file sorts by under this key. */
export const leadingRowPath = (key: string): string => `$.at."${digestOf(key)}"`;

/**
 * Cuts a text of more than 256 bytes between characters and appends its digest. The result is longer than any uncut
 * text, so it equals only itself, and it sorts by its beginning.
 */
function indexText(text: string): string {
  const whole = text.toWellFormed();
  // A UTF-16 unit becomes at most three bytes, so nearly all texts end here without being encoded.
  if (whole.length * 3 <= LIMITS.indexedBytes) return whole;
  const bytes = utf8(whole);
  if (bytes.byteLength <= LIMITS.indexedBytes) return whole;
  let end = LIMITS.indexedBytes;
  // A byte 10xxxxxx lies within a character.
  while ((bytes[end]! & 0xc0) === 0x80) end -= 1;
  const beginning = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes.subarray(0, end));
  return `${beginning}\u0001${digestOf(whole)}`;
}

const pairDigest = (key: string, value: IndexValue): string => digestOf(JSON.stringify([key, value]));

/** 128 bits of SHA-256 in base64url. Synchronous, because one file may have thousands of pairs. */
const digestOf = (text: string): string => createHash("sha256").update(text).digest("base64url").slice(0, 22);
