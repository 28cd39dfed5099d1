import * as z from "zod/mini";
import { noSuch } from "../http/errors/errors.ts";
import { matching } from "../http/input/validate.ts";
import { defineRoute, jsonBody, type Route } from "../http/route.ts";
import { rowBy, type AuditTrail } from "../platform/ports/audit.ts";
import type { PrepareOutcome, RestoreTo } from "../platform/storage/object-restore.ts";
import type { RestorePointStore } from "./restore-point-store.ts";
import { answerAudited, maintenanceOff, noPast, restoreTo, undoneBy } from "./past.ts";

/**
 * Port to the shards. `lostSinceMs`: what was stored after this time will be lost; undefined: that is not known. An
 * answer of undefined: there is no such object.
 */
export type RestoreShard = (
  shard: number,
  to: RestoreTo,
  lostSinceMs: number | undefined,
) => Promise<PrepareOutcome | undefined>;

/** Restores a shard that is an object, or a tenant object. Cloudflare's tools can restore only D1 databases. */
export const shardRoutes = (
  restoreShard: RestoreShard,
  audit: Pick<AuditTrail, "statement">,
  store: Pick<RestorePointStore, "restoredAt">,
  isMaintained: boolean,
): readonly Route[] => [
  defineRoute({
    method: "POST",
    path: "/shards/{shard}/restore",
    summary: "Restore a shard that is an object to an earlier time",
    operation: "restoreShard",
    params: z.object({ shard: matching(/^[0-9]{1,6}$/, "must be the number of a shard") }),
    body: jsonBody(z.strictObject({ to: restoreTo })),
    async handle(call) {
      const shard = Number(call.params.shard);
      const { to } = call.body;
      if (!isMaintained) return maintenanceOff("what is stored meanwhile would be lost");
      const subject = `shards/${shard}`;
      const lostSinceMs = "timeMs" in to ? to.timeMs : await store.restoredAt(subject, to.bookmark);
      const restored = await restoreShard(shard, to, lostSinceMs);
      if (restored === undefined) return noSuch("shard that is an object");
      if (restored.kind === "impossible") return noPast(restored.why);
      const { undo } = restored;
      const reason = `${JSON.stringify(to)}${undoneBy(undo)}`;
      return answerAudited(audit, rowBy(call, "restore", subject, reason), { undo });
    },
  }),
];
