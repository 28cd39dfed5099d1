import { int, oneOf, str, time } from "./schema.ts";

/** A topic, as the events service and the operator service show it. */
export const topicFields = {
  topicOwnerClient: str("The client that owns the topic."),
  eventType: str("The topic's event type."),
  description: str("The owner's description; may be empty."),
  createdAt: time("When the topic was created."),
  shards: int("The topic's number of logs."),
  state: oneOf(["active", "deleting"], "`deleting` until its events, cursors and subscriptions are gone."),
};

export const topic = {
  topicOwnerClient: "demo.shop",
  eventType: "orderCreated",
  description: "An order was placed.",
  createdAt: 1_763_000_000_000,
  shards: 1,
  state: "active",
};

export const event = {
  id: "2i9y2sgxk8v5e3a1",
  createdAt: 1_763_000_060_000,
  tenant: "demo",
  sourceClient: "demo.shop",
  eventType: "orderCreated",
  payload: '{"order":"4711"}',
};
