import { fromBase64Url, fromUtf8, toBase64Url, utf8 } from "../platform/encoding.ts";
import { err, ok, type Result } from "../platform/result.ts";
import { invalid, type Problem } from "./errors.ts";

/** Contract 1.3. */
export const PAGE_SIZE = { default: 16, max: 1000 } as const;
/** A page number beyond this would skip more rows than a database should walk over. */
const MAX_PAGE_NUMBER = 1_000_000;
/** Four values to sort by, of 280 bytes that JSON writes in six characters each, in base64. */
const MAX_CURSOR_CHARS = 12_288;
/** Of a `Link`. Clients take some 16 KiB of headers in all, and many repeat a filter of any length in each link. */
const MAX_LINK_CHARS = 8 * 1024;

/**
 * Which page a caller asked for. With a `cursor` (from a `next` link) the page starts after that row, whatever was
 * written meanwhile; without one it starts `skip` rows from the beginning.
 */
export interface Paging {
  readonly pageNumber: number;
  readonly pageSize: number;
  readonly skip: number;
  /** The sort key of the last row of the page before, as the store made it. */
  readonly cursor: readonly CursorPart[] | undefined;
  /** Names of the other query parameters that the route knows: its links repeat these. */
  readonly filters: readonly string[];
}

export type CursorPart = string | number | null;

export interface Page<T> {
  readonly items: readonly T[];
  /** The sort key of the last item when more rows follow, else undefined. */
  readonly next: readonly CursorPart[] | undefined;
  /** How many rows a page number may skip at most, where the collection has such a limit. */
  readonly maxSkip?: number;
  /** Of a page without items: the one before it has some. */
  readonly hasRowsBefore?: boolean;
}

export function readPaging(query: URLSearchParams, filters: readonly string[] = []): Result<Paging, Problem> {
  const pageNumber = readNumber(query, "pageNumber", 1, MAX_PAGE_NUMBER);
  if (!pageNumber.ok) return pageNumber;
  const pageSize = readNumber(query, "pageSize", PAGE_SIZE.default, PAGE_SIZE.max);
  if (!pageSize.ok) return pageSize;
  const cursor = readCursor(query.get("cursor"));
  if (!cursor.ok) return cursor;
  const skip = cursor.value === undefined ? (pageNumber.value - 1) * pageSize.value : 0;
  return ok({ pageNumber: pageNumber.value, pageSize: pageSize.value, skip, cursor: cursor.value, filters });
}

/** Cuts `pageSize + 1` rows to a page: the row beyond tells that another page exists. */
export function toPage<T>(
  rows: readonly T[],
  { pageSize }: Pick<Paging, "pageSize">,
  keyOf: (row: T) => readonly CursorPart[],
): Page<T> {
  const items = rows.slice(0, pageSize);
  const last = items.at(-1);
  return { items, next: rows.length > pageSize && last !== undefined ? keyOf(last) : undefined };
}

/** Which rows of a collection are looked for: at most `limit`, behind `skip` others. */
export interface RowRange {
  readonly skip: number;
  readonly limit: number;
}

/**
 * The same page; of an empty one that is not the first, one more look tells whether the page before it has rows. `read`
 * gives rows in the order of the page.
 */
export async function checkPreviousPage<T>(
  page: Page<T>,
  { pageNumber, pageSize }: Pick<Paging, "pageNumber" | "pageSize">,
  read: (range: RowRange) => Promise<readonly unknown[]>,
): Promise<Page<T>> {
  if (page.items.length > 0 || pageNumber === 1) return page;
  return { ...page, hasRowsBefore: (await read({ skip: (pageNumber - 2) * pageSize, limit: 1 })).length > 0 };
}

/**
 * The `Link` header of a page: `self` always, `prev` and `next` where such a page exists and a page number leads to it.
 * Where they would take more room than clients have, `prev` is left out first; then `self` is the empty reference, which
 * is the address that was asked for (RFC 3986 section 4.4). Without `next` nobody could go on.
 */
export function pageLinks(asked: URL, paging: Paging, page: Page<unknown>): string {
  const kept = [...asked.searchParams].filter(([name]) => paging.filters.includes(name));
  const link = (rel: string, pageNumber: number, cursor: readonly CursorPart[] | undefined): string => {
    const url = new URL(asked);
    url.search = "";
    for (const [name, value] of kept) url.searchParams.append(name, value);
    url.searchParams.set("pageNumber", String(pageNumber));
    url.searchParams.set("pageSize", String(paging.pageSize));
    if (cursor !== undefined) url.searchParams.set("cursor", toBase64Url(utf8(JSON.stringify(cursor))));
    return `<${url.href}>; rel="${rel}"`;
  };
  const { pageNumber, pageSize, cursor } = paging;
  const self = link("self", pageNumber, cursor);
  const isReached = (pageNumber - 2) * pageSize <= (page.maxSkip ?? Infinity);
  const hasPrev = pageNumber > 1 && isReached && (page.items.length > 0 || page.hasRowsBefore === true);
  const prev = hasPrev ? [link("prev", pageNumber - 1, undefined)] : [];
  // By its cursor it is found under any number that we take.
  const nextNumber = Math.min(pageNumber + 1, MAX_PAGE_NUMBER);
  const next = page.next === undefined ? [] : [link("next", nextNumber, page.next)];
  const short = [`<>; rel="self"`, ...next].join(", ");
  const wanted = [
    [self, ...prev, ...next],
    [self, ...next],
  ].map((links) => links.join(", "));
  return wanted.find((links) => links.length <= MAX_LINK_CHARS) ?? short;
}

function readNumber(query: URLSearchParams, name: string, fallback: number, max: number): Result<number, Problem> {
  const texts = query.getAll(name);
  const [text = ""] = texts;
  if (texts.length === 0) return ok(fallback);
  const value = Number(text);
  if (texts.length === 1 && /^\d{1,9}$/.test(text) && value >= 1 && value <= max) return ok(value);
  return err(invalid("out_of_range_parameter", name, `${name} must be one whole number from 1 to ${max}.`));
}

/** A cursor that is none of ours, or one of another collection. */
export const invalidCursor = (): Problem =>
  invalid("invalid_query_parameter", "cursor", "cursor must come unchanged from a next link.");

function readCursor(text: string | null): Result<readonly CursorPart[] | undefined, Problem> {
  if (text === null) return ok(undefined);
  const wrong = () => err(invalidCursor());
  if (text.length > MAX_CURSOR_CHARS) return wrong();
  const json = fromUtf8(fromBase64Url(text) ?? new Uint8Array(0));
  try {
    const parts: unknown = JSON.parse(json ?? "");
    const valid = (part: unknown) => part === null || typeof part === "string" || typeof part === "number";
    return Array.isArray(parts) && parts.length <= 8 && parts.every(valid) ? ok(parts as CursorPart[]) : wrong();
  } catch {
    return wrong();
  }
}
