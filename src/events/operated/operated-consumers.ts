import type { Problem } from "../../http/errors/errors.ts";
import { noSuch } from "../../http/errors/errors.ts";
import { json, type Answer } from "../../http/route.ts";
import { sha256Hex } from "../../platform/secrets/hash.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import { consumerOf } from "../consume/stub.ts";
import { peekBehind } from "../consume/peek.ts";
import type { SeekOutcome } from "../consume/types.ts";
import { logOf } from "../log/client.ts";
import type { Gone, LogStats, Place } from "../log/types.ts";
import type { Failure } from "../model/failure.ts";
import { OPERATED } from "../model/limits.ts";
import { addressOf, shardsOf, type Topic } from "../model/topic.ts";
import type { TopicPorts } from "../topics/topics.ts";
import { describeConsumer, type DescribedConsumer } from "./consumer-name.ts";

/**
 * Consumers of a topic, for the operator service: how far each is behind, and moving its cursor.
 *
 *   unlocked ── preview(to) ──▶ unchanged; returns how many events would be read again or skipped
 *   unlocked ── move(to) ──▶ cursor at `to`, delivery counts reset
 *   locked ── move ──▶ refused until the lock ends, as for the client itself
 *
 * A consumer's id is a digest of its name, since the name may contain a hash of a person. The client may read during a
 * preview, so its numbers hold only for that moment. A repeated move to the same place has the same effect.
 */

/** The consumers that have read the topic. */
export async function consumersOf(ports: TopicPorts, topic: Topic) {
  const [names, logs] = await Promise.all([namesOf(ports, topic), logsOf(ports, topic)]);
  const consumers = await Promise.all(
    names.slice(0, OPERATED.consumers).map(async (name) => {
      const position = await consumerOf(ports.consumers, topic, name).position();
      const behind = logs.map((stats, shard) =>
        stats.kind === "stats" ? stats.lastSeq - placeOf(position, stats, shard) : 0,
      );
      const described = describeConsumer(name);
      return { id: await idOf(name), ...described, lag: toldTo(described, sum(behind)) };
    }),
  );
  return { consumers, more: names.length > OPERATED.consumers };
}

/** The effect of a move, and the first events that the consumer would read then. */
export async function previewMove(
  ports: TopicPorts,
  topic: Topic,
  consumerId: string,
  to: Place,
  nowMs: number,
): Promise<Result<Answer, Failure | Problem>> {
  const name = await findName(ports, topic, consumerId);
  if (name === undefined) return err(noSuch("consumer"));
  const [position, logs, ...targets] = await Promise.all([
    consumerOf(ports.consumers, topic, name).position() as Promise<readonly number[] | undefined>,
    logsOf(ports, topic),
    ...shardsOf(topic).map((shard) => logOf(ports.logs, topic, shard).positionBefore(to) as Promise<number | "gone">),
  ]);
  const aims = targets.map((target) => (typeof target === "number" ? target : 0));
  const steps = logs.map((stats, shard) =>
    stats.kind === "stats" ? aims[shard]! - placeOf(position, stats, shard) : 0,
  );
  const described = describeConsumer(name);
  const reader = { onlyTenant: described.onlyTenant ?? undefined };
  const behind = { positions: aims, limit: OPERATED.previewed };
  const view = await peekBehind(ports.logs, topic, reader, behind, nowMs);
  if (view === undefined) return err({ kind: "no_topic" });
  const moved = {
    again: toldTo(described, sum(steps.map((step) => Math.max(0, -step)))),
    skipped: toldTo(described, sum(steps.map((step) => Math.max(0, step)))),
    first: JSON.parse(`[${view.events}]`) as object[],
  };
  return ok(json(200, { id: consumerId, ...described, ...moved }, { "cache-control": "no-store" }));
}

/** Moves a consumer's cursor, unless it holds a batch. */
export async function moveConsumer(
  ports: TopicPorts,
  topic: Topic,
  consumerId: string,
  to: Place,
  nowMs: number,
): Promise<Result<void, Failure | Problem>> {
  const name = await findName(ports, topic, consumerId);
  if (name === undefined) return err(noSuch("consumer"));
  const moved: SeekOutcome = await consumerOf(ports.consumers, topic, name).seek(addressOf(topic), name, to);
  switch (moved.kind) {
    case "done":
      return ok(undefined);
    case "gone":
      return err({ kind: "no_topic" });
    case "failed":
      return err({ kind: "unavailable" });
    case "locked": {
      const { retryAfterMs } = moved;
      return err({ kind: "topic_locked", retryAfterMs, untilMs: nowMs + retryAfterMs, holder: "The consumer" });
    }
  }
}

/** The client of a consumer; undefined if the list does not have the consumer. */
export async function clientOf(ports: TopicPorts, topic: Topic, consumerId: string): Promise<string | undefined> {
  const name = await findName(ports, topic, consumerId);
  return name === undefined ? undefined : describeConsumer(name).client;
}

const logsOf = (ports: TopicPorts, topic: Topic): Promise<readonly (LogStats | Gone)[]> =>
  Promise.all(shardsOf(topic).map(async (shard) => logOf(ports.logs, topic, shard).stats()));

/** The names of consumers, one more than are shown. Only the first shard's log has them. */
const namesOf = async (ports: TopicPorts, topic: Topic): Promise<readonly string[]> =>
  logOf(ports.logs, topic, 0).consumers(OPERATED.consumers + 1);

async function findName(ports: TopicPorts, topic: Topic, consumerId: string): Promise<string | undefined> {
  const names = await namesOf(ports, topic);
  for (const name of names.slice(0, OPERATED.consumers)) if ((await idOf(name)) === consumerId) return name;
  return undefined;
}

const ID_CHARS = 32;
const idOf = async (name: string): Promise<string> => (await sha256Hex(name)).slice(0, ID_CHARS);

/** A consumer's position in a shard, within the stored events: it cannot read events that retention removed. */
const placeOf = (position: readonly number[] | undefined, { firstSeq, lastSeq }: LogStats, shard: number): number =>
  Math.min(Math.max(position?.[shard] ?? 0, firstSeq - 1), lastSeq);

/** Hides a count from the view of a reader of one tenant's events, since it includes all tenants. */
const toldTo = ({ onlyTenant }: DescribedConsumer, count: number): number | null =>
  onlyTenant === null ? count : null;

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);
