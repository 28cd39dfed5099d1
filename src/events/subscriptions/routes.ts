import * as z from "zod/mini";
import type { Principal } from "../../http/callers/auth.ts";
import { invalid, type Problem } from "../../http/errors/errors.ts";
import {
  defineRoute,
  empty,
  json,
  jsonBody,
  jsonPage,
  optionalJsonBody,
  type Answer,
  type Route,
} from "../../http/route.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import { asConsumer, changeBy, topicParams, type RequestPorts } from "../access/request.ts";
import type { Failure } from "../model/failure.ts";
import { SUBSCRIPTION } from "../model/limits.ts";
import { DELIVERY_STATES } from "../push/types.ts";
import { subscriptionBodies, subscriptionName, subscriptionView } from "./body.ts";
import { deleteSubscription, rotateSigningSecret, updateSubscription } from "./changes.ts";
import { deliveryView, listDeliveries, redeliver, testSubscription, testView } from "./deliveries.ts";
import {
  createSubscription,
  findSubscription,
  listSubscriptions,
  makingBy,
  statusOf,
  type FoundSubscription,
  type SubscriptionPorts,
} from "./subscriptions.ts";

const COLLECTION = "/topics/{topicOwnerClient}/{eventType}/subscriptions";
const ONE = `${COLLECTION}/{name}`;

const params = z.extend(topicParams, { name: subscriptionName });

const rotation = z.object({
  previousValidMs: z.optional(z.int().check(z.gte(0), z.lte(SUBSCRIPTION.maxPreviousSecretMs))),
});

/** Routes for push subscriptions of the calling client. */
export const subscriptionRoutes = (ports: RequestPorts & SubscriptionPorts): Route[] => {
  const bodies = subscriptionBodies(ports.push.allowLoopback);
  return [
    defineRoute({
      method: "GET",
      path: COLLECTION,
      summary: "List the calling client's push subscriptions",
      operation: "listSubscriptions",
      params: topicParams,
      handle: (call) =>
        asConsumer(ports, call, async (topic) => {
          const listed = await listSubscriptions(ports, topic, call.principal, call.nowMs);
          if (!listed.ok) return listed;
          const subscriptions = listed.value.map(({ name }) => ({ name, href: below(call.url, name) }));
          return ok(json(200, subscriptions));
        }),
    }),
    defineRoute({
      method: "POST",
      path: COLLECTION,
      summary: "Create a push subscription; the answer shows its signing secret once",
      operation: "createSubscription",
      params: topicParams,
      body: jsonBody(bodies.creation),
      handle: (call) =>
        asConsumer(ports, call, async (topic) => {
          const created = await createSubscription(ports, topic, call.principal, call.body, changeBy(call));
          if (!created.ok) return created;
          const { record, signingSecret } = created.value;
          const headers = { location: below(call.url, record.name), "cache-control": "no-store" };
          return ok(json(201, { ...subscriptionView(record), signingSecret }, headers));
        }),
    }),
    defineRoute({
      method: "GET",
      path: ONE,
      summary: "A push subscription, and how far it is",
      operation: "readSubscription",
      params,
      handle: (call) =>
        onSubscription(ports, call, async (found) =>
          ok(json(200, { ...subscriptionView(found.record), ...(await statusOf(ports, found)) })),
        ),
    }),
    defineRoute({
      method: "PUT",
      path: ONE,
      summary: "Change endpoint, username and password of a push subscription, and enable it",
      operation: "updateSubscription",
      params,
      body: jsonBody(bodies.update),
      handle: (call) =>
        onSubscription(ports, call, async (found) => {
          const { body, principal } = call;
          if (body.name !== undefined && body.name !== found.record.name) return err(NAME_STAYS);
          const making = makingBy(ports, principal, found.topic, call.requestId);
          const updated = await updateSubscription(ports, found, body, making, changeBy(call));
          if (!updated.ok) return updated;
          const { topic } = found;
          const standing = await statusOf(ports, { topic, record: updated.value });
          return ok(json(200, { ...subscriptionView(updated.value), ...standing }));
        }),
    }),
    defineRoute({
      method: "DELETE",
      path: ONE,
      summary: "Delete a push subscription",
      operation: "deleteSubscription",
      params,
      produces: "any",
      handle: (call) =>
        onSubscription(ports, call, async ({ record }) => {
          const deleted = await deleteSubscription(ports, record, changeBy(call));
          return deleted.ok ? ok(empty(204)) : deleted;
        }),
    }),
    defineRoute({
      method: "GET",
      path: `${ONE}/deliveries`,
      summary: "What became of each event, the latest first",
      operation: "listDeliveries",
      params,
      query: z.object({ state: z.optional(z.enum(DELIVERY_STATES)) }),
      paged: true,
      handle: (call) =>
        onSubscription(ports, call, async (found) => {
          const page = await listDeliveries(ports, found, call.query.state, call.paging);
          if (!page.ok) return page;
          return ok(jsonPage(call, page.value, (delivery) => deliveryView(delivery, found.record)));
        }),
    }),
    defineRoute({
      method: "POST",
      path: `${ONE}/deliveries/{eventId}/redeliver`,
      summary: "Deliver an event again",
      operation: "redeliverEvent",
      params: z.extend(params, { eventId: z.string() }),
      produces: "any",
      handle: (call) =>
        onSubscription(ports, call, async (found) => {
          const again = await redeliver(ports, found, call.params.eventId);
          return again.ok ? ok(empty(202)) : again;
        }),
    }),
    defineRoute({
      method: "POST",
      path: `${ONE}/signing-secret`,
      summary: "Replace the signing secret; the answer shows the new one once",
      operation: "rotateSigningSecret",
      params,
      body: optionalJsonBody(rotation),
      handle: (call) =>
        onSubscription(ports, call, async (found) => {
          const previousMs = call.body?.previousValidMs ?? SUBSCRIPTION.previousSecretMs;
          const rotated = await rotateSigningSecret(ports, found, previousMs, changeBy(call));
          if (!rotated.ok) return rotated;
          const { signingSecret, previousUntilMs } = rotated.value;
          const view = { signingSecret, previousValidUntil: previousUntilMs ?? null };
          return ok(json(200, view, { "cache-control": "no-store" }));
        }),
    }),
    defineRoute({
      method: "POST",
      path: `${ONE}/test`,
      summary: "Send a test event to the endpoint and tell what came of it",
      operation: "testSubscription",
      params,
      handle: (call) =>
        onSubscription(ports, call, async (found) => {
          const tried = await testSubscription(ports, found, call.principal.tenant);
          return tried.ok ? ok(json(200, testView(tried.value))) : tried;
        }),
    }),
  ];
};

interface SubscriptionCall {
  readonly request: Request;
  readonly principal: Principal;
  readonly params: z.infer<typeof params>;
  readonly nowMs: number;
}

/** Runs an operation on the caller's own subscription. */
const onSubscription = (
  ports: RequestPorts & SubscriptionPorts,
  call: SubscriptionCall,
  run: (found: FoundSubscription) => Promise<Result<Answer, Failure | Problem>>,
): Promise<Answer> =>
  asConsumer(ports, call, async (topic) => {
    const found = await findSubscription(ports, topic, call.principal, call.params.name, call.nowMs);
    return found.ok ? run(found.value) : found;
  });

const NAME_STAYS = invalid("invalid_field", "name", "The name of a subscription cannot be changed.");

/** `url` is the collection's own address. */
const below = (url: URL, name: string): string => `${url.origin}${url.pathname}/${name}`;
