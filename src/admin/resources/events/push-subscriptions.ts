import * as z from "zod/mini";
import { noSuch } from "../../../http/errors/errors.ts";
import { invalidCursor, type Page, type Paging } from "../../../http/input/paging.ts";
import { defineRoute, empty, json, jsonPage, type Answer, type Route } from "../../../http/route.ts";
import type { Principal } from "../../../http/callers/auth.ts";
import { matching } from "../../../http/input/validate.ts";
import type { AuditLog } from "../../audit/audit-log.ts";
import { noteRead } from "../../audit/record.ts";
import { actorOf } from "../../../platform/ports/audit.ts";
import { identifier } from "../../model/fields.ts";
import { PATTERNS } from "../../../platform/model/names.ts";
import type { WaitUntil } from "../../../platform/runtime/wait-until.ts";

interface ChangedBy {
  readonly actor: string;
  readonly requestId: string;
}

interface Change {
  readonly by: ChangedBy;
  readonly nowMs: number;
  readonly waitUntil: WaitUntil;
}

/** The port to the events service: push subscriptions of all clients. What has `by` writes an audit row. */
export interface PushSubscriptions {
  find(id: string): Promise<PushSubscription | undefined>;
  list(filter: Filter, paging: Paging): Promise<Page<PushSubscription> | undefined>;
  remove(id: string, change: Change): Promise<boolean>;
  status(id: string, nowMs: number): Promise<Answer>;
  deliveries(id: string, state: DeliveryState | undefined, paging: Paging, url: URL, nowMs: number): Promise<Answer>;
  delivery(id: string, eventId: string, nowMs: number): Promise<Answer>;
  redeliver(id: string, eventId: string, by: ChangedBy, nowMs: number): Promise<Answer>;
  redeliverDead(id: string, by: ChangedBy, nowMs: number): Promise<Answer>;
  test(id: string, tenant: string, by: ChangedBy, nowMs: number): Promise<Answer>;
}

const DELIVERY_STATES = ["pending", "delivered", "dead"] as const;
type DeliveryState = (typeof DELIVERY_STATES)[number];

interface PushSubscription {
  readonly id: string;
  readonly topic: string;
  readonly client: string;
  readonly name: string;
  readonly endpoint: string;
  readonly state: string;
  readonly halt?: string | undefined;
  readonly asOwner: boolean;
  readonly made:
    | { readonly tenant: string; readonly requestId: string; readonly scope: string | undefined }
    | undefined;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** The name of a topic, `<owner>.<eventType>`. No name is longer. */
const TOPIC = /^[A-Za-z0-9._-]{1,200}$/;
const query = z.object({
  client: z.optional(identifier),
  topic: z.optional(matching(TOPIC, "must be the name of a topic: <owner>.<eventType>")),
  maker: z.optional(z.enum(["unknown"])),
});
type Filter = z.output<typeof query>;

type Looks = Pick<AuditLog, "listed">;

const COLLECTION = "/push-subscriptions";
const ONE = `${COLLECTION}/{subscriptionId}`;
const params = z.object({
  subscriptionId: matching(PATTERNS.pushSubscription),
});

/**
 * Push subscriptions of all clients. The operator can remove and test a subscription and repeat its deliveries, but not
 * create or change one. Each of these, and reading an event, leaves a row in the audit log.
 */
export const pushSubscriptionRoutes = (subscriptions: PushSubscriptions, audit: Looks): readonly Route[] => [
  defineRoute({
    method: "GET",
    path: COLLECTION,
    summary: "List push subscriptions of all clients; by client, topic, and whether it is known who made them",
    operation: "listPushSubscriptions",
    query,
    paged: true,
    handle: async (call) => {
      const page = await subscriptions.list(call.query, call.paging);
      return page === undefined ? invalidCursor() : jsonPage(call, page, toJson);
    },
  }),
  defineRoute({
    method: "GET",
    path: ONE,
    summary: "Show a push subscription",
    operation: "readPushSubscription",
    params,
    handle: async (call) => {
      const found = await subscriptions.find(call.params.subscriptionId);
      return found === undefined ? noSuch("push subscription") : json(200, toJson(found));
    },
  }),
  defineRoute({
    method: "DELETE",
    path: ONE,
    summary: "Remove a push subscription; nothing is sent to its endpoint any more",
    operation: "removePushSubscription",
    params,
    produces: "any",
    handle: async (call) => {
      const { nowMs, waitUntil } = call;
      const wasThere = await subscriptions.remove(call.params.subscriptionId, { by: byOf(call), nowMs, waitUntil });
      return wasThere ? empty(204) : noSuch("push subscription");
    },
  }),
  defineRoute({
    method: "GET",
    path: `${ONE}/status`,
    summary: "How the deliveries of a push subscription stand",
    operation: "readPushStatus",
    params,
    handle: (call) => subscriptions.status(call.params.subscriptionId, call.nowMs),
  }),
  defineRoute({
    method: "GET",
    path: `${ONE}/deliveries`,
    summary: "What became of each event, the latest first",
    operation: "listPushDeliveries",
    params,
    query: z.object({ state: z.optional(z.enum(DELIVERY_STATES)) }),
    paged: true,
    handle: (call) =>
      subscriptions.deliveries(call.params.subscriptionId, call.query.state, call.paging, call.url, call.nowMs),
  }),
  defineRoute({
    method: "GET",
    path: `${ONE}/deliveries/{eventId}`,
    summary: "Show what became of an event, and what each attempt sent and heard",
    operation: "readPushDelivery",
    params: z.extend(params, { eventId: z.string() }),
    handle(call) {
      const { subscriptionId, eventId } = call.params;
      const subject = `push-subscriptions/${subscriptionId}/deliveries`;
      return noteRead(subscriptions.delivery(subscriptionId, eventId, call.nowMs), subject, call, audit);
    },
  }),
  defineRoute({
    method: "POST",
    path: `${ONE}/deliveries/{eventId}/redeliver`,
    summary: "Deliver an event again",
    operation: "redeliverPush",
    params: z.extend(params, { eventId: z.string() }),
    produces: "any",
    handle: (call) => subscriptions.redeliver(call.params.subscriptionId, call.params.eventId, byOf(call), call.nowMs),
  }),
  defineRoute({
    method: "POST",
    path: `${ONE}/redeliver-dead`,
    summary: "Deliver the dead letters again",
    operation: "redeliverDeadPush",
    params,
    handle: (call) => subscriptions.redeliverDead(call.params.subscriptionId, byOf(call), call.nowMs),
  }),
  defineRoute({
    method: "POST",
    path: `${ONE}/test`,
    summary: "Send a test event to the endpoint and tell what came of it",
    operation: "testPush",
    params,
    handle: (call) => subscriptions.test(call.params.subscriptionId, call.principal.tenant, byOf(call), call.nowMs),
  }),
];

const byOf = ({ principal, requestId }: { readonly principal: Principal; readonly requestId: string }): ChangedBy => ({
  actor: actorOf(principal),
  requestId,
});

/** Shows only the origin of the endpoint, because the path and query of a webhook often are secrets. */
const toJson = (found: PushSubscription): object => ({
  id: found.id,
  topic: found.topic,
  client: found.client,
  name: found.name,
  endpointOrigin: new URL(found.endpoint).origin,
  state: found.state,
  halt: found.halt ?? null,
  right: found.asOwner ? "owner" : "scope",
  made:
    found.made === undefined
      ? null
      : { tenant: found.made.tenant, requestId: found.made.requestId, scope: found.made.scope ?? null },
  createdAt: found.createdAtMs,
  updatedAt: found.updatedAtMs,
});
