import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createTopicStore, TOPIC_SQL } from "../../../src/events/access/topic-store.ts";
import { TOPIC } from "../../../src/events/model/limits.ts";
import { logOf } from "../../../src/events/log/client.ts";
import { counting } from "../../support/counting.ts";
import { unique } from "../../support/platform/unique.ts";
import { eventsApp, KEPT, ORIGIN } from "../support/events-app.ts";
import { expectProblem, faults } from "../support/problem.ts";
import { someClient } from "../support/some-client.ts";
import { makeTopic, topicAt } from "../support/test-topic.ts";
import { objectsOf } from "../support/topic-objects.ts";

const app = eventsApp();
const create = (as: ReturnType<typeof someClient>, json: unknown) => app.call("/pubsub/v1/topics", { as, json });

describe("POST /topics", () => {
  describe("201", () => {
    // shows: events/topic/topicownerclient
    // shows: platform/addresses/publish-subscribe-service
    // shows: events/publish-subscribe-operations/post-topics
    // shows: events/publish-subscribe-operations/post-topics-shards
    // shows: events/publish-subscribe-operations/get-topics-owner-eventtype
    it("returns the absolute address of the topic, which then exists", async () => {
      const owner = someClient();
      const response = await create(owner, { eventType: "order.created", description: "Ordered", shards: 3 });
      expect(response.status).toBe(201);
      expect(await response.text()).toBe("");
      expect(response.headers.get("content-type")).toBeNull();
      const location = response.headers.get("location")!;
      expect(location).toBe(`${ORIGIN}/pubsub/v1/topics/${owner.clientName}/order.created`);
      const topic = await (await app.call(location, { as: owner })).json();
      expect(topic).toEqual({
        topicOwnerClient: owner.clientName,
        eventType: "order.created",
        description: "Ordered",
        createdAt: expect.any(Number),
        shards: 3,
        state: "active",
        href: location,
        storedEvents: 0,
        oldestEventAt: null,
        newestEventAt: null,
        lag: 0,
      });
    });

    // shows: events/topic/eventtype
    it("accepts the same event type from two owners", async () => {
      expect((await create(someClient(), { eventType: "same" })).status).toBe(201);
      expect((await create(someClient(), { eventType: "same" })).status).toBe(201);
    });
  });

  describe("answers 400", () => {
    // shows: platform/patterns/event-type
    // shows: events/publish-subscribe-operations/post-topics-shards
    it.each([
      [{}, ["missing_field eventType"]],
      [{ eventType: "" }, ["invalid_field eventType"]],
      [{ eventType: "-x" }, ["invalid_field eventType"]],
      [{ eventType: "a/b" }, ["invalid_field eventType"]],
      [{ eventType: "x".repeat(129) }, ["invalid_field eventType"]],
      [{ eventType: "x", shards: 0 }, ["invalid_field shards"]],
      [{ eventType: "x", shards: 17 }, ["invalid_field shards"]],
      [{ eventType: "x", shards: 1.5 }, ["invalid_field shards"]],
      [{ eventType: "x", shards: "2" }, ["invalid_field shards"]],
      [{ eventType: "x", description: "d".repeat(1025) }, ["invalid_field description"]],
      [{ eventType: "x", description: 7 }, ["invalid_field description"]],
    ])("answers 400 for %j", async (body, expected) => {
      expect(faults(await expectProblem(await create(someClient(), body), 400, "validation_violation"))).toEqual(
        expected,
      );
    });

    it("rejects invalid JSON and an empty body", async () => {
      const as = someClient();
      const broken = { as, body: "{", headers: { "content-type": "application/json" } };
      await expectProblem(await app.call("/pubsub/v1/topics", broken), 400, "bad_payload_syntax");
      await expectProblem(await app.call("/pubsub/v1/topics", { as, method: "POST" }), 400, "bad_payload_syntax");
    });

    it("rejects a description that is not a string", async () => {
      const body = await create(someClient(), { eventType: "x", description: "half of a pair: \ud83d" });
      expect(faults(await expectProblem(body, 400, "validation_violation"))).toEqual(["invalid_field description"]);
    });

    it("accepts a description of any other characters", async () => {
      const owner = someClient();
      const description = "nul \u0000, quotes \" ', 😀";
      expect((await create(owner, { eventType: "odd", description })).status).toBe(201);
      const found: any = await (await app.call(`/pubsub/v1/topics/${owner.clientName}/odd`, { as: owner })).json();
      expect(found.description).toBe(description);
    });
  });

  it("answers 401 without a token", async () => {
    const body = await app.call("/pubsub/v1/topics", { json: { eventType: "x" } });
    await expectProblem(body, 401, "insufficient_credentials");
  });

  describe("answers 403", () => {
    // shows: events/scopes-of-topics/plat.pubsub_publish
    it("names the missing scope", async () => {
      const body = await expectProblem(
        await create(someClient({ scopes: [] }), { eventType: "x" }),
        403,
        "insufficient_permissions",
      );
      expect(body.message).toContain("plat.pubsub_publish");
    });

    it("refuses a token that belongs to no client", async () => {
      const nobody = someClient({ clientId: "", clientName: "", user: "ada@demo.example" });
      await expectProblem(await create(nobody, { eventType: "x" }), 403, "insufficient_permissions");
    });
  });

  describe("answers 409", () => {
    // shows: platform/errors-of-every-service/409-conflict_resource
    // shows: events/publish-subscribe-operations/post-topics
    it("refuses a topic that exists", async () => {
      const owner = someClient();
      await create(owner, { eventType: "twice" });
      const body = await expectProblem(await create(owner, { eventType: "twice" }), 409, "conflict_resource");
      expect(faults(body)).toEqual(["topic_exists eventType"]);
    });

    // shows: events/publish-subscribe-operations/post-topics
    it("refuses all but one of many at once, and the topic works", async () => {
      const owner = someClient();
      const { env: counted, tally } = counting(env);
      const racing = eventsApp(counted);
      const json = { eventType: "raced", shards: 2 };
      const answers = await Promise.all(
        Array.from({ length: 10 }, () => racing.call("/pubsub/v1/topics", { as: owner, json })),
      );
      expect(answers.map((answer) => answer.status).toSorted((a, b) => a - b)).toEqual([201, ...Array(9).fill(409)]);
      // Those that lost leave no logs.
      const { "TOPIC_LOG.init": opened, "TOPIC_LOG.destroy": removed } = tally.objectCalls;
      expect(opened).toBeGreaterThan(2);
      expect(removed).toBe(opened! - 2);
      const topic = topicAt(app, owner, `/pubsub/v1/topics/${owner.clientName}/raced`);
      await topic.put({ payload: "x" });
      expect((await topic.read()).status).toBe(200);
    });

    it("refuses the client's 10,001st topic, before and after its logs are made; others have theirs", async () => {
      const [owner, neighbour] = [someClient(), someClient()];
      const below = someClient({ clientName: `${owner.clientName}.below` });
      await env.DB.prepare(
        `INSERT INTO topic (name, owner, event_type, description, shards, incarnation, state, created_at)
         WITH RECURSIVE counted(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM counted WHERE i < ?2)
         SELECT ?1 || '.t' || i, ?1, 't' || i, '', 1, ?1 || i, 'active', 0 FROM counted`,
      )
        .bind(owner.clientName, TOPIC.mostOfClient - 1)
        .run();
      expect((await create(below, { eventType: "x" })).status).toBe(201);
      const { env: counted, tally } = counting(env);
      const racing = eventsApp(counted);
      const asked = ["a", "b", "c"].map((eventType) =>
        racing.call("/pubsub/v1/topics", { as: owner, json: { eventType } }),
      );
      const answers = await Promise.all(asked);
      const refused = answers.filter(({ status }) => status !== 201);
      expect(refused).toHaveLength(2);
      for (const answer of refused)
        expect(faults(await expectProblem(answer, 409, "conflict_resource"))).toEqual(["too_many_topics"]);
      const { "TOPIC_LOG.init": opened = 0, "TOPIC_LOG.destroy": removed = 0 } = tally.objectCalls;
      expect(opened - removed).toBe(1);
      const late = await racing.call("/pubsub/v1/topics", { as: owner, json: { eventType: "d" } });
      expect(faults(await expectProblem(late, 409, "conflict_resource"))).toEqual(["too_many_topics"]);
      expect(tally.objectCalls["TOPIC_LOG.init"]).toBe(opened);
      expect((await create(neighbour, { eventType: "x" })).status).toBe(201);
      await env.DB.prepare("DELETE FROM topic WHERE owner = ?").bind(owner.clientName).run();
    });
  });
});

