import type { Env } from "../env.ts";
import { createPushStore } from "../events/push/record/push-store.ts";
import type { PushPorts } from "../events/push/types.ts";
import { createEvents, type Events } from "../events/service.ts";
import type { OAuth } from "../oauth/service.ts";
import { createOutbox, type Outbox } from "../oauth/subscription-events/outbox.ts";
import { subscriptionTopics } from "../oauth/subscription-events/events.ts";
import { shardsOf } from "../platform/storage/shards.ts";
import type { Base } from "./base.ts";

export interface WiredEvents {
  readonly push: PushPorts;
  readonly events: Events;
  /** Subscription events that wait to be published. */
  readonly outbox: Outbox;
}

export function wireEvents(env: Env, base: Base, access: OAuth["access"]): WiredEvents {
  const { config, names, builtIn, clock, log, meter, random, sealer, audit, isolate, location, tracing } = base;
  const { objects, dbFor, shardsFor } = base;
  const push: PushPorts = {
    names,
    log,
    meter,
    random,
    sealer,
    store: createPushStore({ shards: shardsFor("events"), audit, names, isolate, location, log }),
    clients: access,
    tracing,
    maintenance: config.maintenance,
    allowLoopback: config.allowLoopback,
  };
  const events = createEvents({
    push,
    db: dbFor("events"),
    shards: shardsOf(env).length,
    isolate,
    location,
    topicLogs: objects.TOPIC_LOG,
    topicConsumers: objects.TOPIC_CONSUMER,
    pushSubscriptions: objects.PUSH_SUBSCRIPTION,
    retention: { ageMs: config.eventRetentionMs, maxBytes: config.eventLogMaxBytes },
    platformTopics: subscriptionTopics(names),
  });
  const outbox = createOutbox({
    names,
    builtIn,
    db: dbFor("platform"),
    clock,
    random,
    log,
    publisher: events,
    deprecatedEvents: config.deprecatedSubscriptionEvents,
  });
  return { push, events, outbox };
}
