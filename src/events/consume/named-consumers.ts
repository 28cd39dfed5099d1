import { err, ok, type Result } from "../../platform/model/result.ts";
import type { Reader } from "../access/reader.ts";
import { logOf } from "../log/client.ts";
import type { TopicLog } from "../log/topic-log.do.ts";
import type { Failure } from "../model/failure.ts";
import { READ } from "../model/limits.ts";
import { addressOf, type Topic, type TopicId } from "../model/topic.ts";
import { consumerOf, type ConsumePorts } from "./stub.ts";

/**
 * Named consumers: with the header `Consumer: <name>` a caller reads with a cursor and a lock of that name.
 *
 *   unknown ── read or seek, unless the caller has 100 on the topic ──▶ known ── removal, end of topic ──▶ unknown
 *
 * The log of the topic's first shard has the names. Each isolate asks it once for a name and caches the answer. If a
 * cached name was removed since, only the limit of 100 goes unchecked: the consumer registers itself again before it
 * stores anything.
 */
const MAX_REMEMBERED = 10_000;
const remembered = new Set<string>();

/** Admits a reader, unless it names a new consumer and the caller has too many. */
export async function admitConsumer(
  logs: DurableObjectNamespace<TopicLog>,
  topic: Topic,
  { name, named }: Reader,
): Promise<"admitted" | "too_many_consumers" | "gone"> {
  const key = `${topic.incarnation} ${name}`;
  if (named === undefined || remembered.has(key)) return "admitted";
  const answer: "added" | "full" | "gone" = await logOf(logs, addressOf(topic), 0).addNamedConsumer(
    name,
    named,
    READ.namedConsumers,
  );
  if (answer === "gone") return "gone";
  if (answer === "full") return "too_many_consumers";
  if (remembered.size >= MAX_REMEMBERED) remembered.clear();
  remembered.add(key);
  return "admitted";
}

const beginningOf = ({ name }: Reader): string => `${name}/consumer/`;

/** Names of the caller's named consumers, in order. */
export async function listConsumers(
  ports: ConsumePorts,
  id: TopicId,
  reader: Reader,
  nowMs: number,
): Promise<Result<readonly string[], Failure>> {
  const beginning = beginningOf(reader);
  const names = await ports.directory.onActive(id, nowMs, async (topic) => {
    const log = logOf(ports.logs, addressOf(topic), 0);
    const found: readonly string[] | "gone" = await log.consumersNamed(beginning, READ.namedConsumers);
    return found === "gone" ? undefined : found.map((name) => name.slice(beginning.length));
  });
  return names === undefined ? err({ kind: "no_topic" }) : ok(names);
}

/** Removes a named consumer with its cursor, its lock and its outcomes. Succeeds if there is no such consumer. */
export async function removeConsumer(
  ports: ConsumePorts,
  id: TopicId,
  reader: Reader,
  consumer: string,
  nowMs: number,
): Promise<Result<void, Failure>> {
  const name = `${beginningOf(reader)}${consumer}`;
  const removed = await ports.directory.onActive(id, nowMs, async (topic) => {
    const address = addressOf(topic);
    const known: readonly string[] | "gone" = await logOf(ports.logs, address, 0).consumersNamed(name, 1);
    if (known === "gone") return undefined;
    if (known[0] !== name) return "removed";
    const outcome: "removed" | "failed" = await consumerOf(ports.consumers, address, name).remove(address, name);
    return outcome;
  });
  switch (removed) {
    case undefined:
      return err({ kind: "no_topic" });
    case "failed":
      return err({ kind: "unavailable" });
    case "removed":
      return ok(undefined);
  }
}
