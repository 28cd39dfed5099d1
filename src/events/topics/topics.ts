import * as z from "zod/mini";
import type { Principal } from "../../http/callers/auth.ts";
import { matching } from "../../http/input/validate.ts";
import { PATTERNS } from "../../platform/model/names.ts";
import type { Random } from "../../platform/runtime/random.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import { retryOnce } from "../../platform/runtime/retry-once.ts";
import type { Reader } from "../access/reader.ts";
import type { TopicDirectory } from "../access/topic-directory.ts";
import type { TopicStore } from "../access/topic-store.ts";
import { consumerOf } from "../consume/stub.ts";
import type { TopicConsumer } from "../consume/topic-consumer.do.ts";
import { logOf } from "../log/client.ts";
import type { TopicLog } from "../log/topic-log.do.ts";
import type { Gone, LogStats, Retention } from "../log/types.ts";
import type { Failure } from "../model/failure.ts";
import { TOPIC } from "../model/limits.ts";
import { shardsOf, type Topic, type TopicId } from "../model/topic.ts";

/** Dependencies of creating a topic. */
export interface CreatePorts {
  readonly store: TopicStore;
  readonly logs: DurableObjectNamespace<TopicLog>;
  readonly random: Random;
  readonly retention: Retention;
}

export interface TopicPorts extends CreatePorts {
  readonly directory: TopicDirectory;
  readonly consumers: DurableObjectNamespace<TopicConsumer>;
}

export const newTopicBody = z.object({
  eventType: matching(PATTERNS.eventType),
  // D1 stores UTF-8, which cannot hold a lone surrogate.
  description: z.optional(
    z.string().check(
      z.maxLength(TOPIC.maxDescriptionChars),
      z.refine((text) => text.isWellFormed(), "must be well-formed Unicode"),
    ),
  ),
  shards: z.optional(z.int().check(z.gte(TOPIC.minShards), z.lte(TOPIC.maxShards))),
});

/** Creates a topic of the caller, who may create it. */
export async function createTopic(
  ports: TopicPorts,
  principal: Principal,
  body: z.infer<typeof newTopicBody>,
  nowMs: number,
): Promise<Result<Topic, Failure>> {
  const topic: NewTopic = {
    owner: principal.clientName,
    eventType: body.eventType,
    description: body.description ?? "",
    shards: body.shards ?? TOPIC.defaultShards,
  };
  const { topic: existing, hasRoom } = await ports.store.findWithRoom(topic);
  if (existing !== undefined) return err(alreadyThere(existing));
  if (!hasRoom) return err(TOO_MANY);
  const { topic: stored, isOurs } = await makeTopic(ports, topic, nowMs);
  ports.directory.forget(topic);
  if (stored === undefined) return err(TOO_MANY);
  return isOurs ? ok(stored) : err(alreadyThere(stored));
}

const TOO_MANY: Failure = { kind: "too_many_topics", ofClient: TOPIC.mostOfClient };

export type NewTopic = Pick<Topic, "owner" | "eventType" | "description" | "shards">;

/**
 * Creates a topic unless it exists. Returns the topic that exists afterwards, and whether this call created it. No
 * topic: its client has all that it may have.
 *
 * The logs are opened before the row is written, so a topic that can be found has its logs. Among parallel creations
 * the row decides: its incarnation shows which call created the topic, even after a lost response, and the other calls
 * remove their logs. A crash in between leaves empty logs that no topic names.
 */
export async function makeTopic(
  ports: CreatePorts,
  wanted: NewTopic,
  nowMs: number,
): Promise<
  { readonly topic: Topic; readonly isOurs: true } | { readonly topic: Topic | undefined; readonly isOurs: false }
> {
  const topic: Topic = {
    ...wanted,
    incarnation: ports.store.newIncarnation(wanted, ports.random),
    state: "active",
    createdAtMs: nowMs,
  };
  await Promise.all(shardsOf(topic).map((shard) => logOf(ports.logs, topic, shard).init(shard, ports.retention)));
  const stored = await retryOnce(() => ports.store.insert(topic));
  if (stored?.incarnation === topic.incarnation) return { topic, isOurs: true };
  await Promise.all(shardsOf(topic).map((shard) => logOf(ports.logs, topic, shard).destroy()));
  return { topic: stored, isOurs: false };
}

/** A topic in an answer. */
export const topicFields = (topic: Topic) => ({
  topicOwnerClient: topic.owner,
  eventType: topic.eventType,
  description: topic.description,
  createdAt: topic.createdAtMs,
  shards: topic.shards,
  state: topic.state,
});

export interface TopicStatus {
  /** Null for a reader of one tenant's events, since logs do not count by tenant. */
  readonly storedEvents: number | null;
  readonly oldestEventAt: number | null;
  readonly newestEventAt: number | null;
  /** Stored events that the caller has not committed. */
  readonly lag: number | null;
}

/** The stored topic, and the caller's progress on it. */
export async function getTopic(
  ports: TopicPorts,
  id: TopicId,
  reader: Reader,
  nowMs: number,
): Promise<Result<readonly [Topic, TopicStatus], Failure>> {
  if (reader.onlyTenant !== undefined) {
    const topic = await ports.directory.current(id, nowMs);
    return topic === undefined ? err({ kind: "no_topic" }) : ok([topic, NOT_TOLD]);
  }
  const found = await ports.directory.onActive(id, nowMs, async (topic) => {
    const [position, ...logs] = await Promise.all([
      consumerOf(ports.consumers, topic, reader.name).position() as Promise<readonly number[] | undefined>,
      ...shardsOf(topic).map((shard) => logOf(ports.logs, topic, shard).stats() as Promise<LogStats | Gone>),
    ]);
    const stats = logs.filter((log) => log.kind === "stats");
    return stats.length === topic.shards ? ([topic, statusOf(stats, position)] as const) : undefined;
  });
  if (found !== undefined) return ok(found);
  // The logs of a topic that is being deleted answer "gone"; its row is removed last.
  const left = await ports.directory.find(id, nowMs);
  return left?.state === "deleting" ? ok([left, NOTHING_STORED]) : err({ kind: "no_topic" });
}

function statusOf(logs: readonly LogStats[], position: readonly number[] | undefined): TopicStatus {
  const sum = (of: (log: LogStats, shard: number) => number) =>
    logs.reduce((total, log, shard) => total + of(log, shard), 0);
  const times = (of: (log: LogStats) => number | undefined) => logs.map(of).filter((time) => time !== undefined);
  const oldest = times((log) => log.oldestAtMs);
  const newest = times((log) => log.newestAtMs);
  return {
    storedEvents: sum((log) => log.lastSeq - log.firstSeq + 1),
    oldestEventAt: oldest.length === 0 ? null : Math.min(...oldest),
    newestEventAt: newest.length === 0 ? null : Math.max(...newest),
    // A cursor may lie beyond the end of a log that was restored to an earlier time.
    lag: sum((log, shard) => Math.max(0, log.lastSeq - Math.max(position?.[shard] ?? 0, log.firstSeq - 1))),
  };
}

/** Status of a topic that is being deleted. */
const NOTHING_STORED: TopicStatus = { storedEvents: 0, oldestEventAt: null, newestEventAt: null, lag: 0 };

const NOT_TOLD: TopicStatus = { storedEvents: null, oldestEventAt: null, newestEventAt: null, lag: null };

const alreadyThere = (topic: Topic): Failure =>
  topic.state === "deleting" ? { kind: "topic_deleting" } : { kind: "topic_exists" };
