import { KEYS_KEY } from "../metadata/attributes.ts";
import { MAX_KEY_SETS, meetsConditions } from "./filter-store.ts";
import { afterCursor, bound, orderFrom, pageSql, sortColumns, valueAt } from "./page-sql.ts";
import type { Counts, ListQuery, WalkPlan } from "./plan.ts";

/**
 * SQL: a page by walks along the index, in segments. First come the files with the first sort key, sorted by it; then
 * the files without that key, sorted by the next one; at last the files without any sort key, by id. Each segment
 * passes at most `maxRows` rows.
 */
export function walkSql({ leading }: WalkPlan, counts: Counts, query: ListQuery): string {
  const { sort, paging } = query;
  const walk = { ...counts, query, leading };
  const first = paging.cursor?.findIndex((part) => part !== null) ?? 0;
  const segments: string[] = [];
  for (let at = first; at <= sort.length; at++) {
    const hasCursor = at === first && paging.cursor !== undefined;
    if (at === sort.length) segments.push(lastSegment(walk, hasCursor));
    else if (at === sort.length - 1) segments.push(sortedSegment(walk, at, hasCursor));
    else segments.push(groupedSegment(walk, at, hasCursor));
  }
  // Each segment is one term of the compound SELECT, because D1 allows few terms.
  return pageSql(segments.map((segment) => `SELECT * FROM (${segment})`).join(" UNION ALL "), query);
}

interface Walk extends Counts {
  readonly query: ListQuery;
  readonly leading: WalkPlan["leading"];
}

/** A row with this id instead of a file's means that the walk was cut before the page was full. */
export const CUT = "";

/** SQL: the files of `rows` (`file_id`, `value`, `leads`) that match and lack the sort keys before `from`. */
const matchesOf = ({ query, hasMore }: Walk, rows: string, from: number): string =>
  `FROM (${rows} LIMIT ${bound("maxRows")}) AS walk CROSS JOIN file
    WHERE walk.leads AND ${query.conditions.length === 0 ? "true" : meetsConditions("walk.file_id", hasMore)}
    AND file.id = walk.file_id AND file.owner_id = ${bound("owner")} AND file.state = 'committed'
    ${Array.from({ length: from }, (_, at) => `AND file.attributes ->> ${bound(`sort[${at}].path`)} IS NULL`).join(" ")}`;

/**
 * SQL: marks of a cut if `rows` has more rows than the walk may pass: so many that a page number cannot skip them all.
 */
function cutOf({ query }: Walk, rows: string): string {
  const marks = `WITH RECURSIVE step (n) AS (
    SELECT 1 UNION ALL SELECT n + 1 FROM step LIMIT ${bound("limit")} + ${bound("skip")}) SELECT n FROM step`;
  return `SELECT '${CUT}' AS file_id${sortColumns(query, () => "NULL")}
    FROM (${rows} LIMIT 1 OFFSET ${bound("maxRows")})${query.paging.skip > 0 ? ` CROSS JOIN (${marks})` : ""}`;
}

/** SQL: the files that have the last sort key, `at`, and lack all keys before it, sorted by it. */
function sortedSegment(walk: Walk, at: number, hasCursor: boolean): string {
  const { query } = walk;
  const after = hasCursor ? { value: bound(`cursor[${at}]`), fileId: bound(`cursor[${at + 1}]`) } : undefined;
  const rows = orderedRows(sortKeyOf(walk, at), query.sort[at]!.descending, after);
  const columns = sortColumns(query, (key) => (key === at ? "walk.value" : "NULL"));
  return `SELECT walk.file_id${columns} ${matchesOf(walk, rows, at)} UNION ALL ${cutOf(walk, rows)}`;
}

/**
 * SQL: the sort key `at`, or NULL if no file has this key and lacks all keys before it. The files of most owners have
 * the same keys, and a walk would pass all of them to find no match.
 */
const sortKeyOf = ({ keySets }: Walk, at: number): string =>
  at === 0 || keySets > MAX_KEY_SETS
    ? bound(`sort[${at}].key`)
    : `CASE WHEN EXISTS (SELECT 1 FROM key_set WHERE owner_id = ${bound("owner")}
        AND ${bound(`sort[${at}].key`)} IN (SELECT value FROM json_each(keys))
        AND ${lacksKeys(at)}) THEN ${bound(`sort[${at}].key`)} END`;

/** SQL: a key set lacks the first `count` sort keys. */
const lacksKeys = (count: number): string => `NOT EXISTS (SELECT 1 FROM json_each(keys)
  WHERE value IN (${Array.from({ length: count }, (_, at) => bound(`sort[${at}].key`)).join(", ")}))`;

