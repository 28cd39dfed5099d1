import { toPage, type CursorPart, type Page } from "../../http/input/paging.ts";
import { shareOf, type FileCaller, type VariantRow } from "../model/file.ts";
import { EVERY_FILE, type FilterStore } from "./filter-store.ts";
import { collectSql, pageParameter, sharedParameter, sharedSql } from "./page-sql.ts";
import { choosePlan, mostSkipped, rarestCollectable, type Counts, type ListQuery, type Plan } from "./plan.ts";
import { CUT, walkSql } from "./walk-sql.ts";

/**
 * Pages of the files of one owner. A page takes two statements: one counts the files of each condition, the other reads
 * the page by the plan that the counts suggest. If the budget cuts a walk short, a second count follows: the rarest
 * condition may have few enough files to be collected.
 *
 * Long metadata is not part of the page, because a thousand files may have 64 MB of it.
 */
export type ListingStore = ReturnType<typeof createListingStore>;

export interface ListedFile {
  readonly id: string;
  readonly contentType: string;
  readonly sizeBytes: number;
  /** Without quotes. */
  readonly etag: string;
  readonly fileName: string | null;
  readonly createdAt: number;
  readonly committedAt: number;
  /** Present only in lists of shared files. */
  readonly client?: string;
  /** A JSON object as it was sent; null if it is long: `metadataOf` reads it. */
  readonly metadata: string | null;
  readonly metadataBytes: number;
  readonly variants: readonly ListedVariant[];
  readonly cursor: readonly CursorPart[];
}

export type ListedVariant = Omit<VariantRow, "nonce" | "contentType">;

export function createListingStore(db: D1Database, filters: FilterStore, rowBudget: number) {
  const budget = { walk: rowBudget * 0.75, collect: rowBudget * 0.25 };

  /** Reads a page. Undefined: the budget was too small. */
  async function read(plan: Plan, counts: Counts, query: ListQuery): Promise<readonly ListedFile[] | undefined> {
    const sql = plan.kind === "collect" ? collectSql(counts, query) : walkSql(plan, counts, query);
    const { results } = await db
      .prepare(sql)
      .bind(pageParameter(plan, counts, query))
      .all<PageRow>();
    return results.some(({ id }) => id === CUT) ? undefined : results.map((row) => toListedFile(row, query));
  }

  return {
    /** Returns a page. `too_broad`: the page would read more rows than the budget. */
    async page(caller: FileCaller, query: ListQuery): Promise<Page<ListedFile> | "too_broad"> {
      const { conditions, sort, paging } = query;
      const toAnswer = (files: readonly ListedFile[], skippable: number) => ({
        ...toPage(files, paging, ({ cursor }) => cursor),
        maxSkip: skippable,
      });
      // With one condition and no sort key, the index entries are in the order of the page, so no count is needed.
      const counted = sort.length === 0 && conditions.length === 1 ? [] : conditions;
      const counts = await filters.count(caller, counted, budget.collect, paging.pageSize + paging.skip);
      if (counts === undefined) return toAnswer([], Infinity);
      const plan = choosePlan(counts, query, budget);
      const files = await read(plan, counts, query);
      if (files !== undefined) return toAnswer(files, mostSkipped(counts, query, plan, budget));
      const allCounts = await filters.count(caller, conditions, budget.collect, EVERY_FILE);
      const leading = allCounts && rarestCollectable(allCounts, conditions, budget.collect);
      if (leading === undefined) return "too_broad";
      const collected = await read({ kind: "collect", leading }, allCounts!, query);
      return collected === undefined ? "too_broad" : toAnswer(collected, Infinity);
    },

    /** Returns a page of the shared files of all clients of the tenant, by id. */
    async sharedPage(
      { visibility, tenant }: FileCaller,
      paging: ListQuery["paging"],
    ): Promise<Page<ListedFile> | "too_broad"> {
      const maxSkip = Math.floor(budget.walk / ROWS_PER_SHARED);
      if (paging.skip > maxSkip) return "too_broad";
      const query = { conditions: [], sort: [], paging };
      const parameter = sharedParameter(shareOf(visibility, tenant), paging);
      const { results } = await db.prepare(sharedSql(query)).bind(parameter).all<PageRow>();
      const files = results.map((row) => toListedFile(row, query));
      return { ...toPage(files, paging, ({ cursor }) => cursor), maxSkip };
    },

    /** Returns the metadata of files by their ids. A file that was removed meanwhile has none. */
    async metadataOf(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
      const { results } = await db.prepare(METADATA).bind(JSON.stringify(ids)).all<{ id: string; metadata: string }>();
      return new Map(results.map(({ id, metadata }) => [id, metadata]));
    },
  };
}

/** The rows that passing one shared file reads: its index entry, its record and its owner. */
const ROWS_PER_SHARED = 3;

const METADATA = `SELECT file.id, file.metadata FROM json_each(?1) AS chosen
  CROSS JOIN file ON file.id = chosen.value AND file.state = 'committed'
  CROSS JOIN owner ON owner.id = file.owner_id AND owner.erasure_id IS NULL`;

interface PageRow extends Omit<ListedFile, "variants" | "cursor"> {
  /** JSON of `ListedVariant`s. */
  readonly variants: string;
  readonly [key: `k${number}`]: CursorPart;
}

const toListedFile = (row: PageRow, { sort }: ListQuery): ListedFile => ({
  ...row,
  variants: JSON.parse(row.variants) as ListedVariant[],
  cursor: [...sort.map((_, at) => row[`k${at}`] ?? null), row.id],
});
