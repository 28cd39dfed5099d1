import * as z from "zod/mini";
import { invalid, type Problem } from "../../http/errors/errors.ts";
import { systemRandom } from "../../platform/runtime/random.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import { tenantFilter, type Reader } from "../access/reader.ts";
import { logOf } from "../log/client.ts";
import { positionOf, newEventIds, type Position } from "../log/event-id.ts";
import { maskId, type OwnTenant } from "../log/hidden-ids.ts";
import { idOf, unpackSegment, type LogEvent } from "../log/segments.ts";
import type { TopicLog } from "../log/topic-log.do.ts";
import type { PeekFrom, PeekOutcome, ReadOutcome } from "../log/types.ts";
import type { Failure } from "../model/failure.ts";
import { PEEK, READ } from "../model/limits.ts";
import { shardsOf, shardFor, type Topic, type TopicId } from "../model/topic.ts";
import type { ConsumePorts } from "./stub.ts";

type PeekPorts = Pick<ConsumePorts, "directory" | "logs">;

export const peekQuery = z.object({ after: z.optional(z.string()), limit: z.optional(z.string()) });

/** A page of stored events. */
interface View {
  /** Event objects as JSON, comma-separated. */
  readonly events: string;
  /** Id to continue after; null at the end. */
  readonly next: string | null;
}

/**
 * Reads stored events without a lock or cursor. The caller has checked that the reader may read the topic.
 *
 * The order over all shards is (time, shard, position). Times never decrease within a shard, so one event determines
 * where to continue in every shard, and no state is stored between two calls.
 */
export async function peek(
  ports: PeekPorts,
  id: TopicId,
  reader: Reader,
  { query, maxChars = READ.maxAnswerChars }: { readonly query: z.infer<typeof peekQuery>; readonly maxChars?: number },
  nowMs: number,
): Promise<Result<View, Failure | Problem>> {
  const limit = query.limit === undefined ? PEEK.defaultEvents : Number(query.limit);
  if ((query.limit !== undefined && !/^\d{1,4}$/.test(query.limit)) || limit < 1 || limit > PEEK.maxEvents)
    return err(invalid("out_of_range_parameter", "limit", `limit must be a whole number from 1 to ${PEEK.maxEvents}.`));
  const after = query.after === undefined ? undefined : markOf(query.after);
  if (query.after !== undefined && after === undefined) return err(NO_EVENT);
  const view = await ports.directory.onActive(id, nowMs, async (topic) => {
    const own = tenantFilter(reader, topic);
    if (own !== undefined) return peekAtOwn(ports.logs, topic, own, query.after, { limit, maxChars });
    const afterMs = after === undefined ? 0 : await timeOf(ports.logs, topic, after);
    if (typeof afterMs !== "number") return afterMs === "gone" ? undefined : afterMs;
    const from = (shard: number): PeekFrom => {
      if (after === undefined) return { afterSeq: 0 };
      if (shard === after.shard) return { afterSeq: after.seq };
      return { fromMs: shard < after.shard ? afterMs + 1 : afterMs };
    };
    return gather(ports.logs, topic, from, { limit, maxChars }, nowMs);
  });
  if (view === undefined) return err({ kind: "no_topic" });
  return view === "unknown" ? err(NO_EVENT) : ok(view);
}

/** The first events that the reader is shown behind a position of each shard; undefined if the topic is gone. */
export async function peekBehind(
  logs: DurableObjectNamespace<TopicLog>,
  topic: Topic,
  reader: Pick<Reader, "onlyTenant">,
  { positions, limit }: { readonly positions: readonly number[]; readonly limit: number },
  nowMs: number,
): Promise<View | undefined> {
  const most = { limit, maxChars: READ.maxPayloadBytes };
  const after = (shard: number): number => positions[shard] ?? 0;
  const own = tenantFilter(reader, topic);
  if (own === undefined) return gather(logs, topic, (shard) => ({ afterSeq: after(shard) }), most, nowMs);
  const shard = shardFor(own.tenant, topic.shards);
  return (await viewOfOwn(logs, topic, own, { shard, seq: after(shard) }, most))?.view;
}

const NO_EVENT = invalid("invalid_query_parameter", "after", "after must be the id of an event of this topic.");

/** The event to continue after. */
interface Mark extends Position {
  readonly id: string;
}

function markOf(id: string): Mark | undefined {
  const place = positionOf(id);
  return place === undefined ? undefined : { ...place, id };
}

