import { logOf } from "../log/client.ts";
import type { Gone, LogStats } from "../log/types.ts";
import { shardsOf, type Topic } from "../model/topic.ts";
import type { TopicPorts } from "../topics/topics.ts";
import { HOUR_MS, MINUTE_MS } from "../../platform/runtime/clock.ts";

/** The rate of a topic's events, and the size of its storage. */
interface TopicTraffic {
  /** Events that were published in the last minute, and in the last hour. */
  readonly eventsLastMinute: number;
  readonly eventsLastHour: number;
  /** Size of its logs' databases; null if a log does not report it. */
  readonly storedBytes: number | null;
}

export const NO_TRAFFIC: TopicTraffic = { eventsLastMinute: 0, eventsLastHour: 0, storedBytes: 0 };

/** Counts by positions in the logs, so that publishing need not count. */
export async function trafficOf(ports: TopicPorts, topic: Topic, nowMs: number): Promise<TopicTraffic> {
  const logs = await Promise.all(shardsOf(topic).map((shard) => trafficOfLog(ports, topic, shard, nowMs)));
  const sum = (of: (log: LogTraffic) => number): number => logs.reduce((all, log) => all + of(log), 0);
  return {
    eventsLastMinute: sum(({ minute }) => minute),
    eventsLastHour: sum(({ hour }) => hour),
    storedBytes: logs.some(({ bytes }) => bytes === undefined) ? null : sum(({ bytes = 0 }) => bytes),
  };
}

interface LogTraffic {
  readonly minute: number;
  readonly hour: number;
  /** Undefined if the log runs the last release, which does not report it. */
  readonly bytes: number | undefined;
}

async function trafficOfLog(ports: TopicPorts, topic: Topic, shard: number, nowMs: number): Promise<LogTraffic> {
  const log = logOf(ports.logs, topic, shard);
  const before = (agoMs: number) => log.positionBefore(nowMs - agoMs) as Promise<number | "gone">;
  const [minute, hour, stats] = await Promise.all([
    before(MINUTE_MS),
    before(HOUR_MS),
    // Ask for the end last, so that it is not before the other positions.
    log.stats() as Promise<LogStats | Gone>,
  ]);
  if (stats.kind === "gone" || minute === "gone" || hour === "gone") return { minute: 0, hour: 0, bytes: 0 };
  const { lastSeq, bytes } = stats;
  return { minute: lastSeq - minute, hour: lastSeq - hour, bytes };
}
