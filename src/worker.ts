import { waitUntil } from "cloudflare:workers";
import { createApp } from "./app.ts";
import { createDeps, tracingOf, type Deps } from "./deps.ts";
import type { Env } from "./env.ts";
import { CONSUMER_SCHEMA } from "./events/consume/consumer-row.ts";
import * as consumer from "./events/consume/topic-consumer.do.ts";
import { LOG_SCHEMA } from "./events/log/schema.ts";
import * as log from "./events/log/topic-log.do.ts";
import { PushSubscriptionObject } from "./events/push/push-subscription.do.ts";
import { PUSH_SCHEMA } from "./events/push/state.ts";
import * as backup from "./backup/job/backup-job.do.ts";
import { JOB_SCHEMA } from "./backup/job/job-tables.ts";
import type { App } from "./http/mount.ts";
import * as collector from "./metrics/collector.do.ts";
import * as store from "./metrics/store.do.ts";
import * as guesses from "./oauth/sign-in/guess-counter.do.ts";
import * as attempts from "./oauth/sign-in/login-attempts.do.ts";
import { placeObjects, withPlacedObjects } from "./place.ts";
import { answeringPing } from "./platform/storage/answering-ping.ts";
import { refusingNewer, type ObjectClass, type ObjectSchema } from "./platform/storage/object-schema.ts";
import * as shard from "./shards/shard-database.do.ts";
import { runSchedule } from "./schedule.ts";
import { traceObjects, untraced } from "./traced-env.ts";
import { withSpans } from "./tracing/objects.ts";

const SPANS = { tracingOf, traced: (env: Env): Env => traceObjects(env, tracingOf(env)) };

/**
 * Each class refuses tables of a newer release, answers `ping`, finds other objects in the place of the deployment, and
 * continues traces.
 */
const exported = <T extends ObjectClass>(Class: T, schema: ObjectSchema): T =>
  refusingNewer(answeringPing(withPlacedObjects(withSpans(Class, schema.object, SPANS))), schema);

export const TopicLog = exported(log.TopicLog, LOG_SCHEMA);
export const TopicConsumer = exported(consumer.TopicConsumer, CONSUMER_SCHEMA);
export const LoginAttempts = exported(attempts.LoginAttempts, attempts.ATTEMPTS_SCHEMA);
export const GuessCounter = exported(guesses.GuessCounter, guesses.GUESS_SCHEMA);
export const MetricsCollector = exported(collector.MetricsCollector, collector.COLLECTOR_SCHEMA);
export const ShardDatabase = exported(shard.ShardDatabase, shard.SHARD_SCHEMA);
export const MetricsStore = exported(store.MetricsStore, store.STORE_SCHEMA);

/** Gets its dependencies from deps.ts: before a delivery it checks the client's rights and opens a sealed password. */
class WiredPushSubscription extends PushSubscriptionObject {
  constructor(context: DurableObjectState, env: Env) {
    super(context, env, start(env).deps.push);
  }
}
export const PushSubscription = exported(WiredPushSubscription, PUSH_SCHEMA);

/** Gets its stages from deps.ts, since they read and write all bindings. */
class WiredBackupJob extends backup.BackupJob {
  constructor(context: DurableObjectState, env: Env) {
    super(context, env, start(env).deps.backups.job);
  }
}
export const BackupJob = exported(WiredBackupJob, JOB_SCHEMA);

/** Created at the first event of an isolate and kept, since bindings and variables do not change in its lifetime. */
let running: { readonly env: Env; readonly deps: Deps; readonly app: App } | undefined;

function start(env: Env): { readonly deps: Deps; readonly app: App } {
  if (running?.env.DB === env.DB) return running;
  const deps = createDeps(placeObjects(untraced(env)), waitUntil);
  running = { env, deps, app: createApp(deps) };
  return running;
}

/** Runs the work and sends its counts, even if it fails. */
async function metered(deps: Deps, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } finally {
    deps.meter.flushBeside(waitUntil);
  }
}

export default {
  fetch: (request, env, context) => start(env).app.fetch(request, env, context),
  async queue(batch, env) {
    const { deps } = start(env);
    // The work is due in the database, and an object without its sweep has its alarm again: sweeps send new messages
    // afterwards. Delivered again and again, these would use up their attempts, and variants would fail without one.
    if (deps.http.maintenance !== undefined) return batch.ackAll();
    await metered(deps, () => deps.media.consume(batch, waitUntil));
  },
  async scheduled({ scheduledTime }, env) {
    const { deps } = start(env);
    if (deps.http.maintenance !== undefined) return deps.log.warn("sweeps rest for maintenance", {});
    const cron = () => runSchedule(deps, scheduledTime);
    await metered(deps, () => deps.http.tracing.root({ name: "cron", kind: "internal", waitUntil }, cron));
  },
} satisfies ExportedHandler<Env>;
