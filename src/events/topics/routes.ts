import * as z from "zod/mini";
import { defineRoute, empty, json, jsonBody, jsonPage, type Route } from "../../http/route.ts";
import { ok } from "../../platform/model/result.ts";
import { asOwner, asReader, callerOf, withRetryAfter, topicParams, type RequestPorts } from "../access/request.ts";
import { PUBLISH } from "../model/limits.ts";
import type { Topic } from "../model/topic.ts";
import { publish, type PublishPorts } from "../publish/publish.ts";
import { clearTopic, deleteTopic, type DeletePorts } from "./delete.ts";
import { createMissing, type PlatformTopic } from "./platform-topics.ts";
import { createTopic, getTopic, newTopicBody, topicFields, type TopicPorts } from "./topics.ts";

interface Ports extends RequestPorts, TopicPorts, DeletePorts, PublishPorts {
  readonly platformTopics: readonly PlatformTopic[];
}

/** Routes for topics and publishing. */
export const topicRoutes = (ports: Ports): Route[] => [
  defineRoute({
    method: "POST",
    path: "/topics",
    summary: "Create a topic; the caller becomes its owner",
    operation: "createTopic",
    body: jsonBody(newTopicBody),
    produces: "any",
    handle: (call) =>
      withRetryAfter(ports, async () => {
        const allowed = await ports.access.mayCreate(call.principal, call.body.eventType, call.nowMs);
        if (!allowed.ok) return allowed;
        const created = await createTopic(ports, call.principal, call.body, call.nowMs);
        return created.ok ? ok(empty(201, { location: topicUrl(call.url, created.value) })) : created;
      }),
  }),
  defineRoute({
    method: "GET",
    path: "/topics",
    summary: "List the topics that the caller owns or may consume",
    operation: "listTopics",
    paged: true,
    handle: (call) =>
      withRetryAfter(ports, async () => {
        const visible = ports.access.visible(call.principal);
        await createMissing(ports.directory, ports.platformTopics, visible, call.nowMs);
        const page = await ports.store.list(visible, call.paging);
        return ok(jsonPage(call, page, (topic) => topicView(topic, topicUrl(call.url, topic))));
      }),
  }),
  defineRoute({
    method: "GET",
    path: "/topics/{topicOwnerClient}/{eventType}",
    summary: "A topic, what it stores, and how far behind the caller is",
    operation: "readTopic",
    params: topicParams,
    handle: (call) =>
      asReader(ports, call, async (id, reader) => {
        const found = await getTopic(ports, id, reader, call.nowMs);
        if (!found.ok) return found;
        const [topic, status] = found.value;
        return ok(json(200, { ...topicView(topic, `${call.url.origin}${call.url.pathname}`), ...status }));
      }),
  }),
  defineRoute({
    method: "DELETE",
    path: "/topics/{topicOwnerClient}/{eventType}",
    summary: "Delete a topic with its events, cursors and subscriptions",
    operation: "deleteTopic",
    params: topicParams,
    produces: "any",
    handle: (call) =>
      asOwner(ports, call, async (id) => {
        const deleted = await deleteTopic(ports, id);
        if (!deleted.ok) return deleted;
        call.waitUntil(clearTopic(ports, deleted.value, call.nowMs, callerOf(call)));
        return ok(empty(202));
      }),
  }),
  defineRoute({
    method: "POST",
    path: "/topics/{topicOwnerClient}/{eventType}/publish",
    summary: "Publish an event or an array of events",
    operation: "publishEvents",
    params: topicParams,
    body: jsonBody(z.unknown(), PUBLISH.maxRequestBytes),
    handle: (call) =>
      asOwner(ports, call, async (topic) => {
        const { principal, body, nowMs } = call;
        const key = call.request.headers.get("idempotency-key");
        const published = await publish(ports, { topic, principal, body, key, nowMs });
        return published.ok ? ok(json(201, { ids: published.value })) : published;
      }),
  }),
];

/** `url` is the collection's own address. */
const topicUrl = (url: URL, topic: Topic): string => `${url.origin}${url.pathname}/${topic.owner}/${topic.eventType}`;

const topicView = (topic: Topic, href: string) => ({ ...topicFields(topic), href });
