import { fromBase64Url, fromUtf8, toBase64Url, utf8 } from "../../platform/text/encoding.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import { invalid, type Problem } from "../errors/errors.ts";

export const PAGE_SIZE = { default: 16, max: 1000 } as const;
/** Maximum page number. A higher one would skip more rows than a database should read. */
const MAX_PAGE_NUMBER = 1_000_000;
/** Maximum length of a cursor: four sort values of 280 bytes, with up to six characters a byte in JSON, in base64. */
const MAX_CURSOR_CHARS = 12_288;
/** Maximum length of a `Link` header, which repeats the filters in each link. Clients accept some 16 KiB of headers. */
const MAX_LINK_CHARS = 8 * 1024;

/**
 * The requested page. With a `cursor` (from a `next` link) it starts after that row, even if rows were added or removed
 * meanwhile; without one it starts `skip` rows from the beginning.
 */
export interface Paging {
  readonly pageNumber: number;
  readonly pageSize: number;
  readonly skip: number;
  /** The sort key of the last row of the previous page, as the store made it. */
  readonly cursor: readonly CursorPart[] | undefined;
  /** Names of the route's other query parameters: links repeat these. */
  readonly filters: readonly string[];
}

export type CursorPart = string | number | null;

export interface Page<T> {
  readonly items: readonly T[];
  /** The sort key of the last item; undefined on the last page. */
  readonly next: readonly CursorPart[] | undefined;
  /** Maximum rows that a page number may skip, if the collection has a limit. */
  readonly maxSkip?: number;
  /** On a page without items: the previous page has some. */
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

/** Cuts `pageSize + 1` rows to a page: the extra row shows that another page exists. */
export function toPage<T>(
  rows: readonly T[],
  { pageSize }: Pick<Paging, "pageSize">,
  keyOf: (row: T) => readonly CursorPart[],
): Page<T> {
  const items = rows.slice(0, pageSize);
  const last = items.at(-1);
  return { items, next: rows.length > pageSize && last !== undefined ? keyOf(last) : undefined };
}

/** At most `limit` rows of a collection, after `skip` others. */
export interface RowRange {
  readonly skip: number;
  readonly limit: number;
}

/**
 * Sets `hasRowsBefore` of an empty page that is not the first, by one more query. `read` returns rows in the order of
 * the page.
 */
export async function checkPreviousPage<T>(
  page: Page<T>,
  { pageNumber, pageSize }: Pick<Paging, "pageNumber" | "pageSize">,
  read: (range: RowRange) => Promise<readonly unknown[]>,
): Promise<Page<T>> {
  if (page.items.length > 0 || pageNumber === 1) return page;
  return { ...page, hasRowsBefore: (await read({ skip: (pageNumber - 2) * pageSize, limit: 1 })).length > 0 };
}

interface List<T, Place> {
  /** The place after which the page begins. */
  readonly after: Place;
  /** The place after which the list begins. */
  readonly beginning: Place;
  /** Returns rows after a place, in the order of the list. */
  read(after: Place, range: RowRange): Promise<readonly T[]>;
  keyOf(row: T): readonly CursorPart[];
}

/** Reads a page of a list. */
export async function pageOf<T, Place>(
  paging: Pick<Paging, "pageNumber" | "pageSize" | "skip">,
  { after, beginning, read, keyOf }: List<T, Place>,
): Promise<Page<T>> {
  const rows = await read(after, { limit: paging.pageSize + 1, skip: paging.skip });
  return checkPreviousPage(toPage(rows, paging, keyOf), paging, (range) => read(beginning, range));
}

/**
 * The `Link` header of a page: always `self`, and `prev` and `next` if such a page exists and can be reached. If they
 * are too long for clients, `prev` is left out first; then `self` becomes the empty reference, which is the requested
 * address (RFC 3986 section 4.4). `next` always stays, since without it a caller could not continue.
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
  // The cursor leads to the next page under any page number.
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

/** The 400 for a cursor that no `next` link of this collection has. */
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