describe("GET /topics", () => {
  const list = (as: ReturnType<typeof someClient>, query = "") => app.call(`/pubsub/v1/topics${query}`, { as });
  const types = async (response: Response) => (await response.json<any[]>()).map((topic) => topic.eventType);

  // shows: events/publish-subscribe-operations/get-topics
  it("lists the caller's own topics by name", async () => {
    const owner = someClient();
    for (const eventType of ["b", "c", "a"]) await create(owner, { eventType });
    const response = await list(owner);
    expect(response.headers.get("link")).toContain('rel="self"');
    const topics: any = await response.clone().json();
    expect(topics[0]).toEqual({
      topicOwnerClient: owner.clientName,
      eventType: "a",
      description: "",
      createdAt: expect.any(Number),
      shards: 1,
      state: "active",
      href: `${ORIGIN}/pubsub/v1/topics/${owner.clientName}/a`,
    });
    expect(await types(response)).toEqual(["a", "b", "c"]);
  });

  // shows: events/publish-subscribe-operations/get-topics
  it("lists once each topic that a scope names, exactly or by its beginning", async () => {
    const owner = someClient();
    for (const eventType of ["order", "order.paid", "order2", "stock"]) await create(owner, { eventType });
    const seenWith = async (...patterns: string[]) =>
      types(
        await list(
          someClient({ scopes: patterns.map((pattern) => `plat.pubsub.topic=${owner.clientName}.${pattern}`) }),
        ),
      );
    expect(await seenWith("order")).toEqual(["order"]);
    expect(await seenWith("order.*")).toEqual(["order.paid"]);
    expect(await seenWith("order*")).toEqual(["order", "order.paid", "order2"]);
    expect(await seenWith("*", "order", "s*")).toEqual(["order", "order.paid", "order2", "stock"]);
    expect(await seenWith("none")).toEqual([]);
    expect(await types(await list(someClient()))).toEqual([]);
  });

  it("lists only its own topics to an owner whose name begins like another's", async () => {
    const owner = someClient();
    await create(owner, { eventType: "mine" });
    const other = someClient({ clientName: owner.clientName.slice(0, -1) });
    expect(await types(await list(other))).toEqual([]);
  });

  // shows: platform/paging/jumping-by-pagenumber
  // shows: events/publish-subscribe-operations/get-topics
  it("follows links from page to page while topics are added", async () => {
    const owner = someClient();
    for (const eventType of ["a", "b", "c", "d", "e"]) await create(owner, { eventType });
    const seen: string[] = [];
    let next: string | undefined = "/pubsub/v1/topics?pageSize=2";
    while (next !== undefined) {
      const response = await app.call(next, { as: owner });
      seen.push(...(await types(response.clone())));
      await create(owner, { eventType: `a${seen.length}` });
      next = /<([^>]*)>; rel="next"/.exec(response.headers.get("link") ?? "")?.[1];
    }
    expect(seen).toEqual(["a", "b", "c", "d", "e"]);
    expect(await types(await list(owner, "?pageSize=2&pageNumber=2"))).toEqual(["a4", "a5"]);
    const linkOf = async (query: string) => (await list(owner, query)).headers.get("link");
    expect(await linkOf("?pageSize=8&pageNumber=2")).toMatch(/pageNumber=1&pageSize=8>; rel="prev"$/);
    expect(await linkOf("?pageSize=8&pageNumber=3")).toMatch(/rel="self"$/);
  });

  it("continues after a cursor of odd characters", async () => {
    const owner = someClient();
    await create(owner, { eventType: "x" });
    for (const part of ["\u0000", "\ud800", 7, null, "'\""]) {
      const cursor = btoa(JSON.stringify([part]))
        .replaceAll("+", "-")
        .replaceAll("/", "_")
        .replace(/=+$/, "");
      expect((await list(owner, `?cursor=${cursor}`)).status).toBe(200);
    }
    expect((await list(owner, "?cursor=W10")).status).toBe(200);
  });

  // shows: platform/errors-of-every-service/details-out_of_range_parameter
  // shows: platform/paging/else
  it("answers 400 for an invalid page", async () => {
    expect(faults(await expectProblem(await list(someClient(), "?pageSize=0"), 400, "validation_violation"))).toEqual([
      "out_of_range_parameter pageSize",
    ]);
  });

  it("searches the primary key, once for each range, whatever the number of topics", async () => {
    const plan = await env.DB.prepare(`EXPLAIN QUERY PLAN ${TOPIC_SQL.list}`).bind('[["a","b"]]', 17, 0).all<any>();
    const steps = plan.results.map((row) => row.detail as string);
    expect(steps.filter((step) => /topic/.test(step))).toEqual(["SEARCH topic USING PRIMARY KEY (name>? AND name<?)"]);
    const own = env.DB.prepare(`EXPLAIN QUERY PLAN ${TOPIC_SQL.listOwn}`).bind('[["a","b"]]', 17, 0, "acme");
    const scans = (await own.all<any>()).results.map((row) => row.detail).filter((step) => step.startsWith("SCAN"));
    expect(scans).toEqual(["SCAN range VIRTUAL TABLE INDEX 1:"]);
    const find = await env.DB.prepare(`EXPLAIN QUERY PLAN ${TOPIC_SQL.find}`).bind("a").all<any>();
    expect(find.results.map((row) => row.detail)).toEqual(["SEARCH topic USING PRIMARY KEY (name=?)"]);
  });

  // shows: events/errors/403
  it("answers 403 for a token of no client, whatever scope it has, since it could follow none of the links", async () => {
    const nobody = someClient({
      clientId: "",
      clientName: "",
      user: "ada@demo.example",
      scopes: ["plat.pubsub.topic=*"],
    });
    await expectProblem(await app.call("/pubsub/v1/topics", { as: nobody }), 403, "insufficient_permissions");
  });
});

