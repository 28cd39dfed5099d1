import type { Paging } from "../../http/input/paging.ts";
import type { Condition } from "../metadata/attributes.ts";
import type { SortKey } from "./sort-parameter.ts";

/** This file chooses the plan by which a page of files is found, and estimates the rows that it reads. Pure. */
export interface ListQuery {
  readonly conditions: readonly Condition[];
  readonly sort: readonly SortKey[];
  /** A cursor has the value of each sort key, null if the file has none, and the id. */
  readonly paging: Pick<Paging, "pageSize" | "skip" | "cursor">;
}

export interface Counts {
  readonly ownerId: number;
  /** All files of the owner. */
  readonly files: number;
  /** The condition with the fewest files; undefined if all have too many to be counted. */
  readonly rarest: { readonly place: number; readonly files: number } | undefined;
  /** Some files have more pairs than the index takes. */
  readonly hasMore: boolean;
  /** Sets of sort keys that files have, counted up to `MAX_KEY_SETS + 1`. */
  readonly keySets: number;
}

export type Plan = CollectPlan | WalkPlan;

/** The plan: collect all matching files, starting from those of the rarest condition, and sort them. */
interface CollectPlan {
  readonly kind: "collect";
  readonly leading: Condition;
}

/** The plan: walk the index in the order that is asked for, test each file and stop when the page is full. */
export interface WalkPlan {
  readonly kind: "walk";
  /** The walk passes the files of this condition; undefined: the files by the sort keys, or all files. */
  readonly leading: Condition | undefined;
  /** The number of rows that each segment of the walk may pass. */
  readonly maxRows: number;
}

/** Parts of the row budget: one to walk, and one to collect files, also after a walk that was cut. */
export interface PageBudget {
  readonly walk: number;
  readonly collect: number;
}

export function choosePlan(counts: Counts, query: ListQuery, budget: PageBudget): Plan {
  const { conditions, sort } = query;
  const rarest = rarestCollectable(counts, conditions, budget.collect);
  if (sort.length > 0 && rarest !== undefined) return { kind: "collect", leading: rarest };
  const leading = sort.length > 0 ? undefined : conditions[counts.rarest?.place ?? 0];
  return { kind: "walk", leading, maxRows: maxRowsOfWalk(counts, query, budget.walk) };
}

/** Returns the rarest condition if collecting its files stays within the budget. */
export function rarestCollectable(
  { rarest, hasMore }: Counts,
  conditions: readonly Condition[],
  budget: number,
): Condition | undefined {
  if (rarest === undefined || rarest.files * rowsPerCollected(conditions, hasMore) > budget) return undefined;
  return conditions[rarest.place];
}

/**
 * Returns the number of files that a page number may skip within the budget. It is zero if the number of rows before a
 * file is unknown: rows and files are the same only if every row is a file of the answer.
 */
export function mostSkipped(counts: Counts, query: ListQuery, plan: Plan, budget: PageBudget): number {
  if (plan.kind === "collect") return Infinity;
  const { conditions, sort, paging } = query;
  const maxRows = maxRowsOfWalk(counts, { ...query, paging: { ...paging, skip: 1 } }, budget.walk);
  if (counts.files <= maxRows) return Infinity;
  const showsAll = sort.length === 0 ? conditions.length <= 1 : sort.length === 1 && conditions.length === 0;
  return showsAll ? Math.max(0, maxRows - paging.pageSize - 1) : 0;
}

/** The rows that a step from a value to the next lower one reads, in the walk and in the test for its cut. */
const ROWS_PER_DESCENDING_STEP = 5;

/** The rows that each mark of a cut reads (walk-sql.ts). There is a mark for each skipped file. */
const ROWS_PER_MARK = 2;

/** Returns the limit of each segment. Later segments are not counted apart, because most of them are short. */
function maxRowsOfWalk({ hasMore }: Counts, { conditions, sort, paging }: ListQuery, budget: number): number {
  // A cut reads each row twice. Two more reads are the file's record and the index entry of the record.
  const rows = rowsPerTest(conditions, hasMore) + 2 + (sort.some(isDescending) ? ROWS_PER_DESCENDING_STEP : 0);
  if (paging.skip === 0) return Math.floor(budget / rows);
  // A skipped group is read twice: to find its end, and to sort it.
  return Math.floor(budget / ((rows + ROWS_PER_MARK) * (sort.length > 1 ? 2 : 1)));
}

const isDescending = ({ descending }: SortKey): boolean => descending;

/**
 * Returns the rows that each collected file reads: its row in the count and in the index, the tests, and its record
 * twice.
 */
export const rowsPerCollected = (conditions: readonly Condition[], hasMore: boolean): number =>
  rowsPerTest(conditions, hasMore) + 2 * conditions.length + 3;

/**
 * Returns the rows that the test of one file reads: its own and a spare one, one for each condition and two for each
 * value. If files have more pairs than the index takes, it also reads the record, and two more rows for each value.
 */
function rowsPerTest(conditions: readonly Condition[], hasMore: boolean): number {
  const values = conditions.reduce((sum, condition) => sum + condition.values.length, 0);
  return 2 + conditions.length + 2 * values + (hasMore ? 1 + 2 * values : 0);
}
