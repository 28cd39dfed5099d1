import * as z from "zod/mini";
import type { Principal } from "../../http/callers/auth.ts";
import { defineRoute, json, jsonObjectBody, type Route } from "../../http/route.ts";
import { matching } from "../../http/input/validate.ts";
import { sha256Hex } from "../../platform/secrets/hash.ts";
import { describeError } from "../../platform/runtime/log.ts";
import type { Meter } from "../../platform/ports/metrics.ts";
import { PATTERNS } from "../../platform/model/names.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import { retryOnce } from "../../platform/runtime/retry-once.ts";
import { attributesOf, hasTooManyPairs } from "../metadata/attributes.ts";
import { withCaller, mayActForTenant, type AccessDeps } from "../model/access.ts";
import { toProblem, type MediaFailure } from "../model/failure.ts";
import { SHARING, type Visibility, type FileCaller } from "../model/file.ts";
import type { JobQueue, SendTaken, VariantJob } from "../model/job.ts";
import { LIMITS } from "../model/limits.ts";
import type { PendingFile, PinnedUpload, Uploads } from "../model/uploads.ts";
import type { CommitFault, OwnedFile, FileStore } from "./file-store.ts";
import { filePath, type Links } from "./links.ts";
import type { WaitUntil } from "../../platform/runtime/wait-until.ts";

export interface CommitDeps extends AccessDeps {
  readonly files: FileStore;
  readonly variants: { sendOnceMore(fileId: string, nowMs: number): Promise<readonly VariantJob[]> };
  readonly uploads: Uploads;
  readonly queue: JobQueue;
  readonly links: Links;
  readonly meter: Meter;
}

/** `POST P/{fileId}/commit`: pins the upload and gives the file its tenant. */
export const commitFile = (deps: CommitDeps, visibility: Visibility): Route =>
  defineRoute({
    method: "POST",
    path: `${filePath(visibility)}/{fileId}/commit`,
    summary: `Commit a ${visibility} file`,
    operation: "commitFile",
    params: z.object({ fileId: z.string() }),
    query: z.object({ tenant: z.optional(matching(PATTERNS.tenant)), shared: z.optional(z.enum(SHARING)) }),
    body: jsonObjectBody(LIMITS.metadataMaxBytes, true),
    async handle({ principal, params: { fileId }, query, body, nowMs, publicBase, waitUntil }) {
      const tenant = await tenantOf(deps, principal, query.tenant, nowMs);
      if (!tenant.ok) return toProblem(tenant.error);
      const isShared = query.shared !== undefined;
      const request = { fileId, tenant: tenant.value, isShared, metadata: body ?? "{}", nowMs };
      const committed = await commitAs(deps, principal, visibility, request, waitUntil);
      return committed.ok
        ? json(202, { id: fileId, link: deps.links.file(publicBase, visibility, fileId) })
        : toProblem(committed.error);
    },
  });

/** Commits a file of the caller and sends the jobs of its variants. */
export async function commitAs(
  deps: CommitDeps,
  principal: Principal,
  visibility: Visibility,
  request: CommitRequest,
  waitUntil: WaitUntil,
): Promise<Result<void, MediaFailure>> {
  const { fileId, nowMs } = request;
  const left: Left = { pinnedEtags: new Set(), send: (jobs) => waitUntil(deps.queue.send(jobs)) };
  const committed = await withCaller(deps, { principal, visibility, fileId, nowMs }, "own", (caller) =>
    commit(deps, caller, request, left),
  );
  waitUntil(deps.uploads.clear(fileId, [...left.pinnedEtags]));
  return committed;
}

/** A commit leaves these to be done after it, even if it is refused. */
interface Left {
  /** ETags of the uploads that it saw pinned. */
  readonly pinnedEtags: Set<string>;
  readonly send: SendTaken;
}

/** Returns the tenant that the request names, or else the token's. A token that names a tenant may name no other. */
export async function tenantOf(
  deps: CommitDeps,
  principal: Principal,
  named: string | undefined,
  nowMs: number,
): Promise<Result<string, MediaFailure>> {
  const tenant = named ?? principal.tenant;
  return (await mayActForTenant(deps, principal, tenant, nowMs)) ? ok(tenant) : err({ kind: "foreign_tenant" });
}

