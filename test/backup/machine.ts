import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { JobTables } from "../../src/backup/job/job-tables.ts";
import { advance } from "../../src/backup/job/run.ts";
import { newJob, type JobKind, type JobOptions, type JobRecord } from "../../src/backup/model/job.ts";
import type { Stage } from "../../src/backup/model/stage.ts";
import { placed, TABLES, type Table } from "../../src/backup/model/tables.ts";
import { createDeps } from "../../src/deps.ts";
import type { Env } from "../../src/env.ts";
import { consumerOf } from "../../src/events/consume/stub.ts";
import { logOf } from "../../src/events/log/client.ts";
import { shardsOf, type TopicAddress } from "../../src/events/model/topic.ts";
import { PLATFORM_PLACE, tenantStoreNames } from "../../src/metrics/model/places.ts";
import { createLog } from "../../src/platform/runtime/log.ts";
import { unique } from "../support/platform/unique.ts";
import { isTenantObject } from "../../src/platform/storage/tenant-objects.ts";
import { objectDb } from "../support/platform/own-objects.ts";
import { shardsOf as databasesOf, type Shard } from "../../src/platform/storage/shards.ts";

export const COPY: JobOptions = { bytes: "copy", eventsSince: null, keep: null };

/** A deployment over the test's bindings, as far as backups go. It is in maintenance, so that it may restore. */
export const deployment = (changed: Partial<Env> = {}) =>
  createDeps({ ...env, MAINTENANCE: "true", ...changed }).backups;
type Deployment = ReturnType<typeof deployment>;

export interface RunOptions {
  readonly options?: JobOptions;
  readonly on?: Deployment;
  /** Throws to drop the result of a step, as if the object had ended before it was stored. */
  readonly beforeStore?: (job: JobRecord) => boolean;
  /** Changes the platform between two steps. */
  readonly afterStep?: (job: JobRecord) => Promise<void>;
  /** Cancels the job while a step of this stage is under way. */
  readonly cancelIn?: string;
}

const MOST_STEPS = 1_500;

/** Runs a job to its end on the tables of an object, as the object does, but each step when the test wants it. */
export async function run(
  kind: JobKind,
  backup: string,
  { options = COPY, on = deployment(), beforeStore = () => true, afterStep, cancelIn }: RunOptions = {},
): Promise<JobRecord> {
  const stub = env.BACKUP_JOB.getByName(unique("job"));
  return runInDurableObject(stub, async (_, { storage }) => {
    const tables = new JobTables(storage);
    const asked = { id: unique("run"), kind, actor: "plat.operator", backup, options };
    const stages: readonly Stage[] = on.job.stagesOf(asked);
    tables.begin(newJob(asked, stages[0]!.name, Date.now()));
    let job = tables.load()!;
    for (let step = 0; step < MOST_STEPS; step++) {
      if (job.stage === cancelIn) tables.store({ ...job, state: "cancelled", finishedAt: Date.now() }, {});
      const advanced = await advance(job, stages, tables, Date.now(), createLog("error"));
      // As in the object: the step of a cancelled job had begun, and its result is dropped.
      if (tables.load()!.state !== "running") return tables.load()!;
      if (beforeStore(advanced.job)) {
        tables.store(advanced.job, advanced.result);
        job = advanced.job;
      }
      await afterStep?.(advanced.job);
      if (job.state !== "running") return tables.load()!;
    }
    throw new Error(`${kind} does not end: ${JSON.stringify(tables.load())}`);
  });
}

/** The rows of each table. */
export type Held = Readonly<Record<string, readonly string[]>>;

/** The tenant objects that a directory of this file ever had. */
const objectsSeen = new Set<number>();

/** Returns all databases: shards and tenant objects. */
async function everyDatabase(): Promise<readonly Shard[]> {
  const { results } = await env.DB.prepare("SELECT number FROM tenant_object").all<{ number: number }>();
  for (const { number } of results) objectsSeen.add(number);
  return [...databasesOf(env), ...[...objectsSeen].map((number) => ({ number, db: objectDb(number) }))];
}

/** A restore copies each tenant to its shard again, so the copy has another version. */
const withoutVersion = (row: Record<string, unknown>): Record<string, unknown> => {
  const { version, copied, ...rest } = row;
  return version === undefined ? row : { ...rest, isCopied: copied === version };
};

/** All rows of all tables that are backed up, and of the indexes that are made again; no notes of restores. */
export async function everyRow(): Promise<Held> {
  const derived = ["attribute", "reservation"];
  const tables = [...TABLES, ...derived];
  const held: Record<string, readonly string[]> = {};
  for (const { number, db } of await everyDatabase()) {
    const answers = await db.batch<Record<string, unknown>>(
      tables.map((table) => db.prepare(`SELECT * FROM "${table}"`)),
    );
    // An object that only another platform of this file had.
    if (isTenantObject(number) && answers.every(({ results }) => results.length === 0)) continue;
    for (const [at, table] of tables.entries()) {
      const rows = answers[at]!.results.filter(({ subject }) => subject !== "restore-point");
      const shown = table === "tenant_shard" ? rows.map(withoutVersion) : rows;
      held[placed(table as Table, number).key] = shown.map((row) => JSON.stringify(row)).toSorted();
    }
  }
  return held;
}

/** The events of each shard of each topic. */
export async function everyEvent(): Promise<Held> {
  const held: Record<string, string[]> = {};
  for (const topic of await topics())
    for (const shard of shardsOf(topic)) {
      const read = await logOf(env.TOPIC_LOG, topic, shard).read(0, 1_000, 0, 1_000_000);
      const segments = read.kind === "gone" ? ["gone"] : read.segments;
      held[`${topic.incarnation}/${shard}`] = segments.map((one) => JSON.stringify(one));
    }
  return held;
}

async function topics(): Promise<readonly TopicAddress[]> {
  const sql = `SELECT owner, event_type AS eventType, incarnation, shards FROM topic`;
  return (await env.DB.prepare(sql).all<TopicAddress & Record<string, unknown>>()).results;
}

/** Destroys what a restore brings back: all objects, rows and files. */
export async function destroy(): Promise<void> {
  for (const topic of await topics())
    for (const shard of shardsOf(topic)) {
      const log = logOf(env.TOPIC_LOG, topic, shard);
      for (const name of await log.consumers(1_000)) await consumerOf(env.TOPIC_CONSUMER, topic, name).destroy();
      for (const name of await log.subscribers(1_000)) await env.PUSH_SUBSCRIPTION.getByName(name).destroy();
      await log.destroy();
    }
  for (const name of [PLATFORM_PLACE.store, ...tenantStoreNames()])
    await runInDurableObject(env.METRICS_STORE.getByName(name), (_, { storage }) => storage.deleteAll());
  const derived = ["attribute", "key_set", "reservation", "federation", "lease", "dead_work"];
  const deletions = [
    ...[...derived, ...TABLES.toReversed()].map((table) => `DELETE FROM "${table}"`),
    `DELETE FROM sqlite_sequence WHERE name <> 'd1_migrations'`,
  ];
  for (const { db } of await everyDatabase()) await db.batch(deletions.map((sql) => db.prepare(sql)));
  await empty(env.MEDIA);
}

async function empty(bucket: R2Bucket): Promise<void> {
  for (;;) {
    const { objects } = await bucket.list();
    if (objects.length === 0) return;
    await bucket.delete(objects.map(({ key }) => key));
  }
}

export async function keysOf(bucket: R2Bucket, prefix: string): Promise<readonly string[]> {
  return (await bucket.list({ prefix })).objects.map(({ key }) => key);
}
