import { attemptEach } from "../../platform/runtime/attempt-each.ts";
import { describeError, type Log } from "../../platform/runtime/log.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import { withTimeout } from "../../platform/runtime/with-timeout.ts";
import type { TopicDirectory } from "../access/topic-directory.ts";
import type { TopicStore } from "../access/topic-store.ts";
import { consumerOf } from "../consume/stub.ts";
import type { TopicConsumer } from "../consume/topic-consumer.do.ts";
import { logOf } from "../log/client.ts";
import type { TopicLog } from "../log/topic-log.do.ts";
import type { Failure } from "../model/failure.ts";
import { DELETE } from "../model/limits.ts";
import { nameOf, shardsOf, type Topic, type TopicId } from "../model/topic.ts";
import { BY_PLATFORM } from "../push/record/audit.ts";
import type { PushStore } from "../push/record/push-store.ts";
import type { PushSubscriptionObject } from "../push/push-subscription.do.ts";
import { endSubscriptionsOf } from "../subscriptions/end.ts";
import { inParallel } from "../../platform/runtime/parallel.ts";

export interface DeletePorts {
  readonly store: TopicStore;
  readonly directory: TopicDirectory;
  readonly logs: DurableObjectNamespace<TopicLog>;
  readonly consumers: DurableObjectNamespace<TopicConsumer>;
  readonly push: { readonly store: PushStore };
  readonly pushSubscriptions: DurableObjectNamespace<PushSubscriptionObject>;
}

/**
 * Starts the deletion of a topic: active → deleting → absent. This write decides; the sweep completes the deletion.
 *
 * Returns the topic for `clearTopic`, even if it is being deleted already. The caller owns the topic.
 */
export async function deleteTopic(ports: DeletePorts, id: TopicId): Promise<Result<Topic, Failure>> {
  const topic = await ports.store.markDeleting(id);
  ports.directory.forget(id);
  return topic === undefined ? err({ kind: "no_topic" }) : ok(topic);
}

/**
 * Removes a topic that is being deleted. The order ensures that no object is left behind: close the logs, so that no
 * client can read, publish, register or subscribe; remove the records of subscriptions; then the objects of consumers
 * and subscriptions, whose names the logs have; then the logs; then the row. Each step may be repeated, also in
 * parallel.
 */
export async function clearTopic(
  ports: DeletePorts,
  topic: Topic,
  nowMs: number,
  by = BY_PLATFORM,
  calls = newCalls(),
): Promise<void> {
  const logs = shardsOf(topic).map((shard) => logOf(ports.logs, topic, shard));
  calls.left -= 2 * logs.length + 3;
  await Promise.all(logs.map((log) => log.close()));
  await endSubscriptionsOf(ports.push.store, topic, by, nowMs);
  while (calls.left > 0) {
    if (await clearConsumers(ports, topic, logs[0]!, calls)) continue;
    if (await clearSubscribers(ports, logs, calls)) continue;
    await Promise.all(logs.map((log) => log.destroy()));
    await ports.store.remove(topic);
    return;
  }
}

/** Number of calls left. At 0, no new work starts. */
interface Calls {
  left: number;
}
const newCalls = (): Calls => ({ left: DELETE.calls });

type TopicLogStub = DurableObjectStub<TopicLog>;

/** Removes some of the consumers. True if there were any. The first shard's log has all names. */
async function clearConsumers(
  ports: DeletePorts,
  topic: Topic,
  register: TopicLogStub,
  calls: Calls,
): Promise<boolean> {
  const names: readonly string[] = await register.consumers(DELETE.consumersAStep);
  calls.left -= names.length + 2;
  await inParallel(names, DELETE.atOnce, (name) => consumerOf(ports.consumers, topic, name).destroy());
  if (names.length > 0) await register.forgetConsumers(names);
  return names.length > 0;
}

/**
 * Removes some of the push subscriptions. True if there were any. Each log is asked, since an unfinished creation may
 * have registered at only some of them.
 */
async function clearSubscribers(ports: DeletePorts, logs: readonly TopicLogStub[], calls: Calls): Promise<boolean> {
  for (const log of logs) {
    const names: readonly string[] = await log.subscribers(DELETE.subscribersAStep);
    calls.left -= names.length + 2;
    if (names.length === 0) continue;
    await inParallel(names, DELETE.atOnce, (name) => ports.pushSubscriptions.getByName(name).destroy());
    await log.removeSubscribers(names);
    return true;
  }
  return false;
}

/**
 * Continues unfinished deletions, one topic after the other, as many as one invocation can. A topic that fails or
 * takes too long is logged and does not block the others.
 */
export async function sweepTopics(ports: DeletePorts & { readonly log: Log }, nowMs: number): Promise<void> {
  const calls = newCalls();
  await attemptEach(
    await ports.store.listDeleting(DELETE.topicsASweep),
    async (topic) => {
      if (calls.left > 0) await withTimeout(DELETE.topicWaitMs, clearTopic(ports, topic, nowMs, BY_PLATFORM, calls));
    },
    (topic, thrown) => ports.log.error("topic not cleared", { topic: nameOf(topic), error: describeError(thrown) }),
  );
}
