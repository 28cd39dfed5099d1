import * as z from "zod/mini";
import { invalidCursor } from "../../http/input/paging.ts";
import { defineRoute, empty, jsonPage, type Route } from "../../http/route.ts";
import { matching } from "../../http/input/validate.ts";
import { err, ok } from "../../platform/model/result.ts";
import { asOverseer, changeBy, topicParams, type RequestPorts } from "../access/request.ts";
import { originOf } from "../push/record/audit.ts";
import type { PushRecord } from "../push/record/record.ts";
import { deleteSubscription } from "./changes.ts";
import { activeTopic, type SubscriptionPorts } from "./subscriptions.ts";
import { PATTERNS } from "../../platform/model/names.ts";

const COLLECTION = "/topics/{topicOwnerClient}/{eventType}/subscribers";

/**
 * Routes for a topic's owner: every client's push subscriptions. The owner sees the origin of an endpoint but neither
 * the whole address nor the user. It may end a subscription but not change it, since it belongs to another client.
 */
export const subscriberRoutes = (ports: RequestPorts & SubscriptionPorts): Route[] => [
  defineRoute({
    method: "GET",
    path: COLLECTION,
    summary: "List every client's push subscriptions on the topic, for its owner",
    operation: "listSubscribers",
    params: topicParams,
    paged: true,
    handle: (call) =>
      asOverseer(ports, call, async (id) => {
        const topic = await activeTopic(ports, id, call.nowMs);
        if (topic === undefined) return err({ kind: "no_topic" });
        const page = await ports.push.store.listOfTopic(topic.incarnation, call.paging);
        return page === undefined ? err(invalidCursor()) : ok(jsonPage(call, page, subscriberView));
      }),
  }),
  defineRoute({
    method: "DELETE",
    path: `${COLLECTION}/{subscriberId}`,
    summary: "End a client's push subscription on the topic, as its owner",
    operation: "endSubscriber",
    params: z.extend(topicParams, { subscriberId: matching(PATTERNS.pushSubscription) }),
    produces: "any",
    handle: (call) =>
      asOverseer(ports, call, async (id) => {
        const topic = await activeTopic(ports, id, call.nowMs);
        if (topic === undefined) return err({ kind: "no_topic" });
        const record = await ports.push.store.findAsked(call.params.subscriberId);
        if (record?.incarnation !== topic.incarnation) return err({ kind: "no_subscription" });
        const ended = await deleteSubscription(ports, record, changeBy(call));
        return ended.ok ? ok(empty(204)) : ended;
      }),
  }),
];

const subscriberView = (record: PushRecord) => ({
  id: record.id,
  client: record.client,
  name: record.name,
  endpointOrigin: originOf(record.endpoint),
  right: record.asOwner ? "owner" : "scope",
  state: record.state,
  halt: record.halt ?? null,
  createdAt: record.createdAtMs,
  updatedAt: record.updatedAtMs,
});