describe("GET /topics/{owner}/{eventType}", () => {
  // shows: events/publish-subscribe-operations/get-topics-owner-eventtype
  it("counts the stored events and those the caller has not committed, over all shards", async () => {
    const topic = await makeTopic(app, { shards: 4 });
    const status = async (as = topic.owner): Promise<any> => (await app.call(topic.path, { as })).json();
    app.actsFor.add(`${topic.owner.clientId} tenant2`).add(`${topic.owner.clientId} tenant3`);
    await topic.put(["tenant1", "tenant2", "tenant3"].map((tenant) => ({ payload: "x", tenant })));
    expect(await status()).toMatchObject({ storedEvents: 3, lag: 3 });
    const { token, events } = await topic.read({ numEvents: 2 });
    expect(await status()).toMatchObject({ storedEvents: 3, lag: 3 });
    await topic.commit(token);
    const now = await status();
    expect(now).toMatchObject({ storedEvents: 3, lag: 1, oldestEventAt: events[0]!.createdAt });
    expect(now.newestEventAt).toBeGreaterThanOrEqual(now.oldestEventAt);
    const other = someClient({ scopes: ["plat.pubsub.topic=*"] });
    expect(await status(other)).toMatchObject({ storedEvents: 3, lag: 3 });
  });

  it("stores nothing for a caller that only looked", async () => {
    const topic = await makeTopic(app);
    await app.call(topic.path, { as: topic.owner });
    const { consumer } = await objectsOf(topic);
    const tables = await runInDurableObject(consumer, (_, state) =>
      state.storage.sql.exec(`SELECT name FROM sqlite_master WHERE name = 'consumer'`).toArray(),
    );
    expect(tables).toEqual([]);
  });

  // shows: events/endpoints/path-parameters
  // shows: platform/errors-of-every-service/details-invalid_uri_parameter
  it("answers 400 for an invalid name", async () => {
    const response = await app.call("/pubsub/v1/topics/nodot/x", { as: someClient() });
    expect(faults(await expectProblem(response, 400, "validation_violation"))).toEqual([
      "invalid_uri_parameter topicOwnerClient",
    ]);
    const odd = await app.call("/pubsub/v1/topics/proj.app/%00%ff", { as: someClient() });
    await expectProblem(odd, 400, "validation_violation");
  });

  it("answers 404 for a topic that does not exist", async () => {
    const owner = someClient();
    await expectProblem(
      await app.call(`/pubsub/v1/topics/${owner.clientName}/none`, { as: owner }),
      404,
      "element_resource_non_existing",
    );
  });
});

