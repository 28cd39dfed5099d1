import type { Principal } from "../../../../src/http/callers/auth.ts";
import type { EventsApp, EventsCall } from "../events-app.ts";
import { registeredClient } from "../registered-client.ts";
import { makeTopic, type TestTopic } from "../test-topic.ts";
import { objectsOf } from "../topic-objects.ts";
import { body } from "./subscription-body.ts";

/** The subscriptions of a client on a topic. */
export function subscriptionsOf(app: EventsApp, topic: TestTopic, as: Principal = topic.owner) {
  const collection = `${topic.path}/subscriptions`;
  const send = (path: string, init: EventsCall = {}) => app.call(path, { as, ...init });
  return {
    collection,
    send,
    create: (json: unknown = body()) => send(collection, { json }),
    list: () => send(collection),
    get: (name = "orders") => send(`${collection}/${name}`),
    put: (json: unknown, name = "orders") => send(`${collection}/${name}`, { method: "PUT", json }),
    remove: (name = "orders") => send(`${collection}/${name}`, { method: "DELETE" }),
    rotate: (json?: unknown) => send(`${collection}/orders/signing-secret`, { method: "POST", json }),
    post: (path: string, name = "orders") => send(`${collection}/${name}/${path}`, { method: "POST" }),
  };
}

/** A topic whose owner is registered, the objects behind it, and its owner's subscriptions. */
export async function topicWithSubscriptions(app: EventsApp, options: { shards?: number } = {}) {
  const topic = await makeTopic(app, { ...options, owner: await registeredClient() });
  return { topic, ...(await objectsOf(topic)), ...subscriptionsOf(app, topic) };
}
