/**
 * Makes a platform safe after a restore of its database. The database is as it was at an earlier time; objects and
 * bucket are as they are now.
 *
 *   restored (an operator says so) ──→ a new generation, and a hold from the restored time on
 *     generation: isolates read it with revocations, and drop their copies when it changes (oauth/tokens/trust-copy.ts)
 *     hold: repairs of the bucket delete no object that is younger than that time ── release ──→ no hold
 *     replay: erasures since that time, which the copies of the audit log name, are done again, copy by copy
 *   check: finds parts of the platform that do not agree with each other, in bounded pages
 *
 * Only operators may do this. Each operation may be repeated.
 */
import * as z from "zod/mini";
import { conflict, invalid } from "../http/errors/errors.ts";
import type { Principal } from "../http/callers/auth.ts";
import { defineRoute, json, jsonBody, type Call, type Route } from "../http/route.ts";
import { rowBy, type AuditTrail } from "../platform/ports/audit.ts";
import type { Log } from "../platform/runtime/log.ts";
import { randomId, type Random } from "../platform/runtime/random.ts";
import { checkRoutes, type EventsCheck } from "./check-routes.ts";
import { shardRoutes, type RestoreShard } from "./shard-routes.ts";
import { replayStep, type ReplayDeps } from "./replay.ts";
import { createRestorePointStore, type RestorePoint } from "./restore-point-store.ts";

export interface RestoreDeps {
  readonly db: D1Database;
  readonly bucket: ReplayDeps["bucket"];
  readonly random: Random;
  readonly log: Log;
  readonly audit: AuditTrail;
  readonly events: EventsCheck;
  readonly isMaintained: boolean;
  readonly restoreShard: RestoreShard;
  /** Copies the records of tenants from the restored directory to their shards. */
  readonly copyTenants: (nowMs: number) => Promise<void>;
  /** Removes the subject of a row of the audit log, with the rights of the caller. */
  erase(subject: string, call: Operated, madeUntilMs: number): ReturnType<ReplayDeps["erase"]>;
}

type Operated = Call<unknown, unknown, unknown, Principal>;

export interface Restore {
  readonly routes: readonly Route[];
}

const PATH = "/restore-point";
const newPoint = z.strictObject({ restoredTo: z.int().check(z.nonnegative(), z.maximum(8.64e15)) });

export function createRestore(deps: RestoreDeps): Restore {
  const { random, audit } = deps;
  const store = createRestorePointStore(deps.db);
  return {
    routes: [
      ...checkRoutes(deps.events, audit, deps.isMaintained),
      ...shardRoutes(deps.restoreShard, audit, store, deps.isMaintained),
      defineRoute({
        method: "GET",
        path: PATH,
        summary: "The last restore of the database, and whether repairs hold what is younger",
        operation: "readRestorePoint",
        handle: async () => json(200, toJson(await store.read())),
      }),
      defineRoute({
        method: "PUT",
        path: PATH,
        summary: "Say that the database was restored to a time: every isolate begins anew, and repairs hold",
        operation: "markRestored",
        body: jsonBody(newPoint),
        async handle(call) {
          const { body, nowMs } = call;
          if (body.restoredTo > nowMs) return inFuture();
          const reason = `to ${new Date(body.restoredTo).toISOString()}`;
          const row = audit.statement("always", rowBy(call, "restore", "restore-point", reason));
          const marked = await store.mark(randomId(random), body.restoredTo, nowMs, row);
          await deps.copyTenants(nowMs);
          return json(200, toJson(marked));
        },
      }),
      defineRoute({
        method: "DELETE",
        path: `${PATH}/hold`,
        summary: "Release what repairs hold since the last restore",
        operation: "releaseHold",
        async handle(call) {
          const row = audit.statement("if changed", rowBy(call, "release", "restore-point"));
          return json(200, toJson(await store.release(row)));
        },
      }),
      defineRoute({
        method: "POST",
        path: `${PATH}/replay`,
        summary: "Do the next erasures again that were made since the time of the restore",
        operation: "replayErasures",
        async handle(call) {
          const point = await store.read();
          if (point.restoredTo === null) return notRestored();
          const erase = (subject: string, madeUntilMs: number) => deps.erase(subject, call, madeUntilMs);
          return json(200, await replayStep({ ...deps, erase }, store, point));
        },
      }),
    ],
  };
}

const toJson = ({ restoredTo, markedAt, held }: RestorePoint) => ({ restoredTo, markedAt, holds: held === 1 });

const inFuture = () =>
  invalid("invalid_field", "restoredTo", "restoredTo must be a time in the past, in milliseconds since 1970.");
const notRestored = () =>
  conflict(
    "never_restored",
    "",
    "The database was never restored. Say so first: plat platform restored, or PUT /restore-point.",
  );
