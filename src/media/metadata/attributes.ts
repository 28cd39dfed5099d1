import { createHash } from "node:crypto";
import { utf8 } from "../../platform/encoding.ts";
import { comparableTypes } from "../model/content-type.ts";
import { LIMITS } from "../model/limits.ts";

/**
 * What the metadata of a file says, as pairs of key and value that can be looked up and sorted by. Pure.
 *
 * - Keys are paths with a dot before each part: `.color`, `.size.width`. A key that has a dot in it gives the same path.
 * - An array gives its elements as values of its own key, those of arrays and objects in it too.
 * - Numbers are numbers, booleans the texts `true` and `false`; null is no value.
 * - A number that JavaScript writes in another way, or has only nearly, is the text of what was sent besides: so `1.50` is
 *   found as `1.50` and as `1.5`, and long identifiers are not taken for each other. It sorts as a number all the same.
 * - Keys of our own: `#type`, the content type with and without its parameters; `#keys`, which keys the file sorts by;
 *   `#more`, for a file with more pairs than the index takes.
 *
 * The first `LIMITS.pairsPerFile` pairs are read.
 */
export interface FileAttributes {
  /** The rows of the table `attribute`. */
  readonly rows: readonly IndexRow[];
  /** Where the leading row of a key stands among `rows`, by the digest of the key. */
  readonly at: Readonly<Record<string, number>>;
  /** Pairs that the index has no place for, as `pairDigest` gives them, with spaces between them. */
  readonly more: string;
}

/** The last part is 1 in the row by which the file sorts under this key. */
export type IndexRow = readonly [key: string, value: IndexValue, leads: 0 | 1];
export type IndexValue = string | number;

export const TYPE_KEY = "#type";
export const KEYS_KEY = "#keys";
export const MORE_KEY = "#more";

/** Whether metadata, the text of a JSON object, has more pairs than are read. */
export const hasTooManyPairs = (metadata: string): boolean =>
  pairsOf(metadata, LIMITS.pairsPerFile + 1).length > LIMITS.pairsPerFile;

/** Of the metadata's text, which is a JSON object, and the content type. */
export function attributesOf(metadata: string, contentType: string): FileAttributes {
  const rows: IndexRow[] = [];
  const leading = new Map<string, number>();
  const more: string[] = [];
  for (const { key, value, maySort } of pairsOf(metadata, LIMITS.pairsPerFile)) {
    if (rows.length === LIMITS.indexedPairs || utf8(key).byteLength > LIMITS.indexedBytes) {
      more.push(pairDigest(key, value));
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
  const digests = more.join(" ");
  if (digests !== "") rows.push([MORE_KEY, 1, 0]);
  const at = Object.fromEntries([...leading].map(([key, place]) => [digestOf(key), place]));
  return { rows, at, more: digests };
}

interface Pair {
  readonly key: string;
  readonly value: IndexValue;
  /** Not by the mere spelling of a number. */
  readonly maySort: boolean;
}

/** Each pair once, as the index writes it; the first `max` of them. */
function pairsOf(metadata: string, max: number): readonly Pair[] {
  const pairs = new Map<string, Pair>();
  for (const found of valuesIn("", JSON.parse(metadata, keepWriting))) {
    const { value } = found;
    const pair = { key: indexText(found.key), value: typeof value === "string" ? indexText(value) : value };
    const name = JSON.stringify([pair.key, pair.value]);
    pairs.set(name, { ...pair, maySort: found.maySort || pairs.get(name)?.maySort === true });
    if (pairs.size === max) break;
  }
  return [...pairs.values()];
}

class WrittenNumber {
  readonly value: number;
  readonly text: string;
  constructor(value: number, text: string) {
    this.value = value;
    this.text = text;
  }
}

/** For `JSON.parse`, which tells the text of each value that is no object. */
const keepWriting = (_key: string, value: unknown, context?: { source: string }): unknown =>
  typeof value === "number" ? new WrittenNumber(value, context!.source) : value;

function* valuesIn(key: string, value: unknown): Generator<Pair> {
  if (Array.isArray(value)) for (const element of value) yield* valuesIn(key, element);
  else if (value instanceof WrittenNumber) yield* valuesOfNumber(key, value);
  else if (typeof value === "object" && value !== null)
    for (const [name, member] of Object.entries(value)) yield* valuesIn(`${key}.${name}`, member);
  else if (typeof value === "string") yield { key, value, maySort: true };
  else if (typeof value === "boolean") yield { key, value: String(value), maySort: true };
}

function* valuesOfNumber(key: string, { value, text }: WrittenNumber): Generator<Pair> {
  // A number that is too large for one is infinite here, and has no place in an order or in JSON.
  if (Number.isFinite(value)) yield { key, value, maySort: true };
  if (!isNumberOf(value, text)) yield { key, value: text, maySort: false };
}

/** Whether a number stands for a text and for no other one: an integer of more than 53 bits stands for many. */
const isNumberOf = (value: number, text: string): boolean =>
  Number.isFinite(value) && JSON.stringify(value) === text && (!Number.isInteger(value) || Number.isSafeInteger(value));

/** One thing that a file has to have: a key with one of these values. */
export interface Condition {
  readonly key: string;
  readonly values: readonly IndexValue[];
  /** The same pairs as they stand among those that the index has no place for. */
  readonly digests: readonly string[];
}

/** `key` as a path without its first dot. A text also matches the number that it stands for, and the boolean. */
export function metadataCondition(key: string, text: string): Condition {
  const number = Number(text);
  return conditionOf(indexText(`.${key}`), [indexText(text), ...(isNumberOf(number, text) ? [number] : [])]);
}

/** A file of one of these content types; one without parameters takes those with parameters too. */
export const typeCondition = (types: readonly string[]): Condition =>
  conditionOf(TYPE_KEY, [...new Set(types.map((type) => comparableTypes(type)[0]))]);

const conditionOf = (key: string, values: readonly IndexValue[]): Condition => ({
  key,
  values,
  digests: values.map((value) => pairDigest(key, value)),
});

/** The key under which an attribute of the metadata is sorted. */
export const sortKey = (name: string): string => indexText(`.${name}`);

/** Where `at` says which row leads under a key, as a path of JSON. */
export const leadingRowPath = (key: string): string => `$.at."${digestOf(key)}"`;

/**
 * A text of more than 256 bytes is cut between characters and goes on with its digest: so it is longer than any that
 * was not cut, equal only to itself, and sorted by its beginning.
 */
function indexText(text: string): string {
  const whole = text.toWellFormed();
  // Three bytes at most for each unit: nearly no text needs to be looked at.
  if (whole.length * 3 <= LIMITS.indexedBytes) return whole;
  const bytes = utf8(whole);
  if (bytes.byteLength <= LIMITS.indexedBytes) return whole;
  let end = LIMITS.indexedBytes;
  // 10xxxxxx is a byte within a character.
  while ((bytes[end]! & 0xc0) === 0x80) end -= 1;
  const beginning = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes.subarray(0, end));
  return `${beginning}\u0001${digestOf(whole)}`;
}

const pairDigest = (key: string, value: IndexValue): string => digestOf(JSON.stringify([key, value]));

/** 128 bits of SHA-256 in base64url. Not asynchronous: one file may have thousands of pairs. */
const digestOf = (text: string): string => createHash("sha256").update(text).digest("base64url").slice(0, 22);
