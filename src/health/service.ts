/**
 * Deep health, for operators: checks whether the platform's parts work. `/health` (src/ui/routes.ts) is for load
 * balancers: it only shows that the Worker answers, and does not ask D1.
 *
 *   each check: run, at most CHECK_MS ──→ ok, warn or fail, its facts, what to do next
 *   all checks, at the same time ──→ the worst status; fail: 503
 *
 * Checks only read, except that the check of the database writes a row of its own.
 */
import { defineRoute, json, type Route } from "../http/route.ts";
import type { Clock } from "../platform/runtime/clock.ts";
import type { Shards } from "../platform/storage/shards.ts";
import { runCheck, worst } from "./check.ts";
import { createFactsStore } from "./facts-store.ts";
import type { HeartbeatStore } from "./heartbeat-store.ts";
import { storeChecks, type StoreCheckDeps } from "./store-checks.ts";
import { workChecks, type WorkCheckDeps } from "./work-checks.ts";

export interface HealthDeps extends Omit<StoreCheckDeps, "facts" | "shards">, WorkCheckDeps {
  readonly clock: Clock;
  readonly shards: Shards;
  readonly heartbeats: HeartbeatStore;
}

export function createHealthRoutes(deps: HealthDeps): readonly Route[] {
  const [directory, ...others] = deps.shards;
  const shards = others.map(({ db, number }) => ({ number, facts: createFactsStore(db) }));
  const checks = [...storeChecks({ ...deps, facts: createFactsStore(directory.db), shards }), ...workChecks(deps)];
  return [
    defineRoute({
      method: "GET",
      path: "/deep",
      summary:
        "Check the platform's parts: database, bucket, objects, backups, queue, sweeps, outbox, deletions, sizes",
      operation: "readDeepHealth",
      async handle({ nowMs }) {
        const results = await Promise.all(checks.map((check) => runCheck(check, deps.clock)));
        const status = worst(results);
        const headers = { "cache-control": "no-store" };
        return json(status === "fail" ? 503 : 200, { status, checkedAt: nowMs, checks: results }, headers);
      },
    }),
  ];
}
