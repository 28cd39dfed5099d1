import { env } from "cloudflare:workers";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { describeConsumer } from "../../src/events/operated/consumer-name.ts";
import { stopTheClock } from "../events/support/push/push-clock.ts";
import { makePush } from "../events/support/push/test-push.ts";
import { makePerson, tokenOf, type Person } from "../support/parties/operators.ts";
import { directoryWith } from "../support/directory.ts";
import { isolate } from "../support/isolate.ts";
import { call, expectJson } from "../support/platform/call.ts";
import { makeClient, type TestClient } from "../support/platform/clients.ts";
import { operate, OPERATOR, put } from "../support/platform/operator.ts";
import { tokenFor } from "../support/platform/tokens.ts";
import { unique } from "../support/platform/unique.ts";
import { DAY_MS } from "../../src/platform/runtime/clock.ts";

const clientOf = async ({ clientId }: TestClient) => {
  const { createdAt: _, ...client } = await expectJson(await operate(`clients/${clientId}`), 200);
  return client;
};

/** Makes a topic of a client, with these payloads. */
async function makeTopicOf(owner: TestClient, payloads: readonly string[] = [], shards = 1) {
  const token = await tokenFor(owner);
  const eventType = unique("order");
  expect((await call("/pubsub/v1/topics", { token, json: { eventType, shards, description: "Orders." } })).status).toBe(
    201,
  );
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
    const listed = async (query: string) => expectJson(await operate(`topics?${query}`), 200);
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
    const page = await operate(`topics?tenant=${owner.tenant}&pageSize=1`);
    expect(await expectJson(page, 200)).toEqual([all[0]]);
    const next = /cursor=([^&>]+)/.exec(page.headers.get("link") ?? "")?.[1];
    expect(await listed(`tenant=${owner.tenant}&pageSize=1&cursor=${next}`)).toEqual([all[1]]);
  });

  // shows: operator/topics/show
  it("shows what a topic stores and how far behind its consumers are", async () => {
    const reader = await makeClient({ scopes: [`plat.pubsub.topic=${owner.clientId}.*`] });
    const token = await tokenFor(reader);
    expect(await expectJson(await operate(topic.below), 200)).toMatchObject({ consumers: [], moreConsumers: false });
    const batch = await expectJson(await call(`${topic.path}/read`, { token, json: { limit: 2 } }), 200);
    await call(`${topic.path}/commit`, { token, json: { token: batch.token } });
    expect(await expectJson(await operate(topic.below), 200)).toEqual({
      topicOwnerClient: owner.clientId,
      eventType: topic.eventType,
      description: "Orders.",
      createdAt: expect.any(Number),
      shards: 1,
      state: "active",
      storedEvents: 3,
      oldestEventAt: expect.any(Number),
      newestEventAt: expect.any(Number),
      eventsLastMinute: 3,
      eventsLastHour: 3,
      storedBytes: expect.any(Number),
      consumers: [
        {
          id: expect.stringMatching(/^[0-9a-f]{32}$/),
          client: reader.clientId,
          ofPerson: false,
          onlyTenant: null,
          name: null,
          lag: 3 - batch.events.length,
        },
      ],
      moreConsumers: false,
    });
    expect((await operate(`topics/${owner.clientId}/nothing`)).status).toBe(404);
  });

  // shows: operator/topics/look
  it("shows and searches events without moving a cursor, and the audit log says who looked", async () => {
    const look = async (query = "") => expectJson(await operate(`${topic.below}/events?${query}`), 200);
    const { events, next, read } = await look();
    expect(events.map(({ payload }: any) => payload)).toEqual(["apple", "Banana", "cherry"]);
    expect([next, read]).toEqual([null, 3]);
    expect(await look("limit=1")).toMatchObject({ events: [{ payload: "apple" }], next: topic.ids[0], read: 1 });
    expect(await look(`limit=1&after=${topic.ids[0]}`)).toMatchObject({ events: [{ payload: "Banana" }] });
    expect(await look("contains=banana")).toMatchObject({ events: [{ payload: "Banana" }], next: null, read: 3 });
    expect(await look("contains=kind%20of%20cherry")).toMatchObject({ events: [{ payload: "cherry" }] });
    expect(await look(`contains=${topic.ids[2]}`)).toMatchObject({ events: [{ id: topic.ids[2] }] });
    expect(await look("contains=nothing")).toEqual({ events: [], next: null, read: 3 });
    expect((await operate(`${topic.below}/events?limit=0`)).status).toBe(400);
    expect((await operate(`${topic.below}/events?after=x`)).status).toBe(400);
    expect((await operate(`${topic.below}/events?contains=${"x".repeat(201)}`)).status).toBe(400);
    const fresh = await call(`${topic.path}/read`, { token: topic.token, json: {} });
    expect(await expectJson(fresh, 200)).toMatchObject({ events: [{ payload: "apple" }] });
    const subject = `${topic.below}/events`;
    const rows = await expectJson(await operate(`audit?subject=${subject}`), 200);
    expect(rows).toMatchObject([{ actor: "plat.operator", action: "list", subject }]);
  });

  it("continues a search behind what it has read", async () => {
    const many = await makeTopicOf(
      owner,
      Array.from({ length: 900 }, (_, at) => (at === 20 || at === 880 ? "wanted" : "other")),
    );
    const look = async (query: string) =>
      expectJson(await operate(`${many.below}/events?contains=wanted${query}`), 200);
    const first = await look("");
    expect(first).toMatchObject({ events: [{ id: many.ids[20] }], next: many.ids[499], read: 500 });
    expect(await look(`&after=${first.next}`)).toMatchObject({
      events: [{ id: many.ids[880] }],
      next: null,
      read: 400,
    });
  });

  // shows: operator/topics/publish
  it("publishes an event on behalf of the owner, within its rights, and the audit log says who did", async () => {
    const mine = await makeTopicOf(owner);
    const publish = async (json: unknown, headers: Record<string, string> = {}) =>
      call(`/admin/v1/${mine.below}/events`, { token: await tokenFor(OPERATOR), json, headers });
    const key = { "idempotency-key": unique("by-hand") };
    const made = await expectJson(await publish({ payload: "by hand", metadata: { why: "a test" } }, key), 201);
    expect(await expectJson(await publish({ payload: "by hand", metadata: { why: "a test" } }, key), 201)).toEqual(
      made,
    );
    const { events } = await expectJson(await call(`${mine.path}/events`, { token: mine.token }), 200);
    expect(events).toEqual([
      {
        id: made.id,
        createdAt: expect.any(Number),
        tenant: owner.tenant,
        sourceClient: owner.clientId,
        eventType: mine.eventType,
        payload: "by hand",
        metadata: { why: "a test" },
      },
    ]);
    const subject = `${mine.below}/events`;
    const rows = await expectJson(await operate(`audit?subject=${subject}`), 200);
    expect(rows[0]).toMatchObject({ actor: "plat.operator", action: "publish", subject, outcome: "done" });
    for (const refused of [{}, { payload: 1 }, [{ payload: "x" }], { payload: "x".repeat(256 * 1024 + 1) }])
      expect((await publish(refused)).status).toBeGreaterThanOrEqual(400);
    // The owner may not act for another tenant, so an operator who publishes for it may not either.
    const other = await makeClient();
    expect((await publish({ payload: "x", tenant: other.tenant })).status).toBe(403);
    expect((await operate("topics/nobody.here/nothing/events", "POST")).status).toBe(400);
    await put(`clients/${owner.clientId}`, { ...(await clientOf(owner)), disabled: true });
    const disabled = await publish({ payload: "x" });
    await put(`clients/${owner.clientId}`, { ...(await clientOf(owner)), disabled: false });
    expect(disabled.status).toBe(409);
  });

  it("publishes every key of the metadata", async () => {
    const mine = await makeTopicOf(owner);
    const metadata: object = JSON.parse(`{"__proto__":"kept","constructor":"too"}`);
    await expectJson(await operate(`${mine.below}/events`, "POST", { payload: "x", metadata }), 201);
    const { events } = await expectJson(await call(`${mine.path}/events`, { token: mine.token }), 200);
    expect(Object.entries(events[0].metadata)).toEqual(Object.entries(metadata));
    const refused = await operate(`${mine.below}/events`, "POST", { payload: "x", metadata: { count: 1 } });
    expect((await expectJson(refused, 400)).details[0].field).toBe("metadata.count");
  });

  it("publishes nothing to the platform's own topics", async () => {
    const path = "/admin/v1/topics/plat.subscriptions/subscriptionCreated/events";
    const answer = await call(path, { token: await tokenFor(OPERATOR), json: { payload: "x" } });
    expect(await expectJson(answer, 409)).toMatchObject({ details: [{ type: "built_in" }] });
  });

  // shows: operator/topics/move
  it("moves a consumer's cursor, and says before what it will read again", async () => {
    const mine = await makeTopicOf(owner, ["1", "2", "3", "4"]);
    const reader = await makeClient({ scopes: [`plat.pubsub.topic=${owner.clientId}.*`] });
    const token = await tokenFor(reader);
    const read = async () =>
      expectJson(await call(`${mine.path}/read`, { token, json: { limit: 10, ttlMs: 60_000 } }), 200);
    const commit = async (one: { token: string }) =>
      expect((await call(`${mine.path}/commit`, { token, json: { token: one.token } })).status).toBe(200);
    for (let seen = 0; seen < 3;) {
      const batch = await read();
      seen += batch.events.length;
      await commit(batch);
    }
    const { consumers } = await expectJson(await operate(mine.below), 200);
    const [{ id }] = consumers;
    const seek = `${mine.below}/consumers/${id}/seek`;
    const lag = 4 - 3;
    const preview = async (to: string | number) => expectJson(await operate(`${seek}?to=${to}`), 200);
    expect(await preview("oldest")).toMatchObject({ client: reader.clientId, again: 4 - lag, skipped: 0 });
    expect((await preview("oldest")).first.map(({ payload }: any) => payload)).toEqual(["1", "2", "3", "4"]);
    expect(await preview("newest")).toMatchObject({ again: 0, skipped: lag, first: [] });
    expect(await preview(Date.now() + 60_000)).toMatchObject({ again: 0, skipped: lag });
    const move = async (to: unknown) => call(`/admin/v1/${seek}`, { token: await tokenFor(OPERATOR), json: { to } });
    const held = await read();
    const locked = await move("oldest");
    expect([locked.status, locked.headers.has("retry-after")]).toEqual([409, true]);
    await commit(held);
    expect((await move("oldest")).status).toBe(204);
    expect(await read()).toMatchObject({ events: [{ payload: "1" }] });
    const subject = `${mine.below}/consumers/${reader.clientId}`;
    expect(await expectJson(await operate(`audit?subject=${subject}`), 200)).toMatchObject([
      { action: "move cursor", actor: "plat.operator", subject, reason: "to oldest" },
    ]);
    for (const to of ["soon", -1, 1.5, 1e15]) expect((await move(to)).status).toBe(400);
    expect((await operate(`${seek}?to=soon`)).status).toBe(400);
    expect((await operate(`${mine.below}/consumers/${"0".repeat(32)}/seek?to=oldest`)).status).toBe(404);
  });

  it("previews for a reader of one tenant's events what that reader would get", async () => {
    const mine = await makeTopicOf(owner, ["own"]);
    const scopes = [`plat.pubsub.own_tenant_topic=${owner.clientId}.*`];
    for (const [tenant, payloads] of [
      [owner.tenant, ["own"]],
      [undefined, []],
    ] as const) {
      const reader = await makeClient({ scopes, ...(tenant && { tenant }) });
      await call(`${mine.path}/read`, { token: await tokenFor(reader), json: { autoCommit: true } });
      const { consumers } = await expectJson(await operate(mine.below), 200);
      const { id } = consumers.find(({ client }: any) => client === reader.clientId);
      const preview = await expectJson(await operate(`${mine.below}/consumers/${id}/seek?to=oldest`), 200);
      expect(preview).toMatchObject({ onlyTenant: reader.tenant, again: null });
      expect(preview.first.map(({ payload }: any) => payload)).toEqual(payloads);
    }
  });

  it("lets who runs an organization's tenants change only what is theirs", async () => {
    const boss = await makePerson(["plat.admin_tenant"]);
    const token = await tokenOf(boss);
    const app = await makeClient({ tenant: boss.tenant });
    const own = await makeTopicOf(app, ["mine"]);
    const stranger = await makeClient({ scopes: [`plat.pubsub.topic=${app.clientId}.*`] });
    for (const reader of [app, stranger])
      await call(`${own.path}/seek`, { token: await tokenFor(reader), json: { to: "newest" } });
    const ask = (path: string, json: unknown) => call(`/admin/v1/${path}`, { token, json });
    expect((await ask(`${own.below}/events`, { payload: "x" })).status).toBe(201);
    expect((await ask(`${topic.below}/events`, { payload: "x" })).status).toBe(404);
    const { consumers } = await expectJson(await call(`/admin/v1/${own.below}`, { token }), 200);
    const idOf = ({ clientId }: TestClient) => consumers.find(({ client }: any) => client === clientId).id;
    expect((await ask(`${own.below}/consumers/${idOf(app)}/seek`, { to: "oldest" })).status).toBe(204);
    expect((await ask(`${own.below}/consumers/${idOf(stranger)}/seek`, { to: "oldest" })).status).toBe(403);
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

  it("lists no topics of a foreign client for them, whatever its name", async () => {
    const boss: Person = await makePerson(["plat.admin_tenant"]);
    const token = await tokenOf(boss);
    const own = await makeTopicOf(await makeClient({ tenant: boss.tenant }));
    const foreign = await makeClient();
    const name = `${boss.tenant}.a${unique("foreign")}`;
    const { clientId: _, ...fields } = await clientOf(foreign);
    await put(`clients/${foreign.clientId}`, { ...fields, name });
    const hidden: string[] = [];
    for (const eventType of ["one", "two"]) {
      const made = { token: await tokenFor(foreign), json: { eventType, shards: 1, description: "Theirs." } };
      expect((await call("/pubsub/v1/topics", made)).status).toBe(201);
      hidden.push(`${name}.${eventType}`);
    }
    const page = (query: string) => call(`/admin/v1/topics?${query}`, { token });
    const seen = async (query: string) =>
      (await expectJson(await page(query), 200)).map(({ eventType }: any) => eventType);
    for (const query of ["", `tenant=${boss.tenant}`, `q=${boss.tenant}.`, `tenant=${boss.tenant}&q=${boss.tenant}`])
      expect([query, await seen(query)]).toEqual([query, [own.eventType]]);
    for (const query of [name, ...hidden].flatMap((q) => [`q=${q}`, `q=${q}&tenant=${boss.tenant}`]))
      expect([query, await seen(query)]).toEqual([query, []]);
    // Pages neither count nor skip them.
    const relations = async (query: string) =>
      Array.from(((await page(query)).headers.get("link") ?? "").matchAll(/rel="(\w+)"/g), ([, rel]) => rel);
    expect([await seen("pageSize=1"), await relations("pageSize=1")]).toEqual([[own.eventType], ["self"]]);
    expect([await seen("pageSize=1&pageNumber=2"), await relations("pageSize=1&pageNumber=2")]).toEqual([
      [],
      ["self", "prev"],
    ]);
    expect(await relations(`q=${name}&pageSize=1&pageNumber=2`)).toEqual(["self"]);
    // The platform's operators see them.
    expect(await expectJson(await operate(`topics?q=${name}`), 200)).toHaveLength(2);
  });
});