describe("records cached by an isolate", () => {
  it("never hide a topic that was created elsewhere after it was missed here", async () => {
    const [here, elsewhere] = [eventsApp(), eventsApp()];
    const owner = someClient();
    const path = `/pubsub/v1/topics/${owner.clientName}/late`;
    expect((await here.call(path, { as: owner })).status).toBe(404);
    await elsewhere.call("/pubsub/v1/topics", { as: owner, json: { eventType: "late" } });
    expect((await here.call(path, { as: owner })).status).toBe(200);
  });

  it("never reach the objects of a deleted topic, and find the one that was created again", async () => {
    const [here, elsewhere] = [eventsApp(), eventsApp()];
    const topic = await makeTopic(here);
    await topic.put({ payload: "old" });
    await topic.read({ ttlMs: 3_600_000 });
    const { logs } = await objectsOf(topic);
    for (const log of logs) await log.destroy();
    await env.DB.prepare(`DELETE FROM topic WHERE owner = ?`).bind(topic.owner.clientName).run();
    await expectProblem(await topic.publish({ payload: "x" }), 404, "element_resource_non_existing");

    const eventType = topic.path.split("/").at(-1)!;
    const again = await makeTopicNamed(elsewhere, topic.owner, eventType);
    await again.put({ payload: "new" });
    // `here` still had the record of the old one, until its log answered that it is gone.
    const read = await topic.read();
    expect(read.events.map((event) => event.payload)).toEqual(["new"]);
  });

  it("find a topic that was created again even after a lookup while the old one was being deleted", async () => {
    const [here, elsewhere] = [eventsApp(), eventsApp()];
    const topic = await makeTopic(here);
    await topic.put({ payload: "old" });
    const { record, logs } = await objectsOf(topic);
    await createTopicStore(env.DB).markDeleting(record);
    await logs[0]!.close();
    await expectProblem(await topic.publish({ payload: "x" }), 404, "element_resource_non_existing");
    await elsewhere.sweep();
    await makeTopicNamed(elsewhere, topic.owner, record.eventType);
    expect((await topic.publish({ payload: "new" })).status).toBe(201);
  });

  it("show the owner a topic that is being deleted, although it was cached as active", async () => {
    const here = eventsApp();
    const topic = await makeTopic(here);
    await topic.put({ payload: "a" });
    const { record, logs } = await objectsOf(topic);
    await createTopicStore(env.DB).markDeleting(record);
    await logs[0]!.close();
    const view = await here.call(topic.path, { as: topic.owner });
    expect(view.status).toBe(200);
    expect(await view.json()).toMatchObject({ state: "deleting", storedEvents: 0, lag: 0 });
  });

  it("answers gone from a log that was never opened or was deleted, and stores nothing", async () => {
    const topic = { owner: "proj.app", eventType: unique("never"), incarnation: "none", shards: 1 };
    const log = logOf(env.TOPIC_LOG, topic, 0);
    expect(await log.publish([{ text: `"payload":""}`, payloadBytes: 0 }], undefined, KEPT)).toEqual({ kind: "gone" });
    expect(await log.read(0, 1, 1, 1)).toEqual({ kind: "gone" });
    expect(await log.stats()).toEqual({ kind: "gone" });
    const tables = await runInDurableObject(log, (_, state) =>
      state.storage.sql.exec(`SELECT name FROM sqlite_master WHERE name IN ('log', 'segment')`).toArray(),
    );
    expect(tables).toEqual([]);
    await log.init(0, KEPT);
    expect(await log.stats()).toMatchObject({ kind: "stats", lastSeq: 0 });
    await log.destroy();
    expect(await log.stats()).toEqual({ kind: "gone" });
  });
});

async function makeTopicNamed(
  on: ReturnType<typeof eventsApp>,
  owner: ReturnType<typeof someClient>,
  eventType: string,
) {
  const created = await on.call("/pubsub/v1/topics", { as: owner, json: { eventType } });
  expect(created.status).toBe(201);
  return topicAt(on, owner, `/pubsub/v1/topics/${owner.clientName}/${eventType}`);
}
