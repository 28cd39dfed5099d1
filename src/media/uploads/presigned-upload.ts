import type { Clock } from "../../platform/runtime/clock.ts";
import { describeError } from "../../platform/runtime/log.ts";
import { err, ok } from "../../platform/model/result.ts";
import { incomingKey, masterKey, pinnedKey, type BlobStore } from "../blobs/blob-store.ts";
import type { S3 } from "../blobs/s3.ts";
import { parseFileName } from "../model/content-disposition.ts";
import { firstFileId, type FileCaller } from "../model/file.ts";
import { isIdentity } from "../model/content-type.ts";
import type { PendingFile, PinnedUpload, Uploads } from "../model/uploads.ts";
import type { PinnedUploadStore } from "./pinned-upload-store.ts";

export interface PresignedUploadsDeps {
  readonly s3: S3;
  readonly blobs: BlobStore;
  readonly pinned: PinnedUploadStore;
  readonly clock: Clock;
  readonly maxBytes: number;
  readonly lastRestoreAt: () => Promise<number | undefined>;
  /** For files uploaded before the deployment had S3 credentials. */
  readonly fallback: Uploads;
}

/**
 * Uploads by a presigned link to `incoming/{file}`. The holder of the link may write there until it ends, even during
 * and after a commit. So the commit copies the upload to a key whose bytes never change:
 *
 *   HEAD incoming → pin its ETag in the row → copy it to blob/{file}.{etag} while it still has that ETag → commit
 *
 * - The row names the copy before it is made. A copy that nobody commits is deleted with the file.
 * - A key only ever holds the bytes of the ETag in its name, whichever commit copies them, and however late.
 * - The commit's write tests the pin. If several commits saw different uploads, one wins and the others try again.
 * - The answer to the copy may be lost, so the commit asks R2 whether the copy exists.
 */
export function createPresignedUploads({
  s3,
  blobs,
  pinned,
  clock,
  maxBytes,
  lastRestoreAt,
  fallback,
}: PresignedUploadsDeps): Uploads {
  const pinnedAt = async (key: string, pinnedEtag: string): Promise<PinnedUpload | undefined> => {
    const object = await blobs.head(key);
    if (object === null) return undefined;
    const fileName = parseFileName(object.httpMetadata?.contentDisposition ?? null);
    return { key, sizeBytes: object.size, etag: object.etag, fileName, pinnedEtag };
  };

  /**
   * Pins the copy of a commit that a restore of the database undid, if there is one: a row that never had a pin has a
   * copy only then.
   */
  const undone = async (file: PendingFile, caller: FileCaller): Promise<PinnedUpload | undefined> => {
    const restoredAt = file.pinnedEtag === null ? await lastRestoreAt() : undefined;
    if (restoredAt === undefined || file.id > firstFileId(restoredAt + 1_000)) return undefined;
    const [key = "", ...others] = await blobs.listMasters([file.id]);
    const etag = key.slice(masterKey(file.id).length + 1);
    const isOne = etag !== "" && others.length === 0;
    return isOne && (await pinned.pin(file, caller, etag)) ? pinnedAt(key, etag) : undefined;
  };

  return {
    makeLink: (_publicBase, fileId, contentType, nowMs) => s3.presignPut(incomingKey(fileId), contentType, nowMs),

    fixed: async () => undefined,

    async pin(file, caller) {
      const from = incomingKey(file.id);
      const object = await blobs.head(from);
      if (object === null) {
        const copied = await undone(file, caller);
        return copied === undefined ? fallback.pin(file, caller) : ok(copied);
      }
      const { etag, httpEtag } = object;
      const isTooLarge = object.size > maxBytes;
      if (isTooLarge || !isIdentity(object.httpMetadata?.contentEncoding)) {
        await blobs.delete([from]);
        return err(isTooLarge ? { kind: "too_large", maxBytes } : { kind: "content_encoding" });
      }
      const to = pinnedKey(file.id, etag);
      if (file.pinnedEtag === etag) {
        const copied = await pinnedAt(to, etag);
        if (copied !== undefined) return ok(copied);
      } else if (!(await pinned.pin(file, caller, etag))) return err({ kind: "upload_changed" });

      const outcome = await s3.copy(from, httpEtag, to, clock.nowMs()).catch((thrown: unknown) => ({ thrown }));
      const copied = await pinnedAt(to, etag);
      if (copied !== undefined) return ok(copied);
      if (outcome === "refused") return err({ kind: "upload_changed" });
      const reason = outcome === "copied" ? "a copy is not there" : describeError(outcome.thrown);
      return err({ kind: "commit_unavailable", reason });
    },

    async clear(fileId, pinnedEtags) {
      const kept = await pinned.masterKey(fileId);
      if (kept === "open") return;
      const copies = pinnedEtags.map((etag) => pinnedKey(fileId, etag));
      await blobs.delete([incomingKey(fileId), ...copies.filter((key) => key !== kept.key)]);
    },
  };
}
