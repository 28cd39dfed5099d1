import { createLog, describeError } from "../../platform/runtime/log.ts";
import { withTimeout } from "../../platform/runtime/with-timeout.ts";
import { READ } from "../model/limits.ts";
import { logName, type TopicAddress } from "../model/topic.ts";
import type { NewEvent } from "./segments.ts";
import type { TopicLog } from "./topic-log.do.ts";
import type { Once, PublishOutcome, Retention } from "./types.ts";

type Logs = DurableObjectNamespace<TopicLog>;

export const logOf = (logs: Logs, topic: TopicAddress, shard: number): DurableObjectStub<TopicLog> =>
  logs.getByName(logName(topic, shard));

/** `TopicLog.publish` from a Worker. */
export async function publishTo(
  log: DurableObjectStub<TopicLog>,
  events: readonly NewEvent[],
  once: Once | undefined,
  retention: Retention,
  trace: string | undefined,
): Promise<PublishOutcome> {
  const texts = events.map((event) => event.text).join("\n");
  const sizes = events.map((event) => event.payloadBytes).join(",");
  try {
    const outcome = await log.append(texts, sizes, retention.ageMs, retention.maxBytes, once, trace);
    if (typeof outcome !== "string") return outcome;
    return { kind: "stored", ids: outcome.split(","), keyExpiresAtMs: undefined };
  } catch (thrown) {
    // For minutes after a deployment, the object may run the previous release, which refuses the call.
    if (!/does not implement (the method )?"append"/.test(String(thrown))) throw thrown;
    return log.publish(events, once, retention, trace);
  }
}

/** Asks one shard. Returns undefined and logs a warning if it fails or times out; a late answer is ignored. */
export async function askLog<T>(
  logs: Logs,
  topic: TopicAddress,
  shard: number,
  question: (log: DurableObjectStub<TopicLog>) => Promise<T>,
): Promise<T | undefined> {
  try {
    return await withTimeout(READ.logWaitMs, question(logOf(logs, topic, shard)));
  } catch (thrown) {
    createLog("warn").warn("topic log failed", { eventType: topic.eventType, shard, error: describeError(thrown) });
    return undefined;
  }
}

/** Asks several shards in parallel; answers are in the order of the shards. */
export const askLogs = <T>(
  logs: Logs,
  topic: TopicAddress,
  shards: readonly number[],
  question: (log: DurableObjectStub<TopicLog>, shard: number) => Promise<T>,
): Promise<(T | undefined)[]> =>
  Promise.all(shards.map((shard) => askLog(logs, topic, shard, (log) => question(log, shard))));
