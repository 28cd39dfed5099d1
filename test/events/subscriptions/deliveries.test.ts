import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createTopicStore } from "../../../src/events/access/topic-store.ts";
import { ORIGIN } from "../support/events-app.ts";
import { expectProblem, faults } from "../support/problem.ts";
import { someClient } from "../support/some-client.ts";
import { makeTopic } from "../support/test-topic.ts";
import { objectsOf } from "../support/topic-objects.ts";
import { playedApp, playedObjects } from "../support/push/played-objects.ts";
import { objectNamesOf, recordsOf } from "../support/push/push-records.ts";
import { pushStore } from "../support/push/push-store.ts";
import { subscriptionsOf } from "../support/push/subscriptions-of.ts";
import { CONSUMES, registeredClient } from "../support/registered-client.ts";

/** The fake object's deliveries by place, the latest first. */
const DELIVERIES = [
  { eventId: "0000000000000003-1c", state: "pending", nextAttemptAtMs: undefined, attemptCount: 0, attempts: [] },
  {
    eventId: "0000000000000002-1b",
    state: "pending",
    nextAttemptAtMs: 9_000,
    attemptCount: 2,
    attempts: [
      { atMs: 1_000, durationMs: 15_000, status: undefined, error: "timeout" },
      { atMs: 2_000, durationMs: 3, status: 500, error: "status" },
    ],
  },
  {
    eventId: "0000000000000001-1a",
    state: "delivered",
    nextAttemptAtMs: undefined,
    attemptCount: 1,
    attempts: [{ atMs: 500, durationMs: 7, status: 204, error: undefined }],
  },
] as const;
const EVENT = DELIVERIES[1].eventId;

async function setUp(answers: Parameters<typeof playedObjects>[0] = {}) {
  const objects = playedObjects({
    deliveries: (_, state, after, skip, limit) => {
      const start = (after ?? 0) + skip;
      const all = DELIVERIES.filter((delivery) => state === undefined || delivery.state === state);
      return { items: all.slice(start, start + limit), next: all.length > start + limit ? start + limit : undefined };
    },
    redeliver: () => "again",
    sendTest: () => ({ kind: "tried", attempt: { atMs: 1, durationMs: 12, status: 200, error: undefined } }),
    ...answers,
  });
  const app = playedApp(objects);
  const topic = await makeTopic(app, { owner: await registeredClient() });
  const requests = subscriptionsOf(app, topic);
  expect((await requests.create()).status).toBe(201);
  objects.calls.length = 0;
  const { record } = await objectsOf(topic);
  const deliveries = (query = "") => requests.send(`${requests.collection}/orders/deliveries${query}`);
  return { app, topic, record, objects, deliveries, ...requests };
}

/** Expects that an operation does not reveal a subscription to others. */
async function expectHidden(path: string, method: "GET" | "POST") {
  const { app, topic, objects, send, collection, record } = await setUp();
  const other = subscriptionsOf(app, topic, await registeredClient({ scopes: CONSUMES }));
  const stranger = subscriptionsOf(app, topic, someClient({ scopes: [] }));
  const [theirs, unknown] = await Promise.all(
    [
      await other.send(`${collection}/orders/${path}`, { method }),
      await send(`${collection}/nothing/${path}`, { method }),
    ].map((response) => expectProblem(response, 404, "element_resource_non_existing")),
  );
  expect(theirs).toEqual(unknown);
  const refused = await stranger.send(`${collection}/orders/${path}`, { method });
  await expectProblem(refused, 404, "element_resource_non_existing");
  await expectProblem(await app.call(`${collection}/orders/${path}`, { method }), 401, "insufficient_credentials");
  await createTopicStore(env.DB).markDeleting(record);
  const deleting = await send(`${collection}/orders/${path}`, { method });
  await expectProblem(deleting, 404, "element_resource_non_existing");
  expect(objects.calls).toEqual([]);
}

