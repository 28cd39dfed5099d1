import { createLog, describeError } from "../../platform/log.ts";
import { withTimeout } from "../../platform/with-timeout.ts";
import { READ } from "../model/limits.ts";
import { logName, type TopicAddress } from "../model/topic.ts";
import type { TopicLog } from "./topic-log.do.ts";

type Logs = DurableObjectNamespace<TopicLog>;

export const logOf = (logs: Logs, topic: TopicAddress, shard: number): DurableObjectStub<TopicLog> =>
  logs.getByName(logName(topic, shard));

/** One shard's answer, or undefined, and a line in the log, when it failed or took too long. What comes later is not looked at. */
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

/** The answers of some shards, asked in parallel and given in the same order. */
export const askLogs = <T>(
  logs: Logs,
  topic: TopicAddress,
  shards: readonly number[],
  question: (log: DurableObjectStub<TopicLog>, shard: number) => Promise<T>,
): Promise<(T | undefined)[]> =>
  Promise.all(shards.map((shard) => askLog(logs, topic, shard, (log) => question(log, shard))));
