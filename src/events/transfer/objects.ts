import type { ImportOutcome, ImportPlace } from "../../platform/storage/object-import.ts";
import type { ConsumerPage } from "../consume/consumer-row.ts";
import { consumerOf } from "../consume/stub.ts";
import type { TopicConsumer } from "../consume/topic-consumer.do.ts";
import { logOf } from "../log/client.ts";
import type { TopicLog } from "../log/topic-log.do.ts";
import type { EventsPage, RegisterPage } from "../log/transfer.ts";
import type { Gone } from "../log/types.ts";
import type { TopicAddress } from "../model/topic.ts";
import type { PushSubscriptionObject } from "../push/push-subscription.do.ts";
import type { PushPage } from "../push/transfer.ts";

/**
 * The objects of topics as pages, for a backup and its restore. Methods throw if an object fails: repeat the call.
 *
 * Export, while the platform is in use: the register of each shard, then consumers and push subscriptions, then events.
 * Import, while the platform is not in use: register and events of each shard, then consumers, then push subscriptions,
 * whose records must be in D1 by then.
 */
export interface EventObjects {
  exportRegister(topic: TopicAddress, shard: number, after?: string): Promise<RegisterPage | Gone>;
  /** Exports events after a position, or from a time on. */
  exportEvents(topic: TopicAddress, shard: number, from: EventsFrom): Promise<EventsPage | Gone>;
  importLog(
    topic: TopicAddress,
    shard: number,
    place: ImportPlace,
    page: RegisterPage | EventsPage,
  ): Promise<ImportOutcome>;
  exportConsumer(topic: TopicAddress, name: string): Promise<ConsumerPage | Gone>;
  importConsumer(topic: TopicAddress, name: string, place: ImportPlace, page: ConsumerPage): Promise<ImportOutcome>;
  /** `name`: the object's name, as the logs store it. */
  exportPush(name: string, after?: number): Promise<PushPage | Gone>;
  importPush(name: string, place: ImportPlace, page: PushPage): Promise<ImportOutcome>;
}

type EventsFrom = { readonly afterSeq: number } | { readonly fromMs: number };

export interface EventNamespaces {
  readonly logs: DurableObjectNamespace<TopicLog>;
  readonly consumers: DurableObjectNamespace<TopicConsumer>;
  readonly pushSubscriptions: DurableObjectNamespace<PushSubscriptionObject>;
}

export const eventObjects = ({ logs, consumers, pushSubscriptions }: EventNamespaces): EventObjects => ({
  exportRegister: async (topic, shard, after) => logOf(logs, topic, shard).exportRegister(after),
  async exportEvents(topic, shard, from) {
    const log = logOf(logs, topic, shard);
    const afterSeq = "afterSeq" in from ? from.afterSeq : await log.positionBefore(from.fromMs);
    return afterSeq === "gone" ? { kind: "gone" } : log.exportEvents(afterSeq);
  },
  importLog: async (topic, shard, place, page) => logOf(logs, topic, shard).importPage(place, page),
  exportConsumer: async (topic, name) => consumerOf(consumers, topic, name).exportPage(),
  importConsumer: async (topic, name, place, page) => consumerOf(consumers, topic, name).importPage(place, page),
  exportPush: async (name, after) => pushSubscriptions.getByName(name).exportPage(after),
  importPush: async (name, place, page) => pushSubscriptions.getByName(name).importPage(place, page),
});
