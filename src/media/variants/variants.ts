import * as z from "zod/mini";
import { defineRoute, empty, json, type Route } from "../../http/route.ts";
import { randomId, type Random } from "../../platform/runtime/random.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import type { EdgeCache } from "../content/edge-cache.ts";
import { filePath, type Links } from "../files/links.ts";
import { variantsToJson } from "../files/variant-json.ts";
import { withCaller, type AccessDeps } from "../model/access.ts";
import { isMasterType } from "../model/content-type.ts";
import { toProblem, type MediaFailure } from "../model/failure.ts";
import type { Visibility } from "../model/file.ts";
import type { JobQueue } from "../model/job.ts";
import { LIMITS } from "../model/limits.ts";
import { namedVariants, variantParameters } from "../model/variant-query.ts";
import { purgeVariants, type PurgeVariantsDeps } from "./purge.ts";

interface VariantsDeps extends AccessDeps, PurgeVariantsDeps {
  readonly random: Random;
  readonly queue: JobQueue;
  readonly edge: EdgeCache;
  readonly links: Links;
}

const params = z.object({ fileId: z.string() });
const query = z.object(variantParameters);
const orNoFile = <T>(found: T | undefined): Result<T, MediaFailure> =>
  found === undefined ? err({ kind: "no_file" }) : ok(found);

const renditionsOf = (fileId: string, nonces: readonly string[]) => nonces.map((nonce) => ({ fileId, nonce }));

const pathOf = (visibility: Visibility): string => `${filePath(visibility)}/{fileId}/variants`;

/** `GET P/{fileId}/variants` */
export const listVariants = (deps: VariantsDeps, visibility: Visibility): Route =>
  defineRoute({
    method: "GET",
    path: pathOf(visibility),
    summary: `List the variants of a ${visibility} file`,
    operation: "listVariants",
    params,
    async handle({ principal, params: { fileId }, publicBase, nowMs }) {
      const list = await withCaller(deps, { principal, visibility, fileId, nowMs }, "read", async (caller) =>
        orNoFile(await deps.variants.list(fileId, caller)),
      );
      if (!list.ok) return toProblem(list.error);
      return json(200, variantsToJson(deps, publicBase, visibility, fileId, list.value.variants));
    },
  });

/**
 * `POST P/{fileId}/variants`: adds variants. It replaces failed variants, and leaves other existing ones as they are.
 */
export const createVariants = (deps: VariantsDeps, visibility: Visibility): Route =>
  defineRoute({
    method: "POST",
    path: pathOf(visibility),
    summary: `Add variants to a ${visibility} file`,
    operation: "createVariants",
    params,
    query,
    async handle(call) {
      const { principal, nowMs, publicBase } = call;
      const { fileId } = call.params;
      const named = namedVariants(call.query);
      if (!named.ok) return toProblem(named.error);
      if (named.value.length === 0) return toProblem({ kind: "no_variant_named" });
      const wanted = named.value.map((name) => ({ ...name, nonce: randomId(deps.random) }));
      const adding = await withCaller(deps, { principal, visibility, fileId, nowMs }, "change", async (caller) => {
        const before = await deps.variants.list(fileId, caller);
        if (before === undefined) return err({ kind: "no_file" });
        if (!isMasterType(before.contentType))
          return err({ kind: "unsupported_content_type", contentType: before.contentType });
        const { list, sent, replaced } = await deps.variants.add(fileId, caller, wanted, nowMs, LIMITS.variantsPerFile);
        call.waitUntil(deps.queue.send(sent));
        call.waitUntil(purgeVariants(deps, renditionsOf(fileId, replaced), nowMs));
        return orNoFile(list);
      });
      if (!adding.ok) return toProblem(adding.error);
      const added = adding.value;
      const isThere = ({ type, size }: { type: string; size: string }) =>
        added.variants.some((variant) => variant.type === type && variant.size === size);
      if (!wanted.every(isThere)) return toProblem({ kind: "too_many_variants" });
      return json(200, variantsToJson(deps, publicBase, visibility, fileId, added.variants));
    },
  });

/**
 * `DELETE P/{fileId}/variants`: deletes the named variants, or all. A variant that does not exist counts as deleted.
 */
export const deleteVariants = (deps: VariantsDeps, visibility: Visibility): Route =>
  defineRoute({
    method: "DELETE",
    path: pathOf(visibility),
    summary: `Delete variants of a ${visibility} file`,
    operation: "deleteVariants",
    params,
    query,
    produces: "any",
    async handle(call) {
      const { fileId } = call.params;
      const named = namedVariants(call.query);
      if (!named.ok) return toProblem(named.error);
      const which = named.value.length === 0 ? "all" : named.value;
      const { principal, nowMs } = call;
      const removal = await withCaller(deps, { principal, visibility, fileId, nowMs }, "change", async (caller) =>
        orNoFile(await deps.variants.remove(fileId, caller, which, nowMs)),
      );
      if (!removal.ok) return toProblem(removal.error);
      const removed = removal.value;
      if (visibility === "public" && removed.length > 0) await deps.edge.invalidateFile(fileId);
      call.waitUntil(purgeVariants(deps, renditionsOf(fileId, removed), nowMs));
      return empty(204);
    },
  });