/** When that event was published. */
async function timeOf(
  logs: DurableObjectNamespace<TopicLog>,
  topic: Topic,
  after: Mark,
): Promise<number | "unknown" | "gone"> {
  return after.shard < topic.shards ? logOf(logs, topic, after.shard).timeOf(after.seq, after.id) : "unknown";
}

/**
 * Reads the first events of all shards, as many as fit into a response; undefined if the topic is gone.
 *
 * Events that do not fit are dropped. Most of a topic may lie in one shard, so a shard is asked again while it may have
 * events that sort before the last one of the response. Each round completes at least one shard.
 */
async function gather(
  logs: DurableObjectNamespace<TopicLog>,
  topic: Topic,
  from: (shard: number) => PeekFrom,
  { limit, maxChars }: Most,
  nowMs: number,
): Promise<View | undefined> {
  let shown: readonly Placed[] = [];
  /** More events follow those shown. */
  let isCut = false;
  /** The last event returned by each shard that was not read to its end. */
  const unread = new Map<number, Placed>();
  let asked = shardsOf(topic).map((shard) => ({ shard, from: from(shard) }));
  for (let isFirst = true; asked.length > 0; isFirst = false) {
    const share = Math.ceil(maxChars / asked.length);
    const answers = await Promise.all(
      asked.map(async (ask): Promise<PeekOutcome> => logOf(logs, topic, ask.shard).peek(ask.from, limit, share)),
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
    // Complete shards are not asked again, so events published since the call began belong to the next one.
    const late = isFirst ? undefined : found.toSorted(compare).find((event) => event.createdAtMs > nowMs);
    shown = fitting(late === undefined ? all : all.slice(0, all.indexOf(late)), { limit, maxChars });
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

/** Limits of a response: number of events and their characters. */
interface Most {
  readonly limit: number;
  readonly maxChars: number;
}

interface Placed extends LogEvent {
  readonly shard: number;
}

const compare = (a: Placed, b: Placed): number => a.createdAtMs - b.createdAtMs || a.shard - b.shard || a.seq - b.seq;

/**
 * Peeks at one tenant's events, which all lie in one shard. `next` is the masked id of the last event shown. If the
 * call stopped because it skipped too many events of other tenants, `next` is a masked id made for that position.
 * "unknown" if `after` is not the masked id of a position of this shard.
 */
async function peekAtOwn(
  logs: DurableObjectNamespace<TopicLog>,
  topic: Topic,
  own: OwnTenant,
  after: string | undefined,
  most: Most,
): Promise<View | "unknown" | undefined> {
  const shard = shardFor(own.tenant, topic.shards);
  const from = after === undefined ? { shard, seq: 0 } : positionOf(maskId(after, own) ?? "");
  if (from?.shard !== shard) return "unknown";
  const found = await viewOfOwn(logs, topic, own, from, most);
  return found?.isBeyond === true ? "unknown" : found?.view;
}

/** One tenant's events after a position. `isBeyond`: the log ends before it. Undefined if the topic is gone. */
async function viewOfOwn(
  logs: DurableObjectNamespace<TopicLog>,
  topic: Topic,
  own: OwnTenant,
  { shard, seq }: Position,
  { limit, maxChars }: Most,
): Promise<{ readonly view: View; readonly isBeyond: boolean } | undefined> {
  const asked = { afterSeq: seq, minEvents: limit + 1, aheadChars: 0, maxChars };
  const answer: ReadOutcome = await logOf(logs, topic, shard).readTenant(own, asked);
  if (answer.kind === "gone") return undefined;
  const found = answer.segments.flatMap((segment) => unpackSegment(segment, seq));
  const shown = fitting(found, { limit, maxChars });
  const behind = (): string => maskId(newEventIds(1, shard, answer.endSeq, systemRandom)[0]!, own)!;
  const isCut = shown.length < found.length;
  const view = {
    events: shown.map(({ text }) => text).join(","),
    next: isCut ? idOf(shown.at(-1)!.text) : answer.atEnd ? null : behind(),
  };
  return { view, isBeyond: answer.atEnd && seq > answer.endSeq };
}

/** The first events that fit into a response; at least one. */
function fitting<E extends LogEvent>(events: readonly E[], { limit, maxChars }: Most): readonly E[] {
  let payloadBytes = 0;
  let chars = 0;
  const end = events.findIndex((event, index) => {
    payloadBytes += event.payloadBytes;
    chars += event.text.length + 1;
    const isTooMuch = payloadBytes > READ.maxPayloadBytes || chars > maxChars;
    return index === limit || (index > 0 && isTooMuch);
  });
  return end === -1 ? events : events.slice(0, end);
}
