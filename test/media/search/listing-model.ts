import { utf8 } from "../../../src/platform/text/encoding.ts";
import type { PlainFile } from "./listing-files.ts";

/** The model of a listing filters, compares and sorts plain metadata. */
export interface ModelQuery {
  readonly terms: readonly { readonly key: string; readonly value: string }[];
  readonly types: readonly string[] | undefined;
  readonly sort: readonly { readonly name: string; readonly descending: boolean }[];
}

export function modelListing(files: readonly PlainFile[], query: ModelQuery): string[] {
  return files
    .filter((file) => matches(file, query))
    .sort((a, b) => compare(a, b, query))
    .map(({ id }) => id);
}

type Scalar = string | number | boolean;

/** Returns all values under a path of names. A name may contain dots. */
function valuesAt(value: unknown, path: string): Scalar[] {
  if (Array.isArray(value)) return value.flatMap((element) => valuesAt(element, path));
  if (typeof value === "object" && value !== null)
    return Object.entries(value).flatMap(([name, member]) => {
      if (path === name) return valuesAt(member, "");
      return path.startsWith(`${name}.`) ? valuesAt(member, path.slice(name.length + 1)) : [];
    });
  return path === "" && value !== null ? [value as Scalar] : [];
}

const inMetadata = (file: PlainFile, path: string): Scalar[] =>
  Object.entries(file.metadata as object).flatMap(([name, member]) => {
    if (path === name) return Array.isArray(member) || typeof member !== "object" ? valuesAt(member, "") : [];
    return path.startsWith(`${name}.`) ? valuesAt(member, path.slice(name.length + 1)) : [];
  });

function matches(file: PlainFile, { terms, types }: ModelQuery): boolean {
  const hasType = types === undefined || types.some((type) => type === file.type || type === file.type.split(";")[0]);
  const isText = (value: Scalar, text: string) =>
    typeof value === "string" ? value === text : JSON.stringify(value) === text;
  return hasType && terms.every(({ key, value }) => inMetadata(file, key).some((found) => isText(found, value)));
}

function compare(a: PlainFile, b: PlainFile, { sort }: ModelQuery): number {
  for (const { name, descending } of sort) {
    const [left, right] = [a, b].map((file) => (name === "Content-Type" ? file.type : inMetadata(file, name)[0]));
    if (left === undefined && right === undefined) continue;
    if (left === undefined || right === undefined) return left === undefined ? 1 : -1;
    const order = compareValues(left, right);
    if (order !== 0) return descending ? -order : order;
  }
  return a.id < b.id ? -1 : 1;
}

/** Sorts numbers before texts, and texts by code point, which is the order of their UTF-8 bytes. */
function compareValues(a: Scalar, b: Scalar): number {
  if (typeof a === "number" || typeof b === "number") {
    if (typeof a === "number" && typeof b === "number") return a - b;
    return typeof a === "number" ? -1 : 1;
  }
  const [left, right] = [utf8(String(a)), utf8(String(b))];
  for (let at = 0; at < Math.min(left.length, right.length); at++)
    if (left[at] !== right[at]) return left[at]! - right[at]!;
  return left.length - right.length;
}
