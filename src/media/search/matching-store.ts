import { MORE_KEY, type Condition, type IndexValue } from "../metadata/attributes.ts";
import type { FileCaller } from "../model/file.ts";
import { LIMITS } from "../model/limits.ts";

/**
 * Which files of an owner have all that a filter asks for, by the table `attribute`.
 *
 * The rarest condition leads: its rows are walked, and each other condition is looked up for the file of each. So the
 * cost grows with what the rarest one matches. A survey finds it first, by counts that double until one of them ends.
 * Files that have more pairs than are indexed stand under `#more` and are compared by the digests in their record; the
 * value there is the size of these, which counts as rows too.
 *
 * The statements name conditions by the parameter alone, as JSON whose parts are read as rows: their text is as long for
 * twenty terms as for one, since D1 takes 100 KB of it.
 */
export interface Filter {
  readonly conditions: readonly Condition[];
}

export interface Survey {
  readonly ownerId: number;
  /** Place of the condition that leads to the fewest files, and how many; undefined: none leads to so few. */
  readonly rarest: { readonly at: number; readonly rows: number } | undefined;
  /** Whether to collect these files takes no more rows than the budget. */
  readonly isCollectable: boolean;
  /** Size of the most that a file has beyond what is indexed, in pages of the database; 0: no file has more. */
  readonly morePages: number;
  /** How many sets of keys there are, counted up to `maxKeySets + 1`. */
  readonly keySets: number;
  /** All files of the owner. */
  readonly files: number;
}

/** What the statements read of the one parameter of JSON that they share. */
export interface Wanted {
  readonly owner: number;
  readonly conditions: readonly Condition[];
  readonly hasMore: 0 | 1;
  /** Keys and values whose rows are walked. */
  readonly lists: readonly { readonly key: string; readonly value: IndexValue }[];
}

/** The files that match, as a subquery for another statement: it has one parameter, whose place the caller chooses. */
export interface Selection {
  readonly parameter: string;
  /** `SELECT` of ids without repeats; `at` is the name of the parameter, such as `?3`. */
  sql(at: string): string;
}

export type Selected =
  | { readonly kind: "selected"; readonly ownerId: number; readonly selection: Selection }
  | { readonly kind: "nothing" }
  | { readonly kind: "too_broad" };

export interface MatchingStore {
  /**
   * What a plan is made of; undefined: the caller has no files. Counts go up to what can be collected with `rowBudget`
   * rows, and not beyond what is of use to find `wantedRows` files in some order.
   */
  survey(
    caller: FileCaller,
    conditions: readonly Condition[],
    rowBudget: number,
    wantedRows: number,
  ): Promise<Survey | undefined>;
  /** For a filter with a condition. `too_broad`: to find the files would read more rows than the budget. */
  selectMatching(caller: FileCaller, filter: Filter): Promise<Selected>;
}

/** More than any owner has files. */
export const EVERY_ROW = Number.MAX_SAFE_INTEGER;

/** Sets of keys that are worth to be looked at one by one. */
export const MAX_KEY_SETS = 32;

/**
 * Of the conditions of ?4 the one with the fewest rows, those under `#more` counted with each: rows · 100 + place. Empty:
 * all have `limit` rows or more, or more is not to be counted.
 */
const fewestBelow = (limit: number): string => `CASE WHEN ${limit} <= 16 OR ${limit * limit} <= ?5 * owner.files THEN (
  SELECT CASE WHEN fewest / 100 < ${limit} THEN fewest END FROM (
    SELECT min(condition.key + 100 * (
      SELECT count(*) FROM (
        SELECT 1 FROM json_each(condition.value, '$.values') AS wanted CROSS JOIN attribute AS has
        WHERE has.owner_id = owner.id AND has.key = condition.value ->> 'key' AND has.value = wanted.value
        UNION ALL SELECT 1 FROM attribute WHERE owner_id = owner.id AND key = '${MORE_KEY}'
        LIMIT ${limit}))) AS fewest
    FROM json_each(?4) AS condition)) END`;

/** Growing, so that what is rare ends the count before much of what is common was counted. */
function limitsUpTo(maxRows: number): number[] {
  const limits: number[] = [];
  for (let limit = 16; limit < maxRows; limit *= 4) limits.push(limit);
  return [...limits, maxRows + 1];
}

/**
 * ?1 to ?3 the caller, ?4 the conditions. Counting ends with the first limit beyond the root of ?5 · files: to find
 * ?5 files among as many as that by looking at all files takes fewer rows than to collect them.
 */
const surveySql = (maxRows: number): string => `SELECT owner.id,
  coalesce(${limitsUpTo(maxRows).map(fewestBelow).join(", ")}, NULL) AS fewest,
  (SELECT max(value) FROM attribute WHERE owner_id = owner.id AND key = '${MORE_KEY}') AS more_pages,
  (SELECT count(*) FROM (SELECT 1 FROM key_set WHERE owner_id = owner.id LIMIT ${MAX_KEY_SETS + 1})) AS key_sets,
  owner.files
  FROM owner WHERE client = ?1 AND tenant = ?2 AND visibility = ?3 AND erasure_id IS NULL`;

