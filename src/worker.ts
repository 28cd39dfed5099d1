import { waitUntil } from "cloudflare:workers";
import { createApp } from "./app.ts";
import { createDeps, type Deps } from "./deps.ts";
import type { Env } from "./env.ts";
import { CONSUMER_SCHEMA } from "./events/consume/consumer-row.ts";
import * as consumer from "./events/consume/topic-consumer.do.ts";
import { LOG_SCHEMA } from "./events/log/schema.ts";
import * as log from "./events/log/topic-log.do.ts";
import { PushSubscriptionObject } from "./events/push/push-subscription.do.ts";
import { PUSH_SCHEMA } from "./events/push/state.ts";
import type { App } from "./http/mount.ts";
import * as collector from "./metrics/collector.do.ts";
import * as store from "./metrics/store.do.ts";
import * as guesses from "./oauth/sign-in/guess-counter.do.ts";
import * as attempts from "./oauth/sign-in/login-attempts.do.ts";
import { placeObjects, withPlacedObjects } from "./place.ts";
import { answeringPing } from "./platform/answering-ping.ts";
import { refusingNewer, type ObjectClass, type ObjectSchema } from "./platform/object-schema.ts";
import { runSchedule } from "./schedule.ts";

const MAINTENANCE_DELAY_SEC = 600;

/** Each class refuses tables of a newer release, answers `ping`, and finds other objects where the deployment says. */
const exported = <T extends ObjectClass>(Class: T, schema: ObjectSchema): T =>
  refusingNewer(answeringPing(withPlacedObjects(Class)), schema);

export const TopicLog = exported(log.TopicLog, LOG_SCHEMA);
export const TopicConsumer = exported(consumer.TopicConsumer, CONSUMER_SCHEMA);
export const LoginAttempts = exported(attempts.LoginAttempts, attempts.ATTEMPTS_SCHEMA);
export const GuessCounter = exported(guesses.GuessCounter, guesses.GUESS_SCHEMA);
export const MetricsCollector = exported(collector.MetricsCollector, collector.COLLECTOR_SCHEMA);
export const MetricsStore = exported(store.MetricsStore, store.STORE_SCHEMA);

/** Gets its dependencies from deps.ts: to deliver, it checks the client's rights and opens a sealed password. */
class WiredPushSubscription extends PushSubscriptionObject {
  constructor(context: DurableObjectState, env: Env) {
    super(context, env, start(env).deps.push);
  }
}
export const PushSubscription = exported(WiredPushSubscription, PUSH_SCHEMA);

/** Made at the first event of an isolate and kept: bindings and variables do not change while it lives. */
let running: { readonly env: Env; readonly deps: Deps; readonly app: App } | undefined;

function start(env: Env): { readonly deps: Deps; readonly app: App } {
  if (running?.env.DB === env.DB) return running;
  const deps = createDeps(placeObjects(env), waitUntil);
  running = { env, deps, app: createApp(deps) };
  return running;
}

/** Sends what the work counted, even if it fails. */
async function metered(deps: Deps, work: (deps: Deps) => Promise<void>): Promise<void> {
  try {
    await work(deps);
  } finally {
    deps.meter.flushBeside(waitUntil);
  }
}

export default {
  fetch: (request, env, context) => start(env).app.fetch(request, env, context),
  async queue(batch, env) {
    const { deps } = start(env);
    // Messages come again; what is due is in the database besides.
    if (deps.http.maintenance !== undefined) return batch.retryAll({ delaySeconds: MAINTENANCE_DELAY_SEC });
    await metered(deps, ({ media }) => media.consume(batch));
  },
  async scheduled({ scheduledTime }, env) {
    const { deps } = start(env);
    if (deps.http.maintenance !== undefined) return deps.log.warn("sweeps rest for maintenance", {});
    await metered(deps, () => runSchedule(deps, scheduledTime));
  },
} satisfies ExportedHandler<Env>;
