import { KEYS_KEY } from "../metadata/attributes.ts";
import { matches, MAX_KEY_SETS, rowsForWalked, type Survey, type Wanted } from "./matching-store.ts";
import {
  afterCursor,
  columns,
  CUT,
  keyAt,
  lacks,
  LIMIT,
  MOST_ROWS,
  orderFrom,
  OWNER,
  pageSql,
  pageWanted,
  Parameters,
  SKIP,
  valueAt,
  type ListQuery,
  type PageWanted,
  type Plan,
} from "./page-sql.ts";

/** The segments from the one that the cursor is in. */
export function walkPlan(survey: Survey, query: ListQuery, mostRows: number): Plan {
  const { filter, sort, paging } = query;
  // Along a sort key no condition leads.
  const leading = sort.length > 0 ? undefined : filter.conditions[survey.rarest?.at ?? 0];
  // More than all segments have need not be skipped.
  const skip = Math.min(paging.skip, mostRows * (sort.length + 1));
  const wanted = { ...pageWanted(survey, query, leading, mostRows), skip };
  const parameters = new Parameters();
  parameters.add(JSON.stringify(wanted));
  const walk = { survey, query, wanted, parameters };
  const current = currentOf(paging.cursor);
  const segments: string[] = [];
  for (let at = current; at <= sort.length; at++) {
    const here = at === current && paging.cursor !== undefined;
    if (at === sort.length) segments.push(lastSegment(walk, here));
    else if (at === sort.length - 1) segments.push(sortedSegment(walk, at, here));
    else segments.push(groupedSegment(walk, at, here));
  }
  // A term of a compound each, of which D1 takes few.
  const source = segments.map((segment) => `SELECT * FROM (${segment})`).join(" UNION ALL ");
  const sql = pageSql(source, sort.length);
  return { sql, values: parameters.values, sortKeys: sort.length };
}

/**
 * Rows of one segment that a page may look at. What a row costs is reckoned for the segment that the page begins in; those
 * after it mostly give little, and have as many each.
 */
export function mostRowsOf({ filter, sort, paging }: ListQuery, morePages: number, budget: number): number {
  const rows = rowsForWalked(filter, morePages) + (sort.some(({ descending }) => descending) ? ROWS_OF_STEP : 0);
  if (paging.skip === 0) return Math.floor(budget / rows);
  // A group that is skipped is read twice: to find where it ends, and to sort it.
  return Math.floor(budget / ((rows + ROWS_OF_MARK) * (sort.length > 1 ? 2 : 1)));
}

/** The segment that a cursor is in. */
const currentOf = (cursor: ListQuery["paging"]["cursor"]): number => cursor?.findIndex((part) => part !== null) ?? 0;

/** What the parts of a walk are made of. */
interface Walk {
  readonly survey: Survey;
  readonly query: ListQuery;
  readonly wanted: PageWanted;
  readonly parameters: Parameters;
}

/** The files of a walk, which gives `file_id`, `value` and `leads`, that match and lack the keys before `from`. */
const matchesOf = (wanted: Wanted, walk: string, from: number): string => `FROM (${walk} LIMIT ${MOST_ROWS}) AS walk
  CROSS JOIN file WHERE walk.leads AND ${matches("?1", wanted, "walk.file_id")}
    AND file.id = walk.file_id AND file.owner_id = ${OWNER} AND file.state = 'committed'
    ${Array.from({ length: from }, (_, at) => `AND ${lacks(at)}`).join(" ")}`;

/** Rows read to step from a value to the one below it, in the walk and where it is cut. */
const ROWS_OF_STEP = 5;

/** Rows read for a mark of `cutOf`, of which there is one for each file that is skipped. */
const ROWS_OF_MARK = 2;

