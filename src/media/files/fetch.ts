import * as z from "zod/mini";
import { defineRoute, empty, json, type Answer, type Call, type Route } from "../../http/route.ts";
import { booleanText, matching } from "../../http/input/validate.ts";
import { PATTERNS } from "../../platform/model/names.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import { mayActForTenant, personOf, seesShared, type TenantAccess } from "../model/access.ts";
import { matchesAny } from "../../platform/text/entity-tag.ts";
import { toProblem, type MediaFailure } from "../model/failure.ts";
import { namedVariant, variantParameters } from "../model/variant-query.ts";
import type { CommittedFile, FileStore } from "./file-store.ts";
import { filePath, type Links } from "./links.ts";
import { representationOf, type Representation } from "./representation.ts";

interface FetchDeps extends TenantAccess {
  readonly files: FileStore;
  readonly links: Links;
}

const params = z.object({ fileId: z.string() });
const query = z.object({
  ...variantParameters,
  fallback: z.optional(booleanText),
  tenant: z.optional(matching(PATTERNS.tenant)),
});

type FetchCall<W> = Call<z.infer<typeof params>, z.infer<typeof query>, undefined, W>;

/** `GET /files/{fileId}`: answers with a link to the content, which is valid for some minutes. */
export const fetchPrivateFile = (deps: FetchDeps): Route =>
  defineRoute({
    method: "GET",
    path: `${filePath("private")}/{fileId}`,
    summary: "Get a temporary link to a private file or one of its variants",
    operation: "fetchPrivateFile",
    params,
    query,
    async handle(call) {
      const { principal, nowMs } = call;
      const isReadable = async ({ id, client, tenant, visibility }: CommittedFile): Promise<boolean> => {
        if (visibility !== "private") return false;
        const person = await personOf(deps, principal, nowMs);
        const isOwn =
          client === principal.clientName &&
          (await mayActForTenant(deps, principal, tenant, nowMs)) &&
          (person === undefined || (await deps.files.personOf(id)) === person);
        if (isOwn || !(await seesShared(deps, principal, tenant, nowMs))) return isOwn;
        return (await deps.files.sharedBy(id, "private", tenant)) !== undefined;
      };
      return answer(deps, call, isReadable, async ({ variant }, headers) => {
        const link = await deps.links.temporaryContent(call.publicBase, call.params.fileId, variant, call.nowMs);
        return json(200, { link }, headers);
      });
    },
  });

/** `GET /public/files/{fileId}`: redirects everybody to the content. */
export const fetchPublicFile = (deps: FetchDeps): Route =>
  defineRoute({
    method: "GET",
    path: `${filePath("public")}/{fileId}`,
    summary: "Be redirected to a public file or one of its variants",
    operation: "fetchPublicFile",
    params,
    query,
    produces: "any",
    handle: (call) => {
      const isReadable = async (file: CommittedFile) => file.visibility === "public";
      return answer(deps, call, isReadable, async ({ variant }, headers) =>
        empty(302, { ...headers, location: deps.links.content(call.publicBase, call.params.fileId, variant) }),
      );
    },
  });

async function answer<W>(
  deps: FetchDeps,
  call: FetchCall<W>,
  isReadable: (file: CommittedFile) => Promise<boolean>,
  found: (representation: Representation, headers: Record<string, string>) => Promise<Response>,
): Promise<Answer> {
  const chosen = await choose(deps, call, isReadable);
  if (!chosen.ok) return toProblem(chosen.error);
  const headers = { etag: chosen.value.etag, "cache-control": "no-cache, private" };
  const ifNoneMatch = call.request.headers.get("if-none-match");
  if (ifNoneMatch !== null && matchesAny(ifNoneMatch, chosen.value.etag, "weak")) return empty(304, headers);
  return found(chosen.value, headers);
}

async function choose<W>(
  deps: FetchDeps,
  call: FetchCall<W>,
  isReadable: (file: CommittedFile) => Promise<boolean>,
): Promise<Result<Representation, MediaFailure>> {
  const named = namedVariant(call.query);
  if (!named.ok) return named;
  const file = await deps.files.findCommitted(call.params.fileId, named.value);
  if (file === undefined || !(await isReadable(file))) return err({ kind: "no_file" });
  if (call.query.tenant !== undefined && call.query.tenant !== file.tenant) return err({ kind: "no_file" });
  const representation = representationOf(file, named.value, call.query.fallback ?? false);
  return representation.ok ? ok(representation.value) : representation;
}