export interface CommitRequest {
  readonly fileId: string;
  readonly tenant: string;
  readonly isShared: boolean;
  readonly metadata: string;
  readonly nowMs: number;
}

/** A repeated commit changes nothing. */
async function commit(
  deps: CommitDeps,
  caller: FileCaller,
  { fileId, tenant, isShared, metadata, nowMs }: CommitRequest,
  left: Left,
): Promise<Result<void, MediaFailure>> {
  if (hasTooManyPairs(metadata)) return err({ kind: "too_many_attributes" });
  const digest = await sha256Hex(JSON.stringify([tenant, metadata, ...(isShared ? ["shared"] : [])]));
  const write = (
    upload: PinnedUpload,
    contentType: string,
    person: string | null,
  ): Promise<Result<void, CommitFault>> => {
    const { pinnedEtag, key, sizeBytes, etag, fileName } = upload;
    const attributes = attributesOf(metadata, contentType, { isShared, person });
    const file = { pinnedEtag, key, sizeBytes, etag, fileName, contentType, person };
    const given = { tenant, isShared, committedAt: nowMs, digest, metadata, attributes };
    // The write may be repeated, because it changes the row only while the file is pending.
    return retryOnce(() => deps.files.commit(fileId, caller, { ...file, ...given }, left.send));
  };
  // The fast path: the upload's metadata equals the row of nearly every file, so the row need not be read first.
  const fixed = await deps.uploads.fixed(fileId).catch(() => undefined);
  if (fixed !== undefined) {
    const committed = await write(fixed, fixed.contentType, fixed.person);
    if (committed.ok) return counted(deps, tenant, fixed, committed);
  }
  let failure: MediaFailure | undefined;
  for (let round = 0; ; round++) {
    // A failed write needs a new read: another commit, a deletion, the sweep or this call itself changed the row.
    const file = await deps.files.findOwned(fileId, caller);
    if (file?.state !== "pending") {
      const repeated = answerRepeat(file, digest);
      if (repeated.ok) left.send(await deps.variants.sendOnceMore(fileId, nowMs));
      return repeated;
    }
    if (failure !== undefined && (failure.kind !== "upload_changed" || round > LIMITS.commitRounds))
      return err(failure);
    const pinned = await pin(deps, { id: fileId, pinnedEtag: file.pinnedEtag }, caller);
    for (const etag of [file.pinnedEtag, pinned.ok ? pinned.value.pinnedEtag : null])
      if (etag !== null) left.pinnedEtags.add(etag);
    if (!pinned.ok) {
      failure = pinned.error;
      continue;
    }
    const started = await write(pinned.value, file.contentType, file.person);
    if (started.ok) return counted(deps, tenant, pinned.value, started);
    failure = started.error === "over_quota" ? { kind: "quota_exceeded", tenant } : { kind: "upload_changed" };
  }
}

/**
 * Counts the bytes of an upload for the file's tenant. Only the commit can count them: an upload by a link has no
 * token, and an upload to a presigned link does not pass through the Worker.
 */
function counted<T>(deps: CommitDeps, tenant: string, { sizeBytes }: PinnedUpload, committed: T): T {
  deps.meter.add("received_bytes", { service: "media", tenant }, sizeBytes);
  return committed;
}

async function pin(
  deps: CommitDeps,
  file: PendingFile,
  caller: FileCaller,
): Promise<Result<PinnedUpload, MediaFailure>> {
  try {
    return await deps.uploads.pin(file, caller);
  } catch (thrown) {
    return err({ kind: "commit_unavailable", reason: describeError(thrown) });
  }
}

/** Answers a commit of a file that is not pending: it was committed with the same body or another, or it is gone. */
function answerRepeat(file: OwnedFile | undefined, digest: string): Result<void, MediaFailure> {
  if (file === undefined) return err({ kind: "no_file" });
  return file.commitDigest === digest ? ok(undefined) : err({ kind: "already_committed" });
}
