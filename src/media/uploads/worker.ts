import * as z from "zod/mini";
import { defineRoute, empty, streamBody, type Route } from "../../http/route.ts";
import type { Clock } from "../../platform/runtime/clock.ts";
import { describeError } from "../../platform/runtime/log.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import {
  fileNameOf,
  isShort,
  masterKey,
  type BlobStore,
  type MasterUpload,
  type UploadFault,
  type ReservationFault,
} from "../blobs/blob-store.ts";
import type { Links } from "../files/links.ts";
import type { PendingStore } from "../files/pending-store.ts";
import { quoted } from "../files/representation.ts";
import { parseFileName } from "../model/content-disposition.ts";
import { isIdentity, sameContentType } from "../model/content-type.ts";
import { toProblem, type MediaFailure } from "../model/failure.ts";
import { readUploadDigest, type UploadDigest } from "../model/upload-digest.ts";
import type { FixedUpload, Uploads } from "../model/uploads.ts";

/** Uploads through the Worker. The first one takes the master's key for good, so nothing needs to be pinned. */
export function createWorkerUploads(links: Links, blobs: BlobStore): Uploads {
  return {
    makeLink: (publicBase, fileId, contentType, nowMs) => links.upload(publicBase, fileId, contentType, nowMs),
    async pin({ id, pinnedEtag }) {
      const object = await blobs.head(masterKey(id));
      return object === null ? err({ kind: "file_not_uploaded" }) : ok({ ...pinnedObject(object), pinnedEtag });
    },
    async fixed(fileId) {
      const object = await blobs.head(masterKey(fileId));
      const contentType = object?.httpMetadata?.contentType;
      return object === null || contentType === undefined ? undefined : fixedUpload(object, contentType, undefined);
    },
    async clear() {},
  };
}

/** `person`: of the file's row; undefined for nearly every file. */
export const fixedUpload = (object: R2Object, contentType: string, person: string | undefined): FixedUpload => ({
  ...pinnedObject(object),
  pinnedEtag: null,
  contentType,
  person: person ?? null,
});

const pinnedObject = (object: R2Object) => ({
  key: object.key,
  sizeBytes: object.size,
  etag: object.etag,
  fileName: fileNameOf(object),
});

export interface UploadDeps {
  readonly clock: Clock;
  readonly links: Links;
  readonly blobs: BlobStore;
  readonly pending: PendingStore;
  readonly maxUploadBytes: number;
}

/** A shorter upload does not read its row again, which saves a round trip. */
const SHORT_UPLOAD_MS = 1_000;

/**
 * `PUT` to the upload link stores the bytes of a pending file, once. At most one upload wins, because R2 writes the
 * master only if its key is free. A failed upload leaves no master, and the link works until it expires.
 */
export const uploadFile = (deps: UploadDeps): Route =>
  defineRoute({
    method: "PUT",
    path: "/uploads/{fileId}",
    summary: "Upload the content of a file",
    operation: "uploadFile",
    params: z.object({ fileId: z.string() }),
    query: z.object({
      type: z.optional(z.string()),
      expires: z.optional(z.string()),
      signature: z.optional(z.string()),
    }),
    body: streamBody,
    produces: "any",
    async handle({ request, params, query, nowMs, waitUntil }) {
      const { type = "", expires = "", signature = "" } = query;
      const given = { contentType: type, expires, signature };
      const link = await deps.links.verifyUpload(params.fileId, given, nowMs);
      if (!link.ok) return toProblem({ kind: link.error === "expired" ? "link_expired" : "link_forged" });
      const accepted = checkHeaders(request.headers, type, deps.maxUploadBytes);
      if (!accepted.ok) return toProblem(accepted.error);
      const fileName = parseFileName(request.headers.get("content-disposition"));
      const body = { body: request.body, ...accepted.value, contentType: type, fileName };
      const storing = storeMaster(deps, params.fileId, body);
      // If the caller disconnects, the request ends, but this work must go on.
      waitUntil(storing);
      const stored = await storing;
      return stored.ok ? empty(200, { etag: quoted(stored.value.etag) }) : toProblem(stored.error);
    },
  });

/** The properties of a body that its headers announce. */
export interface AnnouncedBody {
  readonly lengthBytes: number | undefined;
  readonly digest: UploadDigest | undefined;
}

function checkHeaders(headers: Headers, contentType: string, maxBytes: number): Result<AnnouncedBody, MediaFailure> {
  return sameContentType(headers.get("content-type") ?? "", contentType)
    ? announcedBody(headers, maxBytes)
    : err({ kind: "wrong_content_type", expected: contentType });
}

export function announcedBody(headers: Headers, maxBytes: number): Result<AnnouncedBody, MediaFailure> {
  if (!isIdentity(headers.get("content-encoding"))) return err({ kind: "content_encoding" });
  // Without this check, a part of a file would be stored as the whole (RFC 9110 section 14.5).
  if (headers.has("content-range")) return err({ kind: "partial_upload" });
  const digest = readUploadDigest(headers);
  if (!digest.ok) return err({ kind: "malformed_digest", header: digest.error });
  const length = headers.get("content-length") ?? "";
  const lengthBytes = /^\d+$/.test(length) ? Number(length) : undefined;
  if (lengthBytes !== undefined && lengthBytes > maxBytes) return err({ kind: "too_large", maxBytes });
  return ok({ lengthBytes, digest: digest.value });
}

