import * as z from "zod/mini";
import { invalid } from "../../http/errors/errors.ts";
import { defineRoute, empty, json, type Route } from "../../http/route.ts";
import { booleanText, matching } from "../../http/input/validate.ts";
import { PATTERNS } from "../../platform/model/names.ts";
import type { Random } from "../../platform/runtime/random.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import { retryOnce } from "../../platform/runtime/retry-once.ts";
import type { EdgeCache } from "../content/edge-cache.ts";
import { filePath, type Links } from "../files/links.ts";
import { metadataCondition, personCondition } from "../metadata/attributes.ts";
import { withCaller, callerOf, mayActForTenant, personOf, type AccessDeps } from "../model/access.ts";
import { toProblem, type MediaFailure } from "../model/failure.ts";
import { newErasureId, type Visibility, type FileCaller } from "../model/file.ts";
import type { FilterStore } from "../search/filter-store.ts";
import { deletionTerms, type Term } from "../search/query.ts";
import { purgeAlone, startErasure, type EraseDeps } from "./erase.ts";
import type { Erasure, FileCount, NewErasure, SelectedFiles } from "./erasure-store.ts";

interface DeleteFileDeps extends AccessDeps, EraseDeps {
  readonly random: Random;
  readonly shard: number;
  readonly edge: EdgeCache;
  readonly links: Links;
}

/**
 * `DELETE P/{fileId}`: after the answer nobody can read the file. Only copies of public content in other data centres
 * remain for up to 300 s (content/edge-cache.ts). The bytes are deleted afterwards; `Location` is the report.
 */
export const deleteFile = (deps: DeleteFileDeps, visibility: Visibility): Route =>
  defineRoute({
    method: "DELETE",
    path: `${filePath(visibility)}/{fileId}`,
    summary: `Delete a ${visibility} file`,
    operation: "deleteFile",
    params: z.object({ fileId: z.string() }),
    produces: "any",
    async handle({ principal, params: { fileId }, nowMs, publicBase, waitUntil }) {
      const request = { id: newErasureId(nowMs, deps.random, deps.shard), requestedAt: nowMs };
      const { clientName } = principal;
      const erasure = await withCaller(deps, { principal, visibility, fileId, nowMs }, "change", async (caller) => {
        const remove = () => deps.erasures.removeFile(request, fileId, caller, clientName);
        const removed = await withReport(deps, request, clientName, remove);
        return removed === undefined ? err({ kind: "no_file" }) : ok(removed);
      });
      if (!erasure.ok) return toProblem(erasure.error);
      if (visibility === "public") await deps.edge.invalidateFile(fileId);
      waitUntil(purgeAlone(deps, fileId, nowMs));
      return empty(204, { location: deps.links.erasure(publicBase, erasure.value.id) });
    },
  });

interface DeleteFilesDeps extends DeleteFileDeps {
  readonly filters: FilterStore;
}

/** Refuses unknown parameters: ignoring a mistyped `q` or `dryRun` would delete all files. */
const query = z.object({
  tenant: matching(PATTERNS.tenant),
  q: deletionTerms,
  dryRun: z.optional(booleanText),
});

/**
 * `DELETE P`: deletes all files of a tenant, or those that `q` matches, in one write, with the same effect as the
 * deletion of one file. `Location` is the report. `dryRun=true` only counts the files.
 */
export const deleteFiles = (deps: DeleteFilesDeps, visibility: Visibility): Route =>
  defineRoute({
    method: "DELETE",
    path: filePath(visibility),
    summary: `Delete the ${visibility} files of a tenant, all or by query`,
    operation: "deleteFiles",
    query,
    produces: "any",
    async handle({ principal, query: { tenant, q, dryRun }, nowMs, publicBase, url, waitUntil }) {
      const unknown = [...url.searchParams.keys()].find((name) => !Object.hasOwn(query.shape, name));
      if (unknown !== undefined) return invalid("invalid_query_parameter", unknown, `${unknown} ${NOT_A_PARAMETER}`);
      if (!(await mayActForTenant(deps, principal, tenant, nowMs))) return toProblem({ kind: "foreign_tenant" });
      const caller = callerOf(principal, visibility, tenant);
      const person = await personOf(deps, principal, nowMs);
      const isAll = q === undefined && person === undefined;
      const files = isAll ? ok("all" as const) : await select(deps, caller, q ?? [], person);
      if (!files.ok) return toProblem(files.error);
      if (dryRun === true) return json(200, await count(deps, caller, files.value));
      const request = { id: newErasureId(nowMs, deps.random, deps.shard), requestedAt: nowMs };
      const erasure = await withReport(deps, request, caller.client, () => remove(deps, request, caller, files.value));
      if (visibility === "public") await deps.edge.invalidateOwner(caller);
      waitUntil(startErasure(deps, erasure, nowMs));
      return empty(q === undefined ? 202 : 204, { location: deps.links.erasure(publicBase, erasure.id) });
    },
  });

/**
 * Removes files. If the answer is lost, looks for the report before it repeats the removal: the tenant may have left
 * this shard meanwhile, and then the repeat is refused although the files are removed.
 */
const withReport = <T>(
  { erasures }: EraseDeps,
  { id }: NewErasure,
  requestedBy: string,
  removal: () => Promise<T>,
): Promise<Erasure | T> =>
  retryOnce(async (isRepeat) => (isRepeat ? await erasures.find(id, requestedBy) : undefined) ?? removal());

const NOT_A_PARAMETER = "is not a parameter of a deletion. It takes tenant, q and dryRun.";

/** The files to delete; undefined: no file matches. */
type Chosen = SelectedFiles | "all" | undefined;

async function select(
  deps: DeleteFilesDeps,
  caller: FileCaller,
  terms: readonly Term[],
  person: string | undefined,
): Promise<Result<Chosen, MediaFailure>> {
  const conditions = [
    ...terms.map(({ key, value }) => metadataCondition(key, value)),
    ...(person === undefined ? [] : [personCondition(person)]),
  ];
  const selected = await deps.filters.select(caller, conditions);
  if (selected.kind === "too_broad") return err({ kind: "query_too_broad", of: "deletion" });
  return ok(selected.kind === "nothing" ? undefined : selected);
}

const count = (deps: DeleteFilesDeps, caller: FileCaller, files: Chosen): Promise<FileCount> =>
  files === "all" ? deps.erasures.countAll(caller) : deps.erasures.countMatching(files);

const remove = (deps: DeleteFilesDeps, request: NewErasure, caller: FileCaller, files: Chosen): Promise<Erasure> =>
  files === "all" ? deps.erasures.removeAll(request, caller) : deps.erasures.removeMatching(request, caller, files);
