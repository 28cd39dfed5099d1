import * as z from "zod/mini";
import type { Principal } from "../../http/auth.ts";
import { invalidCursor, lookBefore, pageLinks, type Paging } from "../../http/paging.ts";
import { defineRoute, type Page, type Route } from "../../http/route.ts";
import { matching } from "../../http/validate.ts";
import { PATTERNS } from "../../platform/names.ts";
import { err, ok, type Result } from "../../platform/result.ts";
import { filePath, type Links } from "../files/links.ts";
import { quoted } from "../files/representation.ts";
import { variantsToJson } from "../files/variant-json.ts";
import { callerOf, reachesTenant, type TenantAccess } from "../model/access.ts";
import { toProblem, type MediaFailure } from "../model/failure.ts";
import type { Visibility } from "../model/file.ts";
import type { ListedFile, ListingStore } from "./listing-store.ts";
import { pageBody, type PageBodyDeps } from "./page-body.ts";
import { filterOf, filterParameters, sortParameter, type FilterParameters } from "./query.ts";
import type { SortKey } from "./sort.ts";

/** What a page of files takes. */
export interface ListingDeps extends TenantAccess {
  readonly listing: ListingStore;
}

interface ListFilesDeps extends ListingDeps, PageBodyDeps {
  readonly links: Links;
}

/** `GET P`: the files of a tenant, page by page. */
export const listFiles = (deps: ListFilesDeps, visibility: Visibility): Route =>
  defineRoute({
    method: "GET",
    path: filePath(visibility),
    summary: `List the ${visibility} files of a tenant`,
    operation: "listFiles",
    query: z.object({ tenant: matching(PATTERNS.tenant), ...filterParameters, ...sortParameter }),
    paged: true,
    async handle({ principal, query, paging, nowMs, publicBase, url }) {
      const request = { visibility, ...query, sort: query.sort ?? [], paging };
      if (!isCursor(request.sort, paging.cursor)) return invalidCursor();
      const page = await pageOfFiles(deps, principal, request, nowMs);
      if (!page.ok) return toProblem(page.error);
      const toText = (file: ListedFile, metadata: string) =>
        fileToJson(deps, publicBase, visibility, query.tenant, file, metadata);
      return new Response(await pageBody(deps, page.value.items, toText), {
        headers: {
          "content-type": "application/json",
          "cache-control": "no-cache, private",
          link: pageLinks(url, paging, page.value),
        },
      });
    },
  });

export interface FilesWanted extends FilterParameters {
  readonly visibility: Visibility;
  readonly tenant: string;
  readonly sort: readonly SortKey[];
  readonly paging: Paging;
}

/** One page of the caller's files of a tenant; the cursor is one that `isCursor` took. */
export async function pageOfFiles(
  deps: ListingDeps,
  principal: Principal,
  wanted: FilesWanted,
  nowMs: number,
): Promise<Result<Page<ListedFile>, MediaFailure>> {
  const { visibility, tenant, sort, paging } = wanted;
  if (!(await reachesTenant(deps, principal, tenant, nowMs))) return err({ kind: "foreign_tenant" });
  const caller = callerOf(principal, visibility, tenant);
  const filter = filterOf(wanted);
  const listed = await deps.listing.page(caller, { filter, sort, paging });
  if (listed.kind === "page") {
    const page = await lookBefore(listed.page, paging, async ({ skip, limit }) => {
      const from = { skip, pageSize: limit, cursor: undefined };
      const before = await deps.listing.page(caller, { filter, sort, paging: from });
      // What takes too many rows to be looked at is too much for a link, too.
      return before.kind === "page" ? before.page.items : [];
    });
    return ok(page);
  }
  const of = paging.skip > 0 ? "pageNumber" : sort.length > 0 ? "order" : "terms";
  return err({ kind: "query_too_broad", of });
}

/** Whether a cursor can be of this order: a value or null for each key, and an id. */
export const isCursor = (sort: readonly SortKey[], cursor: Paging["cursor"]): boolean =>
  cursor === undefined || (cursor.length === sort.length + 1 && typeof cursor.at(-1) === "string");

/** Contract 4.1, File, as JSON. The metadata's text goes in as it came: numbers and repeats are the client's. */
function fileToJson(
  deps: Pick<ListFilesDeps, "links">,
  publicBase: string,
  visibility: Visibility,
  tenant: string,
  file: ListedFile,
  metadata: string,
): string {
  const before = {
    id: file.id,
    "Content-Type": file.contentType,
    size: file.sizeBytes,
    etag: quoted(file.etag),
    fileName: file.fileName,
    tenant,
    createdAt: file.createdAt,
    committedAt: file.committedAt,
  };
  const after = {
    variants: variantsToJson(deps, publicBase, visibility, file.id, file.variants),
    ...(visibility === "public" ? { link: deps.links.content(publicBase, file.id, undefined) } : {}),
  };
  return `${JSON.stringify(before).slice(0, -1)},"metadata":${metadata},${JSON.stringify(after).slice(1)}`;
}
