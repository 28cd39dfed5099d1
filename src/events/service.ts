import type { Route } from "../http/route.ts";
import type { AuditRecord } from "../platform/ports/audit.ts";
import { attemptEach } from "../platform/runtime/attempt-each.ts";
import { systemClock } from "../platform/runtime/clock.ts";
import type { PrepareOutcome, RestoreTo } from "../platform/storage/object-restore.ts";
import type { Isolate } from "../platform/copies/isolate.ts";
import type { LocationCache } from "../platform/copies/location-cache.ts";
import { describeError } from "../platform/runtime/log.ts";
import { TopicAccess } from "./access/access.ts";
import { withTopicAhead } from "./access/look-ahead.ts";
import { TopicDirectory } from "./access/topic-directory.ts";
import { createTopicStore } from "./access/topic-store.ts";
import { checkPage, type CheckPage, type CheckPlace } from "./check/check.ts";
import { reopenLogs, reopenPush, type Reopened } from "./check/mend.ts";
import { restoreObject, type ObjectOfTopic } from "./check/restore-object.ts";
import { consumeRoutes } from "./consume/routes.ts";
import type { TopicConsumer } from "./consume/topic-consumer.do.ts";
import type { TopicLog } from "./log/topic-log.do.ts";
import type { Retention } from "./log/types.ts";
import type { TopicId } from "./model/topic.ts";
import type { NamedEvent } from "./publish/event-input.ts";
import type { PushSubscriptionObject } from "./push/push-subscription.do.ts";
import type { PushPorts } from "./push/types.ts";
import { endSubscriptionsElsewhere, endSubscriptionsOfClient } from "./subscriptions/end.ts";
import { subscriptionRoutes } from "./subscriptions/routes.ts";
import { subscriberRoutes } from "./subscriptions/subscriber-routes.ts";
import { resealSubscriptions, wakeSubscriptions } from "./subscriptions/sweep.ts";
import { sweepTopics } from "./topics/delete.ts";
import { operatedSubscriptions, type OperatedSubscriptions } from "./operated/operated-subscriptions.ts";
import { operatedTopics, type OperatedTopics } from "./operated/operated-topics.ts";
import { eventObjects, type EventObjects } from "./transfer/objects.ts";
import { findOrCreate, publishToPlatformTopic, type PlatformTopic } from "./topics/platform-topics.ts";
import { topicRoutes } from "./topics/routes.ts";

export interface EventsDeps {
  readonly push: PushPorts;
  readonly db: D1Database;
  /** Number of databases that hold push records. */
  readonly shards: number;
  readonly isolate: Isolate;
  readonly location?: LocationCache;
  readonly topicLogs: DurableObjectNamespace<TopicLog>;
  readonly topicConsumers: DurableObjectNamespace<TopicConsumer>;
  readonly pushSubscriptions: DurableObjectNamespace<PushSubscriptionObject>;
  readonly retention: Retention;
  /** Topics of the platform's other services; no client can own, create or delete them. */
  readonly platformTopics: readonly PlatformTopic[];
}

export interface Events {
  readonly routes: readonly Route[];
  /** Some topics of an owner, as rows `{kind, id}`; checked before the owner is removed or renamed. */
  topicsOf(owner: string, limit: number): D1PreparedStatement;
  /**
   * Publishes events of one tenant to one of `platformTopics`, all or none. A repeat under the same key within 24 h
   * stores nothing, even with other events. Throws if it is not certain that they are stored.
   */
  publish(topic: TopicId, events: readonly NamedEvent[], key: string, nowMs: number): Promise<void>;
  /**
   * Statements that remove the push subscriptions of a client (its id) from the directory's database, for the
   * transaction that removes the client. `record` is the audit row of that removal.
   */
  endSubscriptions(clientId: string, record: AuditRecord): Promise<readonly D1PreparedStatement[]>;
  /**
   * Removes the client's subscriptions in other databases, after the client itself. Without the client they deliver
   * nothing, so a failure is logged and left to the sweep.
   */
  endSubscriptionsElsewhere(clientId: string, record: AuditRecord): Promise<void>;
  /** Push subscriptions and topics as the operator sees them. */
  readonly operated: OperatedSubscriptions;
  readonly operatedTopics: OperatedTopics;
  /** The objects of topics as pages, for a backup. */
  readonly objects: EventObjects;
  /** Checks a page at a time whether records, logs and cursors agree, and opens logs and objects that are missing. */
  readonly check: {
    page(from: CheckPlace | undefined): Promise<CheckPage>;
    reopenLogs(topic: TopicId): Promise<Reopened | undefined>;
    reopenPush(id: string): Promise<boolean>;
    /** Restores an object of a topic to an earlier time; undefined: the topic has no such object. */
    restoreObject(topic: TopicId, object: ObjectOfTopic, to: RestoreTo): Promise<PrepareOutcome | undefined>;
  };
  /** Clears this isolate's cache of topics. */
  recordsChanged(): void;
  /** Continues deletions that were started. */
  sweep(nowMs: number): Promise<void>;
  /** Removes push records without a topic or client, and wakes some push subscriptions whose alarm may be lost. */
  wakeSubscriptions(nowMs: number): Promise<void>;
  /** Seals credentials that are sealed under an old key with the current one. */
  reseal(): Promise<void>;
}

