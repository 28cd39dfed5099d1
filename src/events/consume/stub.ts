import type { TopicDirectory } from "../access/topic-directory.ts";
import type { TopicLog } from "../log/topic-log.do.ts";
import { consumerName, type TopicAddress } from "../model/topic.ts";
import type { TopicConsumer } from "./topic-consumer.do.ts";

/** The objects of topics, and the records that lead to them. */
export interface ConsumePorts {
  readonly directory: TopicDirectory;
  readonly consumers: DurableObjectNamespace<TopicConsumer>;
  readonly logs: DurableObjectNamespace<TopicLog>;
}

export const consumerOf = (
  consumers: DurableObjectNamespace<TopicConsumer>,
  topic: TopicAddress,
  /** See access/reader.ts. */
  name: string,
): DurableObjectStub<TopicConsumer> => consumers.getByName(consumerName(topic, name));
