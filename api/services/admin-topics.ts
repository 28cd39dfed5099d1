import { event, topic, topicFields } from "../model/topic.ts";
import type { Entry } from "../model/entry.ts";
import { ATTEMPT_RESULT, DELIVERY_STATUS } from "../model/push.ts";
import { bool, int, list, map, obj, oneOf, orNull, ref, str, time, type Schema } from "../model/schema.ts";
import { TAGS } from "./admin-resources.ts";

const TOPIC = "/topics/{topicOwnerClient}/{eventType}";
const SUBSCRIPTION = "/push-subscriptions/{subscriptionId}";

const CONSUMER_ID = "8f14e45fceea167a5a36dedd4bea2543";
const describedConsumer = { id: CONSUMER_ID, client: "acme.erp", ofPerson: false, onlyTenant: null, name: null };
const consumer = { ...describedConsumer, lag: 3 };
const consumerFields = {
  id: str("Its id in this topic."),
  client: str("The client that reads."),
  ofPerson: bool("It reads for a person, with a cursor of its own."),
  onlyTenant: orNull(str("It is shown this tenant's events only; null: all.")),
  name: orNull(str("The name that the client gave the consumer; null: it has none.")),
};
const PLACE: Schema = {
  anyOf: [
    { type: "string", enum: ["oldest", "newest"] },
    { type: "integer", minimum: 0, maximum: 999_999_999_999_999 },
  ],
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
      eventsLastMinute: int("Events that were published in the last minute."),
      eventsLastHour: int("Events that were published in the last hour."),
      storedBytes: orNull(int("Size of its logs' databases; null: not known now.")),
      consumers: list(
        obj({
          ...consumerFields,
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
      eventsLastMinute: 1,
      eventsLastHour: 4,
      storedBytes: 65_536,
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
  CursorMove: {
    schema: obj({
      ...consumerFields,
      again: orNull(int("Events that it would read again; null: not known for one tenant's events.")),
      skipped: orNull(int("Events that it would never read; null: not known for one tenant's events.")),
      first: list(ref("Event"), "The first events that it would read then; at most five."),
    }),
    example: { ...describedConsumer, again: 9, skipped: 0, first: [event] },
  },
  DeliveryStatus: {
    schema: obj(DELIVERY_STATUS),
    example: { lag: 0, deadLetters: 2, eventsLost: 0, pausedUntil: null },
  },
  DeliveryReport: {
    schema: obj({
      eventId: str("The event."),
      state: oneOf(["pending", "delivered", "dead"], "`dead`: every attempt failed; it can be delivered again."),
      nextAttemptAt: orNull(time("When the next attempt comes; null: never.")),
      attemptCount: int("Number of attempts."),
      body: orNull(str("What each attempt sends: the event's JSON; null: nobody has it any more.")),
      attempts: list(
        obj({
          at: time("When the attempt was made."),
          ...ATTEMPT_RESULT,
          headers: map({ type: "string" }, "Headers of its request, without password and signature."),
          answer: orNull(
            str("The beginning of what the endpoint said, if it refused; 500 bytes at most. Null: nothing was kept."),
          ),
        }),
        "The last 20 attempts.",
      ),
    }),
    example: {
      ...delivery,
      body: JSON.stringify(event),
      attempts: [
        {
          at: event.createdAt,
          ...result,
          headers: {
            "content-type": "application/json",
            "user-agent": "plat-push",
            "webhook-id": event.id,
            "webhook-timestamp": "1763000060",
            "plat-delivery-attempt": "1",
          },
          answer: "The database is not there.",
        },
      ],
    },
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
      "All clients' topics, by name. A person who runs an organization's tenants sees the topics of their clients. A page " +
      "reads at most 1,000 tenants, so it may be short or empty with a `next` link. Page numbers lead to the first 1,000.",
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
  [`POST ${TOPIC}/events`]: {
    id: "publishOperatedEvent",
    tag: TAGS.control,
    about:
      "The event is the owner's, of its tenant or of another one that it may act for. Nobody publishes to topics of " +
      "the platform itself. The audit log says who did. With `Idempotency-Key`, a repeat within 24 h answers the " +
      "same id and stores nothing.",
    headers: ["Idempotency-Key"],
    body: {
      fields: {
        payload: "At most 256 KiB.",
        metadata: "Texts beside it; at most 16 KiB.",
        tenant: "The event's tenant; default: the owner's.",
      },
      more: { metadata: { type: "object", additionalProperties: { type: "string" } } },
      example: { payload: event.payload },
    },
    answers: {
      201: {
        text: "It is stored.",
        json: obj({ id: str("The event's id.") }),
        example: { id: event.id },
      },
    },
    errors: { 404: "", 409: "The owner is disabled, the topic is the platform's, or the key has another event." },
  },
  [`GET ${TOPIC}/consumers/{consumerId}/seek`]: {
    id: "previewMove",
    tag: TAGS.control,
    about: "Nothing is moved. Reads go on meanwhile, so the numbers are those of the moment.",
    parameters: { to: { text: "`oldest`, `newest`, or a time in milliseconds.", example: "oldest", schema: PLACE } },
    answers: { 200: { text: "What it would do.", json: ref("CursorMove") } },
    errors: { 404: "" },
  },
  [`POST ${TOPIC}/consumers/{consumerId}/seek`]: {
    id: "moveCursor",
    tag: TAGS.control,
    about: "Its next read begins there. The audit log says who did.",
    body: {
      fields: { to: "`oldest`, `newest`, or a time: the first event at or after it." },
      example: { to: "oldest" },
    },
    answers: { 204: { text: "It is moved." } },
    errors: { 404: "", 409: "It holds a batch; `Retry-After` says until when." },
  },
  [`GET ${SUBSCRIPTION}/status`]: {
    id: "getDeliveryStatus",
    tag: TAGS.control,
    about:
      "Shows how many events are not delivered yet, how many failed for good, how many were lost to retention, and until when deliveries pause.",
    answers: { 200: { text: "How its deliveries stand.", json: ref("DeliveryStatus") } },
    errors: { 404: "" },
  },
  [`GET ${SUBSCRIPTION}/deliveries`]: {
    id: "listOperatedDeliveries",
    tag: TAGS.control,
    about: "A delivery is one event on its way to the endpoint. Delivered ones are kept for 7 days, dead ones for 30.",
    parameters: { state: { text: "Only those in this state." } },
    answers: {
      200: { text: "A page of deliveries.", json: list(ref("Delivery")), example: [delivery], headers: ["Link"] },
    },
    errors: { 404: "" },
  },
  [`GET ${SUBSCRIPTION}/deliveries/{eventId}`]: {
    id: "getOperatedDelivery",
    tag: TAGS.control,
    about: "A look at it leaves a row in the audit log.",
    answers: { 200: { text: "The delivery.", json: ref("DeliveryReport") } },
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
