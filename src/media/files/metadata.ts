import * as z from "zod/mini";
import { defineRoute, jsonObjectBody, type Route } from "../../http/route.ts";
import { attributesOf, hasTooManyPairs } from "../metadata/attributes.ts";
import { resolveCaller, type AccessDeps } from "../model/access.ts";
import { toProblem } from "../model/failure.ts";
import type { Visibility } from "../model/file.ts";
import { LIMITS } from "../model/limits.ts";
import type { FileStore } from "./file-store.ts";
import { filePath } from "./links.ts";

interface MetadataDeps extends AccessDeps {
  readonly files: FileStore;
}

const params = z.object({ fileId: z.string() });

/** The text that was sent: the client's numbers, order and repeated members stay as they are. */
const asSent = (metadata: string): Response =>
  new Response(metadata, { headers: { "content-type": "application/json", "cache-control": "no-cache, private" } });

/** `GET P/{fileId}/metadata` */
export const readMetadata = (deps: MetadataDeps, visibility: Visibility): Route =>
  defineRoute({
    method: "GET",
    path: `${filePath(visibility)}/{fileId}/metadata`,
    summary: `Read the metadata of a ${visibility} file`,
    operation: "readMetadata",
    params,
    async handle({ principal, params: { fileId }, nowMs }) {
      const caller = await resolveCaller(deps, principal, visibility, fileId, nowMs);
      if (!caller.ok) return toProblem(caller.error);
      const metadata = await deps.files.readMetadata(fileId, caller.value);
      return metadata === undefined ? toProblem({ kind: "no_file" }) : asSent(metadata);
    },
  });

/** `PUT P/{fileId}/metadata`: replaces all of it. */
export const replaceMetadata = (deps: MetadataDeps, visibility: Visibility): Route =>
  defineRoute({
    method: "PUT",
    path: `${filePath(visibility)}/{fileId}/metadata`,
    summary: `Replace the metadata of a ${visibility} file`,
    operation: "replaceMetadata",
    params,
    body: jsonObjectBody(LIMITS.metadataMaxBytes, false),
    async handle({ principal, params: { fileId }, body, nowMs }) {
      const caller = await resolveCaller(deps, principal, visibility, fileId, nowMs);
      if (!caller.ok) return toProblem(caller.error);
      const file = await deps.files.findOwned(fileId, caller.value);
      if (file === undefined) return toProblem({ kind: "no_file" });
      if (hasTooManyPairs(body)) return toProblem({ kind: "too_many_attributes" });
      const attributes = attributesOf(body, file.contentType);
      const replaced = await deps.files.replaceMetadata(fileId, caller.value, body, attributes);
      return replaced ? asSent(body) : toProblem({ kind: "no_file" });
    },
  });
