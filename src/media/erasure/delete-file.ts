import * as z from "zod/mini";
import { defineRoute, empty, type Route } from "../../http/route.ts";
import { err, ok } from "../../platform/result.ts";
import { twice } from "../../platform/twice.ts";
import { asFileCaller, type AccessDeps } from "../model/access.ts";
import { startErasing, type EraseDeps } from "./erase.ts";
import { toProblem } from "../model/failure.ts";
import { newFileId } from "../model/file-id.ts";
import { filePath, type Links } from "../files/links.ts";
import type { Visibility } from "../model/file.ts";
import type { Random } from "../../platform/random.ts";
import type { EdgeCache } from "../content/edge-cache.ts";

interface DeleteFileDeps extends AccessDeps, EraseDeps {
  readonly random: Random;
  readonly edge: EdgeCache;
  readonly links: Links;
}

/**
 * `DELETE P/{fileId}`: unreadable from the answer on, because every read asks the row. The bytes follow; `Location` is
 * the report of it.
 */
export const deleteFile = (deps: DeleteFileDeps, visibility: Visibility): Route =>
  defineRoute({
    method: "DELETE",
    path: `${filePath(visibility)}/{fileId}`,
    summary: `Delete a ${visibility} file`,
    operation: "deleteFile",
    params: z.object({ fileId: z.string() }),
    produces: "any",
    async handle({ principal, params: { fileId }, nowMs, publicBase, after }) {
      const request = { id: newFileId(nowMs, deps.random), requestedAt: nowMs };
      const erasure = await asFileCaller(deps, principal, visibility, fileId, nowMs, async (caller) => {
        const removed = await twice(() => deps.erasures.removeFile(request, fileId, caller));
        return removed === undefined ? err({ kind: "no_file" }) : ok(removed);
      });
      if (!erasure.ok) return toProblem(erasure.error);
      if (visibility === "public") await deps.edge.voidFile(fileId);
      after(startErasing(deps, erasure.value, nowMs));
      return empty(204, { location: deps.links.erasure(publicBase, erasure.value.id) });
    },
  });
