import * as z from "zod/mini";
import { invalidCursor, pageLinks } from "../http/paging.ts";
import { defineRoute, empty, json, scoped, type Answer, type Call, type Page, type Route } from "../http/route.ts";
import type { Principal } from "../http/auth.ts";
import { booleanText, matching } from "../http/validate.ts";
import { PATTERNS } from "../platform/names.ts";
import { randomId } from "../platform/random.ts";
import { err, type Result } from "../platform/result.ts";
import { isMasterType, MASTER_TYPES } from "./content-type.ts";
import type { MediaContext } from "./context.ts";
import { toProblem, type MediaFailure } from "./failure.ts";
import { filterParameters } from "./file-query.ts";
import { LIMITS } from "./limits.ts";
import type { Visibility } from "./links.ts";
import { isCursor, pageOfFiles } from "./list-files.ts";
import { inParallel } from "./parallel.ts";
import { purgeVariants } from "./purge.ts";
import type { VariantName } from "./sizes.ts";
import type { FileCaller } from "./store/files.ts";
import type { ListedFile } from "./store/listing.ts";
import { namedVariants, variantParameters } from "./variant-query.ts";

const pathOf = (visibility: Visibility): string => `${visibility === "public" ? "/public" : ""}/bulk/variants`;

const { q, "content-type": contentType } = filterParameters;
const deletionQuery = z.object({
  tenant: matching(PATTERNS.tenant),
  ...variantParameters,
  q,
  /** The page and what would be done, without doing it. */
  dryRun: z.optional(booleanText),
});
const creationQuery = z.extend(deletionQuery, { "content-type": contentType });

type BulkCall = Call<
  Record<string, never>,
  z.infer<typeof deletionQuery> & Partial<z.infer<typeof creationQuery>>,
  undefined,
  Principal
>;

/** `POST B`: asks for variants of one page of images; `Link` leads to the next page. */
export const createBulkVariants = (media: MediaContext, visibility: Visibility): Route =>
  defineRoute({
    method: "POST",
    path: pathOf(visibility),
    summary: `Add variants to many ${visibility} files, a page a call`,
    access: scoped("media_manage"),
    query: creationQuery,
    paged: true,
    handle: (call) =>
      eachPage(media, visibility, call, 202, async (caller, files, names) => {
        const wanted = files.flatMap(({ id }) =>
          names.map((name) => ({ fileId: id, ...name, nonce: randomId(media.random) })),
        );
        const times = { createdAt: call.nowMs, dueAt: call.nowMs + LIMITS.variantResendMs };
        const { started, replaced } = await media.bulk.add(caller, wanted, times, LIMITS.variantsPerFile);
        call.after(media.queue.send(started));
        call.after(purgeVariants(media, replaced));
      }),
  });

/** `DELETE B`: deletes these variants of one page of images; `Link` leads to the next page. */
export const deleteBulkVariants = (media: MediaContext, visibility: Visibility): Route =>
  defineRoute({
    method: "DELETE",
    path: pathOf(visibility),
    summary: `Delete variants of many ${visibility} files, a page a call`,
    access: scoped("media_manage"),
    query: deletionQuery,
    paged: true,
    produces: "any",
    handle: (call) =>
      eachPage(media, visibility, call, 204, async (caller, files, names) => {
        const ids = files.map(({ id }) => id);
        const makings = await media.bulk.remove(caller, ids, names, call.nowMs);
        if (visibility === "public") {
          const changed = [...new Set(makings.map(({ fileId }) => fileId))];
          await inParallel(changed, LIMITS.parallelLists, (fileId) => media.edge.voidFile(fileId));
        }
        call.after(purgeVariants(media, makings));
      }),
  });

async function eachPage(
  media: MediaContext,
  visibility: Visibility,
  call: BulkCall,
  status: 202 | 204,
  work: (caller: FileCaller, files: readonly ListedFile[], names: readonly VariantName[]) => Promise<void>,
): Promise<Answer> {
  const { principal, query, paging, url } = call;
  if (!isCursor([], paging.cursor)) return invalidCursor();
  const names = namesWithin(call);
  if (!names.ok) return toProblem(names.error);
  const page = await pageOfImages(media, visibility, call);
  if (!page.ok) return toProblem(page.error);
  const files = page.value.items;
  const { tenant, dryRun } = query;
  if (dryRun !== true && files.length > 0)
    await work({ client: principal.clientName, visibility, tenant }, files, names.value);
  const link = pageLinks(url, paging, page.value);
  if (status === 204 && dryRun !== true) return empty(204, { link });
  const body = { files: files.length, transformations: files.length * names.value.length };
  return json(dryRun === true ? 200 : status, body, { link });
}

/** Specification, Bulk: "pageSize times the number of clip and crop sizes". */
function namesWithin({ query, paging }: BulkCall): Result<readonly VariantName[], MediaFailure> {
  const names = namedVariants(query);
  if (!names.ok) return names;
  if (names.value.length === 0) return err({ kind: "no_variant_named" });
  const requested = paging.pageSize * names.value.length;
  return requested > LIMITS.transformationsPerBulk ? err({ kind: "too_many_transformations", requested }) : names;
}

/** Files that variants are made of; of the content types asked for, others are left out. */
function pageOfImages(
  media: MediaContext,
  visibility: Visibility,
  { principal, query, paging, nowMs }: BulkCall,
): Promise<Result<Page<ListedFile>, MediaFailure>> {
  const types = query["content-type"]?.filter(isMasterType) ?? [...MASTER_TYPES];
  const wanted = { visibility, tenant: query.tenant, q: query.q, "content-type": types, sort: [], paging };
  return pageOfFiles(media, principal, wanted, nowMs);
}
