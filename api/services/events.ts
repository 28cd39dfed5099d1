import { event, topic, topicFields } from "../model/topic.ts";
import type { Entry, Parameter, ServiceEntries } from "../model/entry.ts";
import { ATTEMPT_RESULT, DELIVERY_STATUS, HALT, RIGHT, STATE } from "../model/push.ts";
import { bool, int, list, map, obj, oneOf, orNull, ref, str, time, uri } from "../model/schema.ts";

/** Publish/subscribe. The same operations are mounted again under a deprecated path. */
const TOPIC_PATH = "/topics/{topicOwnerClient}/{eventType}";
const SUBSCRIPTION_PATH = `${TOPIC_PATH}/subscriptions/{name}`;

const ownTopicFields = {
  ...topicFields,
  topicOwnerClient: str("The client that owns the topic; only it can publish."),
  shards: int("The topic's number of logs. Events of one tenant stay in order, as do all events of one shard."),
  href: uri("The topic's own address."),
};
const ownTopic = { ...topic, href: "https://platform.example/pubsub/v1/topics/demo.shop/orderCreated" };
const ownEvent = { ...event, metadata: { schema: "order-v1" } };
const newEvent = { payload: ownEvent.payload, metadata: ownEvent.metadata };
const subscriptionFields = {
  name: str("The subscription's name, unique for the client on this topic."),
  pushConfig: obj(
    {
      endpoint: uri("The endpoint for the `POST` of each event."),
      basicAuth: obj(
        { username: str("Sent as HTTP Basic."), password: str("Always `********`.", { enum: ["********"] }) },
        "The platform's authentication at the endpoint.",
      ),
      "handshake?": bool("The endpoint is verified before its first event; absent: it is not."),
    },
    "Where events go.",
  ),
  state: STATE,
  halt: HALT,
  createdAt: time("When it was created."),
  updatedAt: time("When it was changed last."),
};
const subscription = {
  name: "orders-to-erp",
  pushConfig: {
    endpoint: "https://erp.example/hooks/orders",
    basicAuth: { username: "platform", password: "********" },
  },
  state: "active",
  halt: null,
  createdAt: 1_763_000_000_000,
  updatedAt: 1_763_000_000_000,
};
const SUBSCRIBERS_PATH = `${TOPIC_PATH}/subscribers`;
const subscriber = {
  id: "8f14e45fceea167a5a36dedd4bea2543",
  client: "acme.erp",
  name: subscription.name,
  endpointOrigin: "https://erp.example",
  right: "scope",
  state: "active",
  halt: null,
  createdAt: subscription.createdAt,
  updatedAt: subscription.updatedAt,
};

const TOPIC = "Topics";
const CONSUMING = "Consuming";
const PUSH = "Push subscriptions";
const SCOPE = "Owners need no scope; others need `plat.pubsub.topic=<owner>.<eventType>`, which may end in `*`.";
const GONE = "There is no such topic, it is being deleted, or the caller has no right to see it.";
const NO_SCOPE = "The token lacks the topic's scope, for which its client is registered.";
const consumer = { 403: NO_SCOPE, 404: GONE };
const token = "The token of the read that locked the topic.";
const LOCKED = "`topic_locked`: the client has an uncommitted batch; `Retry-After` says for how long.";
const TOO_MANY = "`too_many_consumers`: the caller has 100 named consumers on this topic.";
const NOT_LOCKED =
  "`topic_not_locked`; `details[0].type` is `already_committed`, `lock_expired` or `unknown_token`, " +
  "which tells the outcome after a lost answer.";

const onLock = (id: string, about: string, fields: Readonly<Record<string, string>>, example: object): Entry => ({
  id,
  tag: CONSUMING,
  about: `${about} ${SCOPE}`,
  headers: ["Consumer"],
  body: { fields, example },
  answers: { 200: { text: "Done. The answer has no body." } },
  errors: { ...consumer, 409: NOT_LOCKED },
});

const parameters: Readonly<Record<string, Parameter>> = {
  topicOwnerClient: { text: "The name of the client that owns the topic, `<project>.<app>`.", example: "demo.shop" },
  eventType: { text: "The topic's event type.", example: "orderCreated" },
  name: { text: "The subscription's name.", example: "orders-to-erp" },
  consumer: { text: "The consumer's name.", example: "worker-1" },
  eventId: { text: "The event's id.", example: event.id },
  subscriberId: { text: "The id of a subscription, as the list shows it.", example: subscriber.id },
};

