import { createDeadWorkStore } from "../../../src/media/dead/dead-work-store.ts";
import { env } from "cloudflare:workers";
import { createAuditLog } from "../../../src/admin/audit/audit-log.ts";
import { createBlobStore } from "../../../src/media/blobs/blob-store.ts";
import { createExpectedStore } from "../../../src/media/consistency/expected-store.ts";
import { expectedOfAll } from "../../../src/media/shards/every-shard.ts";
import { createRepairStore } from "../../../src/media/consistency/repair-store.ts";
import { createRunStore, type KeptFinding } from "../../../src/media/consistency/run-store.ts";
import { createRestorePointStore } from "../../../src/restore/restore-point-store.ts";
import { createConsistency, type Consistency, type ConsistencyDeps } from "../../../src/media/consistency/run.ts";
import { noTracing } from "../../../src/platform/ports/tracing.ts";
import { createJobQueue, type MediaJob } from "../../../src/media/model/job.ts";
import { LIMITS } from "../../../src/media/model/limits.ts";
import { systemRandom } from "../../../src/platform/runtime/random.ts";
import { heardLog } from "../../support/runtime/heard-log.ts";

/** Runs the consistency report step by step, over the rows and objects of the test. */
export interface Runner {
  readonly consistency: Consistency;
  /** Messages that were sent but not consumed. */
  readonly messages: MediaJob[];
}

/** Returns a time long after all writes of a test, so that no object is young. */
export const laterMs = (): number => Date.now() + 60 * 60_000;

export const BY = { actor: "plat.operator", requestId: "r1" };

export function runner(
  given: {
    limits?: Partial<ConsistencyDeps["limits"]>;
    db?: D1Database;
    bucket?: R2Bucket;
    queue?: (messages: MediaJob[]) => Queue<MediaJob>;
    wrap?: (context: ConsistencyDeps) => ConsistencyDeps;
  } = {},
): Runner {
  const db = given.db ?? env.DB;
  const messages: MediaJob[] = [];
  const context: ConsistencyDeps = {
    log: heardLog,
    random: systemRandom,
    blobs: createBlobStore(given.bucket ?? env.MEDIA),
    queue: createJobQueue((given.queue ?? keeping)(messages), noTracing, 0),
    expected: expectedOfAll([createExpectedStore(db)], undefined),
    rows: createRepairStore(db),
    objects: undefined,
    runs: createRunStore(db),
    deadWork: createDeadWorkStore(db),
    audit: createAuditLog({ db, log: heardLog, operatorClientId: BY.actor, wait: async () => {} }),
    heldFrom: createRestorePointStore(db).heldFrom,
    limits: { ...LIMITS.consistency, ...given.limits },
  };
  return { consistency: createConsistency(given.wrap?.(context) ?? context), messages };
}

export const keeping = (messages: MediaJob[]): Queue<MediaJob> =>
  ({
    sendBatch: async (batch: readonly { body: MediaJob }[]) => void messages.push(...batch.map(({ body }) => body)),
  }) as unknown as Queue<MediaJob>;

/** Consumes messages of runs until there are none, as the queue does. Messages of variants stay. */
export async function drain({ consistency, messages }: Runner, nowMs = laterMs()): Promise<void> {
  for (;;) {
    const at = messages.findIndex((message) => "work" in message);
    if (at === -1) return;
    const [message] = messages.splice(at, 1);
    await consistency.step((message as { id: string }).id, nowMs);
  }
}

/** Does a whole run and returns its id. */
export async function compare(run: Runner, nowMs = laterMs()): Promise<string> {
  const started = await run.consistency.start({ ...BY, nowMs });
  if (!started.ok) throw new Error(started.error);
  await drain(run, nowMs);
  return started.value.id;
}

export async function repair(run: Runner, id: string, nowMs = laterMs()): Promise<void> {
  const started = await run.consistency.repair(id, { ...BY, nowMs });
  if (!started.ok) throw new Error(started.error);
  await drain(run, nowMs);
}

export const findingsOf = ({ consistency }: Runner, id: string): Promise<readonly KeptFinding[]> =>
  consistency.findings(id, 0, 1000, 0);

/** Returns the findings as `kind key`, sorted. */
export const shortly = (findings: readonly { kind: string; key: string }[]): string[] =>
  findings.map(({ kind, key }) => `${kind} ${key}`).toSorted();
