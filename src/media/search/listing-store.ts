import { toPage, type CursorPart, type Page } from "../../http/paging.ts";
import type { FileCaller, VariantRow } from "../model/file.ts";
import { collectPlan } from "./collect.ts";
import { EVERY_ROW, type MatchingStore, type Survey } from "./matching-store.ts";
import { CUT, type ListQuery, type Plan } from "./page-sql.ts";
import { mostRowsOf, walkPlan } from "./walk.ts";

/**
 * Pages of the files of one owner. A page takes two round trips: a survey, and one statement by the plan that the survey
 * suggests:
 *
 * - collect.ts: all files that match, sorted. Where the rarest condition matches few.
 * - walk.ts: segments one after the other, until the page is full: the files with the first sort key in its order,
 *   then those without it by the next key, last those without any by id; each file is compared with the conditions.
 *
 * A walk looks at so many rows at most as the budget allows. Where that was too few, the rarest condition may still
 * match few enough to be collected.
 *
 * Long metadata is not part of the page: a thousand files may have 64 MB of it.
 */
export interface ListingStore {
  page(caller: FileCaller, query: ListQuery): Promise<Listed>;
  /** The metadata of files of a page by their ids. A file that was removed meanwhile has none. */
  metadataOf(ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
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
  /** A JSON object, as it was sent; null: it is long, and read by `metadataOf`. */
  readonly metadata: string | null;
  readonly metadataBytes: number;
  readonly variants: readonly ListedVariant[];
  readonly cursor: readonly CursorPart[];
}

export type ListedVariant = Omit<VariantRow, "nonce" | "contentType">;

export function createListingStore(db: D1Database, matching: MatchingStore, rowBudget: number): ListingStore {
  /** Undefined: the budget was too small. */
  async function run(plan: Plan): Promise<readonly ListedFile[] | undefined> {
    const { results: found } = await db
      .prepare(plan.sql)
      .bind(...plan.values)
      .all<PageRow>();
    const end = found.findIndex(({ file_id }) => file_id === CUT);
    return end === -1 ? found.map((row) => toListedFile(row, plan.sortKeys)) : undefined;
  }

  /** Undefined: the budget was too small. */
  async function find(caller: FileCaller, query: ListQuery): Promise<Found | undefined> {
    const { conditions } = query.filter;
    // A quarter of the budget is for what comes after a walk that was cut.
    const [walkBudget, collectBudget] = [rowBudget * 0.75, rowBudget * 0.25];
    // The order by id is that of each condition, so one alone needs no count.
    const counted = query.sort.length === 0 && conditions.length === 1 ? [] : conditions;
    const survey = await matching.survey(caller, counted, collectBudget, query.paging.pageSize + query.paging.skip);
    if (survey === undefined) return { files: [], mostSkipped: Infinity };
    const isFew = survey.isCollectable && query.sort.length > 0;
    const mostRows = mostRowsOf(query, survey.morePages, walkBudget);
    const files = await run(isFew ? collectPlan(survey, query) : walkPlan(survey, query, mostRows));
    if (files !== undefined) return { files, mostSkipped: isFew ? Infinity : mostSkippedBy(query, survey, walkBudget) };
    const thorough = await matching.survey(caller, conditions, collectBudget, EVERY_ROW);
    const collected = thorough?.isCollectable === true ? await run(collectPlan(thorough, query)) : undefined;
    return collected === undefined ? undefined : { files: collected, mostSkipped: Infinity };
  }

  return {
    async page(caller, query) {
      const found = await find(caller, query);
      if (found === undefined) return { kind: "too_broad" };
      const { files, mostSkipped } = found;
      return { kind: "page", page: { ...toPage(files, query.paging, cursorOf), mostSkipped } };
    },
    async metadataOf(ids) {
      const { results } = await db.prepare(METADATA).bind(JSON.stringify(ids)).all<{ id: string; metadata: string }>();
      return new Map(results.map(({ id, metadata }) => [id, metadata]));
    },
  };
}

interface Found {
  readonly files: readonly ListedFile[];
  /** How many files a page number may skip before the budget is used up; at least that, as far as it is known. */
  readonly mostSkipped: number;
}

function mostSkippedBy(query: ListQuery, { files, morePages }: Survey, walkBudget: number): number {
  const { filter, sort, paging } = query;
  const byNumber = { ...query, paging: { pageSize: paging.pageSize, skip: 1, cursor: undefined } };
  const mostRows = mostRowsOf(byNumber, morePages, walkBudget);
  if (files <= mostRows) return Infinity;
  // Each row of such a walk is a file that is shown. Of others nobody knows how many rows lie before a file.
  const showsAll =
    sort.length === 0 ? filter.conditions.length <= 1 : sort.length === 1 && filter.conditions.length === 0;
  return showsAll ? Math.max(0, mostRows - paging.pageSize - 1) : 0;
}

const cursorOf = ({ cursor }: ListedFile): readonly CursorPart[] => cursor;

const METADATA = `SELECT file.id, file.metadata FROM json_each(?1) AS chosen
  CROSS JOIN file ON file.id = chosen.value AND file.state = 'committed'
  CROSS JOIN owner ON owner.id = file.owner_id AND owner.erasure_id IS NULL`;

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
  /** JSON of `ListedVariant`s. */
  readonly variants: string;
  readonly [key: `k${number}`]: CursorPart;
}

const toListedFile = (row: PageRow, sortKeys: number): ListedFile => ({
  id: row.file_id,
  contentType: row.content_type,
  sizeBytes: row.size_bytes,
  etag: row.etag,
  fileName: row.file_name,
  createdAt: row.created_at,
  committedAt: row.committed_at,
  metadata: row.metadata,
  metadataBytes: row.metadata_bytes,
  variants: JSON.parse(row.variants) as ListedVariant[],
  cursor: [...Array.from({ length: sortKeys }, (_, at) => row[`k${at}`] ?? null), row.file_id],
});
