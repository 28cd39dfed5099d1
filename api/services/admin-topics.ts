import type { Entry } from "../model/entry.ts";
import { DELIVERY_STATUS } from "../model/push.ts";
import { bool, int, list, obj, oneOf, orNull, ref, str, time, type Schema } from "../model/schema.ts";
import { TAGS } from "./admin-resources.ts";

const TOPIC = "/topics/{topicOwnerClient}/{eventType}";
const SUBSCRIPTION = "/push-subscriptions/{subscriptionId}";

const topicFields = {
  topicOwnerClient: str("The client that owns the topic."),
  eventType: str("The topic's event type."),
  description: str("The owner's description; may be empty."),
  createdAt: time("When the topic was created."),
  shards: int("The topic's number of logs."),
  state: oneOf(["active", "deleting"], "`deleting` until its events, cursors and subscriptions are gone."),
};
const topic = {
  topicOwnerClient: "demo.shop",
  eventType: "orderCreated",
  description: "An order was placed.",
  createdAt: 1_763_000_000_000,
  shards: 1,
  state: "active",
};
const consumer = { client: "acme.erp", ofPerson: false, onlyTenant: null, name: null, lag: 3 };
const event = {
  id: "2i9y2sgxk8v5e3a1",
  createdAt: 1_763_000_060_000,
  tenant: "demo",
  sourceClient: "demo.shop",
  eventType: "orderCreated",
  payload: '{"order":"4711"}',
};
const result = { durationMs: 84, status: 503, error: "status" };
const delivery = {
  eventId: event.id,
  state: "dead",
  nextAttemptAt: null,
  attemptCount: 9,
  attempts: [{ at: event.createdAt, ...result }],
};
const tried = { delivered: false, ...result };
const NOT_ACTIVE = "`subscription_disabled`, or `subscription_unverified`.";

export const TOPIC_SCHEMAS: Readonly<Record<string, { readonly schema: Schema; readonly example: object }>> = {
  OperatedTopic: { schema: obj(topicFields), example: topic },
  OperatedTopicReport: {
    schema: obj({
      ...topicFields,
      storedEvents: int("Events in the topic's logs."),
      oldestEventAt: orNull(time("When the oldest was published; null: none is stored.")),
      newestEventAt: orNull(time("When the newest was published; null: none is stored.")),
      consumers: list(
        obj({
          client: str("The client that reads."),
          ofPerson: bool("It reads for a person, with a cursor of its own."),
          onlyTenant: orNull(str("It is shown this tenant's events only; null: all.")),
          name: orNull(str("The name that the client gave the consumer; null: it has none.")),
          lag: orNull(int("Stored events that it has not committed; null: not known for one tenant's events.")),
        }),
        "Consumers that have read the topic; at most 50.",
      ),
      moreConsumers: bool("There are more consumers."),
    }),
    example: {
      ...topic,
      storedEvents: 12,
      oldestEventAt: topic.createdAt,
      newestEventAt: event.createdAt,
      consumers: [consumer],
      moreConsumers: false,
    },
  },
  OperatedLook: {
    schema: obj({
      events: list(ref("Event"), "Events, in order of time; in a search, those that match."),
      next: orNull(str("The `after` of the next request; null: this was the end.")),
      read: int("Events that were read, matching or not."),
    }),
    example: { events: [event], next: event.id, read: 500 },
  },
  DeliveryStatus: {
    schema: obj(DELIVERY_STATUS),
    example: { lag: 0, deadLetters: 2, eventsLost: 0, pausedUntil: null },
  },
  RedeliveredDead: {
    schema: obj({
      redelivered: int("Dead letters that are delivered again."),
      more: bool("There are more; ask again."),
    }),
    example: { redelivered: 2, more: false },
  },
};

export const TOPIC_ENTRIES: Readonly<Record<string, Entry>> = {
  "GET /topics": {
    id: "listOperatedTopics",
    tag: TAGS.control,
    about:
      "All clients' topics, by name. A person who runs an organization's tenants sees the topics of their clients.",
    parameters: {
      tenant: { text: "Only those of this tenant's clients.", example: "demo" },
      q: { text: "Only names, `<owner>.<eventType>`, that begin so.", example: "demo.shop.order" },
    },
    answers: { 200: { text: "A page of topics.", json: list(ref("OperatedTopic")), headers: ["Link"] } },
  },
  [`GET ${TOPIC}`]: {
    id: "getOperatedTopic",
    tag: TAGS.control,
    about: "Nothing is locked or moved.",
    answers: { 200: { text: "The topic.", json: ref("OperatedTopicReport") } },
    errors: { 404: "" },
  },
  [`GET ${TOPIC}/events`]: {
    id: "lookAtOperatedTopic",
    tag: TAGS.control,
    about:
      "Nothing is locked or moved; the audit log says who looked. A search reads at most 5,000 events, until some " +
      "match, and `next` continues it.",
    parameters: {
      after: { text: "Begins after this event; default: at the oldest.", example: event.id },
      limit: {
        text: "How many events. A search ignores it.",
        schema: { type: "integer", minimum: 1, maximum: 1000, default: 16 },
      },
      contains: { text: "A text in the id, the payload, or a value of the metadata, in any case.", example: "4711" },
    },
    answers: { 200: { text: "Stored events.", json: ref("OperatedLook") } },
    errors: { 404: "" },
  },
  [`GET ${SUBSCRIPTION}/status`]: {
    id: "getDeliveryStatus",
    tag: TAGS.control,
    answers: { 200: { text: "How its deliveries stand.", json: ref("DeliveryStatus") } },
    errors: { 404: "" },
  },
  [`GET ${SUBSCRIPTION}/deliveries`]: {
    id: "listOperatedDeliveries",
    tag: TAGS.control,
    parameters: { state: { text: "Only those in this state." } },
    answers: {
      200: { text: "A page of deliveries.", json: list(ref("Delivery")), example: [delivery], headers: ["Link"] },
    },
    errors: { 404: "" },
  },
  [`POST ${SUBSCRIPTION}/deliveries/{eventId}/redeliver`]: {
    id: "redeliverOperatedEvent",
    tag: TAGS.control,
    about: "As if it had never been tried.",
    answers: { 202: { text: "It is delivered again." } },
    errors: { 404: "", 409: `\`event_expired\`, ${NOT_ACTIVE}` },
  },
  [`POST ${SUBSCRIPTION}/redeliver-dead`]: {
    id: "redeliverDeadLetters",
    tag: TAGS.control,
    about: "The latest first, 500 at most.",
    answers: { 202: { text: "They are delivered again.", json: ref("RedeliveredDead") } },
    errors: { 404: "", 409: NOT_ACTIVE },
  },
  [`POST ${SUBSCRIPTION}/test`]: {
    id: "testOperatedSubscription",
    tag: TAGS.control,
    about: "An event of no topic, sent once.",
    answers: { 200: { text: "The result.", json: ref("TestDelivery"), example: tried } },
    errors: {
      404: "",
      409: "`subscription_unverified`, or `credentials_unreadable`.",
      429: "One test of a subscription at a time, and one a second.",
    },
  },
};
