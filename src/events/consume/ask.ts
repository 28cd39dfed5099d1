import { lockedBy, type Reader } from "../access/reader.ts";
import type { Gone } from "../log/types.ts";
import type { Failure } from "../model/failure.ts";
import { READ } from "../model/limits.ts";
import type { Topic, TopicId } from "../model/topic.ts";
import { admitConsumer } from "./named-consumers.ts";
import { consumerOf, type ConsumePorts } from "./stub.ts";
import type { TopicConsumer } from "./topic-consumer.do.ts";

/** Why a consumer refused a request. Undefined: there is no such topic. */
type Refused =
  | { readonly kind: "locked"; readonly retryAfterMs: number }
  | { readonly kind: "too_many_consumers" }
  | { readonly kind: "failed" }
  | undefined;

/** Asks a reader's consumer. A named consumer is admitted first, since their number is limited. */
export const askConsumer = <T extends { readonly kind: string }>(
  ports: ConsumePorts,
  id: TopicId,
  reader: Reader,
  nowMs: number,
  ask: (consumer: DurableObjectStub<TopicConsumer>, topic: Topic) => Promise<T | Gone>,
): Promise<Exclude<T, Gone> | Refused> =>
  ports.directory.onActive(id, nowMs, async (topic) => {
    const admitted = await admitConsumer(ports.logs, topic, reader);
    if (admitted !== "admitted") return admitted === "gone" ? undefined : { kind: admitted };
    const answer = await ask(consumerOf(ports.consumers, topic, reader.name), topic);
    return answer.kind === "gone" ? undefined : (answer as Exclude<T, Gone>);
  });

/** The failure that answers a refused request. */
export function failureOf(refused: Refused, reader: Reader, nowMs: number): Failure {
  switch (refused?.kind) {
    case undefined:
      return { kind: "no_topic" };
    case "locked":
      return lockedBy(reader, refused.retryAfterMs, nowMs);
    case "too_many_consumers":
      return { kind: "too_many_consumers", most: READ.namedConsumers };
    case "failed":
      return { kind: "unavailable" };
  }
}
