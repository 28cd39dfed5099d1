import * as z from "zod/mini";
import { defineRoute, json, optionalJsonBody, type Route } from "../../http/route.ts";
import { randomId, type Random } from "../../platform/random.ts";
import { personOf, type TenantAccess } from "../model/access.ts";
import { isContentType, isMasterType, isMultipartForm } from "../model/content-type.ts";
import { toProblem } from "../model/failure.ts";
import { newFileId, type Visibility } from "../model/file.ts";
import { LIMITS } from "../model/limits.ts";
import type { Uploads } from "../model/uploads.ts";
import { namedVariants, variantParameters } from "../model/variant-query.ts";
import { filePath, type Links } from "./links.ts";
import type { PendingStore } from "./pending-store.ts";

interface CreateDeps extends TenantAccess {
  readonly random: Random;
  readonly pending: PendingStore;
  readonly uploads: Uploads;
  readonly links: Links;
}

const DEFAULT_CONTENT_TYPE = "binary/octet-stream";

const contentType = z.string().check(
  z.maxLength(LIMITS.contentTypeMaxChars),
  z.refine(isContentType, "must be a media type such as image/png"),
  z.refine(
    (type) => !isMultipartForm(type),
    "must not be multipart/form-data, which is not supported: send the file itself",
  ),
);

/** `POST P`: creates a pending file. Its row exists before its link, so every byte has an owner. */
export const createFile = (deps: CreateDeps, visibility: Visibility): Route =>
  defineRoute({
    method: "POST",
    path: filePath(visibility),
    summary: `Create the upload link of a ${visibility} file`,
    operation: "createFile",
    query: z.object(variantParameters),
    body: optionalJsonBody(z.object({ "Content-Type": z.optional(contentType) })),
    async handle({ principal, query, body, nowMs, publicBase }) {
      const named = namedVariants(query);
      if (!named.ok) return toProblem(named.error);
      const type = body?.["Content-Type"] ?? DEFAULT_CONTENT_TYPE;
      if (named.value.length > 0 && !isMasterType(type))
        return toProblem({ kind: "unsupported_content_type", contentType: type });
      const id = newFileId(nowMs, deps.random);
      const created = await deps.pending.create({
        id,
        reservedFor: principal.tenant,
        client: principal.clientName,
        person: await personOf(deps, principal, nowMs),
        visibility,
        contentType: type,
        variants: named.value.map((name) => ({ ...name, nonce: randomId(deps.random) })),
        createdAt: nowMs,
        dueAt: nowMs + LIMITS.uncommittedTtlMs,
      });
      if (!created.ok)
        return toProblem(
          created.error === "over_quota"
            ? { kind: "quota_full", tenant: principal.tenant }
            : { kind: "too_many_pending", count: LIMITS.pendingFilesPerClient },
        );
      const uploadLink = await deps.uploads.makeLink(publicBase, id, type, nowMs);
      const commitLink = `${deps.links.file(publicBase, visibility, id)}/commit`;
      return json(200, { id, uploadLink, commitLink }, { "cache-control": "no-store" });
    },
  });
