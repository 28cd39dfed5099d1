import * as z from "zod/mini";
import type { Principal } from "../../http/callers/auth.ts";
import {
  invalidCursor,
  checkPreviousPage,
  pageLinks,
  toPage,
  type Paging,
  type RowRange,
  type Page,
} from "../../http/input/paging.ts";
import { invalid, type Problem } from "../../http/errors/errors.ts";
import { defineRoute, type Route } from "../../http/route.ts";
import { matching } from "../../http/input/validate.ts";
import { utf8 } from "../../platform/text/encoding.ts";
import { describeError, type Log } from "../../platform/runtime/log.ts";
import { PATTERNS } from "../../platform/model/names.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import { retryOnce } from "../../platform/runtime/retry-once.ts";
import { filePath, type Links } from "../files/links.ts";
import { quoted } from "../files/representation.ts";
import { variantsToJson } from "../files/variant-json.ts";
import { personCondition, SHARED_CONDITION } from "../metadata/attributes.ts";
import { callerOf, mayActForTenant, personOf, seesShared, type TenantAccess } from "../model/access.ts";
import { toProblem, type MediaFailure } from "../model/failure.ts";
import { SHARING, type Visibility } from "../model/file.ts";
import { LIMITS } from "../model/limits.ts";
import type { ListedFile, ListingStore } from "./listing-store.ts";
import { conditionsOf, filterParameters, sortParameter, type FilterParameters } from "./query.ts";
import type { ListQuery } from "./plan.ts";
import type { SortKey } from "./sort-parameter.ts";
import { inParts } from "../../platform/runtime/parts.ts";

export interface ListingDeps extends TenantAccess {
  readonly listing: ListingStore;
}

export interface ListFilesDeps extends ListingDeps {
  readonly log: Log;
  readonly links: Links;
}

/** `GET P`: lists the files of a tenant, page by page. */
export const listFiles = (deps: ListFilesDeps, visibility: Visibility): Route =>
  defineRoute({
    method: "GET",
    path: filePath(visibility),
    summary: `List the ${visibility} files of a tenant`,
    operation: "listFiles",
    query: z.object({
      tenant: matching(PATTERNS.tenant),
      shared: z.optional(z.enum(SHARING)),
      client: z.optional(matching(PATTERNS.clientName)),
      ...filterParameters,
      ...sortParameter,
    }),
    paged: true,
    async handle({ principal, query, paging, nowMs, publicBase, url }) {
      const request = { visibility, ...query, sort: query.sort ?? [], paging };
      if (!isCursor(request.sort, paging.cursor)) return invalidCursor();
      const misused = misusedParameter(query);
      if (misused !== undefined) return misused;
      const page = await pageOfFiles(deps, principal, request, nowMs);
      if (!page.ok) return toProblem(page.error);
      const answered = { ...query, visibility, publicBase, url, paging };
      return answerPage(deps, answered, page.value);
    },
  });

interface Answered {
  readonly visibility: Visibility;
  readonly tenant: string;
  /** The client that shares the files, shown with each file in a list of shared files. */
  readonly client?: string | undefined;
  readonly publicBase: string;
  readonly url: URL;
  readonly paging: Paging;
  /** Links to previews of the files, by their ids. */
  readonly previews?: ReadonlyMap<string, string>;
}

/** Answers with a page of files, and with links to the pages before and after it. */
export async function answerPage(deps: ListFilesDeps, answered: Answered, page: Page<ListedFile>): Promise<Response> {
  const { visibility, tenant, client, publicBase, url, paging, previews } = answered;
  const toText = (file: ListedFile, metadata: string) =>
    fileToJson(deps, publicBase, visibility, tenant, { client, ...file }, metadata, previews?.get(file.id));
  return new Response(await pageBody(deps, page.items, toText), {
    headers: {
      "content-type": "application/json",
      "cache-control": "no-cache, private",
      link: pageLinks(url, paging, page),
    },
  });
}

export interface FilesWanted extends FilterParameters {
  readonly visibility: Visibility;
  readonly tenant: string;
  readonly sort: readonly SortKey[];
  readonly paging: Paging;
  /** Present: the tenant's shared files, of all clients or of `client`. Absent: the caller's own files. */
  readonly shared?: (typeof SHARING)[number] | undefined;
  readonly client?: string | undefined;
}

/** Refuses filters over shared files of all clients: the index has the files by client, so these are listed by id. */
function misusedParameter(
  query: Pick<FilesWanted, "shared" | "client"> & Readonly<Record<string, unknown>>,
): Problem | undefined {
  if (query.client !== undefined)
    return query.shared === undefined
      ? invalid("invalid_query_parameter", "client", "client goes with shared=tenant: it names whose shared files.")
      : undefined;
  const narrowing = ["q", "content-type", "sort"].find((name) => query[name] !== undefined);
  if (query.shared === undefined || narrowing === undefined) return undefined;
  const message = `${narrowing} needs client with shared=tenant: it searches the shared files of one client.`;
  return invalid("missing_query_parameter", "client", message);
}

