import * as z from "zod/mini";
import { invalid, type Problem } from "../../http/errors.ts";
import { systemRandom } from "../../platform/random.ts";
import { err, ok, type Result } from "../../platform/result.ts";
import { shownTo, type Reader } from "../access/reader.ts";
import type { TopicDirectory } from "../access/topic-directory.ts";
import { logOf } from "../log/client.ts";
import { positionOf, type Position, newEventIds } from "../log/event-id.ts";
import { masked, type OwnTenant } from "../log/hidden-ids.ts";
import { idOf, unpackSegment, type LogEvent } from "../log/segments.ts";
import type { TopicLog } from "../log/topic-log.do.ts";
import type { LookFrom, LookOutcome, ReadOutcome } from "../log/types.ts";
import type { Failure } from "../model/failure.ts";
import { PEEK, READ } from "../model/limits.ts";
import { shardsOf, type Topic, type TopicId, shardFor } from "../model/topic.ts";

export interface PeekPorts {
  readonly directory: TopicDirectory;
  readonly logs: DurableObjectNamespace<TopicLog>;
}

export const peekQuery = z.object({ after: z.optional(z.string()), limit: z.optional(z.string()) });

/** What a look at stored events gives. */
interface View {
  /** Event objects as JSON, comma-separated. */
  readonly events: string;
  /** The id to look after for more; null when this was the end. */
  readonly next: string | null;
}

/**
 * A look at stored events without lock or cursor. The caller may read the topic.
 *
 * The order over all shards is (time, shard, position): within a shard times never run backwards, so the place of one
 * event says where to go on in each of the others, and nobody has to remember anything between two looks.
 */
export async function peek(
  ports: PeekPorts,
  id: TopicId,
  reader: Reader,
  query: z.infer<typeof peekQuery>,
  nowMs: number,
): Promise<Result<View, Failure | Problem>> {
  const limit = query.limit === undefined ? PEEK.defaultEvents : Number(query.limit);
  if ((query.limit !== undefined && !/^\d{1,4}$/.test(query.limit)) || limit < 1 || limit > PEEK.maxEvents)
    return err(invalid("out_of_range_parameter", "limit", `limit must be a whole number from 1 to ${PEEK.maxEvents}.`));
  const after = query.after === undefined ? undefined : markOf(query.after);
  if (query.after !== undefined && after === undefined) return err(NO_EVENT);
  const view = await ports.directory.onActive(id, nowMs, async (topic) => {
    const own = shownTo(reader, topic);
    if (own !== undefined) return peekAtOwn(ports.logs, topic, own, query.after, limit);
    const afterMs = after === undefined ? 0 : await timeOf(ports.logs, topic, after);
    if (typeof afterMs !== "number") return afterMs === "gone" ? undefined : afterMs;
    const from = (shard: number): LookFrom => {
      if (after === undefined) return { afterSeq: 0 };
      if (shard === after.shard) return { afterSeq: after.seq };
      return { fromMs: shard < after.shard ? afterMs + 1 : afterMs };
    };
    return gather(ports.logs, topic, from, limit, nowMs);
  });
  if (view === undefined) return err({ kind: "no_topic" });
  return view === "unknown" ? err(NO_EVENT) : ok(view);
}

const NO_EVENT = invalid("invalid_query_parameter", "after", "after must be the id of an event of this topic.");

/** The event to go on after. */
interface Mark extends Position {
  readonly id: string;
}

function markOf(id: string): Mark | undefined {
  const place = positionOf(id);
  return place === undefined ? undefined : { ...place, id };
}

/** When it was published. */
async function timeOf(
  logs: DurableObjectNamespace<TopicLog>,
  topic: Topic,
  after: Mark,
): Promise<number | "unknown" | "gone"> {
  return after.shard < topic.shards ? logOf(logs, topic, after.shard).timeOf(after.seq, after.id) : "unknown";
}

/**
 * The first events of all shards together, as many as an answer may have; undefined when the topic is gone.
 *
 * What an answer has no room for is let go, and a shard is asked again while it may have events that belong in front of
 * the last one of the answer: most of a topic may lie in one shard. Each time, one of those at least is seen far enough.
 */
