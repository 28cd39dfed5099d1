import { problem, type Problem } from "../../http/errors/errors.ts";
import type { Page, Paging } from "../../http/input/paging.ts";
import { empty, json, type Answer } from "../../http/route.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import { withRetryAfter, type RequestPorts } from "../access/request.ts";
import type { NameRange } from "../access/topic-store.ts";
import { peek } from "../consume/peek.ts";
import type { Place } from "../log/types.ts";
import type { Failure } from "../model/failure.ts";
import { OPERATED } from "../model/limits.ts";
import type { Topic, TopicId } from "../model/topic.ts";
import { publish, type PublishPorts } from "../publish/publish.ts";
import { getTopic, topicFields, type TopicPorts } from "../topics/topics.ts";
import { clientOf, consumersOf, moveConsumer, previewMove } from "./operated-consumers.ts";
import { NO_TRAFFIC, trafficOf } from "./topic-traffic.ts";

/**
 * Topics of all clients, for the operator service. Reading takes no lock, moves no cursor and registers no consumer.
 *
 *   list ──▶ D1                show ──▶ each shard's log, and the object of each consumer
 *   look ──▶ the logs, page after page, until enough events match or enough were read
 *   publish ──▶ as the owner's own publish        preview, move ──▶ operated-consumers.ts
 *
 * The operator service checks the caller's rights on the topics.
 */
export interface OperatedTopics {
  /**
   * Lists by name the topics whose names lie in one of the ranges. With an organization, it leaves out those of clients
   * elsewhere.
   */
  list(ranges: readonly NameRange[], paging: Paging, organization?: string): Promise<Page<object>>;
  show(topic: TopicId, nowMs: number): Promise<Answer>;
  look(topic: TopicId, query: LookQuery, nowMs: number): Promise<Answer>;
  /** Publishes one event on behalf of the topic's owner. */
  publish(topic: TopicId, byHand: ByHand, nowMs: number): Promise<Answer>;
  /** Returns the client of a consumer; undefined if there is no such consumer. */
  clientOf(topic: TopicId, consumer: string, nowMs: number): Promise<string | undefined>;
  /** Returns the effect of moving the consumer's cursor. */
  previewMove(topic: TopicId, consumer: string, to: Place, nowMs: number): Promise<Answer>;
  move(topic: TopicId, consumer: string, to: Place, nowMs: number): Promise<Answer>;
}

interface ByHand {
  /** The client whose name owns the topic. */
  readonly owner: { readonly clientId: string; readonly tenant: string };
  readonly body: unknown;
  /** The `Idempotency-Key`. */
  readonly key: string | null;
}

type OperatedPorts = RequestPorts & TopicPorts & PublishPorts;

interface LookQuery {
  /** The id of the event to start after. */
  readonly after?: string | undefined;
  readonly limit?: string | undefined;
  /** A text in the payload, in the id, or in a value of the metadata; case does not matter. */
  readonly contains?: string | undefined;
}

export const operatedTopics = (ports: OperatedPorts): OperatedTopics => ({
  async list(ranges, paging, organization) {
    const page = await ports.store.list(ranges, paging, organization);
    return { ...page, items: page.items.map(topicFields) };
  },
  show: (topic, nowMs) => withRetryAfter(ports, () => show(ports, topic, nowMs)),
  look: (topic, query, nowMs) => withRetryAfter(ports, () => look(ports, topic, query, nowMs)),
  publish: (topic, byHand, nowMs) => withRetryAfter(ports, () => publishAs(ports, topic, byHand, nowMs)),
  async clientOf(id, consumer, nowMs) {
    const found = await onActive(ports, id, nowMs, async (topic) => ok(await clientOf(ports, topic, consumer)));
    return found.ok ? found.value : undefined;
  },
  previewMove: (id, consumer, to, nowMs) =>
    withRetryAfter(ports, () => onActive(ports, id, nowMs, (topic) => previewMove(ports, topic, consumer, to, nowMs))),
  move: (id, consumer, to, nowMs) =>
    withRetryAfter(ports, async () => {
      const moved = await onActive(ports, id, nowMs, (topic) => moveConsumer(ports, topic, consumer, to, nowMs));
      return moved.ok ? ok(empty(204)) : moved;
    }),
});

/** The name of the operator's reads. No consumer can have it. */
const OPERATOR = { name: "/operator" };

async function show(ports: TopicPorts, id: TopicId, nowMs: number): Promise<Result<Answer, Failure>> {
  const found = await getTopic(ports, id, OPERATOR, nowMs);
  if (!found.ok) return found;
  const [topic, { storedEvents, oldestEventAt, newestEventAt }] = found.value;
  const [{ consumers, more }, traffic] =
    topic.state === "active"
      ? await Promise.all([consumersOf(ports, topic), trafficOf(ports, topic, nowMs)])
      : [{ consumers: [], more: false }, NO_TRAFFIC];
  const stored = { storedEvents, oldestEventAt, newestEventAt };
  return ok(json(200, { ...topicFields(topic), ...stored, ...traffic, consumers, moreConsumers: more }));
}

/** Publishes an event as the topic's owner: for its tenant, or for one that it may act for. */
async function publishAs(
  ports: OperatedPorts,
  topic: TopicId,
  { owner, body, key }: ByHand,
  nowMs: number,
): Promise<Result<Answer, Failure | Problem>> {
  if (!(await ports.clients.isLive(owner.clientId, nowMs)))
    return err(problem("conflict_resource", "The client that owns the topic, or its tenant, is disabled."));
  const principal = { ...owner, user: "" };
  const published = await publish(ports, { topic, principal, body, key, nowMs });
  return published.ok ? ok(json(201, { id: published.value[0] })) : published;
}

/** Runs an operation on a topic that is not being deleted. */
async function onActive<T>(
  ports: TopicPorts,
  id: TopicId,
  nowMs: number,
  run: (topic: Topic) => Promise<Result<T, Failure | Problem>>,
): Promise<Result<T, Failure | Problem>> {
  const topic = await ports.directory.current(id, nowMs);
  return topic?.state === "active" ? run(topic) : err({ kind: "no_topic" });
}

interface StoredEvent {
  readonly id: string;
  readonly payload: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

/** A page of events, with `contains` only those that match. `next` continues the search even if none matched. */
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
    const view = await peek(ports, topic, OPERATOR, { query }, nowMs);
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