/**
 * Events: topics, publishing, reading and committing, push subscriptions. One table, mounted as `/pubsub` and,
 * deprecated, as `/events`.
 *
 *   Worker ── publish ──→ TopicLog (one per shard): events, append-only, durable before the response
 *   Worker ── read, commit ──→ TopicConsumer (one per client on a topic): cursor and lock ── read ──→ TopicLog
 *   Worker ── create, list ──→ D1: which topics exist; cached 30 s per isolate, so the lines above do not call it
 *   TopicLog ── wake ──→ PushSubscription (one per subscription; its record is in D1) ── read ──→ TopicLog
 *
 * A topic: absent → active (created; its logs are open before it can be found) → deleting → absent. consume/lock.ts
 * has the states of the lock, log/topic-log.do.ts those of a log, subscriptions/subscriptions.ts those of a
 * subscription, and access/access.ts the access rules.
 */
export function createEvents(deps: EventsDeps): Events {
  const { push, topicLogs: logs, topicConsumers: consumers, retention, platformTopics } = deps;
  const { names, log, random, clients, meter, tracing } = push;
  const store = createTopicStore(deps.db, deps.shards);
  const making = { store, logs, random, retention, meter, tracing };
  const directory = new TopicDirectory(
    (id, nowMs) => findOrCreate(making, platformTopics, id, nowMs),
    deps.isolate,
    deps.location,
  );
  const access = new TopicAccess(clients, names);
  const ports = {
    ...making,
    names,
    log,
    clock: systemClock,
    directory,
    access,
    clients,
    consumers,
    platformTopics,
    push,
    pushSubscriptions: deps.pushSubscriptions,
  };
  return {
    routes: [
      ...withTopicAhead(ports, [...topicRoutes(ports), ...consumeRoutes(ports), ...subscriptionRoutes(ports)]),
      ...subscriberRoutes(ports),
    ],
    topicsOf: store.ownedBy,
    publish: (topic, events, key, nowMs) => publishToPlatformTopic(ports, topic, events, key, nowMs),
    endSubscriptions: (clientId, record) => endSubscriptionsOfClient(push.store, clientId, record),
    endSubscriptionsElsewhere: (clientId, record) =>
      endSubscriptionsElsewhere(push.store, clientId, record).catch((thrown: unknown) =>
        log.error("subscriptions of a removed client were left to the sweep", {
          clientId,
          error: describeError(thrown),
        }),
      ),
    operated: operatedSubscriptions(ports),
    operatedTopics: operatedTopics(ports),
    objects: eventObjects(ports),
    check: {
      page: (from) => checkPage(ports, from),
      reopenLogs: (topic) => reopenLogs(ports, topic),
      reopenPush: (id) => reopenPush(ports, id),
      restoreObject: (topic, object, to) => restoreObject(ports, topic, object, to),
    },
    recordsChanged: () => directory.clear(),
    sweep: (nowMs) => sweepTopics(ports, nowMs),
    wakeSubscriptions: (nowMs) =>
      attemptEach(
        [() => push.store.sweep(nowMs), () => wakeSubscriptions(ports)],
        (part) => part(),
        () => undefined,
      ),
    reseal: () => resealSubscriptions(ports),
  };
}
