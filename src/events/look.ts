import * as z from "zod/mini";
import { invalid, type Problem } from "../http/errors.ts";
import { err, ok, type Result } from "../platform/result.ts";
import { positionOf, type Position } from "./event-id.ts";
import type { Failure } from "./failure.ts";
import { LOOK, READ } from "./limits.ts";
import { idOf, unpackSegment, type LogEvent } from "./segments.ts";
import type { TopicDirectory } from "./topic-directory.ts";
import type { TopicLog } from "./topic-log.do.ts";
import type { LookOutcome } from "./topic-log.ts";
import { logOf, shardsOf, type Topic, type TopicId } from "./topic.ts";

export interface LookPorts {
  readonly directory: TopicDirectory;
  readonly logs: DurableObjectNamespace<TopicLog>;
}

export const lookQuery = z.object({ after: z.optional(z.string()), limit: z.optional(z.string()) });

export interface View {
  /** Event objects as JSON, comma-separated. */
  readonly events: string;
  /** The id to look after for more; null when this was the end. */
  readonly next: string | null;
}

/**
 * A look at stored events without lock or cursor. The caller may consume the topic.
 *
 * The order over all shards is (time, shard, position): within a shard times never run backwards, so the place of one
 * event says where to go on in each of the others, and nobody has to remember anything between two looks.
 */
export async function look(
  ports: LookPorts,
  id: TopicId,
  query: z.infer<typeof lookQuery>,
  nowMs: number,
): Promise<Result<View, Failure | Problem>> {
  const limit = query.limit === undefined ? LOOK.defaultEvents : Number(query.limit);
  if ((query.limit !== undefined && !/^\d{1,4}$/.test(query.limit)) || limit < 1 || limit > LOOK.maxEvents)
    return err(invalid("out_of_range_parameter", "limit", `limit must be a whole number from 1 to ${LOOK.maxEvents}.`));
  const after = query.after === undefined ? undefined : markOf(query.after);
  if (query.after !== undefined && after === undefined) return err(NO_EVENT);
  const view = await ports.directory.onActive(id, nowMs, async (topic) => {
    const afterMs = after === undefined ? 0 : await timeOf(ports.logs, topic, after);
    if (typeof afterMs !== "number") return afterMs === "gone" ? undefined : afterMs;
    const answers = await askAll(ports.logs, topic, after, afterMs, limit);
    return answers === undefined ? undefined : viewOf(answers, limit);
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

type Seen = Exclude<LookOutcome, { kind: "gone" }>;

/** What each shard has behind the place; undefined when the topic is gone. */
async function askAll(
  logs: DurableObjectNamespace<TopicLog>,
  topic: Topic,
  after: Position | undefined,
  afterMs: number,
  limit: number,
): Promise<readonly Seen[] | undefined> {
  const maxChars = Math.ceil(READ.maxAnswerChars / topic.shards);
  const answers = await Promise.all(
    shardsOf(topic).map(async (shard): Promise<LookOutcome> => {
      const log = logOf(logs, topic, shard);
      if (after === undefined) return log.look({ afterSeq: 0 }, limit, maxChars);
      if (shard === after.shard) return log.look({ afterSeq: after.seq }, limit, maxChars);
      return log.look({ fromMs: shard < after.shard ? afterMs + 1 : afterMs }, limit, maxChars);
    }),
  );
  return answers.some((answer) => answer.kind === "gone")
    ? undefined
    : answers.filter((answer) => answer.kind !== "gone");
}

function viewOf(answers: readonly Seen[], limit: number): View {
  const events: Placed[] = [];
  let horizon: Placed | undefined;
  for (const [shard, answer] of answers.entries()) {
    const found = answer.segments
      .flatMap((segment) => unpackSegment(segment, answer.afterSeq))
      .map((event) => ({ ...event, shard }));
    events.push(...found);
    const last = found.at(-1);
    if (!answer.atEnd && last !== undefined && (horizon === undefined || compare(last, horizon) < 0)) horizon = last;
  }
  events.sort(compare);
  const shown: Placed[] = [];
  let payloadBytes = 0;
  for (const event of events) {
    payloadBytes += event.payloadBytes;
    const full = shown.length === limit || (shown.length > 0 && payloadBytes > READ.maxPayloadBytes);
    // Behind the last event that a shard showed it may have others, which would be passed over.
    if (full || (horizon !== undefined && compare(event, horizon) > 0)) break;
    shown.push(event);
  }
  const last = shown.at(-1);
  const more = shown.length < events.length || horizon !== undefined;
  return {
    events: shown.map((event) => event.text).join(","),
    next: more && last !== undefined ? idOf(last.text) : null,
  };
}

interface Placed extends LogEvent {
  readonly shard: number;
}

const compare = (a: Placed, b: Placed): number => a.createdAtMs - b.createdAtMs || a.shard - b.shard || a.seq - b.seq;
