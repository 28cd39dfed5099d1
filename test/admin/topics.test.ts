import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { describeConsumer } from "../../src/events/operated/consumer-name.ts";
import { DAY_MS, makePush, stopTheClock } from "../events/push-app.ts";
import { makePerson, tokenOf, type Person } from "../support/operators.ts";
import { call, expectJson, makeClient, OPERATOR, tokenFor, unique, type TestClient } from "../support/platform.ts";

const operator = async (path: string, method = "GET") =>
  call(`/admin/v1/${path}`, { method, token: await tokenFor(OPERATOR) });

/** A topic of a client, with these payloads. */
async function makeTopicOf(owner: TestClient, payloads: readonly string[] = []) {
  const token = await tokenFor(owner);
  const eventType = unique("order");
  expect((await call("/pubsub/v1/topics", { token, json: { eventType, description: "Orders." } })).status).toBe(201);
  const below = `topics/${owner.clientId}/${eventType}`;
  const path = `/pubsub/v1/${below}`;
  const events = payloads.map((payload) => ({ payload, metadata: { kind: `kind of ${payload}` } }));
  const ids: string[] =
    events.length === 0 ? [] : (await expectJson(await call(`${path}/publish`, { token, json: events }), 201)).ids;
  return { owner, token, eventType, below, path, ids };
}

describe("/admin/v1/topics", () => {
  let owner: TestClient;
  let topic: Awaited<ReturnType<typeof makeTopicOf>>;

  beforeAll(async () => {
    owner = await makeClient();
    topic = await makeTopicOf(owner, ["apple", "Banana", "cherry"]);
  });

  // shows: operator/topics/list
  it("lists the topics of a tenant, and those whose names begin with a text, page by page", async () => {
    const second = await makeTopicOf(owner);
    const listed = async (query: string) => expectJson(await operator(`topics?${query}`), 200);
    const fields = { topicOwnerClient: owner.clientId, shards: 1, state: "active", createdAt: expect.any(Number) };
    const all = await listed(`tenant=${owner.tenant}`);
    expect(all).toEqual(
      [topic, second]
        .map(({ eventType }) => ({ ...fields, eventType, description: "Orders." }))
        .toSorted((a, b) => (a.eventType < b.eventType ? -1 : 1)),
    );
    const name = `${owner.clientId}.${second.eventType}`;
    expect(await listed(`q=${name}`)).toMatchObject([{ eventType: second.eventType }]);
    expect(await listed(`tenant=${owner.tenant}&q=${name}`)).toHaveLength(1);
    expect(await listed(`tenant=plat&q=${name}`)).toEqual([]);
    expect(await listed(`q=${name}x`)).toEqual([]);
    const page = await operator(`topics?tenant=${owner.tenant}&pageSize=1`);
    expect(await expectJson(page, 200)).toEqual([all[0]]);
    const next = /cursor=([^&>]+)/.exec(page.headers.get("link") ?? "")?.[1];
    expect(await listed(`tenant=${owner.tenant}&pageSize=1&cursor=${next}`)).toEqual([all[1]]);
  });

  // shows: operator/topics/show
  it("shows what a topic stores and how far behind its consumers are", async () => {
    const reader = await makeClient({ scopes: [`plat.pubsub.topic=${owner.clientId}.*`] });
    const token = await tokenFor(reader);
    expect(await expectJson(await operator(topic.below), 200)).toMatchObject({ consumers: [], moreConsumers: false });
    const batch = await expectJson(await call(`${topic.path}/read`, { token, json: { limit: 2 } }), 200);
    await call(`${topic.path}/commit`, { token, json: { token: batch.token } });
    expect(await expectJson(await operator(topic.below), 200)).toEqual({
      topicOwnerClient: owner.clientId,
      eventType: topic.eventType,
      description: "Orders.",
      createdAt: expect.any(Number),
      shards: 1,
      state: "active",
      storedEvents: 3,
      oldestEventAt: expect.any(Number),
      newestEventAt: expect.any(Number),
      consumers: [
        { client: reader.clientId, ofPerson: false, onlyTenant: null, name: null, lag: 3 - batch.events.length },
      ],
      moreConsumers: false,
    });
    expect((await operator(`topics/${owner.clientId}/nothing`)).status).toBe(404);
  });

  // shows: operator/topics/look
  it("shows and searches events without moving a cursor, and the audit log says who looked", async () => {
    const look = async (query = "") => expectJson(await operator(`${topic.below}/events?${query}`), 200);
    const { events, next, read } = await look();
    expect(events.map(({ payload }: any) => payload)).toEqual(["apple", "Banana", "cherry"]);
    expect([next, read]).toEqual([null, 3]);
    expect(await look("limit=1")).toMatchObject({ events: [{ payload: "apple" }], next: topic.ids[0], read: 1 });
    expect(await look(`limit=1&after=${topic.ids[0]}`)).toMatchObject({ events: [{ payload: "Banana" }] });
    expect(await look("contains=banana")).toMatchObject({ events: [{ payload: "Banana" }], next: null, read: 3 });
    expect(await look("contains=kind%20of%20cherry")).toMatchObject({ events: [{ payload: "cherry" }] });
    expect(await look(`contains=${topic.ids[2]}`)).toMatchObject({ events: [{ id: topic.ids[2] }] });
    expect(await look("contains=nothing")).toEqual({ events: [], next: null, read: 3 });
    expect((await operator(`${topic.below}/events?limit=0`)).status).toBe(400);
    expect((await operator(`${topic.below}/events?after=x`)).status).toBe(400);
    expect((await operator(`${topic.below}/events?contains=${"x".repeat(201)}`)).status).toBe(400);
    const fresh = await call(`${topic.path}/read`, { token: topic.token, json: {} });
    expect(await expectJson(fresh, 200)).toMatchObject({ events: [{ payload: "apple" }] });
    const subject = `${topic.below}/events`;
    const rows = await expectJson(await operator(`audit?subject=${subject}`), 200);
    expect(rows).toMatchObject([{ actor: "plat.operator", action: "list", subject }]);
  });

  it("continues a search behind what it has read", async () => {
    const many = await makeTopicOf(
      owner,
      Array.from({ length: 900 }, (_, at) => (at === 20 || at === 880 ? "wanted" : "other")),
    );
    const look = async (query: string) =>
      expectJson(await operator(`${many.below}/events?contains=wanted${query}`), 200);
    const first = await look("");
    expect(first).toMatchObject({ events: [{ id: many.ids[20] }], next: many.ids[499], read: 500 });
    expect(await look(`&after=${first.next}`)).toMatchObject({
      events: [{ id: many.ids[880] }],
      next: null,
      read: 400,
    });
  });

  // shows: operator/topics/organization
  it("shows people of one organization the topics of its tenants, and nothing of others", async () => {
    const boss: Person = await makePerson(["plat.admin_tenant"]);
    const token = await tokenOf(boss);
    const own = await makeTopicOf(await makeClient({ tenant: boss.tenant }), ["mine"]);
    const ask = (path: string) => call(`/admin/v1/${path}`, { token });
    expect(await expectJson(await ask("topics"), 200)).toMatchObject([{ eventType: own.eventType }]);
    expect(await expectJson(await ask(`topics?tenant=${boss.tenant}`), 200)).toHaveLength(1);
    expect(await expectJson(await ask(`topics?tenant=${owner.tenant}`), 200)).toEqual([]);
    expect(await expectJson(await ask(`topics?q=${owner.tenant}`), 200)).toEqual([]);
    expect((await ask(own.below)).status).toBe(200);
    expect((await ask(`${own.below}/events`)).status).toBe(200);
    const unknown = `topics/${boss.tenant}.nobody/nothing`;
    for (const below of ["", "/events"])
      for (const path of [topic.below, unknown])
        expect([path, (await ask(`${path}${below}`)).status]).toEqual([path, 404]);
  });
});

