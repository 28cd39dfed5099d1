import { randomId, type Random } from "../../platform/runtime/random.ts";
import { logOf } from "../log/client.ts";
import { SUBSCRIPTION } from "../model/limits.ts";
import type { Retention } from "../log/types.ts";
import { addressOf, pushObjectName, shardsOf, type Topic, type TopicId } from "../model/topic.ts";
import { pushOf } from "../push/stub.ts";
import { topicOf } from "../subscriptions/subscriptions.ts";
import type { CheckPorts } from "./check.ts";

export interface MendPorts extends CheckPorts {
  readonly random: Random;
  readonly retention: Retention;
}

export interface Reopened {
  /** Shards whose logs did not exist. */
  readonly opened: readonly number[];
  /** The other shards: a reader whose cursor lies beyond the log's end goes back to it. */
  readonly marked: readonly number[];
}

/**
 * Opens the logs of a topic that do not exist and marks the others as reset (log/resets.ts). Afterwards no cursor lies
 * beyond its log, and readers get every event that is published from now on. Undefined: there is no such topic.
 */
export async function reopenLogs(ports: MendPorts, id: TopicId): Promise<Reopened | undefined> {
  const topic = await ports.store.find(id);
  if (topic?.state !== "active") return undefined;
  const subscribers = await subscribersOf(ports, topic);
  const [opened, marked]: [number[], number[]] = [[], []];
  for (const shard of shardsOf(topic)) {
    const log = logOf(ports.logs, topic, shard);
    const { kind } = await log.stats();
    if ((await log.reset(randomId(ports.random), shard, ports.retention, subscribers)) === "reset")
      (kind === "gone" ? opened : marked).push(shard);
  }
  return { opened, marked };
}

/** The names of a topic's push subscriptions, as its logs have them. */
export async function subscribersOf({ push }: MendPorts, topic: Topic): Promise<readonly string[]> {
  const records = await push.store.ofTopic(topic.incarnation, SUBSCRIPTION.ofTopic);
  return records.map(({ id }) => pushObjectName(topic, id));
}

/** Opens the object of a push subscription at the newest event. False: there is no such record or topic. */
export async function reopenPush(ports: MendPorts, id: string): Promise<boolean> {
  const record = await ports.push.store.findAsked(id);
  if (record === undefined) return false;
  const address = topicOf(record);
  const topic = await ports.store.find(address);
  if (topic?.incarnation !== record.incarnation) return false;
  const opened = await pushOf(ports.pushSubscriptions, topic, id).open({ id, topic: addressOf(topic) });
  return opened.kind === "open";
}
