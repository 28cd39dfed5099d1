import * as z from "zod/mini";
import type { Principal } from "../../http/callers/auth.ts";
import { invalidCursor, pageLinks } from "../../http/input/paging.ts";
import type { Page } from "../../http/input/paging.ts";
import { defineRoute, empty, json, type Answer, type Call, type Route } from "../../http/route.ts";
import { booleanText, matching } from "../../http/input/validate.ts";
import { PATTERNS } from "../../platform/model/names.ts";
import { randomId, type Random } from "../../platform/runtime/random.ts";
import { err, type Result } from "../../platform/model/result.ts";
import { inParallel } from "../../platform/runtime/parallel.ts";
import type { EdgeCache } from "../content/edge-cache.ts";
import { callerOf } from "../model/access.ts";
import { isMasterType, MASTER_TYPES } from "../model/content-type.ts";
import { toProblem, type MediaFailure } from "../model/failure.ts";
import type { Visibility, FileCaller } from "../model/file.ts";
import type { JobQueue, SendTaken } from "../model/job.ts";
import { LIMITS } from "../model/limits.ts";
import type { VariantName } from "../model/sizes.ts";
import { namedVariants, variantParameters } from "../model/variant-query.ts";
import { isCursor, pageOfFiles, type ListingDeps } from "../search/list.ts";
import type { ListedFile } from "../search/listing-store.ts";
import { deletionTerms, filterParameters } from "../search/query.ts";
import type { BulkVariantStore } from "./bulk-store.ts";
import { purgeVariants, type PurgeVariantsDeps } from "./purge.ts";

interface BulkDeps extends ListingDeps, PurgeVariantsDeps {
  readonly random: Random;
  readonly bulk: BulkVariantStore;
  readonly queue: JobQueue;
  readonly edge: EdgeCache;
}

const pathOf = (visibility: Visibility): string => `${visibility === "public" ? "/public" : ""}/bulk/variants`;

const creationQuery = z.object({
  tenant: matching(PATTERNS.tenant),
  ...variantParameters,
  ...filterParameters,
  /** Counts the page's variants without adding or deleting them. */
  dryRun: z.optional(booleanText),
});
const deletionQuery = z.extend(creationQuery, { q: deletionTerms });

type BulkCall = Call<Record<string, never>, z.infer<typeof creationQuery>, undefined, Principal>;

/** The named variants of one page of images. */
interface PageWork {
  readonly caller: FileCaller;
  readonly fileIds: readonly string[];
  readonly names: readonly VariantName[];
}

const sendOf =
  ({ queue }: BulkDeps, { waitUntil }: BulkCall): SendTaken =>
  (jobs) =>
    waitUntil(queue.send(jobs));

/** `POST B`: adds variants to one page of images; `Link` has the next page. */
export const createBulkVariants = (deps: BulkDeps, visibility: Visibility): Route =>
  defineRoute({
    method: "POST",
    path: pathOf(visibility),
    summary: `Add variants to many ${visibility} files, a page a call`,
    operation: "createBulkVariants",
    query: creationQuery,
    paged: true,
    handle: (call) =>
      answerPage(deps, visibility, call, 202, {
        count: ({ caller, fileIds, names }) => deps.bulk.countMissing(caller, fileIds, names, LIMITS.variantsPerFile),
        run: async ({ caller, fileIds, names }) => {
          const wanted = fileIds.flatMap((fileId) =>
            names.map((name) => ({ fileId, ...name, nonce: randomId(deps.random) })),
          );
          const { variantsPerFile } = LIMITS;
          const { started, replaced } = await deps.bulk.add(
            caller,
            wanted,
            call.nowMs,
            variantsPerFile,
            sendOf(deps, call),
          );
          call.waitUntil(purgeVariants(deps, replaced, call.nowMs));
          return started.length;
        },
        maxPerFile: LIMITS.variantsPerFile,
      }),
  });

