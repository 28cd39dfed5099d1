import * as z from "zod/mini";
import { defineRoute, empty, type Route } from "../http/route.ts";
import { err, ok } from "../platform/result.ts";
import { twice } from "../platform/twice.ts";
import { asFileCaller, type MediaContext } from "./context.ts";
import { startErasing } from "./erase.ts";
import { toProblem } from "./failure.ts";
import { newFileId } from "./file-id.ts";
import { filePath, type Visibility } from "./links.ts";

/**
 * `DELETE P/{fileId}`: unreadable from the answer on, because every read asks the row. The bytes follow; `Location` is
 * the report of it.
 */
export const deleteFile = (media: MediaContext, visibility: Visibility): Route =>
  defineRoute({
    method: "DELETE",
    path: `${filePath(visibility)}/{fileId}`,
    summary: `Delete a ${visibility} file`,
    operation: "deleteFile",
    params: z.object({ fileId: z.string() }),
    produces: "any",
    async handle({ principal, params: { fileId }, nowMs, publicBase, after }) {
      const request = { id: newFileId(nowMs, media.random), requestedAt: nowMs };
      const erasure = await asFileCaller(media, principal, visibility, fileId, nowMs, async (caller) => {
        const removed = await twice(() => media.erasures.removeFile(request, fileId, caller));
        return removed === undefined ? err({ kind: "no_file" }) : ok(removed);
      });
      if (!erasure.ok) return toProblem(erasure.error);
      if (visibility === "public") await media.edge.voidFile(fileId);
      after(startErasing(media, erasure.value, nowMs));
      return empty(204, { location: media.links.erasure(publicBase, erasure.value.id) });
    },
  });
