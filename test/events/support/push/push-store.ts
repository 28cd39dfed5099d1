import { env } from "cloudflare:workers";
import { createPushStore } from "../../../../src/events/push/record/push-store.ts";
import type { PushRecord } from "../../../../src/events/push/record/record.ts";
import { createLog } from "../../../../src/platform/runtime/log.ts";
import { shardsOf, type Shards } from "../../../../src/platform/storage/shards.ts";
import { ownIsolate } from "../../../support/runtime/own-isolate.ts";
import { auditedBy } from "../audited.ts";

/** The records of all shards. */
export const pushStore = pushStoreOn(shardsOf(env));
/** The records of the directory. */
export const directoryStore = pushStoreOn([{ number: 0, db: env.DB }]);

/** The store, with default rows for the audit log and a default maker. */
function pushStoreOn(shards: Shards) {
  const real = createPushStore({
    ...auditedBy(env.DB),
    shards,
    isolate: ownIsolate,
    log: createLog("error"),
  });
  const row = { atMs: 0, requestId: "", actor: "", action: "", subject: "", outcome: "done", reason: "" } as const;
  type Change = Parameters<typeof real.update>[2];
  return {
    ...real,
    insert: (record: PushRecord, limits: Parameters<typeof real.insert>[1]) => real.insert(record, limits, row),
    update: (id: string, version: number, change: Omit<Change, "made">, nowMs: number) =>
      real.update(id, version, { made: undefined, ...change }, nowMs),
    remove: (id: string) => real.remove(id, row),
    disable: (id: string, version: number, nowMs: number) => real.disable(id, version, nowMs, row),
    verify: (id: string, version: number, to: "done" | "failed", nowMs: number) =>
      real.verify(id, version, to, nowMs, row),
  };
}
