import * as z from "zod/mini";
import { defineRoute, empty, scoped, type Route } from "../http/route.ts";
import { fileCaller, type MediaContext } from "./context.ts";
import { toProblem } from "./failure.ts";
import { filePath, type Visibility } from "./links.ts";
import { purgeFiles } from "./purge.ts";

/** `DELETE P/{fileId}`: unreadable from the answer on, because every read asks the row. The bytes follow. */
export const deleteFile = (media: MediaContext, visibility: Visibility): Route =>
  defineRoute({
    method: "DELETE",
    path: `${filePath(visibility)}/{fileId}`,
    summary: `Delete a ${visibility} file`,
    access: scoped("media_manage"),
    params: z.object({ fileId: z.string() }),
    produces: "any",
    async handle({ principal, params: { fileId }, nowMs, after }) {
      const caller = await fileCaller(media, principal, visibility, fileId, nowMs);
      if (!caller.ok) return toProblem(caller.error);
      if (!(await media.files.remove(fileId, caller.value, nowMs))) return toProblem({ kind: "no_file" });
      if (visibility === "public") await media.edge.voidFile(fileId);
      after(purgeFiles(media, [fileId], nowMs));
      return empty(204);
    },
  });
