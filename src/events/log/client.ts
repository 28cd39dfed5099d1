import { createLog, describeError } from "../../platform/runtime/log.ts";
import { withTimeout } from "../../platform/runtime/with-timeout.ts";
import { READ } from "../model/limits.ts";
import { logName, type TopicAddress } from "../model/topic.ts";
import type { TopicLog } from "./topic-log.do.ts";

type Logs = DurableObjectNamespace<TopicLog>;

export const logOf = (logs: Logs, topic: TopicAddress, shard: number): DurableObjectStub<TopicLog> =>
  logs.getByName(logName(topic, shard));

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
