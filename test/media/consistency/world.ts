import { createDeadWorkStore } from "../../../src/media/dead/dead-work-store.ts";
import { env } from "cloudflare:workers";
import { createAuditLog } from "../../../src/admin/audit/audit-log.ts";
import { createBlobStore } from "../../../src/media/blobs/blob-store.ts";
import { createExpectedStore } from "../../../src/media/consistency/expected-store.ts";
import { createRepairStore } from "../../../src/media/consistency/repair-store.ts";
import { createRunStore, type KeptFinding } from "../../../src/media/consistency/run-store.ts";
import { createRestorePointStore } from "../../../src/restore/restore-point-store.ts";
import { createConsistency, type Consistency, type ConsistencyDeps } from "../../../src/media/consistency/run.ts";
import { noTracing } from "../../../src/platform/ports/tracing.ts";
import { createJobQueue, type MediaJob } from "../../../src/media/model/job.ts";
import { LIMITS } from "../../../src/media/model/limits.ts";
import { systemRandom } from "../../../src/platform/runtime/random.ts";
import { heardLog } from "../../support/runtime/heard-log.ts";

/** Runs the consistency report step by step, over rows and objects of the test. */
export interface Runner {
  readonly consistency: Consistency;
  /** Messages that were sent but not consumed. */
  readonly messages: MediaJob[];
}

/** Long after everything that a test writes, so that nothing is young. */
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
    expected: createExpectedStore(db),
    rows: createRepairStore(db),
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

/** A whole run; returns its id. */
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

/** `kind key`, sorted. */
export const shortly = (findings: readonly { kind: string; key: string }[]): string[] =>
  findings.map(({ kind, key }) => `${kind} ${key}`).toSorted();

export async function clear(): Promise<void> {
  await env.DB.batch(
    ["variant", "file", "owner", "consistency_run", "audit_entry"].map((table) =>
      env.DB.prepare(`DELETE FROM ${table}`),
    ),
  );
  const { objects } = await env.MEDIA.list();
  await env.MEDIA.delete(objects.map(({ key }) => key));
}

export const run = (sql: string, ...values: unknown[]): Promise<D1Result> =>
  env.DB.prepare(sql)
    .bind(...values)
    .run();

export const put = async (key: string, body: string): Promise<R2Object> => (await env.MEDIA.put(key, body))!;

/** `retired` by a deletion of all files. */
export async function makeOwner(retired = false): Promise<number> {
  const { results } = await run(
    "INSERT INTO owner (client, tenant, visibility, erasure_id) VALUES ('shop', 'acme', 'private', ?1) RETURNING id",
    retired ? "e1" : null,
  );
  return (results[0] as { id: number }).id;
}

let made = 0;
/** Ids in increasing order, with gaps for others in between. */
export const fileId = (): string => `65${(++made).toString(16).padStart(10, "0")}${"a".repeat(12)}`;
export const nonce = (): string => (++made).toString(16).padStart(32, "0");

export interface FileColumns {
  readonly owner: number;
  readonly state?: "pending" | "committed" | "removed";
  readonly sizeBytes?: number;
  readonly etag?: string;
  readonly blobKey?: string;
  readonly dueAt?: number;
  readonly id?: string;
}

export async function makeFile(given: FileColumns): Promise<string> {
  const id = given.id ?? fileId();
  await run(
    `INSERT INTO file (id, owner_id, state, content_type, created_at, due_at, committed_at, size_bytes, etag, blob_key,
     metadata, attributes) VALUES (?1, ?2, ?3, 'image/png', 0, ?4, 1, ?5, ?6, ?7, '{}', '[]')`,
    id,
    given.owner,
    given.state ?? "committed",
    given.dueAt ?? null,
    given.sizeBytes ?? null,
    given.etag ?? null,
    given.blobKey ?? null,
  );
  return id;
}

/** A committed file with its bytes; `copied`: at the key of a presigned upload. */
export async function goodFile(owner: number, copied = false): Promise<string> {
  const id = fileId();
  const body = `bytes of ${id}`;
  const blobKey = copied ? `blob/${id}.copied` : `blob/${id}`;
  const { etag } = await put(blobKey, body);
  return makeFile({ owner, id, sizeBytes: body.length, etag, ...(copied ? { blobKey } : {}) });
}

let sizes = 0;
export async function makeVariant(file: string, state: string, sizeBytes?: number): Promise<string> {
  const name = nonce();
  await run(
    `INSERT INTO variant (file_id, nonce, type, size, state, created_at, size_bytes) VALUES (?1, ?2, 'clip', ?3, ?4, 0, ?5)`,
    file,
    name,
    `${++sizes}x1`,
    state,
    sizeBytes ?? null,
  );
  return name;
}

export async function goodVariant(file: string): Promise<string> {
  const name = await makeVariant(file, "ready", 5);
  await env.MEDIA.put(`variant/${file}/${name}`, "small");
  return name;
}