describe("GET …/subscriptions/{name}/deliveries", () => {
  // shows: events/push-subscriptions/get-deliveries
  it("answers 200 with deliveries, the latest first, and null for absent values", async () => {
    const { deliveries, objects, record, collection } = await setUp();
    const response = await deliveries();
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual([
      { eventId: DELIVERIES[0].eventId, state: "pending", nextAttemptAt: null, attemptCount: 0, attempts: [] },
      {
        eventId: EVENT,
        state: "pending",
        nextAttemptAt: 9_000,
        attemptCount: 2,
        attempts: [
          { at: 1_000, durationMs: 15_000, status: null, error: "timeout" },
          { at: 2_000, durationMs: 3, status: 500, error: "status" },
        ],
      },
      {
        eventId: DELIVERIES[2].eventId,
        state: "delivered",
        nextAttemptAt: null,
        attemptCount: 1,
        attempts: [{ at: 500, durationMs: 7, status: 204, error: null }],
      },
    ]);
    expect(response.headers.get("link")).toBe(
      `<${ORIGIN}${collection}/orders/deliveries?pageNumber=1&pageSize=16>; rel="self"`,
    );
    const [object] = await objectNamesOf(record);
    expect(objects.calls).toEqual([{ object, method: "deliveries", given: [undefined, undefined, 0, 16] }]);
  });

  // shows: events/push-subscriptions/get-deliveries
  it("answers 200 with pages by links and by number, and keeps the state in the links", async () => {
    const { deliveries, send, objects } = await setUp();
    const seen: string[] = [];
    let next: string | undefined = "?pageSize=1&state=pending";
    let response = await deliveries(next);
    for (;;) {
      seen.push(...(await response.clone().json<any[]>()).map(({ eventId }) => eventId));
      next = /<([^>]*)>; rel="next"/.exec(response.headers.get("link") ?? "")?.[1];
      if (next === undefined) break;
      expect(next).toContain("state=pending");
      response = await send(next);
    }
    expect(seen).toEqual([DELIVERIES[0].eventId, EVENT]);
    expect(objects.calls.map(({ given }) => given)).toEqual([
      ["pending", undefined, 0, 1],
      ["pending", 1, 0, 1],
    ]);
    expect(await (await deliveries("?pageSize=2&pageNumber=2")).json()).toMatchObject([
      { eventId: DELIVERIES[2].eventId },
    ]);
    const linkOf = async (query: string) => (await deliveries(query)).headers.get("link");
    expect(await linkOf("?pageSize=3&pageNumber=2")).toMatch(/pageNumber=1&pageSize=3>; rel="prev"$/);
    expect(await linkOf("?pageSize=3&pageNumber=3")).toMatch(/rel="self"$/);
    expect(await (await deliveries("?state=dead")).json()).toEqual([]);
  });

  it.each([
    ["?state=lost", "invalid_query_parameter state"],
    ["?state=", "invalid_query_parameter state"],
    ["?state=pending&state=dead", "invalid_query_parameter state"],
    ["?pageSize=0", "out_of_range_parameter pageSize"],
    ["?pageSize=1001", "out_of_range_parameter pageSize"],
    ["?pageNumber=x", "out_of_range_parameter pageNumber"],
    ["?cursor=x", "invalid_query_parameter cursor"],
    [`?cursor=${btoa('["a"]')}`, "invalid_query_parameter cursor"],
    [`?cursor=${btoa("[1,2]").replace(/=+$/, "")}`, "invalid_query_parameter cursor"],
    [`?cursor=${btoa("[1.5]").replace(/=+$/, "")}`, "invalid_query_parameter cursor"],
    [`?cursor=${btoa("[1e99]").replace(/=+$/, "")}`, "invalid_query_parameter cursor"],
    [`?cursor=${btoa("[]").replace(/=+$/, "")}`, "invalid_query_parameter cursor"],
    [`?cursor=${btoa("[null]").replace(/=+$/, "")}`, "invalid_query_parameter cursor"],
  ])("answers 400 for %s", async (query, expected) => {
    const { deliveries, objects } = await setUp();
    expect(faults(await expectProblem(await deliveries(query), 400, "validation_violation"))).toEqual([expected]);
    expect(objects.calls).toEqual([]);
  });

  it("answers 401 without a token, and 404 alike for everybody but its client", () =>
    expectHidden("deliveries", "GET"));

  it("answers 503 when the object cannot be reached", async () => {
    const deliveries = () => Promise.reject(Object.assign(new Error("busy"), { overloaded: true }));
    const there = await setUp({ deliveries });
    await expectProblem(await there.deliveries(), 503, "service_temporarily_unavailable");
  });
});