/** `DELETE B`: deletes variants of one page of images; `Link` has the next page. */
export const deleteBulkVariants = (deps: BulkDeps, visibility: Visibility): Route =>
  defineRoute({
    method: "DELETE",
    path: pathOf(visibility),
    summary: `Delete variants of many ${visibility} files, a page a call`,
    operation: "deleteBulkVariants",
    query: deletionQuery,
    paged: true,
    produces: "any",
    handle: (call) =>
      answerPage(deps, visibility, call, 204, {
        count: ({ caller, fileIds, names }) => deps.bulk.count(caller, fileIds, names),
        run: async ({ caller, fileIds, names }) => {
          const removed = await deps.bulk.remove(caller, fileIds, names, call.nowMs);
          if (visibility === "public") {
            const changed = [...new Set(removed.map(({ fileId }) => fileId))];
            await inParallel(changed, LIMITS.parallelLists, (fileId) => deps.edge.invalidateFile(fileId));
          }
          call.waitUntil(purgeVariants(deps, removed, call.nowMs));
          return removed.length;
        },
        maxPerFile: Infinity,
      }),
  });

interface BulkAction {
  /** Both return the number of variants; `count` changes nothing. */
  readonly count: (work: PageWork) => Promise<number>;
  readonly run: (work: PageWork) => Promise<number>;
  /** The answer counts a file that would have more variants as `skipped`. */
  readonly maxPerFile: number;
}

async function answerPage(
  deps: BulkDeps,
  visibility: Visibility,
  call: BulkCall,
  status: 202 | 204,
  { count, run, maxPerFile }: BulkAction,
): Promise<Answer> {
  const { principal, query, paging, url } = call;
  if (!isCursor([], paging.cursor)) return invalidCursor();
  const names = checkNames(call);
  if (!names.ok) return toProblem(names.error);
  const page = await pageOfImages(deps, visibility, call);
  if (!page.ok) return toProblem(page.error);
  const fileIds = page.value.items.map(({ id }) => id);
  const caller = callerOf(principal, visibility, query.tenant);
  const isDry = query.dryRun === true;
  const transformations =
    fileIds.length === 0 ? 0 : await (isDry ? count : run)({ caller, fileIds, names: names.value });
  const link = pageLinks(url, paging, page.value);
  if (status === 204 && !isDry) return empty(204, { link });
  const skipped = page.value.items.filter((file) => countVariants(names.value, file) > maxPerFile).length;
  const counts = { files: fileIds.length, transformations, ...(skipped > 0 ? { skipped } : {}) };
  return json(isDry ? 200 : status, counts, { link });
}

/** Returns the number of variants that the file would have. */
const countVariants = (names: readonly VariantName[], { variants }: ListedFile): number =>
  new Set([...variants, ...names].map(({ type, size }) => `${type} ${size}`)).size;

/** Limits the work of a bulk operation: at most `pageSize` times the number of sizes. */
function checkNames({ query, paging }: BulkCall): Result<readonly VariantName[], MediaFailure> {
  const names = namedVariants(query);
  if (!names.ok) return names;
  if (names.value.length === 0) return err({ kind: "no_variant_named" });
  const requested = paging.pageSize * names.value.length;
  return requested > LIMITS.transformationsPerBulk ? err({ kind: "too_many_transformations", requested }) : names;
}

/** Returns a page of files that can have variants, of the content types that are asked for. */
function pageOfImages(
  deps: BulkDeps,
  visibility: Visibility,
  { principal, query, paging, nowMs }: BulkCall,
): Promise<Result<Page<ListedFile>, MediaFailure>> {
  const types = query["content-type"]?.filter(isMasterType) ?? [...MASTER_TYPES];
  const wanted = { visibility, tenant: query.tenant, q: query.q, "content-type": types, sort: [], paging };
  return pageOfFiles(deps, principal, wanted, nowMs);
}