/**
 * Whether a file has all that is wanted: `at` is the parameter, `fileId` the id. Only where files have more pairs than
 * are indexed is `file`, the record, looked at.
 */
export function matches(at: string, wanted: Wanted, fileId: string): string {
  if (wanted.conditions.length === 0) return "true";
  const indexed = `SELECT 1 FROM json_each(condition.value, '$.values') AS wanted CROSS JOIN attribute AS has
    WHERE has.owner_id = ${at} ->> 'owner' AND has.key = condition.value ->> 'key' AND has.value = wanted.value
      AND has.file_id = ${fileId}`;
  const more = `SELECT 1 FROM json_each(condition.value, '$.digests') AS digest
    WHERE file.more IS NOT NULL AND instr(file.more, digest.value) > 0`;
  return `NOT EXISTS (SELECT 1 FROM json_each(${at}, '$.conditions') AS condition
    WHERE NOT EXISTS (${indexed}) ${wanted.hasMore === 1 ? `AND NOT EXISTS (${more})` : ""})`;
}

/** Each file of the lists that matches, once, in no order. */
export const matchingIds = (at: string, wanted: Wanted): string => `SELECT DISTINCT file.id
  FROM json_each(${at}, '$.lists') AS list CROSS JOIN attribute AS lead CROSS JOIN file
  WHERE lead.owner_id = ${at} ->> 'owner' AND lead.key = list.value ->> 'key' AND lead.value = list.value ->> 'value'
    AND ${matches(at, wanted, "lead.file_id")}
    AND file.id = lead.file_id AND file.owner_id = lead.owner_id AND file.state = 'committed'`;

/** Rows read for each row that is walked over: itself, twice where the walk is cut, its record and the index of that. */
export const rowsForWalked = (filter: Filter, morePages: number): number => rowsForEach(filter, morePages) + 2;

/**
 * Rows read for each row that is looked at: itself and a place to spare, and what each condition takes: one of the
 * parameter, two for each value. Where files have more than is indexed, the record, and for each value another one of the
 * parameter and all the pages that there are to search.
 */
function rowsForEach({ conditions }: Filter, morePages: number): number {
  const values = conditions.reduce((count, condition) => count + condition.values.length, 0);
  const rows = 2 + conditions.length + 2 * values;
  return morePages === 0 ? rows : rows + 1 + values * (1 + morePages);
}

/** Rows read for each file that is collected: the count of it, its row, what each condition takes, and its record twice. */
export const rowsForCollected = (filter: Filter, morePages: number): number =>
  rowsForEach(filter, morePages) + 2 * filter.conditions.length + 3;

export function createMatchingStore(db: D1Database, rowBudget: number): MatchingStore {
  const survey: MatchingStore["survey"] = async (caller, conditions, budget, wantedRows) => {
    const maxRows = Math.floor(budget / rowsForCollected({ conditions }, 0));
    const values = [caller.client, caller.tenant, caller.visibility, JSON.stringify(conditions), wantedRows];
    const statement = db.prepare(surveySql(maxRows)).bind(...values);
    const row = await statement.first<SurveyRow>();
    return row === null ? undefined : toSurvey(row, { conditions }, budget);
  };
  return {
    survey,
    async selectMatching(caller, filter) {
      const found = await survey(caller, filter.conditions, rowBudget, EVERY_ROW);
      if (found === undefined) return { kind: "nothing" };
      if (!found.isCollectable) return { kind: "too_broad" };
      const wanted = wantedOf(found, filter, filter.conditions[found.rarest!.at]);
      const sql = (at: string) => matchingIds(at, wanted);
      const selection = { parameter: JSON.stringify(wanted), sql };
      return { kind: "selected", ownerId: found.ownerId, selection };
    },
  };
}

/**
 * `leading`: the condition whose files are walked, or those of all lists. Files with more pairs than are indexed may
 * match without a row of it.
 */
export function wantedOf(survey: Survey, filter: Filter, leading: Condition | undefined): Wanted {
  const hasMore = survey.morePages > 0;
  const sizes = LIMITS.morePages.filter((pages) => pages <= survey.morePages);
  return {
    owner: survey.ownerId,
    hasMore: hasMore ? 1 : 0,
    lists: [
      ...(leading?.values ?? []).map((value) => ({ key: leading!.key, value })),
      ...sizes.map((value) => ({ key: MORE_KEY, value })),
    ],
    conditions: hasMore ? filter.conditions : filter.conditions.filter((condition) => condition !== leading),
  };
}

interface SurveyRow {
  readonly id: number;
  readonly fewest: number | null;
  readonly more_pages: number | null;
  readonly key_sets: number;
  readonly files: number;
}

function toSurvey({ id, fewest, more_pages, key_sets, files }: SurveyRow, filter: Filter, rowBudget: number): Survey {
  const morePages = more_pages ?? 0;
  const rarest = fewest === null ? undefined : { at: fewest % 100, rows: Math.floor(fewest / 100) };
  const isCollectable = rarest !== undefined && rarest.rows * rowsForCollected(filter, morePages) <= rowBudget;
  return { ownerId: id, rarest, isCollectable, morePages, keySets: key_sets, files };
}