describe("/admin/v1/push-subscriptions/{id}", () => {
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });

  // shows: operator/push-subscriptions/dead-letters
  it("shows dead letters, and delivers one or all of them again", async () => {
    stopTheClock();
    const push = await makePush();
    await push.answer({ status: 500 });
    const ids = await push.put(["x", "y", "z"]);
    await push.drive(2 * DAY_MS);
    const at = `push-subscriptions/${push.id}`;
    expect(await expectJson(await operator(`${at}/status`), 200)).toMatchObject({ lag: 0, deadLetters: 3 });
    const dead = await expectJson(await operator(`${at}/deliveries?state=dead`), 200);
    expect(dead.map(({ eventId }: any) => eventId).toSorted()).toEqual(ids.toSorted());
    expect(dead[0]).toMatchObject({ state: "dead", attemptCount: 9, nextAttemptAt: null });
    expect(dead[0].attempts.at(-1)).toMatchObject({ status: 500, error: "status" });
    await push.answer({ status: 204 });
    expect((await operator(`${at}/deliveries/${ids[0]}/redeliver`, "POST")).status).toBe(202);
    expect(await expectJson(await operator(`${at}/redeliver-dead`, "POST"), 202)).toEqual({
      redelivered: 2,
      more: false,
    });
    await push.run();
    expect(await expectJson(await operator(`${at}/status`), 200)).toMatchObject({ lag: 0, deadLetters: 0 });
    expect(await expectJson(await operator(`${at}/redeliver-dead`, "POST"), 202)).toEqual({
      redelivered: 0,
      more: false,
    });
    expect((await operator(`${at}/deliveries/nothing/redeliver`, "POST")).status).toBe(404);
    expect(await expectJson(await operator(`${at}/test`, "POST"), 200)).toMatchObject({ delivered: true, status: 204 });
    for (const [path, method] of [
      ["status", "GET"],
      ["deliveries", "GET"],
      ["redeliver-dead", "POST"],
      ["test", "POST"],
    ] as const)
      expect((await operator(`push-subscriptions/unknown/${path}`, method)).status).toBe(404);
  });
});

describe("describeConsumer", () => {
  it.each([
    ["acme.erp", { client: "acme.erp", ofPerson: false, onlyTenant: null, name: null }],
    ["acme.erp/of/demo", { client: "acme.erp", ofPerson: false, onlyTenant: "demo", name: null }],
    ["acme.erp/consumer/b", { client: "acme.erp", ofPerson: false, onlyTenant: null, name: "b" }],
    ["acme.erp/person/0f/demo", { client: "acme.erp", ofPerson: true, onlyTenant: null, name: null }],
    [
      "acme.erp/person/0f/demo/of/demo/consumer/b",
      { client: "acme.erp", ofPerson: true, onlyTenant: "demo", name: "b" },
    ],
  ])("takes %s apart", (consumer, described) => {
    expect(describeConsumer(consumer)).toEqual(described);
  });
});
