import * as z from "zod/mini";
import type { Principal } from "../../http/callers/auth.ts";
import {
  defineRoute,
  json,
  jsonOrBytes,
  type Answer,
  type Call,
  type JsonOrBytes,
  type Route,
} from "../../http/route.ts";
import { matching } from "../../http/input/validate.ts";
import { PATTERNS } from "../../platform/model/names.ts";
import { toProblem } from "../model/failure.ts";
import { SHARING, type Visibility } from "../model/file.ts";
import { LIMITS } from "../model/limits.ts";
import type { VariantName } from "../model/sizes.ts";
import type { Uploads } from "../model/uploads.ts";
import { namedVariants, variantParameters } from "../model/variant-query.ts";
import { filePath, type Links } from "./links.ts";
import { contentType, createPending, type PendingDeps } from "./new-file.ts";

interface CreateDeps extends PendingDeps {
  readonly uploads: Uploads;
  readonly links: Links;
}

/** The parameters of a commit, for a request that brings the bytes: it creates, stores and commits the file at once. */
interface CommitQuery {
  readonly tenant?: string | undefined;
  readonly shared?: string | undefined;
}

/** Stores and commits the bytes of the request (uploads/store-at-once.ts). */
export type StoreAtOnce = (
  visibility: Visibility,
  call: Call<unknown, CommitQuery, unknown, Principal>,
  body: Exclude<JsonOrBytes<unknown>, { readonly kind: "json" }>,
  variants: readonly VariantName[],
) => Promise<Answer>;

const DEFAULT_CONTENT_TYPE = "binary/octet-stream";

/**
 * `POST P`: creates a pending file. The row is written before the link is made, so every byte has an owner. A request
 * that brings the bytes stores and commits them too (uploads/store-at-once.ts).
 */
export const createFile = (deps: CreateDeps, storeAtOnce: StoreAtOnce, visibility: Visibility): Route =>
  defineRoute({
    method: "POST",
    path: filePath(visibility),
    summary: `Create the upload link of a ${visibility} file, or store one`,
    operation: "createFile",
    query: z.object({
      ...variantParameters,
      tenant: z.optional(matching(PATTERNS.tenant)),
      shared: z.optional(z.enum(SHARING)),
    }),
    body: jsonOrBytes(z.object({ "Content-Type": z.optional(contentType) }), LIMITS.formMaxBytes),
    async handle(call) {
      const { principal, query, body, nowMs, publicBase } = call;
      const named = namedVariants(query);
      if (!named.ok) return toProblem(named.error);
      if (body.kind !== "json") return storeAtOnce(visibility, call, body, named.value);
      const type = body.value?.["Content-Type"] ?? DEFAULT_CONTENT_TYPE;
      const pending = { tenant: principal.tenant, type, variants: named.value };
      const created = await createPending(deps, visibility, principal, pending, nowMs);
      if (!created.ok) return toProblem(created.error);
      const id = created.value;
      const uploadLink = await deps.uploads.makeLink(publicBase, id, type, nowMs);
      const commitLink = `${deps.links.file(publicBase, visibility, id)}/commit`;
      return json(200, { id, uploadLink, commitLink }, { "cache-control": "no-store" });
    },
  });