const pushFields = {
  name: "3 to 256 letters, digits, `_` or `-`. It cannot change: an update has the same one, or none.",
  pushConfig: "Where events go.",
  "pushConfig.endpoint":
    "An https address of a public host, without user-info and fragment; redirects are not followed.",
  "pushConfig.handshake":
    'Whether the endpoint is asked before it gets its first event, and again when it moves: it gets `{"type": "endpoint_verification", "challenge": "…"}`, signed as events are, and answers 2xx with the challenge as its body, or as `{"challenge": "…"}`. Asked seven times within eight hours; events wait. If an update leaves it out, it is unchanged.',
  "pushConfig.basicAuth": "HTTP Basic credentials of the platform.",
  "pushConfig.basicAuth.username": "Letters, digits, `_`, `.` or `-`.",
  "pushConfig.basicAuth.password":
    "Kept encrypted and never shown. In an update, `********` keeps it, unless the endpoint moves to " +
    "another origin.",
};
const pushChecks = { "pushConfig.endpoint": { format: "uri" } };
const pushExample = {
  name: "orders-to-erp",
  pushConfig: {
    endpoint: "https://erp.example/hooks/orders",
    basicAuth: { username: "platform", password: "a long random password" },
  },
};

export const events: ServiceEntries = {
  base: "/pubsub/v1",
  tags: [
    { name: TOPIC, description: "Topics of events, and publishing to them. A client owns the topics that it creates." },
    {
      name: CONSUMING,
      description:
        "Reading under a lock, one batch at a time for each client, in order. A commit moves the client's " +
        "cursor. Events are kept for 7 days by default.",
    },
    {
      name: PUSH,
      description:
        "Events sent to an https endpoint by `POST`, signed by Standard Webhooks (`webhook-id`, " +
        "`webhook-timestamp`, `webhook-signature`), with `plat-delivery-attempt`. A 2xx within 15 s counts as " +
        "delivered. Failures are retried for a day, then dead-lettered; a 410 disables the subscription.",
    },
    {
      name: "Events (deprecated)",
      description: "The operations of `/pubsub/v1` at their former address. Use those instead.",
    },
  ],
  parameters,
  schemas: {
    Topic: { schema: obj(ownTopicFields), example: ownTopic },
    TopicStatus: {
      schema: obj({
        ...ownTopicFields,
        storedEvents: orNull(int("Number of stored events; null for a caller who sees only its own tenant's.")),
        oldestEventAt: orNull(time("When the oldest was published; null: there is none.")),
        newestEventAt: orNull(time("When the newest was published; null: there is none.")),
        lag: orNull(int("Events that the caller has not committed; null as above.")),
      }),
      example: {
        ...ownTopic,
        storedEvents: 12,
        oldestEventAt: 1_763_000_060_000,
        newestEventAt: 1_763_000_090_000,
        lag: 3,
      },
    },
    NewEvent: {
      schema: obj({
        payload: str("The event's text, at most 256 KiB of UTF-8."),
        "metadata?": map({ type: "string" }, "Names and texts beside the payload, at most 16 KiB."),
        "tenant?": str("The tenant that the event is about; default: the token's.", {
          pattern: "^[a-z][a-z0-9]{2,15}$",
        }),
      }),
      example: newEvent,
    },
    Event: {
      schema: obj({
        id: str("Identifies the event in its topic."),
        createdAt: time("When it was published."),
        tenant: str("The tenant that it is about."),
        sourceClient: str("The client that published it, the topic's owner."),
        eventType: str("The topic's event type."),
        payload: str("The payload as published."),
        "metadata?": map({ type: "string" }, "Names and texts beside the payload, if there are any."),
      }),
      example: ownEvent,
    },
    Batch: {
      schema: obj({
        events: list(ref("Event"), "The next events, in order."),
        "token?": str("Commits, extends or releases the batch; absent with `autoCommit`."),
      }),
      example: { events: [ownEvent], token: "Zm9yIG9uZSBiYXRjaA" },
    },
    Look: {
      schema: obj({
        events: list(ref("Event"), "Stored events, in order of time."),
        next: orNull(str("The `after` of the next request; null: this was the end.")),
      }),
      example: { events: [ownEvent], next: event.id },
    },
    PublishedIds: {
      schema: obj({ ids: list({ type: "string" }, "The ids of the events, in the order of the request.") }),
      example: { ids: [event.id] },
    },
    SubscriptionName: {
      schema: obj({ name: subscriptionFields.name, href: uri("The subscription's own address.") }),
      example: { name: "orders-to-erp", href: `${ownTopic.href}/subscriptions/orders-to-erp` },
    },
    ConsumerName: { schema: obj({ name: str("The consumer's name.") }), example: { name: "worker-1" } },
    NewPushSubscription: {
      schema: obj({
        ...subscriptionFields,
        signingSecret: str("Verifies `webhook-signature`; shown only this once.", { pattern: "^whsec_" }),
      }),
      example: { ...subscription, signingSecret: "whsec_bm90IGEgcmVhbCBzZWNyZXQ=" },
    },
    SigningSecret: {
      schema: obj({
        signingSecret: str("Verifies `webhook-signature`; shown only this once.", { pattern: "^whsec_" }),
        previousValidUntil: orNull(time("When the last secret ends; null: it has ended.")),
      }),
      example: { signingSecret: "whsec_YW5vdGhlciByZWFsIHNlY3JldA==", previousValidUntil: 1_763_003_600_000 },
    },
    PushSubscription: {
      schema: obj({
        ...subscriptionFields,
        ...DELIVERY_STATUS,
      }),
      example: { ...subscription, lag: 0, deadLetters: 0, eventsLost: 0, pausedUntil: null },
    },
    Subscriber: {
      schema: obj({
        id: str("Identifies the subscription among those of the topic."),
        client: str("The client that made it."),
        name: str("Its name, unique for that client."),
        endpointOrigin: uri("Scheme, host and port of its endpoint."),
        right: RIGHT,
        state: subscriptionFields.state,
        halt: HALT,
        createdAt: subscriptionFields.createdAt,
        updatedAt: subscriptionFields.updatedAt,
      }),
      example: subscriber,
    },
    Delivery: {
      schema: obj({
        eventId: str("The event."),
        state: oneOf(["pending", "delivered", "dead"], "`dead`: every attempt failed; it can be delivered again."),
        nextAttemptAt: orNull(time("When the next attempt comes; null: never.")),
        attemptCount: int("Number of attempts."),
        attempts: list(obj({ at: time("When the attempt was made."), ...ATTEMPT_RESULT }), "The last 20 attempts."),
      }),
      example: {
        eventId: event.id,
        state: "delivered",
        nextAttemptAt: null,
        attemptCount: 1,
        attempts: [{ at: 1_763_000_060_500, durationMs: 84, status: 204, error: null }],
      },
    },
    TestDelivery: {
      schema: obj({ delivered: bool("Whether the endpoint accepted it."), ...ATTEMPT_RESULT }),
      example: { delivered: true, durationMs: 84, status: 204, error: null },
    },
  },
  entries: {
    "POST /topics": {
      id: "createTopic",
      tag: TOPIC,
      about:
        "A topic holds the events of one type. Its name is the caller's client name and the type. Needs `plat.pubsub_publish`, or `plat.pubsub.topic=` for it.",
      body: {
        fields: {
          eventType: "The topic's event type.",
          description: "For people.",
          shards: "The topic's number of logs; default 1. It cannot change.",
        },
        example: { eventType: "orderCreated", description: "An order was placed." },
      },
      answers: { 201: { text: "Created; `Location` is the topic's address.", headers: ["Location"] } },
      errors: {
        409: "`topic_exists`; `too_many_topics`; or `topic_deletion_in_progress`: try again when the deletion is done.",
      },
    },
    "GET /topics": {
      id: "listTopics",
      tag: TOPIC,
      answers: { 200: { text: "A page of topics.", json: list(ref("Topic")), headers: ["Link"] } },
      errors: { 403: "The token was not issued to a client, and topics belong to clients." },
    },
    [`GET ${TOPIC_PATH}`]: {
      id: "getTopic",
      tag: TOPIC,
      about: SCOPE,
      answers: { 200: { text: "The topic.", json: ref("TopicStatus") } },
      errors: consumer,
    },
    [`DELETE ${TOPIC_PATH}`]: {
      id: "deleteTopic",
      tag: TOPIC,
      about: "For its owner. The state is `deleting` until everything is deleted.",
      answers: { 202: { text: "The deletion has begun." } },
      errors: { 404: "" },
    },
    [`POST ${TOPIC_PATH}/publish`]: {
      id: "publishEvents",
      tag: TOPIC,
      about:
        "For the topic's owner: one event, or an array of 1 to 1000. Events of one request on one shard are " +
        "stored all or none. With `Idempotency-Key`, a repeat within 24 h answers the same ids and stores " +
        "nothing more.",
      headers: ["Idempotency-Key"],
      body: {
        schema: {
          oneOf: [ref("NewEvent"), { type: "array", items: ref("NewEvent"), minItems: 1, maxItems: 1000 }],
        },
        example: newEvent,
      },
      answers: { 201: { text: "All are stored.", json: ref("PublishedIds") } },
      errors: {
        403: "The token lacks the scope; or `tenant_refused`: its client may not act for an event's tenant.",
        404: "",
        409: "`idempotency_key_used`: the key was used with other events.",
        413: "The request, a payload or the metadata of an event is larger than its limit; `details` names it.",
      },
    },
    [`POST ${TOPIC_PATH}/read`]: {
      id: "readEvents",
      tag: CONSUMING,
      about: `Locks the topic for the calling client until its batch is committed, released or expired. A client that never read begins at the oldest event. ${SCOPE} With \`Idempotency-Key\` a repeat gets the same batch and token while its lock lives; a read with \`autoCommit\` has no lock, so its key repeats nothing. With \`Prefer: wait=20\` the answer comes as soon as there is an event, else 204 after so many seconds.`,
      headers: ["Idempotency-Key", "Prefer", "Consumer"],
      body: {
        fields: {
          numEvents: "The most events, 1 by default; more than 1000 count as 1000.",
          ttlMs: "Duration of the lock; default 60000.",
          autoCommit: "Commits the batch at once, without a lock. Events in a lost answer are lost.",
        },
        more: { numEvents: { type: "integer" } },
        example: { numEvents: 10, ttlMs: 60_000 },
      },
      answers: {
        200: {
          text:
            "The next events, at least one, at most 5 MiB of payload. A repeat returns its batch as far as " +
            "retention left it, perhaps nothing.",
          json: ref("Batch"),
          headers: ["Delivery-Attempt", "Events-Lost", "Preference-Applied"],
        },
        204: {
          text: 'There is nothing to read. With `Link: <…>; rel="more"` a shard could not be looked at: follow it.',
          headers: ["Link", "Events-Lost", "Preference-Applied"],
        },
      },
      errors: {
        ...consumer,
        409: `${LOCKED} \`idempotency_key_used\`: the key came with another request before. ${TOO_MANY}`,
      },
    },
    [`POST ${TOPIC_PATH}/commit`]: onLock(
      "commitEvents",
      "The client's next read begins after them.",
      { token },
      {
        token: "Zm9yIG9uZSBiYXRjaA",
      },
    ),
    [`POST ${TOPIC_PATH}/extend`]: onLock(
      "extendLock",
      "For a batch that takes longer.",
      { token, ttlMs: "New duration of the lock, from now on." },
      { token: "Zm9yIG9uZSBiYXRjaA", ttlMs: 120_000 },
    ),
    [`POST ${TOPIC_PATH}/release`]: onLock(
      "releaseEvents",
      "Uncommitted events are delivered again at once.",
      { token, commitThrough: "The id of an event of the batch: commits it and those before it." },
      { token: "Zm9yIG9uZSBiYXRjaA", commitThrough: event.id },
    ),
    [`POST ${TOPIC_PATH}/seek`]: {
      id: "seekCursor",
      tag: CONSUMING,
      about: SCOPE,
      headers: ["Consumer"],
      body: {
        fields: {
          to:
            "`oldest`, `newest`, or a time in ms: the next read begins with the first event of that time or " +
            "later.",
        },
        example: { to: "oldest" },
      },
      answers: { 200: { text: "Done. The answer has no body." } },
      errors: { ...consumer, 409: `${LOCKED} ${TOO_MANY}` },
    },
    [`GET ${TOPIC_PATH}/consumers`]: {
      id: "listConsumers",
      tag: CONSUMING,
      about: `Those that read or moved their cursor. ${SCOPE}`,
      answers: { 200: { text: "Their names, in order.", json: list(ref("ConsumerName")) } },
      errors: consumer,
    },
    [`DELETE ${TOPIC_PATH}/consumers/{consumer}`]: {
      id: "removeConsumer",
      tag: CONSUMING,
      about: `A later read under the name begins at the oldest event. ${SCOPE}`,
      answers: { 204: { text: "There is none of this name any more." } },
      errors: consumer,
    },
    [`GET ${TOPIC_PATH}/events`]: {
      id: "lookAtEvents",
      tag: CONSUMING,
      about: `For people and tools: nothing is locked or moved. ${SCOPE}`,
      parameters: {
        after: { text: "Begins after this event; default: at the oldest.", example: event.id },
        limit: {
          text: "How many events.",
          schema: { type: "integer", minimum: 1, maximum: 1000, default: 16 },
        },
      },
      answers: { 200: { text: "Stored events.", json: ref("Look") } },
      errors: consumer,
    },
    [`GET ${TOPIC_PATH}/subscriptions`]: {
      id: "listPushSubscriptions",
      tag: PUSH,
      about: SCOPE,
      answers: { 200: { text: "Their names and addresses.", json: list(ref("SubscriptionName")) } },
      errors: consumer,
    },
    [`POST ${TOPIC_PATH}/subscriptions`]: {
      id: "createPushSubscription",
      tag: PUSH,
      about: `It begins at the newest event. ${SCOPE}`,
      body: { fields: pushFields, more: pushChecks, example: pushExample },
      answers: {
        201: {
          text: "Created; the secret is shown only this once.",
          json: ref("NewPushSubscription"),
          headers: ["Location"],
        },
      },
      errors: {
        ...consumer,
        409: "`subscription_exists`, `too_many_subscriptions`, or `topic_deletion_in_progress`.",
      },
    },
    [`GET ${SUBSCRIPTION_PATH}`]: {
      id: "getPushSubscription",
      tag: PUSH,
      about: SCOPE,
      answers: { 200: { text: "The subscription.", json: ref("PushSubscription") } },
      errors: consumer,
    },
    [`PUT ${SUBSCRIPTION_PATH}`]: {
      id: "updatePushSubscription",
      tag: PUSH,
      about: `What failed before is tried again at once, until an attempt fails. An endpoint at another origin needs the password again. ${SCOPE}`,
      body: { fields: pushFields, more: pushChecks, example: pushExample },
      answers: { 200: { text: "The current subscription.", json: ref("PushSubscription") } },
      errors: { ...consumer, 409: "`credentials_unreadable`: delete the subscription and create it again." },
    },
    [`DELETE ${SUBSCRIPTION_PATH}`]: {
      id: "deletePushSubscription",
      tag: PUSH,
      about: `Deliveries in flight aside, nothing is sent any more. ${SCOPE}`,
      answers: { 204: { text: "Deleted." } },
      errors: consumer,
    },
    [`GET ${SUBSCRIBERS_PATH}`]: {
      id: "listSubscribers",
      tag: PUSH,
      about: "For the topic's owner: all clients' push subscriptions.",
      answers: { 200: { text: "A page of subscriptions.", json: list(ref("Subscriber")), headers: ["Link"] } },
      errors: { 404: "" },
    },
    [`DELETE ${SUBSCRIBERS_PATH}/{subscriberId}`]: {
      id: "endSubscriber",
      tag: PUSH,
      about:
        "For the topic's owner. The client can subscribe again while it has the right; only an operator can " +
        "take the scope away.",
      answers: { 204: { text: "Ended." } },
      errors: { 404: "" },
    },
    [`GET ${SUBSCRIPTION_PATH}/deliveries`]: {
      id: "listDeliveries",
      tag: PUSH,
      about: SCOPE,
      parameters: { state: { text: "Only those in this state." } },
      answers: { 200: { text: "A page of deliveries.", json: list(ref("Delivery")), headers: ["Link"] } },
      errors: consumer,
    },
    [`POST ${SUBSCRIPTION_PATH}/deliveries/{eventId}/redeliver`]: {
      id: "redeliverEvent",
      tag: PUSH,
      about: `As if it had never been tried. ${SCOPE}`,
      answers: { 202: { text: "It is delivered again." } },
      errors: { ...consumer, 409: "`event_expired`, `subscription_disabled`, or `subscription_unverified`." },
    },
    [`POST ${SUBSCRIPTION_PATH}/signing-secret`]: {
      id: "rotateSigningSecret",
      tag: PUSH,
      about: `Until the last secret ends, each delivery has a signature of both, so that the receiver can change at any time. ${SCOPE}`,
      body: {
        fields: { previousValidMs: "How long the last secret signs too: 0 to 7 days; default 24 h. 0 if it leaked." },
        example: { previousValidMs: 3_600_000 },
      },
      answers: { 200: { text: "The new secret.", json: ref("SigningSecret") } },
      errors: { ...consumer, 409: "`credentials_unreadable`: delete the subscription, and create it again." },
    },
    [`POST ${SUBSCRIPTION_PATH}/test`]: {
      id: "testPushSubscription",
      tag: PUSH,
      about: `An event of no topic, sent once. ${SCOPE}`,
      answers: { 200: { text: "The result.", json: ref("TestDelivery") } },
      errors: {
        ...consumer,
        409: "`subscription_unverified`, or `credentials_unreadable`.",
        429: "One test of a subscription at a time, and one a second.",
      },
    },
  },
};