describe("the topics of an organization with thousands of tenants", () => {
  let boss: Person;
  let ask: (query: string) => Promise<Response>;

  beforeAll(async () => {
    boss = await makePerson(["plat.admin_tenant"]);
    const token = await tokenOf(boss);
    ask = (query) => call(`/admin/v1/topics?${query}`, { token });
    const numbers = `WITH RECURSIVE n (i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n LIMIT 3100)`;
    const topics = `INSERT INTO topic (name, owner, event_type, description, shards, incarnation, state, created_at)`;
    await env.DB.batch([
      env.DB.prepare(
        `${numbers} INSERT INTO tenant (id, organization, name, created_at) SELECT 'many' || i, ?1, '', 0 FROM n`,
      ).bind(boss.organization),
      ...[1000, 1998, 1999, 2000, 4050].map((number) =>
        env.DB.prepare(`${topics} VALUES (?1 || '.app.made', ?1 || '.app', 'made', '', 1, ?1, 'active', 0)`).bind(
          `many${number}`,
        ),
      ),
    ]);
  });

  /** The tenants in the pages that `next` links lead through, and the relations of each page's links. */
  async function walk(query: string): Promise<{ tenants: string[][]; relations: string[] }> {
    const [tenants, relations]: [string[][], string[]] = [[], []];
    for (let next: string | undefined = query; next !== undefined;) {
      const page = await ask(next);
      const topics: { topicOwnerClient: string }[] = await expectJson(page, 200);
      tenants.push(topics.map(({ topicOwnerClient }) => topicOwnerClient.replace(".app", "")));
      const link = page.headers.get("link") ?? "";
      relations.push(Array.from(link.matchAll(/rel="(\w+)"/g), ([, relation]) => relation).join(" "));
      next = /\?([^>]+)>; rel="next"/.exec(link)?.[1];
    }
    return { tenants, relations };
  }

  // shows: operator/topics/organization
  it("are all there, in pages that read 1,000 tenants at most", async () => {
    const { tenants, relations } = await walk("q=many&pageSize=2");
    expect(tenants).toEqual([["many1000", "many1998"], ["many1999"], ["many2000"], [], ["many4050"]]);
    // A page number leads through the first 1,000 tenants only.
    expect(relations).toEqual(["self next", "self prev next", "self next", "self next", "self"]);
    expect((await walk("pageSize=20")).tenants.flat()).toEqual(tenants.flat());
    expect((await walk("q=many4050.app")).tenants).toEqual([["many4050"]]);
    expect((await walk("q=many5")).tenants).toEqual([[]]);
  });

  it("come once if tenants are added meanwhile", async () => {
    const first = await ask("q=many&pageSize=2");
    const next = /\?([^>]+)>; rel="next"/.exec(first.headers.get("link") ?? "")![1]!;
    await env.DB.prepare(`INSERT INTO tenant (id, organization, name, created_at)
      SELECT 'many1000' || value, ?1, '', 0 FROM json_each('["a", "b", "c", "d"]')`)
      .bind(boss.organization)
      .run();
    const { tenants } = await walk(next);
    expect(tenants.flat()).toEqual(["many1999", "many2000", "many4050"]);
  });
});

