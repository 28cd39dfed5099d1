import * as z from "zod/mini";
import type { ClientAccess } from "../http/auth.ts";
import { isProblem, problem, type Problem } from "../http/errors.ts";
import { pageLinks } from "../http/paging.ts";
import {
  anyToken,
  defineRoute,
  empty,
  json,
  jsonBody,
  optionalJsonBody,
  scoped,
  type Answer,
  type Route,
} from "../http/route.ts";
import { matching } from "../http/validate.ts";
import type { Log } from "../platform/log.ts";
import { PATTERNS, type Names } from "../platform/names.ts";
import type { Random } from "../platform/random.ts";
import { TopicAccess } from "./access.ts";
import { commit, commitBody } from "./commit.ts";
import { toProblem, type Failure } from "./failure.ts";
import { PUBLISH } from "./limits.ts";
import { publish } from "./publish.ts";
import { read, readBody, type ReadAnswer } from "./read.ts";
import { createTopicStore } from "./store.ts";
import type { TopicConsumer } from "./topic-consumer.do.ts";
import { TopicDirectory } from "./topic-directory.ts";
import type { TopicLog } from "./topic-log.do.ts";
import type { Topic } from "./topic.ts";
import { createTopic, getTopic, newTopicBody } from "./topics.ts";

export interface EventsDeps {
  readonly names: Names;
  readonly log: Log;
  readonly random: Random;
  readonly db: D1Database;
  readonly topicLogs: DurableObjectNamespace<TopicLog>;
  readonly topicConsumers: DurableObjectNamespace<TopicConsumer>;
  readonly access: ClientAccess;
  readonly retentionMs: number;
}

/**
 * Events: topics, publishing, reading and committing. One table, mounted as `/pubsub` and, deprecated, as `/events`.
 *
 *   Worker ── publish ──→ TopicLog (one of each shard): events, append-only, durable before the answer
 *   Worker ── read, commit ──→ TopicConsumer (one of each client on a topic): cursor and lock ── read ──→ TopicLog
 *   Worker ── create, list ──→ D1: which topics exist; kept 30 s in the isolate, so the lines above ask it nothing
 *
 * A topic: absent → active (created; its logs are open before it can be found). The lock's states stand in lock.ts, the
 * log's in topic-log.do.ts, who may do what in access.ts.
 */
