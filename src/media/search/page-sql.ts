import type { Paging } from "../../http/paging.ts";
import { leadingRowPath, type Condition } from "../metadata/attributes.ts";
import { LIMITS } from "../model/limits.ts";
import { wantedOf, type Filter, type Survey, type Wanted } from "./matching-store.ts";
import type { SortKey } from "./sort.ts";

/** What the statements of all plans of a listing have in common. They name attributes and values by parameters alone. */
export interface ListQuery {
  readonly filter: Filter;
  readonly sort: readonly SortKey[];
  /** The parts of a cursor: the value of each sort key, null where the file has none, and the id. */
  readonly paging: Pick<Paging, "pageSize" | "skip" | "cursor">;
}

/** One statement. */
export interface Plan {
  readonly sql: string;
  readonly values: readonly unknown[];
  readonly sortKeys: number;
}

/** In the place of a file: the rows that may be looked at ended before the page was full. */
export const CUT = "";

/** What the statements read of their first parameter, `?1`, which is JSON. */
export interface PageWanted extends Wanted {
  /** Sort keys, and where a file's record says which row leads under them. */
  readonly sort: readonly { readonly key: string; readonly path: string }[];
  /** Rows of the page and one more. */
  readonly limit: number;
  readonly skip: number;
  /** Rows that one segment may look at. */
  readonly mostRows: number;
}

export const OWNER = `?1 ->> 'owner'`;
export const LIMIT = `?1 ->> 'limit'`;
export const SKIP = `?1 ->> 'skip'`;
export const MOST_ROWS = `?1 ->> 'mostRows'`;
export const keyAt = (at: number): string => `?1 ->> '$.sort[${at}].key'`;

/** The value that a file sorts by, from its record. */
export const valueAt = (at: number): string =>
  `file.attributes ->> ('$.rows[' || (file.attributes ->> (?1 ->> '$.sort[${at}].path')) || '][1]')`;

export const lacks = (at: number): string => `file.attributes ->> (?1 ->> '$.sort[${at}].path') IS NULL`;

export function pageWanted(
  survey: Survey,
  query: ListQuery,
  leading: Condition | undefined,
  mostRows: number,
): PageWanted {
  return {
    ...wantedOf(survey, query.filter, leading),
    sort: query.sort.map(({ key }) => ({ key, path: leadingRowPath(key) })),
    limit: query.paging.pageSize + 1,
    skip: query.paging.skip,
    mostRows,
  };
}

/** Names the parameters of a statement as they come up. */
export class Parameters {
  readonly values: unknown[] = [];
  add(value: unknown): string {
    // As JSON, from which the index has its numbers too: a large one that is bound is another one to the database.
    if (typeof value === "number") return `(?${this.values.push(JSON.stringify(value))} ->> '$')`;
    return `?${this.values.push(value)}`;
  }
}

/** What a page shows of its files. `source` gives `file_id` and the columns `k0`, `k1` … of the sort keys, in order. */
export const pageSql = (source: string, sortKeys: number): string => `SELECT page.*,
  file.content_type, file.size_bytes, file.etag, file.file_name, file.created_at, file.committed_at,
  octet_length(file.metadata) AS metadata_bytes,
  CASE WHEN octet_length(file.metadata) <= ${LIMITS.shortMetadataBytes} THEN file.metadata END AS metadata, (
    SELECT json_group_array(json_object('type', type, 'size', size, 'state', state, 'width', width, 'height', height,
      'sizeBytes', size_bytes, 'etag', etag, 'reason', reason)) FROM (
      SELECT * FROM variant WHERE variant.file_id = page.file_id AND state <> 'removed' ORDER BY type, size)
  ) AS variants
  FROM (SELECT file_id${columns(sortKeys, (at) => `k${at}`)} FROM (${source}) LIMIT ${LIMIT} OFFSET ${SKIP}) AS page
  LEFT JOIN file ON file.id = page.file_id`;

export const columns = (count: number, column: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => `, ${column(at)}`).join("");

export const orderFrom = ({ sort }: ListQuery, from: number): string =>
  [
    ...sort.map(({ descending }, at) => `k${at} IS NULL, k${at}${descending ? " DESC" : ""}`).slice(from),
    "file_id",
  ].join(", ");

/** Whether a row with `file_id` and `k0`, `k1` … comes after the cursor; the keys before `from` are alike. */
export function afterCursor({ sort, paging: { cursor } }: ListQuery, from: number, parameters: Parameters): string {
  if (cursor === undefined) return "true";
  const after = (at: number): string => {
    if (at === sort.length) return `file_id > ${parameters.add(cursor[at])}`;
    const value = cursor[at] ?? null;
    if (value === null) return `k${at} IS NULL AND (${after(at + 1)})`;
    const name = parameters.add(value);
    const later = `k${at} IS NULL OR k${at} ${sort[at]!.descending ? "<" : ">"} ${name}`;
    return `${later} OR k${at} = ${name} AND (${after(at + 1)})`;
  };
  return after(from);
}