/** Where a walk was cut, so many marks that a page number does not skip them all. */
const cutOf = (walk: string, { sort, paging }: ListQuery): string => {
  const marks = `WITH RECURSIVE step (n) AS (
    SELECT 1 UNION ALL SELECT n + 1 FROM step LIMIT (${LIMIT}) + (${SKIP})) SELECT n FROM step`;
  return `SELECT '${CUT}' AS file_id${columns(sort.length, (at) => `NULL AS k${at}`)}
    FROM (${walk} LIMIT 1 OFFSET ${MOST_ROWS})${paging.skip > 0 ? ` CROSS JOIN (${marks})` : ""}`;
};

/** The files by the last sort key, `at`; they have it and lack all before it. */
function sortedSegment({ survey, query, wanted, parameters }: Walk, at: number, here: boolean): string {
  const { sort, paging } = query;
  const cursor = here ? paging.cursor : undefined;
  const start = cursor && { value: parameters.add(cursor[at]), after: parameters.add(cursor.at(-1)) };
  const walk = orderedWalk(keyOf(survey, at), sort[at]!.descending, start);
  const column = (key: number) => `${key === at ? "walk.value" : "NULL"} AS k${key}`;
  return `SELECT walk.file_id${columns(sort.length, column)} ${matchesOf(wanted, walk, at)}
    UNION ALL ${cutOf(walk, query)}`;
}

/**
 * A sort key, or NULL where no file has it and lacks all before it: mostly all files have the same keys, and to see that
 * would walk over all of them.
 */
const keyOf = ({ keySets }: Survey, at: number): string =>
  at === 0 || keySets > MAX_KEY_SETS
    ? keyAt(at)
    : `CASE WHEN EXISTS (SELECT 1 FROM key_set WHERE owner_id = ${OWNER}
        AND ${keyAt(at)} IN (SELECT value FROM json_each(keys))
        AND ${hasNone(at)}) THEN ${keyAt(at)} END`;

/** A set of keys that has none of so many sort keys. */
const hasNone = (sortKeys: number): string => `NOT EXISTS (SELECT 1 FROM json_each(keys)
  WHERE value IN (${Array.from({ length: sortKeys }, (_, at) => keyAt(at)).join(", ")}))`;

/** The rows of a sort key in its order, ids upwards, after `start`. */
function orderedWalk(
  keyName: string,
  descending: boolean,
  start: { value: string; after: string } | undefined,
): string {
  const key = `attribute.owner_id = ${OWNER} AND attribute.key = ${keyName}`;
  if (!descending)
    return `SELECT file_id, value, leads FROM attribute
      WHERE ${key} AND (value, file_id) > (${start?.value ?? "-9e999"}, ${start?.after ?? "''"}) ORDER BY value, file_id`;
  // From each value to the one below it: an index read backwards would give the ids backwards too.
  const first = start?.value ?? `(SELECT max(value) FROM attribute WHERE ${key})`;
  return `SELECT attribute.file_id, attribute.value, attribute.leads FROM (
      WITH RECURSIVE step (value, after) AS (
        SELECT ${first}, ${start?.after ?? "''"}
        UNION ALL
        SELECT (SELECT max(value) FROM attribute WHERE ${key} AND value < step.value), ''
        FROM step WHERE step.value IS NOT NULL)
      SELECT * FROM step
    ) AS step CROSS JOIN attribute WHERE ${key} AND attribute.value = step.value AND attribute.file_id > step.after`;
}

/**
 * The files by the sort key `at` and those after it; they have this key and lack all before it. Files that are alike in
 * it are sorted by the others, for which all of them are read: those of the cursor's value, and of as many values after
 * it as fill the page.
 */