export function createEventRoutes(deps: EventsDeps): Route[] {
  const { names, random, topicLogs: logs, topicConsumers: consumers } = deps;
  const store = createTopicStore(deps.db);
  const directory = new TopicDirectory(store);
  const access = new TopicAccess(deps.access, names);
  const topicPorts = { store, directory, logs, consumers, random };
  const refuse = (error: Failure | Problem): Problem => (isProblem(error) ? error : toProblem(error, names));
  const byTopic = anyToken("the topic's owner needs no scope; everybody else needs one that names the topic");

  return [
    defineRoute({
      method: "POST",
      path: "/topics",
      summary: "Create a topic; the caller becomes its owner",
      access: scoped("pubsub_publish"),
      body: jsonBody(newTopicBody),
      produces: "any",
      handle: (call) =>
        objectCall(deps.log, async () => {
          const created = await createTopic(topicPorts, call.principal, call.body, call.nowMs);
          return created.ok ? empty(201, { location: topicUrl(call.url, created.value) }) : refuse(created.error);
        }),
    }),
    defineRoute({
      method: "GET",
      path: "/topics",
      summary: "List the topics that the caller owns or may consume",
      access: anyToken("the list holds what the caller may see"),
      paged: true,
      handle: async (call) => {
        const page = await store.list(access.visible(call.principal), call.paging);
        const topics = page.items.map((topic) => topicView(topic, topicUrl(call.url, topic)));
        return json(200, topics, { link: pageLinks(call.url, call.paging, page) });
      },
    }),
    defineRoute({
      method: "GET",
      path: "/topics/{topicOwnerClient}/{eventType}",
      summary: "A topic, what it stores, and how far behind the caller is",
      access: byTopic,
      params: topicParams,
      handle: (call) =>
        objectCall(deps.log, async () => {
          const id = topicId(call.params);
          const allowed = await access.mayConsume(call.principal, id, call.nowMs);
          if (!allowed.ok) return refuse(allowed.error);
          const found = await getTopic(topicPorts, id, call.principal, call.nowMs);
          if (!found.ok) return refuse(found.error);
          const [topic, status] = found.value;
          return json(200, { ...topicView(topic, `${call.url.origin}${call.url.pathname}`), ...status });
        }),
    }),
    defineRoute({
      method: "POST",
      path: "/topics/{topicOwnerClient}/{eventType}/publish",
      summary: "Publish an event or an array of events",
      access: scoped("pubsub_publish"),
      params: topicParams,
      body: jsonBody(z.unknown(), PUBLISH.maxRequestBytes),
      handle: (call) =>
        objectCall(deps.log, async () => {
          const topic = topicId(call.params);
          const allowed = access.mayOwn(call.principal, topic);
          if (!allowed.ok) return refuse(allowed.error);
          const { principal, body, nowMs } = call;
          const key = call.request.headers.get("idempotency-key");
          const ports = { directory, logs, access: deps.access };
          const published = await publish(ports, { topic, principal, body, key, nowMs });
          return published.ok ? json(201, { ids: published.value }) : refuse(published.error);
        }),
    }),
    defineRoute({
      method: "POST",
      path: "/topics/{topicOwnerClient}/{eventType}/read",
      summary: "Read the next events and lock the topic for the calling client",
      access: byTopic,
      params: topicParams,
      body: optionalJsonBody(readBody),
      handle: (call) =>
        objectCall(deps.log, async () => {
          const id = topicId(call.params);
          const allowed = await access.mayConsume(call.principal, id, call.nowMs);
          if (!allowed.ok) return refuse(allowed.error);
          const answer = await read({ directory, consumers }, id, call.principal, call.body ?? {}, call.nowMs);
          return answer.ok ? readResponse(answer.value, call.url, names) : refuse(answer.error);
        }),
    }),
    defineRoute({
      method: "POST",
      path: "/topics/{topicOwnerClient}/{eventType}/commit",
      summary: "Commit the events that were read under a token",
      access: byTopic,
      params: topicParams,
      body: jsonBody(commitBody),
      produces: "any",
      handle: (call) =>
        objectCall(deps.log, async () => {
          const id = topicId(call.params);
          const allowed = await access.mayConsume(call.principal, id, call.nowMs);
          if (!allowed.ok) return refuse(allowed.error);
          const done = await commit({ directory, consumers }, id, call.principal, call.body.token, call.nowMs);
          return done.ok ? empty(200) : refuse(done.error);
        }),
    }),
  ];
}

const topicParams = z.object({
  topicOwnerClient: matching(PATTERNS.clientName),
  eventType: matching(PATTERNS.eventType),
});

const topicId = (params: z.infer<typeof topicParams>) => ({
  owner: params.topicOwnerClient,
  eventType: params.eventType,
});

/** `url` is the collection's own address. */
const topicUrl = (url: URL, topic: Topic): string => `${url.origin}${url.pathname}/${topic.owner}/${topic.eventType}`;

const topicView = (topic: Topic, href: string) => ({
  topicOwnerClient: topic.owner,
  eventType: topic.eventType,
  description: topic.description,
  createdAt: topic.createdAtMs,
  shards: topic.shards,
  state: topic.state,
  href,
});

/** The events are JSON already: they are put together as text, not parsed. */
function readResponse(answer: ReadAnswer, url: URL, names: Names): Response {
  if (answer.kind === "empty")
    return empty(204, answer.more ? { link: `<${url.origin}${url.pathname}>; rel="more"` } : {});
  const token = answer.token === undefined ? "" : `,"token":${JSON.stringify(answer.token)}`;
  const headers: Record<string, string> = {
    "content-type": "application/json",
    "cache-control": "no-store",
    [names.header("delivery-attempt")]: String(answer.attempt),
  };
  if (answer.lost > 0) headers[names.header("events-lost")] = String(answer.lost);
  return new Response(`{"events":[${answer.events}]${token}}`, { status: 200, headers });
}

/** An object that is restarting or overloaded is no bug: the caller is asked to come again. */
async function objectCall(log: Log, run: () => Promise<Answer>): Promise<Answer> {
  try {
    return await run();
  } catch (thrown) {
    const fault = thrown as { retryable?: boolean; overloaded?: boolean };
    if (fault?.retryable !== true && fault?.overloaded !== true) throw thrown;
    log.warn("topic object unavailable", { overloaded: fault.overloaded === true });
    return problem("service_temporarily_unavailable", "The topic cannot be reached at the moment.", {
      headers: { "retry-after": "1" },
    });
  }
}
