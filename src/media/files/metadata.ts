import * as z from "zod/mini";
import { defineRoute, jsonObjectBody, type Route } from "../../http/route.ts";
import { attributesOf, hasTooManyPairs } from "../metadata/attributes.ts";
import { err, ok } from "../../platform/model/result.ts";
import { withCaller, type AccessDeps } from "../model/access.ts";
import { toProblem } from "../model/failure.ts";
import type { Visibility } from "../model/file.ts";
import { LIMITS } from "../model/limits.ts";
import type { FileStore } from "./file-store.ts";
import { filePath } from "./links.ts";

interface MetadataDeps extends AccessDeps {
  readonly files: FileStore;
}

const params = z.object({ fileId: z.string() });

/** Answers with the text that the client stored: its numbers, order and repeated members stay as they are. */
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
      const metadata = await withCaller(deps, { principal, visibility, fileId, nowMs }, "read", async (caller) => {
        const found = await deps.files.readMetadata(fileId, caller);
        return found === undefined ? err({ kind: "no_file" }) : ok(found);
      });
      return metadata.ok ? asSent(metadata.value) : toProblem(metadata.error);
    },
  });

/** `PUT P/{fileId}/metadata`: replaces all metadata. */
export const replaceMetadata = (deps: MetadataDeps, visibility: Visibility): Route =>
  defineRoute({
    method: "PUT",
    path: `${filePath(visibility)}/{fileId}/metadata`,
    summary: `Replace the metadata of a ${visibility} file`,
    operation: "replaceMetadata",
    params,
    body: jsonObjectBody(LIMITS.metadataMaxBytes, false),
    async handle({ principal, params: { fileId }, body, nowMs }) {
      const replaced = await withCaller(deps, { principal, visibility, fileId, nowMs }, "change", async (caller) => {
        const file = await deps.files.findOwned(fileId, caller);
        if (file === undefined) return err({ kind: "no_file" });
        if (hasTooManyPairs(body)) return err({ kind: "too_many_attributes" });
        const attributes = attributesOf(body, file.contentType, { isShared: file.isShared === 1, person: file.person });
        const isDone = await deps.files.replaceMetadata(fileId, caller, body, attributes);
        return isDone ? ok(body) : err({ kind: "no_file" });
      });
      return replaced.ok ? asSent(replaced.value) : toProblem(replaced.error);
    },
  });