describe("POST …/deliveries/{eventId}/redeliver", () => {
  // shows: events/push-subscriptions/post-redeliver
  it("answers 202 without a body", async () => {
    const { post, objects, record } = await setUp();
    const response = await post(`deliveries/${EVENT}/redeliver`);
    expect([response.status, await response.text(), response.headers.get("content-type")]).toEqual([202, "", null]);
    const [object] = await objectNamesOf(record);
    expect(objects.calls).toEqual([{ object, method: "redeliver", given: [EVENT] }]);
  });

  it("answers 404 for an event that the subscription does not know", async () => {
    const { post } = await setUp({ redeliver: () => "unknown" });
    await expectProblem(await post(`deliveries/${EVENT}/redeliver`), 404, "element_resource_non_existing");
  });

  it.each(["x", "%00", "%F0%9F%99%82", "%ff", "__proto__", "0".repeat(300), `${EVENT}%0a`, `${EVENT}-`])(
    "404 for an invalid event id: %s",
    async (id) => {
      const { post, objects } = await setUp();
      await expectProblem(await post(`deliveries/${id}/redeliver`), 404, "element_resource_non_existing");
      expect(objects.calls).toEqual([]);
    },
  );

  it("answers 409 when the event is no longer stored anywhere", async () => {
    const { post } = await setUp({ redeliver: () => "expired" });
    const problem = await expectProblem(await post(`deliveries/${EVENT}/redeliver`), 409, "conflict_resource");
    expect(faults(problem)).toEqual(["event_expired eventId"]);
  });

  it("answers 409 when the subscription is disabled", async () => {
    const { post, record, objects } = await setUp();
    const { id } = (await recordsOf(record))[0]!;
    await pushStore.disable(id, 1, Date.now());
    const problem = await expectProblem(await post(`deliveries/${EVENT}/redeliver`), 409, "conflict_resource");
    expect(faults(problem)).toEqual(["subscription_disabled"]);
    expect(objects.calls).toEqual([]);
  });

  it("answers 401 without a token, and 404 alike for everybody but its client", () =>
    expectHidden(`deliveries/${EVENT}/redeliver`, "POST"));
});

describe("POST …/subscriptions/{name}/test", () => {
  const failed = { atMs: 1, durationMs: 15_001, status: undefined, error: "timeout" };
  // shows: events/push-subscriptions/post-test
  it.each([
    [
      { atMs: 1, durationMs: 12, status: 204, error: undefined },
      { delivered: true, status: 204, durationMs: 12, error: null },
    ],
    [failed, { delivered: false, status: null, durationMs: 15_001, error: "timeout" }],
    [
      { atMs: 1, durationMs: 3, status: 302, error: "redirect" },
      { delivered: false, status: 302, durationMs: 3, error: "redirect" },
    ],
  ])("answers 200 with the outcome: %j", async (attempt, expected) => {
    const { post } = await setUp({ sendTest: () => ({ kind: "tried", attempt }) });
    const response = await post("test");
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual(expected);
  });

  it("answers 200 for a disabled subscription", async () => {
    const { post, record } = await setUp();
    const { id } = (await recordsOf(record))[0]!;
    await pushStore.disable(id, 1, Date.now());
    expect((await post("test")).status).toBe(200);
  });

  it.each([
    [1, "1"],
    [0, "1"],
    [1_000, "1"],
    [14_001, "15"],
  ])("answers 429 while another test is under way, %i ms to go", async (retryAfterMs, header) => {
    const { post } = await setUp({ sendTest: () => ({ kind: "busy", retryAfterMs }) });
    const response = await post("test");
    expect(response.headers.get("retry-after")).toBe(header);
    await expectProblem(response, 429, "insufficient_resources");
  });

  it("answers 404 if the subscription is deleted meanwhile", async () => {
    const { post } = await setUp({ sendTest: () => ({ kind: "gone" }) });
    await expectProblem(await post("test"), 404, "element_resource_non_existing");
  });

  it("answers 401 without a token, and 404 alike for everybody but its client", () => expectHidden("test", "POST"));
});
