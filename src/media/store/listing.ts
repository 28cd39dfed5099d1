import { KEYS_KEY, leadingRowPath, type Condition } from "../attributes.ts";
import type { CursorPart, Page, Paging } from "../../http/paging.ts";
import { LIMITS } from "../limits.ts";
import type { SortKey } from "../sort.ts";
import type { VariantType } from "../sizes.ts";
import type { FileCaller } from "./files.ts";
import {
  EVERY_ROW,
  matches,
  matchingIds,
  MAX_KEY_SETS,
  rowsForCollected,
  rowsForEach,
  wantedOf,
  type Filter,
  type MatchingStore,
  type Survey,
  type Wanted,
} from "./matching.ts";
import type { VariantRow } from "./variants.ts";

/**
 * Pages of the files of one owner. A page takes two round trips: a survey, and one statement by the plan that the survey
 * suggests:
 *
 * - `collect`: all files that match, sorted. Where the rarest condition matches few.
 * - `walk`: segments one after the other, until the page is full: the files with the first sort key in its order, then
 *   those without it by the next key, last those without any by id; each file is compared with the conditions.
 *
 * A walk looks at so many rows at most as the budget allows. Where that was too few, the rarest condition may still
 * match few enough to be collected.
 *
 * Long metadata is read by a statement of its own, and a page ends early where it has too much of it.
 */
export interface ListingStore {
  page(caller: FileCaller, query: ListQuery): Promise<Listed>;
}

export interface ListQuery {
  readonly filter: Filter;
  readonly sort: readonly SortKey[];
  /** The parts of a cursor: the value of each sort key, null where the file has none, and the id. */
  readonly paging: Pick<Paging, "pageSize" | "skip" | "cursor">;
}

export type Listed =
  | { readonly kind: "page"; readonly page: Page<ListedFile> }
  /** It would read more rows than the budget. */
  | { readonly kind: "too_broad" };

export interface ListedFile {
  readonly id: string;
  readonly contentType: string;
  readonly sizeBytes: number;
  /** Without quotes. */
  readonly etag: string;
  readonly fileName: string | null;
  readonly createdAt: number;
  readonly committedAt: number;
  /** A JSON object, as it was sent. */
  readonly metadata: string;
  readonly variants: readonly ListedVariant[];
  readonly cursor: readonly CursorPart[];
}

export type ListedVariant = Omit<VariantRow, "nonce" | "contentType">;

export function createListingStore(db: D1Database, matching: MatchingStore, rowBudget: number): ListingStore {
  /** Undefined: the budget was too small. */
  async function run(plan: Plan): Promise<readonly FoundFile[] | undefined> {
    const statements = plan.statements.map(({ sql, values }) => db.prepare(sql).bind(...values));
    const [rows, cut] = await db.batch<PageRow>(statements);
    if (cut !== undefined && cut.results.length > 0) return undefined;
    const found = rows?.results ?? [];
    const end = found.findIndex(({ file_id }) => file_id === CUT);
    return end === -1 ? found.map((row) => toFoundFile(row, plan.sortKeys)) : undefined;
  }

  /** Undefined: the budget was too small. */
  async function find(caller: FileCaller, query: ListQuery): Promise<readonly FoundFile[] | undefined> {
    const { conditions } = query.filter;
    // A quarter of the budget is for what comes after a walk that was cut.
    const mostRows = Math.floor((rowBudget * 0.75) / rowsForEach(query.filter));
    const mostCollected = Math.floor((rowBudget * 0.25) / rowsForCollected(query.filter));
    // The order by id is that of each condition, so one alone needs no count.
    const counted = query.sort.length === 0 && conditions.length === 1 ? [] : conditions;
    const survey = await matching.survey(caller, counted, mostCollected, query.paging.pageSize + query.paging.skip);
    if (survey === undefined) return [];
    const isFew = survey.rarest !== undefined && query.sort.length > 0;
    const rows = await run(isFew ? collectPlan(survey, query) : walkPlan(survey, query, mostRows));
    if (rows !== undefined) return rows;
    const thorough = await matching.survey(caller, conditions, mostCollected, EVERY_ROW);
    return thorough?.rarest === undefined ? undefined : run(collectPlan(thorough, query));
  }

  /** The long ones among the metadata; a file that was removed meanwhile has none. */
  async function longMetadata(files: readonly FoundFile[]): Promise<ReadonlyMap<string, string>> {
    const ids = files.filter(({ metadata }) => metadata === null).map(({ id }) => id);
    if (ids.length === 0) return new Map();
    const { results } = await db.prepare(METADATA).bind(JSON.stringify(ids)).all<{ id: string; metadata: string }>();
    return new Map(results.map(({ id, metadata }) => [id, metadata]));
  }

  return {
    async page(caller, query) {
      const found = await find(caller, query);
      if (found === undefined) return { kind: "too_broad" };
      const files = found.slice(0, Math.min(query.paging.pageSize, fitting(found)));
      const long = await longMetadata(files);
      const items = files.flatMap((file): ListedFile[] => {
        const metadata = file.metadata ?? long.get(file.id);
        return metadata === undefined ? [] : [{ ...file, metadata }];
      });
      return { kind: "page", page: { items, next: found.length > files.length ? files.at(-1)?.cursor : undefined } };
    },
  };
}

