import type { Principal } from "../../http/callers/auth.ts";
import { describeError } from "../../platform/runtime/log.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import { scopeMatches } from "../../platform/model/scope-pattern.ts";
import { retryOnce } from "../../platform/runtime/retry-once.ts";
import { withTimeout } from "../../platform/runtime/with-timeout.ts";
import { owns } from "../access/access.ts";
import type { TopicDirectory } from "../access/topic-directory.ts";
import type { Failure } from "../model/failure.ts";
import { SUBSCRIPTION } from "../model/limits.ts";
import { addressOf, nameOf, topicNamed, type Incarnation, type Topic, type TopicId } from "../model/topic.ts";
import { describeCreation, pushAudit, type ChangedBy } from "../push/record/audit.ts";
import { makeCredentials } from "../push/record/credentials.ts";
import type { Admission } from "../push/record/record-store.ts";
import type { PushSubscriptionObject } from "../push/push-subscription.do.ts";
import { stateBy, type PushMaking, type PushRecord } from "../push/record/record.ts";
import { pushOf } from "../push/stub.ts";
import type { OpenOutcome, PushPorts, PushStatus } from "../push/types.ts";
import type { NewSubscription } from "./body.ts";
import type { WaitUntil } from "../../platform/runtime/wait-until.ts";

/**
 * Push subscriptions: a record in D1 with the configuration, and an object that delivers
 * (push/push-subscription.do.ts).
 *
 *   absent ── create: open the object, insert the record ──→ active, or unverified until the handshake is done
 *   active ── the endpoint responds 410 ──→ disabled ── update ──→ active
 *   any ── delete: remove the record, then the object's storage ──→ absent
 *
 * push/handshake.ts has the states of the handshake. The record decides whether a subscription exists. An object
 * without a record deletes itself, so a crash between two steps leaves nothing.
 *
 * Every operation reads the topic from D1, not from the isolate's cache: a missing record does not tell whether the
 * topic was deleted, as the "gone" of an object does.
 */
export interface SubscriptionPorts {
  readonly directory: TopicDirectory;
  readonly push: PushPorts;
  readonly pushSubscriptions: DurableObjectNamespace<PushSubscriptionObject>;
}

/** The author and time of a change. */
export interface Change {
  readonly by: ChangedBy;
  readonly nowMs: number;
  /** Lets work continue after the response. A failure is logged. */
  readonly waitUntil: WaitUntil;
}

export interface CreatedSubscription {
  readonly record: PushRecord;
  /** Shown only in this response. */
  readonly signingSecret: string;
}

/** Creates a subscription of the caller, who may consume the topic. It starts at the newest event. */
export async function createSubscription(
  ports: SubscriptionPorts,
  id: TopicId,
  principal: Principal,
  body: NewSubscription,
  change: Change,
): Promise<Result<CreatedSubscription, Failure>> {
  // Retry once: the topic may have been deleted and created again since it was read.
  for (let attempt = 0; attempt < 2; attempt++) {
    const topic = await ports.directory.current(id, change.nowMs);
    if (topic === undefined) break;
    if (topic.state === "deleting") return err({ kind: "topic_deleting" });
    const created = await createOn(ports, topic, principal, body, change);
    if (created !== undefined) return created;
  }
  return err({ kind: "no_topic" });
}

