import * as z from "zod/mini";
import { defineRoute, empty, open, type Answer, type Call, type Route } from "../http/route.ts";
import { err, ok, type Result } from "../platform/result.ts";
import { parseRange } from "./byte-range.ts";
import { evaluateConditions, httpDate, rangeApplies } from "./conditional.ts";
import { formatDisposition } from "./content-disposition.ts";
import { dispositionOf } from "./content-type.ts";
import type { MediaContext } from "./context.ts";
import { toProblem, type MediaFailure } from "./failure.ts";
import { LIMITS } from "./limits.ts";
import { representationOf, type Representation } from "./representation.ts";
import { parseSizes, VARIANT_TYPES, type VariantName } from "./sizes.ts";
import type { CommittedFile } from "./store/files.ts";

const query = z.object({ expires: z.optional(z.string()), signature: z.optional(z.string()) });
const access = open("public files need no permission; for private ones the signed link is it");

type ContentCall = Call<{ fileId: string }, z.infer<typeof query>, undefined, undefined>;

/** `GET` of the content addresses: the bytes of public files, and of private ones by a signed link that has not ended. */
export const contentRoutes = (media: MediaContext): readonly Route[] => [
  defineRoute({
    method: "GET",
    path: "/content/{fileId}",
    summary: "The content of a file",
    access,
    params: z.object({ fileId: z.string() }),
    query,
    produces: "any",
    handle: (call) => answer(media, call, undefined),
  }),
  defineRoute({
    method: "GET",
    path: "/content/{fileId}/{variant}",
    summary: "The content of a variant, named as clip-300x200",
    access,
    params: z.object({ fileId: z.string(), variant: z.string() }),
    query,
    produces: "any",
    handle: async (call) => {
      const variant = parseVariant(call.params.variant);
      return variant === undefined ? toProblem({ kind: "no_content" }) : answer(media, call, variant);
    },
  }),
];

function parseVariant(segment: string): VariantName | undefined {
  const [, given, size = ""] = /^(\w+)-(\w+)$/.exec(segment) ?? [];
  const type = VARIANT_TYPES.find((candidate) => candidate === given);
  return type !== undefined && parseSizes(size).ok ? { type, size } : undefined;
}

async function answer(media: MediaContext, call: ContentCall, variant: VariantName | undefined): Promise<Answer> {
  const file = await findReadable(media, call, variant);
  if (!file.ok) return toProblem(file.error);
  const representation = representationOf(file.value, variant, false);
  if (!representation.ok) return toProblem(representation.error);
  const cacheControl =
    file.value.visibility === "public" ? `public, max-age=${LIMITS.publicMaxAgeSec}` : "private, no-store";
  return serve(media, call.request, representation.value, cacheControl);
}

async function findReadable(
  media: MediaContext,
  { params: { fileId }, query: { expires, signature }, nowMs }: ContentCall,
  variant: VariantName | undefined,
): Promise<Result<CommittedFile, MediaFailure>> {
  const isSigned = expires !== undefined || signature !== undefined;
  if (isSigned) {
    const given = { expires: expires ?? "", signature: signature ?? "" };
    const link = await media.links.verifyContent(fileId, variant, given, nowMs);
    if (!link.ok) return err({ kind: link.error === "expired" ? "link_expired" : "link_forged" });
  }
  const file = await media.files.findCommitted(fileId, variant);
  if (file === undefined || (!isSigned && file.visibility !== "public")) return err({ kind: "no_content" });
  return ok(file);
}

/** RFC 9110: conditions first, then the range. What never changes needs R2 for the bytes alone. */
async function serve(
  media: MediaContext,
  request: Request,
  representation: Representation,
  cacheControl: string,
): Promise<Answer> {
  const { etag, lastModifiedMs, sizeBytes, contentType, fileName, key } = representation;
  const validators = { etag, "last-modified": httpDate(lastModifiedMs), "cache-control": cacheControl };
  switch (evaluateConditions(request.headers, representation)) {
    case "failed":
      return toProblem({ kind: "precondition_failed" });
    case "not_modified":
      return empty(304, validators);
    case "proceed":
  }
  const headers = {
    ...validators,
    "content-type": contentType,
    "content-disposition": formatDisposition(dispositionOf(contentType), fileName),
    "accept-ranges": "bytes",
    // The bytes are strangers': a browser that shows them runs nothing of them.
    "content-security-policy": "sandbox",
  };
  // A range is defined for GET alone (section 14.2).
  if (request.method === "HEAD") return empty(200, { ...headers, "content-length": String(sizeBytes) });
  const applies = rangeApplies(request.headers, representation);
  const range = applies ? parseRange(request.headers.get("range"), sizeBytes) : "whole";
  if (range === "unsatisfiable") return toProblem({ kind: "range_not_satisfiable", sizeBytes });
  const part = range === "whole" ? undefined : range;
  const object = await media.blobs.get(key, part);
  if (object === null) {
    // Removed between the row and the bytes; if not, the consistency report finds it.
    media.log.error("a committed file has no bytes", { key });
    return toProblem({ kind: "no_content" });
  }
  if (part === undefined)
    return new Response(object.body, { headers: { ...headers, "content-length": String(sizeBytes) } });
  const contentRange = `bytes ${part.offset}-${part.offset + part.length - 1}/${sizeBytes}`;
  const partHeaders = { ...headers, "content-range": contentRange, "content-length": String(part.length) };
  return new Response(object.body, { status: 206, headers: partHeaders });
}
