import { err, ok, type Result } from "../platform/result.ts";
import type { Failure } from "./failure.ts";
import { DELETE } from "./limits.ts";
import type { PushSubscriptionObject } from "./push-subscription.do.ts";
import type { PushStore } from "./store/push-store.ts";
import type { TopicStore } from "./store/topic-store.ts";
import type { TopicConsumer } from "./topic-consumer.do.ts";
import type { TopicDirectory } from "./topic-directory.ts";
import type { TopicLog } from "./topic-log.do.ts";
import { consumerOf, logOf, shardsOf, type Topic, type TopicId } from "./topic.ts";

export interface DeletePorts {
  readonly store: TopicStore;
  readonly directory: TopicDirectory;
  readonly logs: DurableObjectNamespace<TopicLog>;
  readonly consumers: DurableObjectNamespace<TopicConsumer>;
  readonly push: { readonly store: PushStore };
  readonly pushSubscriptions: DurableObjectNamespace<PushSubscriptionObject>;
}

/**
 * Deleting a topic: active → deleting (this write is the promise; from now on the sweep finishes what is left) → absent.
 *
 * Gives the topic, for `clearTopic`. Asked again while it is being deleted it gives it again. The caller owns the topic.
 */
export async function deleteTopic(ports: DeletePorts, id: TopicId): Promise<Result<Topic, Failure>> {
  const topic = await ports.store.markDeleting(id);
  ports.directory.forget(id);
  return topic === undefined ? err({ kind: "no_topic" }) : ok(topic);
}

/**
 * Removes what a topic that is being deleted consists of, in an order in which nothing is forgotten: the logs close, so
 * nobody reads, publishes, becomes a consumer or subscribes any more; the records of its subscriptions go; then consumers
 * and subscriptions, whose names the logs keep; then the logs; then the row. Each step may be repeated, and by several at
 * once.
 */
export async function clearTopic(ports: DeletePorts, topic: Topic): Promise<void> {
  const logs = shardsOf(topic).map((shard) => logOf(ports.logs, topic, shard));
  await Promise.all(logs.map((log) => log.close()));
  await ports.push.store.removeOfTopic(topic);
  for (let step = 0; step < DELETE.stepsAtOnce; step++) {
    const left = (await clearConsumers(ports, topic, logs[0]!)) || (await clearSubscribers(ports, logs));
    if (left) continue;
    await Promise.all(logs.map((log) => log.destroy()));
    await ports.store.remove(topic);
    return;
  }
}

type Log = DurableObjectStub<TopicLog>;

/** Removes some of the consumers; gives whether there were any. The first log keeps all of their names. */
async function clearConsumers(ports: DeletePorts, topic: Topic, register: Log): Promise<boolean> {
  const clientIds: readonly string[] = await register.consumers(DELETE.consumersAStep);
  await Promise.all(clientIds.map((clientId) => consumerOf(ports.consumers, topic, clientId).destroy()));
  if (clientIds.length > 0) await register.forgetConsumers(clientIds);
  return clientIds.length > 0;
}

/**
 * Removes some of the push subscriptions; gives whether there were any. Each log keeps their names: one that was never
 * finished may be known to some of the logs alone.
 */
async function clearSubscribers({ pushSubscriptions }: DeletePorts, logs: readonly Log[]): Promise<boolean> {
  for (const log of logs) {
    const names: readonly string[] = await log.subscribers(DELETE.subscribersAStep);
    if (names.length === 0) continue;
    await Promise.all(names.map((name) => pushSubscriptions.getByName(name).destroy()));
    await Promise.all(names.map((name) => log.removeSubscriber(name)));
    return true;
  }
  return false;
}

/** Goes on with every topic whose deletion was begun and not finished; one that fails does not keep the others waiting. */
export async function sweepTopics(ports: DeletePorts): Promise<void> {
  const topics = await ports.store.listDeleting(DELETE.topicsASweep);
  const outcomes = await Promise.allSettled(topics.map((topic) => clearTopic(ports, topic)));
  const failed = outcomes.find((outcome) => outcome.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}
