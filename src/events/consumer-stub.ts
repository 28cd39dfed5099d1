import { consumerName, type TopicAddress } from "./topic.ts";
import type { TopicConsumer } from "./topic-consumer.do.ts";

export const consumerOf = (
  consumers: DurableObjectNamespace<TopicConsumer>,
  topic: TopicAddress,
  /** See reader.ts. */
  name: string,
): DurableObjectStub<TopicConsumer> => consumers.getByName(consumerName(topic, name));