/** Returns one page of the files. The cursor must have passed `isCursor`. */
export async function pageOfFiles(
  deps: ListingDeps,
  principal: Principal,
  wanted: FilesWanted,
  nowMs: number,
): Promise<Result<Page<ListedFile>, MediaFailure>> {
  const { visibility, tenant, sort, paging } = wanted;
  if (!(await mayActForTenant(deps, principal, tenant, nowMs))) return err({ kind: "foreign_tenant" });
  const own = callerOf(principal, visibility, tenant);
  const { shared, client } = wanted;
  // The client of another tenant's service sees no files that the tenant's own clients share.
  if (shared !== undefined && !(await seesShared(deps, principal, tenant, nowMs)))
    return ok(toPage<ListedFile>([], paging, ({ cursor }) => cursor));
  const caller = client === undefined ? own : { ...own, client };
  const person = shared === undefined ? await personOf(deps, principal, nowMs) : undefined;
  const conditions = [
    ...(shared === undefined ? [] : [SHARED_CONDITION]),
    ...(person === undefined ? [] : [personCondition(person)]),
    ...conditionsOf(wanted),
  ];
  const read = (part: ListQuery["paging"]) =>
    shared !== undefined && client === undefined
      ? deps.listing.sharedPage(own, part)
      : deps.listing.page(caller, { conditions, sort, paging: part });
  const page = await read(paging);
  if (page === "too_broad") {
    const of = paging.skip > 0 ? "pageNumber" : sort.length > 0 ? "order" : "terms";
    return err({ kind: "query_too_broad", of });
  }
  const readBefore = async ({ skip, limit }: RowRange) => {
    const before = await read({ skip, pageSize: limit, cursor: undefined });
    // If the page before this one is too broad, there is no link to it.
    return before === "too_broad" ? [] : before.items;
  };
  return ok(await checkPreviousPage(page, paging, readBefore));
}

/** True if the cursor fits this order: it has a value or null for each key, and an id. */
export const isCursor = (sort: readonly SortKey[], cursor: Paging["cursor"]): boolean =>
  cursor === undefined || (cursor.length === sort.length + 1 && typeof cursor.at(-1) === "string");

/**
 * Returns a file as the interface shows it. Metadata is inserted as the text that was sent, because parsing would
 * change numbers and drop repeated members.
 */
function fileToJson(
  deps: Pick<ListFilesDeps, "links">,
  publicBase: string,
  visibility: Visibility,
  tenant: string,
  file: ListedFile,
  metadata: string,
  preview?: string,
): string {
  const before = {
    id: file.id,
    "Content-Type": file.contentType,
    size: file.sizeBytes,
    etag: quoted(file.etag),
    fileName: file.fileName,
    tenant,
    ...(file.client === undefined ? {} : { client: file.client, shared: "tenant" }),
    createdAt: file.createdAt,
    committedAt: file.committedAt,
  };
  const after = {
    variants: variantsToJson(deps, publicBase, visibility, file.id, file.variants),
    ...(visibility === "public" ? { link: deps.links.content(publicBase, file.id, undefined) } : {}),
    ...(preview === undefined ? {} : { preview }),
  };
  return `${JSON.stringify(before).slice(0, -1)},"metadata":${metadata},${JSON.stringify(after).slice(1)}`;
}

type ToText = (file: ListedFile, metadata: string) => string;

/**
 * Returns the files of a page as a JSON array. An ordinary page is one text. Long metadata is streamed in parts to
 * limit memory: each part is read after the client has taken the one before. A file with long metadata that is removed
 * meanwhile is left out. If a later part cannot be read, the answer breaks off and is not valid JSON.
 */
async function pageBody(
  deps: Pick<ListFilesDeps, "log" | "listing">,
  files: readonly ListedFile[],
  toText: ToText,
): Promise<string | ReadableStream<Uint8Array>> {
  const [part = [], ...later] = partsOf(files);
  const first = await textsOf(deps, part, toText);
  if (later.length === 0) return `[${first.join(",")}]`;
  return streamOf(chunksOf(deps, first, later, toText));
}

/** The stream asks for a chunk only when the client reads. */
const streamOf = (chunks: AsyncGenerator<Uint8Array, undefined>): ReadableStream<Uint8Array> =>
  new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { value } = await chunks.next();
        if (value === undefined) controller.close();
        else controller.enqueue(value);
      },
      cancel: async () => void (await chunks.return(undefined)),
    },
    { highWaterMark: 0 },
  );

async function* chunksOf(
  deps: Pick<ListFilesDeps, "log" | "listing">,
  first: readonly string[],
  later: readonly (readonly ListedFile[])[],
  toText: ToText,
): AsyncGenerator<Uint8Array, undefined> {
  yield utf8(`[${first.join(",")}`);
  let isEmpty = first.length === 0;
  for (const part of later) {
    const texts = await textsOf(deps, part, toText).catch((thrown: unknown) => {
      deps.log.error("a list of files broke off", { error: describeError(thrown) });
      throw thrown;
    });
    if (texts.length === 0) continue;
    yield utf8(`${isEmpty ? "" : ","}${texts.join(",")}`);
    isEmpty = false;
  }
  yield utf8("]");
  return undefined;
}

/** Splits a page: each part has one file, or at most `LIMITS.metadataPartBytes` of long metadata. */
const partsOf = (files: readonly ListedFile[]): readonly (readonly ListedFile[])[] =>
  inParts(files, LIMITS.metadataPartBytes, ({ metadata, metadataBytes }) => (metadata === null ? metadataBytes : 0));

async function textsOf(
  deps: Pick<ListFilesDeps, "log" | "listing">,
  files: readonly ListedFile[],
  toText: ToText,
): Promise<string[]> {
  const ids = files.filter(({ metadata }) => metadata === null).map(({ id }) => id);
  const long = ids.length === 0 ? undefined : await retryOnce(() => deps.listing.metadataOf(ids));
  return files.flatMap((file) => {
    const metadata = file.metadata ?? long?.get(file.id);
    return metadata === undefined ? [] : [toText(file, metadata)];
  });
}
