import { env } from "cloudflare:workers";
import { createTopicStore } from "../../../src/events/access/topic-store.ts";
import { consumerOf } from "../../../src/events/consume/stub.ts";
import { logOf } from "../../../src/events/log/client.ts";
import { shardsOf } from "../../../src/events/model/topic.ts";
import type { Principal } from "../../../src/http/callers/auth.ts";
import type { TestTopic } from "./test-topic.ts";

/** The objects behind a topic, to evict them or to break what they call. */
export async function objectsOf(topic: TestTopic, client: Principal = topic.owner) {
  const eventType = topic.path.split("/").at(-1)!;
  const record = await createTopicStore(env.DB).find({ owner: topic.owner.clientName, eventType });
  if (record === undefined) throw new Error("there is no such topic");
  return {
    record,
    consumer: consumerOf(env.TOPIC_CONSUMER, record, client.clientId),
    logs: shardsOf(record).map((shard) => logOf(env.TOPIC_LOG, record, shard)),
  };
}