async function gather(
  logs: DurableObjectNamespace<TopicLog>,
  topic: Topic,
  from: (shard: number) => LookFrom,
  limit: number,
  nowMs: number,
): Promise<View | undefined> {
  let shown: readonly Placed[] = [];
  /** There are events behind those that are shown. */
  let isCut = false;
  /** Of each shard that was not seen to its end, the last event that it gave. */
  const unread = new Map<number, Placed>();
  let asked = shardsOf(topic).map((shard) => ({ shard, from: from(shard) }));
  for (let isFirst = true; asked.length > 0; isFirst = false) {
    const maxChars = Math.ceil(READ.maxAnswerChars / asked.length);
    const answers = await Promise.all(
      asked.map(async (ask): Promise<LookOutcome> => logOf(logs, topic, ask.shard).look(ask.from, limit, maxChars)),
    );
    const found: Placed[] = [];
    for (const [index, answer] of answers.entries()) {
      if (answer.kind === "gone") return undefined;
      const { shard } = asked[index]!;
      const given = answer.segments.flatMap((segment) => unpackSegment(segment, answer.afterSeq));
      for (const event of given) found.push({ ...event, shard });
      if (answer.atEnd) unread.delete(shard);
      else unread.set(shard, found.at(-1)!);
    }
    const all = [...shown, ...found].toSorted(compare);
    // What is published meanwhile may come to shards, too, that are not asked any more: it is for the next look.
    const late = isFirst ? undefined : found.toSorted(compare).find((event) => event.createdAtMs > nowMs);
    shown = fitting(late === undefined ? all : all.slice(0, all.indexOf(late)), limit);
    isCut ||= shown.length < all.length;
    const last = shown.at(-1);
    const mayFollow = !isCut && shown.length < limit;
    asked = [...unread.values()]
      .filter((given) => mayFollow || compare(given, last!) < 0)
      .map(({ shard, seq }) => ({ shard, from: { afterSeq: seq } }));
  }
  const last = shown.at(-1);
  return {
    events: shown.map((event) => event.text).join(","),
    next: last !== undefined && (isCut || unread.size > 0) ? idOf(last.text) : null,
  };
}

interface Placed extends LogEvent {
  readonly shard: number;
}

const compare = (a: Placed, b: Placed): number => a.createdAtMs - b.createdAtMs || a.shard - b.shard || a.seq - b.seq;

/**
 * A look at one tenant's events, which all lie in one shard. `next` is the id to show of the last one, or of a place where
 * no event is: where this look had passed over enough of others. "unknown": `after` is no such id.
 */
async function peekAtOwn(
  logs: DurableObjectNamespace<TopicLog>,
  topic: Topic,
  own: OwnTenant,
  after: string | undefined,
  limit: number,
): Promise<View | "unknown" | undefined> {
  const shard = shardFor(own.tenant, topic.shards);
  const from = after === undefined ? { shard, seq: 0 } : positionOf(masked(after, own) ?? "");
  if (from?.shard !== shard) return "unknown";
  const answer: ReadOutcome = await logOf(logs, topic, shard).readTenant(own, {
    afterSeq: from.seq,
    minEvents: limit + 1,
    aheadChars: 0,
    maxChars: READ.maxAnswerChars,
  });
  if (answer.kind === "gone") return undefined;
  if (answer.atEnd && from.seq > answer.endSeq) return "unknown";
  const found = answer.segments.flatMap((segment) => unpackSegment(segment, from.seq));
  const shown = fitting(found, limit);
  const behind = (): string => masked(newEventIds(1, shard, answer.endSeq, systemRandom)[0]!, own)!;
  const isCut = shown.length < found.length;
  return {
    events: shown.map(({ text }) => text).join(","),
    next: isCut ? idOf(shown.at(-1)!.text) : answer.atEnd ? null : behind(),
  };
}

/** The first ones that fit into an answer; one at least. */
function fitting<E extends LogEvent>(events: readonly E[], limit: number): readonly E[] {
  let payloadBytes = 0;
  let chars = 0;
  const end = events.findIndex((event, index) => {
    payloadBytes += event.payloadBytes;
    chars += event.text.length + 1;
    const isTooMuch = payloadBytes > READ.maxPayloadBytes || chars > READ.maxAnswerChars;
    return index === limit || (index > 0 && isTooMuch);
  });
  return end === -1 ? events : events.slice(0, end);
}