/** SQL: the index rows of a key in its order; rows of one value have ascending ids. */
function orderedRows(key: string, descending: boolean, after?: { readonly value: string; readonly fileId: string }) {
  const ofKey = `attribute.owner_id = ${bound("owner")} AND attribute.key = ${key}`;
  if (!descending)
    return `SELECT file_id, value, leads FROM attribute
      WHERE ${ofKey} AND (value, file_id) > (${after?.value ?? "-9e999"}, ${after?.fileId ?? "''"})
      ORDER BY value, file_id`;
  // The walk steps from each value to the next lower one, because an index read backwards would also reverse the ids.
  const first = after?.value ?? `(SELECT max(value) FROM attribute WHERE ${ofKey})`;
  return `SELECT attribute.file_id, attribute.value, attribute.leads FROM (
      WITH RECURSIVE step (value, after) AS (
        SELECT ${first}, ${after?.fileId ?? "''"}
        UNION ALL
        SELECT (SELECT max(value) FROM attribute WHERE ${ofKey} AND value < step.value), ''
        FROM step WHERE step.value IS NOT NULL)
      SELECT * FROM step
    ) AS step CROSS JOIN attribute WHERE ${ofKey} AND attribute.value = step.value AND attribute.file_id > step.after`;
}

/**
 * SQL: the files that have the sort key `at` and lack all keys before it, sorted by this key and the later ones. The
 * later keys sort the files of one value, so these files are read together: the files of the cursor's value, and of as
 * many further values as fill the page.
 */
function groupedSegment(walk: Walk, at: number, hasCursor: boolean): string {
  const { query } = walk;
  const keyName = sortKeyOf(walk, at);
  const { descending } = query.sort[at]!;
  const from = hasCursor ? bound(`cursor[${at}]`) : undefined;
  const end = `${bound("limit")} + ${bound("skip")}`;
  const beyond = orderedRows(keyName, descending, from === undefined ? undefined : { value: from, fileId: "x'ff'" });
  const last = `(SELECT walk.value ${matchesOf(walk, beyond, at)} LIMIT 1 OFFSET ${end})`;
  const range = descending
    ? `value <= ${from ?? "x'ff'"} AND value >= coalesce(${last}, -9e999)`
    : `value >= ${from ?? "-9e999"} AND value <= coalesce(${last}, x'ff')`;
  const rows = `SELECT file_id, value, leads FROM attribute
    WHERE owner_id = ${bound("owner")} AND key = ${keyName} AND ${range} ORDER BY value ${descending ? "DESC" : ""}`;
  const columns = sortColumns(query, (key) => (key < at ? "NULL" : key === at ? "walk.value" : valueAt(key)));
  const files = `SELECT walk.file_id${columns} ${matchesOf(walk, rows, at)} LIMIT -1`;
  const later = hasCursor ? afterCursor(query, at) : "true";
  return `SELECT * FROM (${cutOf(walk, rows)}) UNION ALL SELECT * FROM (
    SELECT * FROM (${files}) WHERE ${later} ORDER BY ${orderFrom(query, at)} LIMIT ${end})`;
}

/** SQL: files by id: all files, the files of the leading condition, or the files without any sort key. */
function lastSegment(walk: Walk, hasCursor: boolean): string {
  const { query, keySets } = walk;
  const { length } = query.sort;
  const after = hasCursor ? bound(`cursor[${length}]`) : "''";
  const byKeySets = length > 0 && keySets <= MAX_KEY_SETS;
  const rows = byKeySets ? rowsOfEntries(keySetsWithout(length), after) : rowsById(walk, after);
  return `SELECT walk.file_id${sortColumns(query, () => "NULL")} ${matchesOf(walk, rows, byKeySets ? 0 : length)}
    UNION ALL ${cutOf(walk, rows)}`;
}

function rowsById({ query, leading, hasMore }: Walk, after: string): string {
  if (query.sort.length > 0 || leading === undefined)
    return `SELECT id AS file_id, 1 AS leads FROM file
      WHERE owner_id = ${bound("owner")} AND state = 'committed' AND id > ${after} ORDER BY id`;
  if (hasMore || leading.values.length > 1) return rowsOfEntries("?1 -> 'candidates'", after);
  return `SELECT file_id, 1 AS leads FROM attribute WHERE owner_id = ${bound("owner")}
    AND key = ${bound("candidates[0].key")} AND value = ${bound("candidates[0].value")} AND file_id > ${after}
    ORDER BY file_id`;
}

/** SQL: the files of several index entries by id, each once: every step goes to the lowest id above the last one. */
const rowsOfEntries = (entries: string, after: string): string => `SELECT file_id, 1 AS leads FROM (
  WITH RECURSIVE step (file_id) AS (
    SELECT ${after}
    UNION ALL
    SELECT (SELECT min(next) FROM (
      SELECT (SELECT min(attribute.file_id) FROM attribute WHERE attribute.owner_id = ${bound("owner")}
        AND attribute.key = entry.value ->> 'key' AND attribute.value = entry.value ->> 'value'
        AND attribute.file_id > step.file_id) AS next FROM json_each(${entries}) AS entry))
    FROM step WHERE step.file_id IS NOT NULL)
  SELECT file_id FROM step LIMIT -1 OFFSET 1
) WHERE file_id IS NOT NULL`;

/** SQL: the index entries of the files without the first `count` sort keys. */
const keySetsWithout = (count: number): string => `(SELECT
  json_group_array(json_object('key', '${KEYS_KEY}', 'value', digest))
  FROM key_set WHERE owner_id = ${bound("owner")} AND ${lacksKeys(count)})`;
