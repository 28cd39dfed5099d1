import type { Entry, Parameter, ServiceEntries } from "../model/entry.ts";
import { HALT, RIGHT, STATE } from "../model/push.ts";
import { bool, int, list, map, obj, oneOf, orNull, ref, str, time, uri } from "../model/schema.ts";

/** Publish/subscribe. The same operations are mounted again under a deprecated path. */
const TOPIC_PATH = "/topics/{topicOwnerClient}/{eventType}";
const SUBSCRIPTION_PATH = `${TOPIC_PATH}/subscriptions/{name}`;

const topicFields = {
  topicOwnerClient: str("The name of the client that owns the topic and alone publishes to it."),
  eventType: str("What kind of event the topic is of."),
  description: str("What the owner says of it; may be empty."),
  createdAt: time("When the topic was created."),
  shards: int("How many logs the topic has: events of one tenant stay in order, those of one shard all."),
  state: oneOf(["active", "deleting"], "`deleting` until its events, cursors and subscriptions are gone."),
  href: uri("The topic's own address."),
};
const topic = {
  topicOwnerClient: "demo.shop",
  eventType: "orderCreated",
  description: "An order was placed.",
  createdAt: 1_763_000_000_000,
  shards: 1,
  state: "active",
  href: "https://platform.example/pubsub/v1/topics/demo.shop/orderCreated",
};
const event = {
  id: "2i9y2sgxk8v5e3a1",
  createdAt: 1_763_000_060_000,
  tenant: "demo",
  sourceClient: "demo.shop",
  eventType: "orderCreated",
  payload: '{"order":"4711"}',
  metadata: { schema: "order-v1" },
};
const newEvent = { payload: event.payload, metadata: event.metadata };
const subscriptionFields = {
  name: str("The subscription's name, one of the calling client's on this topic."),
  pushConfig: obj(
    {
      endpoint: uri("Where events are sent to by `POST`."),
      basicAuth: obj(
        { username: str("Sent as HTTP Basic."), password: str("Always `********`.", { enum: ["********"] }) },
        "How the platform proves to the endpoint who it is.",
      ),
      "handshake?": bool("The endpoint is asked before it gets its first event; absent: it is not."),
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
const result = {
  durationMs: int("How long the endpoint took."),
  status: orNull(int("The status of its answer; null: none came.")),
  error: orNull(
    oneOf(
      ["status", "timeout", "unreachable", "redirect", "refused"],
      "Why it failed: not 2xx, none in 15 s, no connection, 3xx, or an address that is not called; null: it did not.",
    ),
  ),
};

const TOPIC = "Topics";
const CONSUMING = "Consuming";
const PUSH = "Push subscriptions";
const SCOPE =
  "Owners need no scope; anybody else needs `plat.pubsub.topic=<owner>.<eventType>`, or one with `*` at its end.";
const GONE = "There is no such topic, it is being deleted, or the caller may not know of it.";
const NO_SCOPE = "The token lacks the scope of this topic, which its client is registered for.";
const consumer = { 403: NO_SCOPE, 404: GONE };
const token = "The token of the read that locked the topic.";
const LOCKED = "`topic_locked`: the client holds a batch that is not committed; `Retry-After` says for how long.";
const NOT_LOCKED =
  "`topic_not_locked`; `details[0].type` is `already_committed`, `lock_expired` or `unknown_token`, so a client whose answer was lost knows what became of it.";

const onLock = (id: string, about: string, fields: Readonly<Record<string, string>>, example: object): Entry => ({
  id,
  tag: CONSUMING,
  about: `${about} ${SCOPE}`,
  body: { fields, example },
  answers: { 200: { text: "Done. The answer has no body." } },
  errors: { ...consumer, 409: NOT_LOCKED },
});

const parameters: Readonly<Record<string, Parameter>> = {
  topicOwnerClient: { text: "The name of the client that owns the topic, `<project>.<app>`.", example: "demo.shop" },
  eventType: { text: "The topic's event type.", example: "orderCreated" },
  name: { text: "The subscription's name.", example: "orders-to-erp" },
  eventId: { text: "The event's id.", example: event.id },
  subscriberId: { text: "The id of a subscription, as the list shows it.", example: subscriber.id },
};

const pushFields = {
  name: "3 to 256 letters, digits, `_` or `-`. It stays: an update has the same one, or none.",
  pushConfig: "Where events go.",
  "pushConfig.endpoint":
    "An https address of a public host, without user-info and fragment; redirects are not followed.",
  "pushConfig.handshake":
    'Whether the endpoint is asked before it gets its first event, and again when it moves: it gets `{"type": "endpoint_verification", "challenge": "…"}`, signed as events are, and answers 2xx with the challenge as its body, or as `{"challenge": "…"}`. Asked seven times within eight hours; events wait. In an update absent: it stays.',
  "pushConfig.basicAuth": "What the platform sends as HTTP Basic.",
  "pushConfig.basicAuth.username": "Letters, digits, `_`, `.` or `-`.",
  "pushConfig.basicAuth.password":
    "Kept encrypted and never shown; `********` in an update leaves it as it is, unless the endpoint moves to another origin.",
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
        "Reading under a lock, one batch at a time for each client, in order; a commit moves the client's cursor. Events are kept 7 days unless the deployment says otherwise.",
    },
    {
      name: PUSH,
      description:
        "Events sent to an https endpoint by `POST`, signed as Standard Webhooks (`webhook-id`, `webhook-timestamp`, `webhook-signature`) and with `plat-delivery-attempt`. 2xx within 15 s is delivered; what fails is tried again for a day, then dead-lettered; 410 disables the subscription.",
    },
    {
      name: "Events (deprecated)",
      description: "The operations of `/pubsub/v1` once more, at their former address. Use those.",
    },
  ],
  parameters,
  schemas: {
    Topic: { schema: obj(topicFields), example: topic },
    TopicStatus: {
      schema: obj({
        ...topicFields,
        storedEvents: orNull(int("How many events are stored; null for who is shown its own tenant's alone.")),
        oldestEventAt: orNull(time("When the oldest of them was published; null: there is none.")),
        newestEventAt: orNull(time("When the newest of them was published; null: there is none.")),
        lag: orNull(int("How many of them the caller has not committed; null as above.")),
      }),
      example: {
        ...topic,
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
        "tenant?": str("The tenant that the event is about; the token's where absent.", {
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
        payload: str("The text, as it was published."),
        "metadata?": map({ type: "string" }, "Names and texts beside the payload, where there are any."),
      }),
      example: event,
    },
    Batch: {
      schema: obj({
        events: list(ref("Event"), "The next events, in order."),
        "token?": str("Commits, extends or releases the batch; absent with `autoCommit`."),
      }),
      example: { events: [event], token: "Zm9yIG9uZSBiYXRjaA" },
    },
    Look: {
      schema: obj({
        events: list(ref("Event"), "Stored events, in the order of their times."),
        next: orNull(str("The `after` of the next look; null: this was the end.")),
      }),
      example: { events: [event], next: event.id },
    },
    PublishedIds: {
      schema: obj({ ids: list({ type: "string" }, "The ids of the events, in the order of the request.") }),
      example: { ids: [event.id] },
    },
    SubscriptionName: {
      schema: obj({ name: subscriptionFields.name, href: uri("The subscription's own address.") }),
      example: { name: "orders-to-erp", href: `${topic.href}/subscriptions/orders-to-erp` },
    },
    NewPushSubscription: {
      schema: obj({
        ...subscriptionFields,
        signingSecret: str("Verifies `webhook-signature`; shown this once.", { pattern: "^whsec_" }),
      }),
      example: { ...subscription, signingSecret: "whsec_bm90IGEgcmVhbCBzZWNyZXQ=" },
    },
    PushSubscription: {
      schema: obj({
        ...subscriptionFields,
        lag: orNull(int("How many events wait to be delivered; null: not known now.")),
        deadLetters: orNull(int("How many were given up; null: not known now.")),
        eventsLost: orNull(int("How many retention removed before they were taken up; null: not known now.")),
        pausedUntil: orNull(time("Until when the endpoint is left alone; null: it is not.")),
        "verification?": orNull(
          obj(
            {
              attempts: int("How often it was asked."),
              lastError: orNull(
                oneOf(
                  ["status", "timeout", "unreachable", "redirect", "refused", "no_challenge"],
                  "Why the last answer was none: as of deliveries, or 2xx without the challenge; null: there was none yet.",
                ),
              ),
              nextAttemptAt: orNull(time("When it is asked next; null: not any more.")),
            },
            "How far asking the endpoint is; null: not known now. While `unverified` and `failed`.",
          ),
        ),
      }),
      example: { ...subscription, lag: 0, deadLetters: 0, eventsLost: 0, pausedUntil: null },
    },
    Subscriber: {
      schema: obj({
        id: str("Identifies the subscription among those of the topic."),
        client: str("Whose it is."),
        name: str("Its name, one of that client's."),
        endpointOrigin: uri("Where events go: scheme, host and port of the endpoint."),
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
        nextAttemptAt: orNull(time("When it is tried next; null: not at all.")),
        attemptCount: int("How often it was tried."),
        attempts: list(obj({ at: time("When it was tried."), ...result }), "The last 20 attempts."),
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
      schema: obj({ delivered: bool("Whether the endpoint took it."), ...result }),
      example: { delivered: true, durationMs: 84, status: 204, error: null },
    },
  },
  entries: {
    "POST /topics": {
      id: "createTopic",
      tag: TOPIC,
      body: {
        fields: {
          eventType: "What kind of event the topic is of.",
          description: "For people.",
          shards: "How many logs the topic has, 1 where absent. It stays.",
        },
        example: { eventType: "orderCreated", description: "An order was placed." },
      },
      answers: { 201: { text: "Created; `Location` is the topic's address.", headers: ["Location"] } },
      errors: { 409: "`topic_exists`, or `topic_deletion_in_progress`: try again when it is gone." },
    },
    "GET /topics": {
      id: "listTopics",
      tag: TOPIC,
      answers: { 200: { text: "A page of topics.", json: list(ref("Topic")), headers: ["Link"] } },
      errors: { 403: "The token was issued to no client: topics belong to clients." },
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
      about: "By its owner. Its state is `deleting` until all of it is gone.",
      answers: { 202: { text: "The deletion has begun." } },
      errors: { 404: "" },
    },
    [`POST ${TOPIC_PATH}/publish`]: {
      id: "publishEvents",
      tag: TOPIC,
      about:
        "By the topic's owner: one event, or an array of 1 to 1000. Events of one request that fall on one shard are stored all or none. With `Idempotency-Key` a repeat within 24 h answers the same ids and stores nothing more.",
      headers: ["Idempotency-Key"],
      body: {
        schema: {
          oneOf: [ref("NewEvent"), { type: "array", items: ref("NewEvent"), minItems: 1, maxItems: 1000 }],
        },
        example: newEvent,
      },
      answers: { 201: { text: "All are stored.", json: ref("PublishedIds") } },
      errors: {
        403: "The token lacks the scope, or `tenant_refused`: its client may not act for an event's tenant.",
        404: "",
        409: "`idempotency_key_used`: the key came with other events before.",
        413: "The request, a payload or the metadata of an event is larger than its limit; `details` names it.",
      },
    },
    [`POST ${TOPIC_PATH}/read`]: {
      id: "readEvents",
      tag: CONSUMING,
      about: `Locks the topic for the calling client until its batch is committed, released or expired. A client that never read begins at the oldest event. ${SCOPE} With \`Idempotency-Key\` a repeat gets the same batch and token while its lock lives; a read with \`autoCommit\` has no lock, so its key repeats nothing.`,
      headers: ["Idempotency-Key"],
      body: {
        fields: {
          numEvents: "How many events at most, 1 where absent; more than 1000 are served as 1000.",
          ttlMs: "How long the lock lasts, 60000 where absent.",
          autoCommit: "Commit the batch at once, without a lock; what the answer loses is lost.",
        },
        more: { numEvents: { type: "integer" } },
        example: { numEvents: 10, ttlMs: 60_000 },
      },
      answers: {
        200: {
          text: "The next events, at least one, at most 5 MiB of payload. A repeat gets what retention left of its batch, which may be none.",
          json: ref("Batch"),
          headers: ["Delivery-Attempt", "Events-Lost"],
        },
        204: {
          text: 'There is nothing to read. With `Link: <…>; rel="more"` a shard could not be looked at: follow it.',
          headers: ["Link", "Events-Lost"],
        },
      },
      errors: { ...consumer, 409: `${LOCKED} \`idempotency_key_used\`: the key came with another request before.` },
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
      { token, ttlMs: "How long the lock lasts from now on." },
      { token: "Zm9yIG9uZSBiYXRjaA", ttlMs: 120_000 },
    ),
    [`POST ${TOPIC_PATH}/release`]: onLock(
      "releaseEvents",
      "What is not committed is read again, at once.",
      { token, commitThrough: "The id of an event of the batch: it and those before it are committed." },
      { token: "Zm9yIG9uZSBiYXRjaA", commitThrough: event.id },
    ),
    [`POST ${TOPIC_PATH}/seek`]: {
      id: "seekCursor",
      tag: CONSUMING,
      about: SCOPE,
      body: {
        fields: { to: "`oldest`, `newest`, or a time in ms: the first event of that time or later is read next." },
        example: { to: "oldest" },
      },
      answers: { 200: { text: "Done. The answer has no body." } },
      errors: { ...consumer, 409: LOCKED },
    },
    [`GET ${TOPIC_PATH}/events`]: {
      id: "lookAtEvents",
      tag: CONSUMING,
      about: `For people and tools: nothing is locked or moved. ${SCOPE}`,
      parameters: {
        after: { text: "Begin behind this event; at the oldest where absent.", example: event.id },
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
          text: "Created; the secret is shown this once.",
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
      answers: { 200: { text: "The subscription as it is now.", json: ref("PushSubscription") } },
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
      about: "By the topic's owner: who gets its events pushed, of all clients.",
      answers: { 200: { text: "A page of subscriptions.", json: list(ref("Subscriber")), headers: ["Link"] } },
      errors: { 404: "" },
    },
    [`DELETE ${SUBSCRIBERS_PATH}/{subscriberId}`]: {
      id: "endSubscriber",
      tag: PUSH,
      about:
        "By the topic's owner. Its client can subscribe again while it has the right: what lasts is the operator taking the scope away.",
      answers: { 204: { text: "Ended." } },
      errors: { 404: "" },
    },
    [`GET ${SUBSCRIPTION_PATH}/deliveries`]: {
      id: "listDeliveries",
      tag: PUSH,
      about: SCOPE,
      parameters: { state: { text: "Those in this state alone." } },
      answers: { 200: { text: "A page of deliveries.", json: list(ref("Delivery")), headers: ["Link"] } },
      errors: consumer,
    },
    [`POST ${SUBSCRIPTION_PATH}/deliveries/{eventId}/redeliver`]: {
      id: "redeliverEvent",
      tag: PUSH,
      about: `As if it had never been tried. ${SCOPE}`,
      answers: { 202: { text: "It will be delivered again." } },
      errors: { ...consumer, 409: "`event_expired`, `subscription_disabled`, or `subscription_unverified`." },
    },
    [`POST ${SUBSCRIPTION_PATH}/test`]: {
      id: "testPushSubscription",
      tag: PUSH,
      about: `An event of no topic, sent once. ${SCOPE}`,
      answers: { 200: { text: "What came of it.", json: ref("TestDelivery") } },
      errors: {
        ...consumer,
        409: "`subscription_unverified`, or `credentials_unreadable`.",
        429: "One test of a subscription at a time, and one a second.",
      },
    },
  },
};
