import type { Result } from "../../platform/result.ts";
import type { MediaFailure } from "./failure.ts";
import type { FileCaller } from "./file.ts";

/**
 * How the bytes of a pending file come (contract 4.2), two ways behind one port: `worker` (uploads/worker.ts), a signed
 * link of this service, and `r2` (uploads/r2.ts), a presigned link of the bucket.
 */
export interface Uploads {
  /** An absolute address that takes the file by `PUT`, for an hour. */
  makeLink(publicBase: string, fileId: string, contentType: string, nowMs: number): Promise<string>;
  /**
   * Makes fast what was uploaded: from here on the link's holder does not reach it. May be repeated, and by several
   * commits at once. Storage that does not answer throws.
   */
  pin(file: PendingFile, caller: FileCaller): Promise<Result<PinnedUpload, MediaFailure>>;
  /** Deletes what is left of a file's uploads, those pinned among them, once its row says for good what is kept. */
  clear(fileId: string, pinnedEtags: readonly string[]): Promise<void>;
}

export interface PendingFile {
  readonly id: string;
  /** The ETag that its row has pinned. */
  readonly pinnedEtag: string | null;
}

export interface PinnedUpload {
  /** Where the bytes lie, never to change. */
  readonly key: string;
  readonly sizeBytes: number;
  /** As R2 gives it, without quotes. */
  readonly etag: string;
  readonly fileName: string | undefined;
  /** The commit fails if the row has pinned another one by then. */
  readonly pinnedEtag: string | null;
}