describe("trafficOf", () => {
  afterEach(() => vi.useRealTimers());

  // shows: operator/topics/show
  it("counts the events of the last minute and of the last hour, over all logs, and their size", async () => {
    stopTheClock();
    const { below, path, token } = await makeTopicOf(await makeClient(), [], 2);
    const publish = async (payload: string) =>
      expect((await call(`${path}/publish`, { token, json: { payload } })).status).toBe(201);
    const shown = async () => expectJson(await operate(below), 200);
    expect(await shown()).toMatchObject({ eventsLastMinute: 0, eventsLastHour: 0, storedEvents: 0 });
    for (const payload of ["a", "b", "c", "d"]) await publish(payload);
    vi.setSystemTime(Date.now() + 120_000);
    await publish("e");
    const { storedBytes, ...later } = await shown();
    expect(later).toMatchObject({ eventsLastMinute: 1, eventsLastHour: 5, storedEvents: 5 });
    expect(storedBytes).toBeGreaterThan(8_000);
    vi.setSystemTime(Date.now() + 3_600_001);
    expect(await shown()).toMatchObject({ eventsLastMinute: 0, eventsLastHour: 0, storedEvents: 5 });
  });
});

describe("/admin/v1/attention", () => {
  afterEach(() => vi.useRealTimers());

  // shows: operator/attention/items
  it("names each push subscription in trouble, however many others there are", async () => {
    stopTheClock();
    const [failing, disabled] = [await makePush(), await makePush()];
    // Its client has no scope for the topic.
    const halted = await makePush({ client: (await makeClient({ scopes: [] })).clientId });
    await insertOthers(failing.id, "active");
    await failing.answer({ status: 500 });
    await failing.put(["x"]);
    await failing.drive(600_000);
    await disabled.disable();
    await halted.put(["x"]);
    await halted.drive(60_000);
    const kinds = async () => {
      const { items } = await expectJson(await operate("attention"), 200);
      return [failing, disabled, halted].map(({ id }) => items.find(({ subject }: any) => subject === id)?.kind);
    };
    await expect.poll(kinds, { timeout: 10_000 }).toEqual(["push_failing", "push_stopped", "push_stopped"]);
  });

  it("names a failing one, however many are disabled", async () => {
    stopTheClock();
    const failing = await makePush();
    await insertOthers(failing.id, "disabled");
    await failing.answer({ status: 500 });
    await failing.put(["x"]);
    await failing.drive(600_000);
    const named = async () => {
      const { items } = await expectJson(await operate("attention"), 200);
      const stopped = items.filter(({ kind }: any) => kind === "push_stopped").length;
      return [stopped, items.find(({ subject }: any) => subject === failing.id)?.kind];
    };
    await expect.poll(named, { timeout: 10_000 }).toEqual([20, "push_failing"]);
  });

  /** Inserts 600 subscriptions like this one, whose ids come before it. */
  const insertOthers = (id: string, state: "active" | "disabled") =>
    env.DB.prepare(
      `WITH RECURSIVE n (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n LIMIT 600)
       INSERT INTO push_subscription (id, topic, incarnation, client, as_owner, name, endpoint, username, credentials,
         seal_key, state, version, created_at, updated_at)
       SELECT '00' || substr(?2, 1, 1) || printf('%05d', value), topic, incarnation, client, as_owner, 'n' || value, endpoint, username,
         credentials, seal_key, ?2, version, created_at, updated_at
       FROM push_subscription, n WHERE id = ?1`,
    )
      .bind(id, state)
      .run();
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
    await push.answer({ status: 500, body: "the store is closed" });
    const ids = await push.put(["x", "y", "z"]);
    const failing = { kind: "push_failing", subject: push.id, count: 3 };
    const troubles = async () =>
      (await expectJson(await operate("attention"), 200)).items.filter(({ subject }: any) => subject === push.id);
    await push.run();
    expect(await troubles()).toEqual([]);
    await push.drive(600_000);
    await expect.poll(troubles).toMatchObject([failing]);
    await push.drive(2 * DAY_MS);
    const at = `push-subscriptions/${push.id}`;
    expect(await expectJson(await operate(`${at}/status`), 200)).toMatchObject({ lag: 0, deadLetters: 3 });
    const dead = await expectJson(await operate(`${at}/deliveries?state=dead`), 200);
    expect(dead.map(({ eventId }: any) => eventId).toSorted()).toEqual(ids.toSorted());
    expect(dead[0]).toMatchObject({ state: "dead", attemptCount: 9, nextAttemptAt: null });
    expect(dead[0].attempts.at(-1)).toMatchObject({ status: 500, error: "status" });
    const { items } = await expectJson(await operate("attention"), 200);
    expect(items).toContainEqual({
      kind: "dead_letters",
      subject: push.id,
      topic: expect.any(String),
      name: expect.any(String),
      count: 3,
      untilAt: null,
    });
    const [first] = dead;
    const report = await expectJson(await operate(`${at}/deliveries/${first.eventId}`), 200);
    expect(report).toMatchObject({ state: "dead", attemptCount: 9 });
    expect(JSON.parse(report.body)).toMatchObject({ id: first.eventId, payload: expect.stringMatching(/^[xyz]$/) });
    expect(report.attempts.map(({ headers }: any) => headers["plat-delivery-attempt"])).toEqual(
      Array.from("123456789"),
    );
    expect(report.attempts[8]).toEqual({
      ...first.attempts[8],
      headers: {
        "content-type": "application/json",
        "user-agent": "plat-push",
        "webhook-id": first.eventId,
        "webhook-timestamp": String(Math.floor(first.attempts[8].at / 1_000)),
        "plat-delivery-attempt": "9",
      },
      answer: "the store is closed",
    });
    const looks = await expectJson(await operate(`audit?subject=${at}/deliveries`), 200);
    expect(looks).toMatchObject([{ actor: "plat.operator", action: "list" }]);
    expect((await operate(`${at}/deliveries/nothing`)).status).toBe(404);
    await push.answer({ status: 204 });
    expect(await push.stub.redeliverDead(1)).toEqual({ redelivered: 1, more: true });
    expect(await expectJson(await operate(`${at}/deliveries?state=pending`), 200)).toMatchObject([{ eventId: ids[2] }]);
    expect((await operate(`${at}/deliveries/${ids[0]}/redeliver`, "POST")).status).toBe(202);
    expect(await expectJson(await operate(`${at}/redeliver-dead`, "POST"), 202)).toEqual({
      redelivered: 1,
      more: false,
    });
    await push.run();
    expect(await expectJson(await operate(`${at}/status`), 200)).toMatchObject({ lag: 0, deadLetters: 0 });
    await expect.poll(troubles).toEqual([]);
    await expect.poll(async () => (await push.stored())!.trouble).toBeUndefined();
    // The event comes from the log then, and the body of an accepting answer is not stored.
    const delivered = await expectJson(await operate(`${at}/deliveries/${first.eventId}`), 200);
    expect(delivered).toMatchObject({ state: "delivered", body: report.body });
    expect(delivered.attempts.at(-1)).toMatchObject({ status: 204, error: null, answer: null });
    expect(await expectJson(await operate(`${at}/redeliver-dead`, "POST"), 202)).toEqual({
      redelivered: 0,
      more: false,
    });
    expect((await operate(`${at}/deliveries/nothing/redeliver`, "POST")).status).toBe(404);
    expect(await expectJson(await operate(`${at}/test`, "POST"), 200)).toMatchObject({ delivered: true, status: 204 });
    const { topic, client, name } = await expectJson(await operate(at), 200);
    const rows = await expectJson(await operate(`audit?subject=push-subscriptions/${topic}/${client}/${name}`), 200);
    const [actor, redelivered] = ["plat.operator", { action: "redeliver push subscription" }];
    expect(rows.slice(0, 3)).toMatchObject([
      { actor, action: "test push subscription", requestId: expect.stringMatching(/./) },
      { actor, ...redelivered, reason: "dead letters: 1" },
      { actor, ...redelivered, reason: `event ${ids[0]}` },
    ]);
    for (const [path, method] of [
      ["status", "GET"],
      ["deliveries", "GET"],
      ["redeliver-dead", "POST"],
      ["test", "POST"],
    ] as const)
      expect((await operate(`push-subscriptions/unknown/${path}`, method)).status).toBe(404);
  });
});

