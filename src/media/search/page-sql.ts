import { leadingRowPath } from "../metadata/attributes.ts";
import { LIMITS } from "../model/limits.ts";
import { boundFilter, matchingIds, type BoundFilter } from "./filter-store.ts";
import type { Counts, ListQuery, Plan } from "./plan.ts";

/**
 * The parameter that the statements of all pages share. Attributes and values stand only in it, not in the SQL text.
 */
interface BoundPage extends BoundFilter {
  /** The sort keys. `path` is where a file's record has the place of the row that the file sorts by. */
  readonly sort: readonly { readonly key: string; readonly path: string }[];
  readonly cursor: ListQuery["paging"]["cursor"];
  /** The number of files of the page and one more. */
  readonly limit: number;
  readonly skip: number;
  readonly maxRows: number;
}

/**
 * Returns the parameter `?1` of a page's statement. SQLite reads its numbers from JSON, as it does those of the index,
 * so large numbers are equal.
 */
export function pageParameter(plan: Plan, counts: Counts, query: ListQuery): string {
  const { conditions, sort, paging } = query;
  const maxRows = plan.kind === "walk" ? plan.maxRows : 0;
  const page: BoundPage = {
    ...boundFilter(counts, conditions, plan.leading),
    sort: sort.map(({ key }) => ({ key, path: leadingRowPath(key) })),
    cursor: paging.cursor,
    limit: paging.pageSize + 1,
    // All segments together have no more rows than this.
    skip: plan.kind === "walk" ? Math.min(paging.skip, maxRows * (sort.length + 1)) : paging.skip,
    maxRows,
  };
  return JSON.stringify(page);
}

/** SQL: a part of the parameter, such as `limit` or `sort[0].key`. */
export const bound = (path: string): string => `(?1 ->> '$.${path}')`;

/** SQL: the value that a file sorts by, from its record. */
export const valueAt = (at: number): string =>
  `file.attributes ->> ('$.rows[' || (file.attributes ->> ${bound(`sort[${at}].path`)}) || '][1]')`;

/** SQL: the columns of a `SELECT`, one for each sort key. */
export const sortColumns = ({ sort }: ListQuery, column: (at: number) => string): string =>
  sort.map((_, at) => `, ${column(at)} AS k${at}`).join("");

/** SQL: the order by the sort keys from the place `from` on, and by id. */
export const orderFrom = ({ sort }: ListQuery, from: number): string =>
  [
    ...sort.map(({ descending }, at) => `k${at} IS NULL, k${at}${descending ? " DESC" : ""}`).slice(from),
    "file_id",
  ].join(", ");

/** SQL: a row with `file_id`, `k0`, `k1` … comes after the cursor, if its keys before `from` equal the cursor's. */
export function afterCursor(query: ListQuery, from: number): string {
  const { sort, paging } = query;
  if (paging.cursor === undefined) return "true";
  const value = bound(`cursor[${from}]`);
  const key = sort[from];
  if (key === undefined) return `file_id > ${value}`;
  const tie = afterCursor(query, from + 1);
  if ((paging.cursor[from] ?? null) === null) return `k${from} IS NULL AND (${tie})`;
  const later = `k${from} IS NULL OR k${from} ${key.descending ? "<" : ">"} ${value}`;
  return `${later} OR k${from} = ${value} AND (${tie})`;
}

/** SQL: a page of all matching files, sorted. */
export function collectSql({ hasMore }: Counts, query: ListQuery): string {
  const matching = `SELECT file.id AS file_id${sortColumns(query, valueAt)}
    FROM (${matchingIds(hasMore)}) AS matching CROSS JOIN file WHERE file.id = matching.id`;
  return pageSql(
    `SELECT * FROM (${matching} LIMIT -1) WHERE ${afterCursor(query, 0)} ORDER BY ${orderFrom(query, 0)}`,
    query,
  );
}

/** SQL: a page of shared files by id, with their clients. It leaves out files of a retired owner. */
export const sharedSql = (query: ListQuery): string => {
  const files = `SELECT file.id AS file_id FROM file CROSS JOIN owner ON owner.id = file.owner_id
    WHERE file.shared_in = ${bound("share")} AND file.state = 'committed' AND file.id > ${bound("after")}
      AND owner.erasure_id IS NULL ORDER BY file.id`;
  return `SELECT shown.*, owner.client FROM (${pageSql(files, query)}) AS shown
    LEFT JOIN owner ON owner.id = (SELECT owner_id FROM file WHERE file.id = shown.id)`;
};

/** Returns the parameter `?1` of `sharedSql`. */
export const sharedParameter = (share: string, { cursor, pageSize, skip }: ListQuery["paging"]): string =>
  JSON.stringify({ share, after: cursor?.[0] ?? "", limit: pageSize + 1, skip });

/** SQL: a page of `source`, which has `file_id` and the columns `k0`, `k1` … of the sort keys, in order. */
export const pageSql = (source: string, query: ListQuery): string => `SELECT page.*,
  file.content_type AS contentType, file.size_bytes AS sizeBytes, file.etag, file.file_name AS fileName,
  file.created_at AS createdAt, file.committed_at AS committedAt, octet_length(file.metadata) AS metadataBytes,
  CASE WHEN octet_length(file.metadata) <= ${LIMITS.shortMetadataBytes} THEN file.metadata END AS metadata, (
    SELECT json_group_array(json_object('type', type, 'size', size, 'state', state, 'width', width, 'height', height,
      'sizeBytes', size_bytes, 'etag', etag, 'reason', reason)) FROM (
      SELECT * FROM variant WHERE variant.file_id = page.id AND state <> 'removed' ORDER BY type, size)
  ) AS variants
  FROM (
    SELECT file_id AS id${sortColumns(query, (at) => `k${at}`)} FROM (${source})
    LIMIT ${bound("limit")} OFFSET ${bound("skip")}
  ) AS page LEFT JOIN file ON file.id = page.id`;