function groupedSegment({ survey, query, wanted, parameters }: Walk, at: number, here: boolean): string {
  const { sort, paging } = query;
  const keyName = keyOf(survey, at);
  const { descending } = sort[at]!;
  const from = here ? parameters.add(paging.cursor![at]) : undefined;
  const beyond = orderedWalk(keyName, descending, from === undefined ? undefined : { value: from, after: "x'ff'" });
  const last = `(SELECT walk.value ${matchesOf(wanted, beyond, at)} LIMIT 1 OFFSET (${LIMIT}) + (${SKIP}))`;
  const range = descending
    ? `value <= ${from ?? "x'ff'"} AND value >= coalesce(${last}, -9e999)`
    : `value >= ${from ?? "-9e999"} AND value <= coalesce(${last}, x'ff')`;
  const walk = `SELECT file_id, value, leads FROM attribute
    WHERE owner_id = ${OWNER} AND key = ${keyName} AND ${range} ORDER BY value ${descending ? "DESC" : ""}`;
  const column = (key: number) => `${key < at ? "NULL" : key === at ? "walk.value" : valueAt(key)} AS k${key}`;
  const files = `SELECT walk.file_id${columns(sort.length, column)} ${matchesOf(wanted, walk, at)} LIMIT -1`;
  const later = here ? afterCursor(query, at, parameters) : "true";
  const sorted = `SELECT * FROM (${files}) WHERE ${later} ORDER BY ${orderFrom(query, at)} LIMIT (${LIMIT}) + (${SKIP})`;
  return `SELECT * FROM (${cutOf(walk, query)}) UNION ALL SELECT * FROM (${sorted})`;
}

/** The files by id: all, those of the leading condition, or those without any sort key. */
function lastSegment({ survey, query, wanted, parameters }: Walk, here: boolean): string {
  const { filter, sort, paging } = query;
  const after = here ? parameters.add(paging.cursor!.at(-1)) : "''";
  const byKeySets = sort.length > 0 && survey.keySets <= MAX_KEY_SETS;
  const byConditions = sort.length === 0 && filter.conditions.length > 0;
  const ofConditions = () => (wanted.lists.length === 1 ? walkOfList(after) : walkOfLists(`?1 -> 'lists'`, after));
  const walk = byKeySets
    ? walkOfLists(listsWithout(sort.length), after)
    : byConditions
      ? ofConditions()
      : walkOfFiles(after);
  const none = columns(sort.length, (at) => `NULL AS k${at}`);
  return `SELECT walk.file_id${none} ${matchesOf(wanted, walk, byKeySets ? 0 : sort.length)}
    UNION ALL ${cutOf(walk, query)}`;
}

const walkOfFiles = (after: string): string => `SELECT id AS file_id, 1 AS leads FROM file
  WHERE owner_id = ${OWNER} AND state = 'committed' AND id > ${after} ORDER BY id`;

const walkOfList = (after: string): string => `SELECT file_id, 1 AS leads FROM attribute WHERE owner_id = ${OWNER}
  AND key = ?1 ->> '$.lists[0].key' AND value = ?1 ->> '$.lists[0].value' AND file_id > ${after} ORDER BY file_id`;

/** Several lists as one by id, repeats folded: each step goes to the lowest id above the last one. */
const walkOfLists = (lists: string, after: string): string => `SELECT file_id, 1 AS leads FROM (
  WITH RECURSIVE step (file_id) AS (
    SELECT ${after}
    UNION ALL
    SELECT (SELECT min(next) FROM (
      SELECT (SELECT min(attribute.file_id) FROM attribute WHERE attribute.owner_id = ${OWNER}
        AND attribute.key = list.value ->> 'key' AND attribute.value = list.value ->> 'value'
        AND attribute.file_id > step.file_id) AS next FROM json_each(${lists}) AS list))
    FROM step WHERE step.file_id IS NOT NULL)
  SELECT file_id FROM step LIMIT -1 OFFSET 1
) WHERE file_id IS NOT NULL`;

/** The lists of the files that have none of the sort keys. */
const listsWithout = (sortKeys: number): string => `(SELECT
  json_group_array(json_object('key', '${KEYS_KEY}', 'value', digest))
  FROM key_set WHERE owner_id = ${OWNER} AND ${hasNone(sortKeys)})`;
