import { err, ok } from "../../platform/result.ts";
import { fileNameOf, masterKey, type BlobStore } from "../blobs/blob-store.ts";
import type { Links } from "../files/links.ts";
import type { Uploads } from "../model/uploads.ts";

/** Uploads through the Worker (upload.ts): the first one takes the master's place, so there is nothing to make fast. */
export function createWorkerUploads(links: Links, blobs: BlobStore): Uploads {
  return {
    makeLink: (publicBase, fileId, contentType, nowMs) => links.upload(publicBase, fileId, contentType, nowMs),
    async pin({ id, pinnedEtag }) {
      const key = masterKey(id);
      const object = await blobs.head(key);
      if (object === null) return err({ kind: "file_not_uploaded" });
      return ok({ key, sizeBytes: object.size, etag: object.etag, fileName: fileNameOf(object), pinnedEtag });
    },
    async clear() {},
  };
}
