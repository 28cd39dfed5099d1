import * as z from "zod/mini";
import { isProblem } from "../../http/errors/errors.ts";
import { defineRoute, type Answer, type Call, type Route } from "../../http/route.ts";
import { describeError, type Log } from "../../platform/runtime/log.ts";
import { randomId, type Random } from "../../platform/runtime/random.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import type { ByteRange, BlobStore } from "../blobs/blob-store.ts";
import type { CommittedFile, FileStore } from "../files/file-store.ts";
import type { Links } from "../files/links.ts";
import { representationOf, type Representation } from "../files/representation.ts";
import { toProblem, type MediaFailure } from "../model/failure.ts";
import { isFileId } from "../model/file.ts";
import { LIMITS } from "../model/limits.ts";
import { parseSizes, VARIANT_TYPES, type VariantName } from "../model/sizes.ts";
import { sliceStream } from "./byte-range.ts";
import type { AboutContent, ContentAddress, CachedContent, EdgeCache } from "./edge-cache.ts";
import { multipartRanges } from "./multipart.ts";
import { planContent, type BytesPlan } from "./plan.ts";

interface ContentDeps {
  readonly log: Log;
  readonly random: Random;
  readonly files: FileStore;
  readonly blobs: BlobStore;
  readonly edge: EdgeCache;
  readonly links: Links;
}

const query = z.object({ expires: z.optional(z.string()), signature: z.optional(z.string()) });
type ContentCall = Call<{ fileId: string }, z.infer<typeof query>, undefined, undefined>;

/** `GET` of content addresses: public files, and private files by a signed link. */
export const contentRoutes = (deps: ContentDeps): readonly Route[] => [
  defineRoute({
    method: "GET",
    path: "/content/{fileId}",
    summary: "The content of a file",
    operation: "fetchContent",
    params: z.object({ fileId: z.string() }),
    query,
    produces: "any",
    handle: (call) => answer(deps, call, undefined),
  }),
  defineRoute({
    method: "GET",
    path: "/content/{fileId}/{variant}",
    summary: "The content of a variant, named as clip-300x200",
    operation: "fetchContent",
    params: z.object({ fileId: z.string(), variant: z.string() }),
    query,
    produces: "any",
    handle: async (call) => {
      const variant = parseVariant(call.params.variant);
      return variant === undefined ? toProblem({ kind: "no_bytes" }) : answer(deps, call, variant);
    },
  }),
];

function parseVariant(segment: string): VariantName | undefined {
  const [, given, size = ""] = /^(\w+)-(\w+)$/.exec(segment) ?? [];
  const type = VARIANT_TYPES.find((candidate) => candidate === given);
  return type !== undefined && parseSizes(size).ok ? { type, size } : undefined;
}

async function answer(deps: ContentDeps, call: ContentCall, variant: VariantName | undefined): Promise<Answer> {
  const address = { fileId: call.params.fileId, variant };
  const kept = isSigned(call) || !isFileId(address.fileId) ? undefined : await deps.edge.find(address, call.nowMs);
  return (kept === undefined ? undefined : await answerFromEdge(kept, call)) ?? answerFromStore(deps, call, address);
}

const isSigned = ({ query: { expires, signature } }: ContentCall): boolean =>
  expires !== undefined || signature !== undefined;

const PUBLIC = { "cache-control": `public, max-age=${LIMITS.publicMaxAgeSec}` };
const PRIVATE = { "cache-control": "private, no-store" };

/** Returns undefined if the copy cannot serve the request: several ranges are read from R2. */
async function answerFromEdge({ about, body }: CachedContent, call: ContentCall): Promise<Answer | undefined> {
  call.attributeTo(about.owner.tenant);
  // With an `Age` (RFC 9111 section 5.1), browsers keep the copy only for the rest of the 300 s.
  const shared = { ...PUBLIC, age: String(Math.floor((call.nowMs - about.readAtMs) / 1000)) };
  const plan = planContent(call.request, about, shared, call.nowMs);
  switch (plan.send) {
    case "whole":
      return new Response(body, { headers: plan.headers });
    case "part":
      return new Response(sliceStream(body, plan.part), { status: 206, headers: plan.headers });
    case "nothing":
    case "parts":
      await body.cancel();
      return plan.send === "nothing" ? plan.answer : undefined;
  }
}

async function answerFromStore(deps: ContentDeps, call: ContentCall, address: ContentAddress): Promise<Answer> {
  const file = await findReadable(deps, call, address.variant);
  if (!file.ok) return toProblem(file.error);
  call.attributeTo(file.value.tenant);
  const found = representationOf(file.value, address.variant, false);
  if (!found.ok) return toProblem(found.error);
  const isPublic = file.value.visibility === "public";
  const plan = planContent(call.request, found.value, isPublic ? PUBLIC : PRIVATE, call.nowMs);
  if (plan.send === "nothing") return plan.answer;
  const answered = await readContent(deps, found.value, plan);
  if (isProblem(answered) || answered.body === null || plan.send !== "whole" || !isPublic || isSigned(call))
    return answered;
  const about = aboutOf(found.value, file.value, call.nowMs);
  return new Response(deps.edge.store(address, about, answered.body, call.waitUntil), answered);
}

async function findReadable(
  deps: ContentDeps,
  call: ContentCall,
  variant: VariantName | undefined,
): Promise<Result<CommittedFile, MediaFailure>> {
  const { fileId } = call.params;
  if (isSigned(call)) {
    const { expires = "", signature = "" } = call.query;
    const link = await deps.links.verifyContent(fileId, variant, { expires, signature }, call.nowMs);
    if (!link.ok) return err({ kind: link.error === "expired" ? "link_expired" : "link_forged" });
  }
  const file = await deps.files.findCommitted(fileId, variant);
  if (file === undefined || (!isSigned(call) && file.visibility !== "public")) return err({ kind: "no_content" });
  return ok(file);
}

async function readContent(deps: ContentDeps, found: Representation, plan: BytesPlan): Promise<Answer> {
  const answered = await readBytes(deps, found, plan).then(ok, err);
  if (!answered.ok) return toProblem({ kind: "content_unavailable", reason: describeError(answered.error) });
  const read = answered.value;
  if (read === undefined) {
    // The file was removed after its row was read, or the consistency report will find it.
    deps.log.error("a committed file has no bytes", { key: found.key });
    return toProblem({ kind: "no_bytes" });
  }
  const status = plan.send === "whole" ? 200 : 206;
  return new Response(read.body, { status, headers: { ...plan.headers, ...read.headers } });
}

async function readBytes(
  deps: ContentDeps,
  { key, contentType, sizeBytes }: Representation,
  plan: BytesPlan,
): Promise<{ body: ReadableStream<Uint8Array>; headers?: Record<string, string> } | undefined> {
  const read = async (part?: ByteRange) => (await deps.blobs.get(key, part)) ?? undefined;
  switch (plan.send) {
    case "whole":
      return read();
    case "part":
      return read(plan.part);
    case "parts":
      return multipartRanges({ contentType, sizeBytes, read }, plan.parts, randomId(deps.random));
  }
}

const aboutOf = (
  { etag, lastModifiedMs, sizeBytes, contentType, fileName }: Representation,
  { client, tenant }: CommittedFile,
  readAtMs: number,
): AboutContent => ({ owner: { client, tenant }, readAtMs, etag, lastModifiedMs, sizeBytes, contentType, fileName });
