import type { CursorPart, Page } from "../../http/paging.ts";
import { LIMITS } from "../limits.ts";
import type { VariantType } from "../sizes.ts";
import { collectPlan } from "./collect-plan.ts";
import type { FileCaller } from "./files.ts";
import { EVERY_ROW, rowsForCollected, rowsForEach, type MatchingStore } from "./matching.ts";
import { CUT, type ListQuery, type Plan } from "./page-sql.ts";
import type { VariantRow } from "./variants.ts";
import { walkPlan } from "./walk-plan.ts";

/**
 * Pages of the files of one owner. A page takes two round trips: a survey, and one statement by the plan that the survey
 * suggests:
 *
 * - collect-plan.ts: all files that match, sorted. Where the rarest condition matches few.
 * - walk-plan.ts: segments one after the other, until the page is full: the files with the first sort key in its order,
 *   then those without it by the next key, last those without any by id; each file is compared with the conditions.
 *
 * A walk looks at so many rows at most as the budget allows. Where that was too few, the rarest condition may still
 * match few enough to be collected.
 *
 * Long metadata is read by a statement of its own, and a page ends early where it has too much of it.
 */
export interface ListingStore {
  page(caller: FileCaller, query: ListQuery): Promise<Listed>;
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