/** Stores the master of a file that others may upload too. A failed upload releases its reservation. */
async function storeMaster(deps: UploadDeps, fileId: string, body: Body): Promise<Result<R2Object, MediaFailure>> {
  const quota = new UploadQuota(deps.pending, fileId);
  const isTaken = async (): Promise<boolean> => (await deps.blobs.head(masterKey(fileId))) !== null;
  // Asking before saves reading a body that is refused. A short one is read anyway: the conditional write decides.
  const mayBegin = async (): Promise<UploadFault | undefined> => {
    const asked = isShort(body.lengthBytes) ? false : isTaken();
    const [full, taken] = await Promise.all([quota.reserve(body.lengthBytes ?? 0), asked]);
    return full !== "gone" && taken ? "exists" : full;
  };
  const stored = await putMaster(deps, { ...body, fileId, quota }, mayBegin);
  if (stored.ok) return stored;
  // Only a failed write leaves bytes reserved if the release fails too. They are free when the file is removed.
  await quota.release().catch(() => undefined);
  // If an earlier upload was stored, the caller must learn that, whatever else is wrong with this one.
  const isRepeat = isShort(body.lengthBytes) && MAY_BE_REPEATS.has(stored.error.kind);
  return isRepeat && (await isTaken().catch(() => false)) ? err({ kind: "already_uploaded" }) : stored;
}

const MAY_BE_REPEATS: ReadonlySet<MediaFailure["kind"]> = new Set(["upload_over_quota", "other_digest", "interrupted"]);

/**
 * Stores the master of a file that the caller has just created: nobody else knows the file, and the bytes of a known
 * length are reserved. The caller removes the file if this fails.
 */
export function storeFirst(deps: UploadDeps, fileId: string, body: Body): Promise<Result<R2Object, MediaFailure>> {
  const isReserved = body.lengthBytes !== undefined;
  const quota = isReserved ? { reserve: async () => undefined } : new UploadQuota(deps.pending, fileId);
  return putMaster(deps, { ...body, fileId, quota }, async () => undefined);
}

type Body = Omit<MasterUpload, "fileId" | "maxBytes" | "quota">;

async function putMaster(
  deps: UploadDeps,
  body: Omit<MasterUpload, "maxBytes">,
  mayBegin: () => Promise<UploadFault | undefined>,
): Promise<Result<R2Object, MediaFailure>> {
  const { maxUploadBytes: maxBytes } = deps;
  const begunAtMs = deps.clock.nowMs();
  try {
    const fault = await mayBegin();
    const stored = fault === undefined ? await putWhileAlive(deps, { ...body, maxBytes }, begunAtMs) : err(fault);
    return stored.ok ? stored : err(toFailure(stored.error, maxBytes, body.digest));
  } catch (thrown) {
    return err({ kind: "storage_unavailable", reason: describeError(thrown) });
  }
}

async function putWhileAlive(
  deps: UploadDeps,
  upload: MasterUpload,
  begunAtMs: number,
): Promise<Result<R2Object, UploadFault>> {
  const { fileId } = upload;
  const stored = await deps.blobs.putMaster(upload);
  if (!stored.ok) return stored;
  // If the file was removed during the upload, its removal may have found no bytes to delete, so this upload deletes
  // them. After a short time that is unlikely, and the proof of the removal finds the bytes.
  if (deps.clock.nowMs() - begunAtMs < SHORT_UPLOAD_MS) return stored;
  if (await deps.pending.isAlive(fileId)) return stored;
  await deps.blobs.delete([masterKey(fileId)]);
  return err("gone");
}

function toFailure(fault: UploadFault, maxBytes: number, digest: UploadDigest | undefined): MediaFailure {
  switch (fault) {
    case "exists":
    case "not_pending":
      return { kind: "already_uploaded" };
    case "replaced":
      return { kind: "upload_replaced" };
    case "gone":
      return { kind: "no_file" };
    case "over_quota":
      return { kind: "upload_over_quota" };
    case "too_large":
      return { kind: "too_large", maxBytes };
    case "interrupted":
      return { kind: "interrupted" };
    case "other_digest":
      return { kind: "other_digest", header: digest!.header };
  }
}

/** Reserves quota for one upload as its bytes arrive, so a slow upload does not hold quota that it may never use. */
class UploadQuota {
  readonly #pending: PendingStore;
  readonly #fileId: string;
  #reservedBytes = 0;
  #isLimited = true;

  constructor(pending: PendingStore, fileId: string) {
    this.#pending = pending;
    this.#fileId = fileId;
  }

  /** Reserves bytes. Returns the fault if they cannot be reserved. */
  async reserve(bytes: number): Promise<ReservationFault | undefined> {
    if (!this.#isLimited) return undefined;
    const outcome = await this.#pending.reserve(this.#fileId, bytes);
    if (outcome === "not_limited") this.#isLimited = false;
    else if (outcome === "reserved") this.#reservedBytes += bytes;
    else return outcome;
    return undefined;
  }

  /**
   * Releases the reservation. It is not retried, because a second release could release the bytes of another upload.
   * Commit and removal of the file release the rest.
   */
  async release(): Promise<void> {
    if (this.#reservedBytes > 0) await this.#pending.release(this.#fileId, this.#reservedBytes);
  }
}