/** How many files from the first one on have metadata that fits into one answer; at least one. */
function fitting(files: readonly FoundFile[]): number {
  let bytes = 0;
  const end = files.findIndex((file) => (bytes += file.metadataBytes) > LIMITS.pageMetadataBytes);
  return end === -1 ? files.length : Math.max(1, end);
}

/** A file whose metadata is still to be read where it is long. */
type FoundFile = Omit<ListedFile, "metadata"> & {
  readonly metadata: string | null;
  readonly metadataBytes: number;
};

const METADATA = `SELECT id, metadata FROM file WHERE id IN (SELECT value FROM json_each(?1)) AND state = 'committed'`;

interface Statement {
  readonly sql: string;
  readonly values: readonly unknown[];
}

interface Plan {
  readonly statements: readonly Statement[];
  readonly sortKeys: number;
}

/** In the place of a file: the rows that may be looked at ended before the page was full. */
const CUT = "";

/** What the statements read of their first parameter, `?1`, which is JSON. */
interface PageWanted extends Wanted {
  /** Sort keys, and where a file's record says which row leads under them. */
  readonly sort: readonly { readonly key: string; readonly path: string }[];
  /** Rows of the page and one more. */
  readonly limit: number;
  readonly skip: number;
  /** Rows that one segment may look at. */
  readonly mostRows: number;
}

const OWNER = `?1 ->> 'owner'`;
const LIMIT = `?1 ->> 'limit'`;
const SKIP = `?1 ->> 'skip'`;
const MOST_ROWS = `?1 ->> 'mostRows'`;
const keyAt = (at: number): string => `?1 ->> '$.sort[${at}].key'`;

/** The value that a file sorts by, from its record. */
const valueAt = (at: number): string =>
  `file.attributes ->> ('$.rows[' || (file.attributes ->> (?1 ->> '$.sort[${at}].path')) || '][1]')`;

const lacks = (at: number): string => `file.attributes ->> (?1 ->> '$.sort[${at}].path') IS NULL`;

function pageWanted(survey: Survey, query: ListQuery, leading: Condition | undefined, mostRows: number): PageWanted {
  return {
    ...wantedOf(survey, query.filter, leading),
    sort: query.sort.map(({ key }) => ({ key, path: leadingRowPath(key) })),
    limit: query.paging.pageSize + 1,
    skip: query.paging.skip,
    mostRows,
  };
}

/** Names the parameters of a statement as they come up. */
class Parameters {
  readonly values: unknown[] = [];
  add(value: unknown): string {
    return `?${this.values.push(value)}`;
  }
}

/** What a page shows of its files. `source` gives `file_id` and the columns `k0`, `k1` … of the sort keys, in order. */
const pageSql = (source: string, sortKeys: number): string => `SELECT page.*,
  file.content_type, file.size_bytes, file.etag, file.file_name, file.created_at, file.committed_at,
  octet_length(file.metadata) AS metadata_bytes,
  CASE WHEN octet_length(file.metadata) <= ${LIMITS.shortMetadataBytes} THEN file.metadata END AS metadata, (
    SELECT json_group_array(json_array(type, size, state, width, height, size_bytes, etag, reason)) FROM (
      SELECT * FROM variant WHERE variant.file_id = page.file_id AND state <> 'removed' ORDER BY type, size)
  ) AS variants
  FROM (SELECT file_id${columns(sortKeys, (at) => `k${at}`)} FROM (${source}) LIMIT ${LIMIT} OFFSET ${SKIP}) AS page
  LEFT JOIN file ON file.id = page.file_id`;

