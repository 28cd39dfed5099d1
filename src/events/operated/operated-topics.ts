import type { Problem } from "../../http/errors.ts";
import type { Page, Paging } from "../../http/paging.ts";
import { json, type Answer } from "../../http/route.ts";
import { ok, type Result } from "../../platform/result.ts";
import { withRetryAfter, type RequestPorts } from "../access/request.ts";
import type { NameRange } from "../access/topic-store.ts";
import { consumerOf } from "../consume/stub.ts";
import { peek } from "../consume/peek.ts";
import { logOf } from "../log/client.ts";
import type { Failure } from "../model/failure.ts";
import { OPERATED } from "../model/limits.ts";
import { shardsOf, type Topic, type TopicId } from "../model/topic.ts";
import { getTopic, topicFields, type TopicPorts } from "../topics/topics.ts";
import { describeConsumer } from "./consumer-name.ts";

/**
 * Topics of all clients, for the operator service. Looking takes no lock, moves no cursor and registers no consumer.
 *
 *   list ──▶ D1                show ──▶ each shard's log, and the object of each consumer
 *   look ──▶ the logs, page after page, until enough events match or enough were read
 *
 * The operator service checks who may ask, and for which topics.
 */
export interface OperatedTopics {
  /** By name; those whose names lie in one of the ranges. */
  list(ranges: readonly NameRange[], paging: Paging): Promise<Page<object>>;
  show(topic: TopicId, nowMs: number): Promise<Answer>;
  look(topic: TopicId, query: LookQuery, nowMs: number): Promise<Answer>;
}

export interface LookQuery {
  /** The id of the event to begin after. */
  readonly after?: string | undefined;
  readonly limit?: string | undefined;
  /** A text in the payload, in the id, or in a value of the metadata; case does not matter. */
  readonly contains?: string | undefined;
}

export const operatedTopics = (ports: RequestPorts & TopicPorts): OperatedTopics => ({
  async list(ranges, paging) {
    const page = await ports.store.list(ranges, paging);
    return { ...page, items: page.items.map(topicFields) };
  },
  show: (topic, nowMs) => withRetryAfter(ports, () => show(ports, topic, nowMs)),
  look: (topic, query, nowMs) => withRetryAfter(ports, () => look(ports, topic, query, nowMs)),
});

/** Reads as nobody: no consumer has this name. */
const OPERATOR = { name: "/operator" };

async function show(ports: TopicPorts, id: TopicId, nowMs: number): Promise<Result<Answer, Failure>> {
  const found = await getTopic(ports, id, OPERATOR, nowMs);
  if (!found.ok) return found;
  const [topic, { storedEvents, oldestEventAt, newestEventAt }] = found.value;
  const { consumers, more } =
    topic.state === "active" ? await consumersOf(ports, topic) : { consumers: [], more: false };
  const stored = { storedEvents, oldestEventAt, newestEventAt };
  return ok(json(200, { ...topicFields(topic), ...stored, consumers, moreConsumers: more }));
}

/** The consumers that have read the topic, and how far each is behind. */
async function consumersOf(ports: TopicPorts, topic: Topic) {
  const logs = await Promise.all(
    shardsOf(topic).map(async (shard) => {
      const log = logOf(ports.logs, topic, shard);
      const [stats, names] = await Promise.all([log.stats(), log.consumers(OPERATED.consumers + 1)]);
      return { stats, names };
    }),
  );
  const names = [...new Set(logs.flatMap((log) => log.names))].toSorted();
  const consumers = await Promise.all(
    names.slice(0, OPERATED.consumers).map(async (name) => {
      const position = await consumerOf(ports.consumers, topic, name).position();
      const behind = logs.map(({ stats }, shard) =>
        stats.kind === "stats" ? Math.max(0, stats.lastSeq - Math.max(position?.[shard] ?? 0, stats.firstSeq - 1)) : 0,
      );
      const described = describeConsumer(name);
      // A reader of one tenant's events has not to read the others, which are not told apart here.
      const lag = described.onlyTenant === null ? behind.reduce((sum, one) => sum + one, 0) : null;
      return { ...described, lag };
    }),
  );
  return { consumers, more: names.length > OPERATED.consumers };
}

interface StoredEvent {
  readonly id: string;
  readonly payload: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

/** A page of events; with `contains`, of those that match. `next` continues, even if none of those read matched. */
async function look(
  ports: TopicPorts,
  topic: TopicId,
  { after, limit, contains }: LookQuery,
  nowMs: number,
): Promise<Result<Answer, Failure | Problem>> {
  const wanted = contains?.toLowerCase();
  const events: StoredEvent[] = [];
  let next = after ?? null;
  let read = 0;
  for (let page = 0; page < (wanted === undefined ? 1 : OPERATED.pagesASearch); page++) {
    const size = wanted === undefined ? limit : String(OPERATED.searchedAtOnce);
    const query = { ...(next !== null && { after: next }), ...(size !== undefined && { limit: size }) };
    const view = await peek(ports, topic, OPERATOR, query, nowMs);
    if (!view.ok) return view;
    const found = JSON.parse(`[${view.value.events}]`) as StoredEvent[];
    read += found.length;
    next = view.value.next;
    events.push(...(wanted === undefined ? found : found.filter((event) => matches(event, wanted))));
    if (next === null || events.length > 0) break;
  }
  return ok(json(200, { events, next, read }, { "cache-control": "no-store" }));
}

const matches = ({ id, payload, metadata }: StoredEvent, wanted: string): boolean =>
  [id, payload, ...Object.values(metadata ?? {})].some((text) => text.toLowerCase().includes(wanted));