/** Undefined if the topic is no longer active. */
async function createOn(
  ports: SubscriptionPorts,
  topic: Topic,
  principal: Principal,
  body: NewSubscription,
  { by, nowMs, waitUntil }: Change,
): Promise<Result<CreatedSubscription, Failure> | undefined> {
  const { store, random } = ports.push;
  const id = store.newId(topic.incarnation, random);
  const { endpoint, basicAuth, handshake } = body.pushConfig;
  const verification = handshake === true ? "pending" : undefined;
  const { sealed, signingSecret } = await makeCredentials(ports.push, id, basicAuth.password);
  const record: PushRecord = {
    id,
    topic: nameOf(topic),
    incarnation: topic.incarnation,
    client: principal.clientId,
    asOwner: owns(principal, topic),
    made: makingBy(ports, principal, topic, by.requestId),
    name: body.name,
    endpoint,
    username: basicAuth.username,
    ...sealed,
    state: stateBy(verification),
    verification,
    version: 1,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
  // Check first, so that a refused creation does not wake the topic's logs.
  const admission = await store.admission(record, SUBSCRIPTION);
  if (admission !== "free") return refusal(admission);
  const created = pushAudit(record, "create", by, nowMs, describeCreation(record));
  const object = pushOf(ports.pushSubscriptions, topic, id);
  const opened: OpenOutcome = await object.open({ id, topic: addressOf(topic) });
  if (opened.kind === "gone") return undefined;
  const inserted = await retryOnce(() => store.insert(record, SUBSCRIPTION, created));
  if (inserted === "inserted") {
    // If this call is lost, the alarm set by `open` starts the handshake.
    if (verification !== undefined) waitUntil(retryOnce(() => object.changed()));
    return ok({ record, signingSecret });
  }
  waitUntil(object.destroy());
  return refusal(inserted);
}

/** The token of a creation, with the scope that allows it unless the client owns the topic. */
export function makingBy(
  { push: { names } }: SubscriptionPorts,
  principal: Principal,
  topic: TopicId,
  requestId: string,
): PushMaking {
  const wanted = names.scope(`pubsub.topic=${nameOf(topic)}`);
  const scope = owns(principal, topic) ? undefined : principal.scopes.find((held) => scopeMatches(held, wanted));
  return { tenant: principal.tenant, requestId, scope };
}

function refusal(admission: Exclude<Admission, "free">): Result<never, Failure> | undefined {
  switch (admission) {
    case "exists":
      return err({ kind: "subscription_exists" });
    case "too_many":
      return err({ kind: "too_many_subscriptions", ofClient: SUBSCRIPTION.ofClient, ofTopic: SUBSCRIPTION.ofTopic });
    case "no_client":
      return err({ kind: "no_client" });
    case "no_topic":
      return undefined;
    case "inserted":
      throw new Error("the random id of a new subscription is taken");
  }
}

/** A subscription with its topic. */
export interface FoundSubscription {
  readonly topic: Topic;
  readonly record: PushRecord;
}

/** The part of the topic that names the subscription's object. */
export const topicOf = ({ topic, incarnation }: PushRecord) => ({ ...topicNamed(topic), incarnation });

/** The caller's own subscription of this name. The caller may consume the topic. */
export async function findSubscription(
  ports: SubscriptionPorts,
  id: TopicId,
  principal: Principal,
  name: string,
  nowMs: number,
): Promise<Result<FoundSubscription, Failure>> {
  const topic = await activeTopic(ports, id, nowMs);
  if (topic === undefined) return err({ kind: "no_topic" });
  const { incarnation } = topic;
  const record = await ports.push.store.find({ incarnation, client: principal.clientId, name });
  return record === undefined ? err({ kind: "no_subscription" }) : ok({ topic, record });
}

/** All subscriptions of the caller on the topic, by name. The caller may consume the topic. */
export async function listSubscriptions(
  ports: SubscriptionPorts,
  id: TopicId,
  principal: Principal,
  nowMs: number,
): Promise<Result<readonly PushRecord[], Failure>> {
  const topic = await activeTopic(ports, id, nowMs);
  if (topic === undefined) return err({ kind: "no_topic" });
  return ok(await ports.push.store.list({ incarnation: topic.incarnation, client: principal.clientId }));
}

export async function activeTopic(
  ports: Pick<SubscriptionPorts, "directory">,
  id: TopicId,
  nowMs: number,
): Promise<Topic | undefined> {
  const topic = await ports.directory.current(id, nowMs);
  return topic?.state === "active" ? topic : undefined;
}

/** Progress of the delivery. Fields are null if the object does not answer in time. */
export interface DeliveryStanding {
  readonly lag: number | null;
  readonly deadLetters: number | null;
  readonly eventsLost: number | null;
  readonly pausedUntil: number | null;
  /** Present while the handshake is running or failed. */
  readonly verification?: object | null;
}

/** Reads the progress of the delivery. */
export async function statusOf(
  ports: SubscriptionPorts,
  found: { readonly topic: Incarnation; readonly record: PushRecord },
): Promise<DeliveryStanding> {
  const { state } = found.record;
  // There is nothing to report without a handshake, or after its success.
  const isAsked = state === "unverified" || state === "failed";
  const status = await pushStatusOf(ports, found);
  if (status === undefined) {
    const verification = isAsked ? { verification: null } : {};
    return { lag: null, deadLetters: null, eventsLost: null, pausedUntil: null, ...verification };
  }
  const { lag, deadLetters, eventsLost, pausedUntilMs, handshake } = status;
  const verification = isAsked ? { verification: handshakeView(handshake) } : {};
  return { lag, deadLetters, eventsLost, pausedUntil: pausedUntilMs ?? null, ...verification };
}

/** The object's answer; undefined if it does not answer in time. */
export async function pushStatusOf(
  { push, pushSubscriptions }: SubscriptionPorts,
  { topic, record }: { readonly topic: Incarnation; readonly record: PushRecord },
): Promise<PushStatus | undefined> {
  const object = pushOf(pushSubscriptions, topic, record.id);
  try {
    return await withTimeout(SUBSCRIPTION.objectWaitMs, object.status() as Promise<PushStatus>);
  } catch (thrown) {
    push.log.warn("a push subscription does not answer", { subscription: record.id, error: describeError(thrown) });
    return undefined;
  }
}

const handshakeView = (handshake: PushStatus["handshake"]) => ({
  attempts: handshake?.attempts ?? 0,
  lastError: handshake?.lastError ?? null,
  nextAttemptAt: handshake?.nextAttemptAtMs ?? null,
});
