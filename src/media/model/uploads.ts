import type { Result } from "../../platform/model/result.ts";
import type { MediaFailure } from "./failure.ts";
import type { FileCaller } from "./file.ts";

/**
 * Brings the bytes of a pending file: by a signed link of this service (uploads/worker.ts) or by a presigned link
 * of the bucket (uploads/presigned-upload.ts).
 */
export interface Uploads {
  /** An absolute URL that takes the file by `PUT`, for an hour. */
  makeLink(publicBase: string, fileId: string, contentType: string, nowMs: number): Promise<string>;
  /**
   * Fixes the uploaded bytes: from now on the link cannot change them. May be repeated, also by several commits at
   * once. Throws if the storage does not answer.
   */
  pin(file: PendingFile, caller: FileCaller): Promise<Result<PinnedUpload, MediaFailure>>;
  /**
   * Bytes that nothing can change any more, with the type that their link named. Undefined if there are none, or if
   * `pin` must look at the file's row.
   */
  fixed(fileId: string): Promise<FixedUpload | undefined>;
  /** Deletes a file's other uploads and copies, once its row finally says which one is kept. */
  clear(fileId: string, pinnedEtags: readonly string[]): Promise<void>;
}

export interface PendingFile {
  readonly id: string;
  /** The ETag that its row has pinned. */
  readonly pinnedEtag: string | null;
}

export interface FixedUpload extends PinnedUpload {
  readonly contentType: string;
}

export interface PinnedUpload {
  /** The key of the bytes, which never change. */
  readonly key: string;
  readonly sizeBytes: number;
  /** As R2 gives it, without quotes. */
  readonly etag: string;
  readonly fileName: string | undefined;
  /** The commit fails if the row has pinned another one by then. */
  readonly pinnedEtag: string | null;
}
