import type { Result } from "../../platform/model/result.ts";
import type { MediaFailure } from "./failure.ts";
import type { FileCaller } from "./file.ts";

/**
 * Two ways to upload the bytes of a pending file: a signed link of this service (uploads/worker.ts) and a presigned URL
 * of the bucket (uploads/presigned-upload.ts).
 */
export interface Uploads {
  /** Returns an absolute URL that takes the file by `PUT`, for an hour. */
  makeLink(publicBase: string, fileId: string, contentType: string, nowMs: number): Promise<string>;
  /**
   * Pins the uploaded bytes: from then on the link cannot change them. Several commits may call it, also at once.
   * Throws if the storage does not answer.
   */
  pin(file: PendingFile, caller: FileCaller): Promise<Result<PinnedUpload, MediaFailure>>;
  /**
   * Returns bytes that nothing can change any more, with the type that their link named. Undefined if there are no such
   * bytes or if `pin` must look at the file's row.
   */
  fixed(fileId: string): Promise<FixedUpload | undefined>;
  /** Deletes the uploads and copies that the file's row does not keep. It does nothing while the file is pending. */
  clear(fileId: string, pinnedEtags: readonly string[]): Promise<void>;
}

export interface PendingFile {
  readonly id: string;
  /** The ETag that the row has pinned. */
  readonly pinnedEtag: string | null;
}

export interface FixedUpload extends PinnedUpload {
  readonly contentType: string;
  /** The person of the file's row, if its client keeps people apart; another one fails the commit. */
  readonly person: string | null;
}

export interface PinnedUpload {
  /** The key of the bytes, which never change. */
  readonly key: string;
  readonly sizeBytes: number;
  /** R2's ETag, without quotes. */
  readonly etag: string;
  readonly fileName: string | undefined;
  /** The commit fails if the row has pinned another ETag by then. */
  readonly pinnedEtag: string | null;
}
