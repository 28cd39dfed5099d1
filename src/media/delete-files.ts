import * as z from "zod/mini";
import { invalid } from "../http/errors.ts";
import { defineRoute, empty, scoped, type Route } from "../http/route.ts";
import { matching } from "../http/validate.ts";
import { PATTERNS } from "../platform/names.ts";
import { err, ok, type Result } from "../platform/result.ts";
import { metadataCondition } from "./attributes.ts";
import { ownerName, reachesTenant, type MediaContext } from "./context.ts";
import { startErasing } from "./erase.ts";
import { toProblem, type MediaFailure } from "./failure.ts";
import { newFileId } from "./file-id.ts";
import { filePath, type Visibility } from "./links.ts";
import { parseQuery, type Term } from "./metadata-query.ts";
import type { Erasure, NewErasure } from "./store/erasures.ts";
import type { FileCaller } from "./store/files.ts";
import { twice } from "./twice.ts";

/** What narrows a listing. Left out of account, it would delete more than the caller meant. */
const NARROWING = ["content-type", "pageSize", "pageNumber", "cursor"] as const;

/**
 * `DELETE P`: all files of a tenant, or those that `q` matches; in one write either way, so nobody reads any of them from
 * the answer on. `Location` is the report of it.
 */
export const deleteFiles = (media: MediaContext, visibility: Visibility): Route =>
  defineRoute({
    method: "DELETE",
    path: filePath(visibility),
    summary: `Delete the ${visibility} files of a tenant, all or by query`,
    access: scoped("media_admin"),
    query: z.object({ tenant: matching(PATTERNS.tenant), q: z.optional(z.string()) }),
    produces: "any",
    async handle({ principal, query: { tenant, q }, nowMs, publicBase, url, after }) {
      const client = ownerName(principal);
      if (!client.ok) return toProblem(client.error);
      const narrowing = NARROWING.find((name) => url.searchParams.has(name));
      if (narrowing !== undefined) return invalid("invalid_query_parameter", narrowing, `${narrowing} ${NOT_NARROWED}`);
      const terms = q === undefined ? ok("all" as const) : termsOf(q);
      if (!terms.ok) return invalid("invalid_query_parameter", "q", `q: ${terms.error}.`);
      if (!(await reachesTenant(media, principal, tenant, nowMs))) return toProblem({ kind: "foreign_tenant" });
      const caller = { client: client.value, visibility, tenant };
      const erasure = await remove(
        media,
        { id: newFileId(nowMs, media.random), requestedAt: nowMs },
        caller,
        terms.value,
      );
      if (!erasure.ok) return toProblem(erasure.error);
      if (visibility === "public") await media.edge.voidOwner(caller);
      after(startErasing(media, erasure.value, nowMs));
      return empty(q === undefined ? 202 : 204, { location: media.links.erasure(publicBase, erasure.value.id) });
    },
  });

const NOT_NARROWED = "is no part of a deletion: it is of all files, or of those that q matches.";

/** A query of nothing would match all: who wants that leaves it out. */
function termsOf(q: string): Result<readonly Term[], string> {
  const terms = parseQuery(q);
  return terms.ok && terms.value.length === 0 ? err("must have a term; to delete all files, leave it out") : terms;
}

async function remove(
  media: MediaContext,
  request: NewErasure,
  caller: FileCaller,
  terms: readonly Term[] | "all",
): Promise<Result<Erasure, MediaFailure>> {
  if (terms === "all") return ok(await twice(() => media.erasures.removeAll(request, caller)));
  const conditions = terms.map(({ key, value }) => metadataCondition(key, value));
  const selected = await media.matching.selectMatching(caller, { conditions });
  if (selected.kind === "too_broad") return err({ kind: "query_too_broad" });
  const files = selected.kind === "nothing" ? undefined : selected;
  return ok(await twice(() => media.erasures.removeMatching(request, caller, files)));
}
