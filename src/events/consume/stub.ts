import { consumerName, type TopicAddress } from "../model/topic.ts";
import type { TopicConsumer } from "./topic-consumer.do.ts";

export const consumerOf = (
  consumers: DurableObjectNamespace<TopicConsumer>,
  topic: TopicAddress,
  /** See access/reader.ts. */
  name: string,
): DurableObjectStub<TopicConsumer> => consumers.getByName(consumerName(topic, name));