const columns = (count: number, column: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => `, ${column(at)}`).join("");

/** All files that match, sorted. */
function collectPlan(survey: Survey, query: ListQuery): Plan {
  const leading = query.filter.conditions[survey.rarest!.at]!;
  const wanted = pageWanted(survey, query, leading, 0);
  const parameters = new Parameters();
  parameters.add(JSON.stringify(wanted));
  const { sort } = query;
  const matching = `SELECT file.id AS file_id${columns(sort.length, (at) => `${valueAt(at)} AS k${at}`)}
    FROM (${matchingIds("?1", wanted)}) AS matching CROSS JOIN file WHERE file.id = matching.id`;
  const source = `SELECT * FROM (${matching} LIMIT -1) WHERE ${afterCursor(query, 0, parameters)}
    ORDER BY ${orderFrom(query, 0)}`;
  return { statements: [{ sql: pageSql(source, sort.length), values: parameters.values }], sortKeys: sort.length };
}

const orderFrom = ({ sort }: ListQuery, from: number): string =>
  [
    ...sort.map(({ descending }, at) => `k${at} IS NULL, k${at}${descending ? " DESC" : ""}`).slice(from),
    "file_id",
  ].join(", ");

/** Whether a row with `file_id` and `k0`, `k1` … comes after the cursor; the keys before `from` are alike. */
function afterCursor({ sort, paging: { cursor } }: ListQuery, from: number, parameters: Parameters): string {
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

/** What the parts of a walk are made of. */
interface Walk {
  readonly survey: Survey;
  readonly query: ListQuery;
  readonly wanted: PageWanted;
  readonly parameters: Parameters;
}

/** The segments from the one that the cursor is in. */
function walkPlan(survey: Survey, query: ListQuery, mostRows: number): Plan {
  const { filter, sort, paging } = query;
  // Along a sort key no condition leads.
  const leading = sort.length > 0 ? undefined : filter.conditions[survey.rarest?.at ?? 0];
  const wanted = pageWanted(survey, query, leading, mostRows);
  const parameters = new Parameters();
  parameters.add(JSON.stringify(wanted));
  const walk = { survey, query, wanted, parameters };
  const current = paging.cursor?.findIndex((part) => part !== null) ?? 0;
  const segments: string[] = [];
  for (let at = current; at <= sort.length; at++) {
    const here = at === current && paging.cursor !== undefined;
    if (at === sort.length) segments.push(lastSegment(walk, here));
    else if (at === sort.length - 1) segments.push(sortedSegment(walk, at, here));
    else segments.push(groupedSegment(walk, at, here));
  }
  // A term of a compound each, of which D1 takes few.
  const source = segments.map((segment) => `SELECT * FROM (${segment})`).join(" UNION ALL ");
  const statements = [{ sql: pageSql(source, sort.length), values: parameters.values }];
  // What a page number skips may have been cut before.
  if (paging.skip > 0) {
    const skipped = `SELECT file_id FROM (${source}) LIMIT (${LIMIT}) + (${SKIP})`;
    const sql = `SELECT 1 FROM (${skipped}) WHERE file_id = '${CUT}' LIMIT 1`;
    statements.push({ sql, values: parameters.values });
  }
  return { statements, sortKeys: sort.length };
}

/** The files of a walk, which gives `file_id`, `value` and `leads`, that match and lack the keys before `from`. */
const matchesOf = (wanted: Wanted, walk: string, from: number): string => `FROM (${walk} LIMIT ${MOST_ROWS}) AS walk
  CROSS JOIN file WHERE walk.leads AND ${matches("?1", wanted, "walk.file_id")}
    AND file.id = walk.file_id AND file.owner_id = ${OWNER} AND file.state = 'committed'
    ${Array.from({ length: from }, (_, at) => `AND ${lacks(at)}`).join(" ")}`;

const cutOf = (walk: string, sortKeys: number): string =>
  `SELECT '${CUT}' AS file_id${columns(sortKeys, (at) => `NULL AS k${at}`)} FROM (${walk} LIMIT 1 OFFSET ${MOST_ROWS})`;

/** The files by the last sort key, `at`; they have it and lack all before it. */
function sortedSegment({ query: { sort, paging }, wanted, parameters }: Walk, at: number, here: boolean): string {
  const cursor = here ? paging.cursor : undefined;
  const start = cursor && { value: parameters.add(cursor[at]), after: parameters.add(cursor.at(-1)) };
  const walk = orderedWalk(at, sort[at]!.descending, start);
  const column = (key: number) => `${key === at ? "walk.value" : "NULL"} AS k${key}`;
  return `SELECT walk.file_id${columns(sort.length, column)} ${matchesOf(wanted, walk, at)}
    UNION ALL ${cutOf(walk, sort.length)}`;
}

/** The rows of a sort key in its order, ids upwards, after `start`. */
function orderedWalk(at: number, descending: boolean, start: { value: string; after: string } | undefined): string {
  const key = `attribute.owner_id = ${OWNER} AND attribute.key = ${keyAt(at)}`;
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
function groupedSegment({ query, wanted, parameters }: Walk, at: number, here: boolean): string {
  const { sort, paging } = query;
  const { descending } = sort[at]!;
  const from = here ? parameters.add(paging.cursor![at]) : undefined;
  const beyond = orderedWalk(at, descending, from === undefined ? undefined : { value: from, after: "x'ff'" });
  const last = `(SELECT walk.value ${matchesOf(wanted, beyond, at)} LIMIT 1 OFFSET (${LIMIT}) + (${SKIP}))`;
  const range = descending
    ? `value <= ${from ?? "x'ff'"} AND value >= coalesce(${last}, -9e999)`
    : `value >= ${from ?? "-9e999"} AND value <= coalesce(${last}, x'ff')`;
  const walk = `SELECT file_id, value, leads FROM attribute
    WHERE owner_id = ${OWNER} AND key = ${keyAt(at)} AND ${range} ORDER BY value ${descending ? "DESC" : ""}`;
  const column = (key: number) => `${key < at ? "NULL" : key === at ? "walk.value" : valueAt(key)} AS k${key}`;
  const files = `SELECT walk.file_id${columns(sort.length, column)} ${matchesOf(wanted, walk, at)} LIMIT -1`;
  const later = here ? afterCursor(query, at, parameters) : "true";
  const sorted = `SELECT * FROM (${files}) WHERE ${later} ORDER BY ${orderFrom(query, at)} LIMIT (${LIMIT}) + (${SKIP})`;
  return `SELECT * FROM (${cutOf(walk, sort.length)}) UNION ALL SELECT * FROM (${sorted})`;
}

/** The files by id: all, those of the leading condition, or those without any sort key. */
function lastSegment({ survey, query: { filter, sort, paging }, wanted, parameters }: Walk, here: boolean): string {
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
    UNION ALL ${cutOf(walk, sort.length)}`;
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
const listsWithout = (
  sortKeys: number,
): string => `(SELECT json_group_array(json_object('key', '${KEYS_KEY}', 'value', digest))
  FROM key_set WHERE owner_id = ${OWNER} AND NOT EXISTS (
    SELECT 1 FROM json_each(keys) WHERE value IN (${Array.from({ length: sortKeys }, (_, at) => keyAt(at)).join(", ")})))`;

interface PageRow {
  readonly file_id: string;
  readonly content_type: string;
  readonly size_bytes: number;
  readonly etag: string;
  readonly file_name: string | null;
  readonly created_at: number;
  readonly committed_at: number;
  readonly metadata: string | null;
  readonly metadata_bytes: number;
  readonly variants: string;
  readonly [key: `k${number}`]: CursorPart;
}

type VariantColumns = readonly [
  type: VariantType,
  size: string,
  state: VariantRow["state"],
  width: number | null,
  height: number | null,
  sizeBytes: number | null,
  etag: string | null,
  reason: string | null,
];

const toFoundFile = (row: PageRow, sortKeys: number): FoundFile => ({
  id: row.file_id,
  contentType: row.content_type,
  sizeBytes: row.size_bytes,
  etag: row.etag,
  fileName: row.file_name,
  createdAt: row.created_at,
  committedAt: row.committed_at,
  metadata: row.metadata,
  metadataBytes: row.metadata_bytes,
  variants: (JSON.parse(row.variants) as VariantColumns[]).map(toListedVariant),
  cursor: [...Array.from({ length: sortKeys }, (_, at) => row[`k${at}`] ?? null), row.file_id],
});

const toListedVariant = ([
  type,
  size,
  state,
  width,
  height,
  sizeBytes,
  etag,
  reason,
]: VariantColumns): ListedVariant => ({
  type,
  size,
  state,
  width,
  height,
  sizeBytes,
  etag,
  reason,
});