describe("an operator's redelivery", () => {
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });

  it("delivers nothing if its audit row cannot be written, so its repeat delivers once", async () => {
    stopTheClock();
    vi.spyOn(console, "error").mockImplementation(() => {});
    const push = await makePush();
    await push.answer({ status: 500 });
    const ids = await push.put(["x", "y"]);
    await push.drive(2 * DAY_MS);
    await push.drive(2 * DAY_MS);
    const at = `push-subscriptions/${push.id}`;
    const dead = async () => (await expectJson(await operate(`${at}/deliveries?state=dead`), 200)).length;
    expect(await dead()).toBe(2);
    const DB = directoryWith({
      prepare(sql) {
        const made = env.DB.prepare(sql);
        const bind = (...values: unknown[]) => {
          const fails = values.some((value) => String(value).includes("redeliver push subscription"));
          return fails ? { run: () => Promise.reject(new Error("D1 is away")) } : made.bind(...values);
        };
        return sql.includes("INTO audit") ? { bind } : made;
      },
    });
    const failing = isolate({ DB });
    const headers = { authorization: `Bearer ${await tokenFor(OPERATOR)}` };
    for (const path of [`deliveries/${ids[0]}/redeliver`, "redeliver-dead"]) {
      const answer = await failing.fetch(`/admin/v1/${at}/${path}`, { method: "POST", headers });
      expect([answer.status >= 500, await dead()]).toEqual([true, 2]);
      await answer.body?.cancel();
    }
    expect((await operate(`${at}/redeliver-dead`, "POST")).status).toBe(202);
    expect(await dead()).toBe(0);
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
