import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createTopicStore, TOPIC_SQL } from "../../../src/events/access/topic-store.ts";
import { consumerOf } from "../../../src/events/consume/stub.ts";
import type { TopicConsumer } from "../../../src/events/consume/topic-consumer.do.ts";
import { logOf } from "../../../src/events/log/client.ts";
import { DELETE } from "../../../src/events/model/limits.ts";
import { nameOf } from "../../../src/events/model/topic.ts";
import { unique } from "../../support/platform/unique.ts";
import { eventsApp } from "../support/events-app.ts";
import { expectProblem, faults } from "../support/problem.ts";
import { someClient } from "../support/some-client.ts";
import { makeTopic, payloads, type TestTopic } from "../support/test-topic.ts";
import { objectsOf } from "../support/topic-objects.ts";
import { itAtNight } from "../../support/model-runs.ts";

const app = eventsApp();
afterEach(() => void vi.restoreAllMocks());

const remove = (topic: TestTopic, on = app, as = topic.owner) => on.call(topic.path, { as, method: "DELETE" });
const create = (topic: TestTopic, on = app) =>
  on.call("/pubsub/v1/topics", { as: topic.owner, json: { eventType: topic.path.split("/").at(-1) } });
/** An app whose deletions stay half done, since its consumers cannot be reached. */
const halting = () => {
  vi.spyOn(console, "error").mockReturnValue();
  const consumers = { getByName: () => ({ destroy: () => Promise.reject(new Error("out of reach")) }) };
  return eventsApp({ ...env, TOPIC_CONSUMER: consumers as unknown as typeof env.TOPIC_CONSUMER });
};
const tablesOf = (stub: DurableObjectStub) =>
  runInDurableObject(stub, (_, state) =>
    state.storage.sql.exec(`SELECT name FROM sqlite_master WHERE name IN ('log', 'segment', 'consumer')`).toArray(),
  );

describe("DELETE /topics/{owner}/{eventType}", () => {
  // shows: events/publish-subscribe-operations/delete-topics-owner-eventtype
  it("removes events, locks and cursors on all shards and of all clients", async () => {
    const topic = await makeTopic(app, { shards: 3 });
    await topic.put([{ payload: "a" }, { payload: "b" }]);
    const clients = Array.from({ length: 120 }, () => someClient({ scopes: ["plat.pubsub.topic=*"] }));
    await topic.read({ ttlMs: 3_600_000 });
    await Promise.all(clients.map((as) => topic.read({ autoCommit: true }, { as })));
    const { record, logs, consumer } = await objectsOf(topic);
    const response = await remove(topic);
    expect(response.status).toBe(202);
    expect(await response.text()).toBe("");
    await expectProblem(await app.call(topic.path, { as: topic.owner }), 404, "element_resource_non_existing");
    const others = clients.map((client) => consumerOf(env.TOPIC_CONSUMER, record, client.clientId));
    for (const stub of [consumer, ...others, ...logs])
      expect(await tablesOf(stub as unknown as DurableObjectStub)).toEqual([]);
  });

  it("leaves nothing to a topic that is created again", async () => {
    const topic = await makeTopic(app);
    await topic.put([{ payload: "old" }, { payload: "old too" }]);
    const { token } = await topic.read({ ttlMs: 3_600_000 });
    await remove(topic);
    expect((await create(topic)).status).toBe(201);
    expect((await topic.read()).status).toBe(204);
    await topic.put({ payload: "new" });
    const unknown = await expectProblem(await topic.commit(token), 409, "topic_not_locked");
    expect(faults(unknown)).toEqual(["unknown_token token"]);
    expect(payloads(await topic.read())).toEqual(["new"]);
  });

  it("forgets a client that only moved its cursor", async () => {
    const topic = await makeTopic(app);
    await topic.put({ payload: "a" });
    const client = someClient({ scopes: ["plat.pubsub.topic=*"] });
    expect((await topic.post("seek", { to: "newest" }, { as: client })).status).toBe(200);
    const { consumer } = await objectsOf(topic, client);
    await evictDurableObject(consumer);
    await topic.read({}, { as: client });
    await remove(topic);
    expect(await tablesOf(consumer as unknown as DurableObjectStub)).toEqual([]);
  });

  it("stops publishing from here although the topic's logs cannot be reached", async () => {
    vi.spyOn(console, "error").mockReturnValue();
    const logs = {
      getByName: (name: string) =>
        new Proxy(env.TOPIC_LOG.getByName(name), {
          get: (stub, method) =>
            method === "close" ? () => Promise.reject(new Error("out of reach")) : Reflect.get(stub, method),
        }),
    };
    const stuck = eventsApp({ ...env, TOPIC_LOG: logs as unknown as typeof env.TOPIC_LOG });
    const topic = await makeTopic(stuck);
    await topic.put({ payload: "a" });
    expect((await remove(topic, stuck)).status).toBe(202);
    await expectProblem(await topic.publish({ payload: "b" }), 404, "element_resource_non_existing");
  });

  it("answers 202 also after a reader stopped in the middle of the log", async () => {
    const topic = await makeTopic(app);
    const { logs } = await objectsOf(topic);
    for (let at = 0; at < 5; at++) await topic.put({ payload: "x" });
    expect(await logs[0]!.read(0, 1, 0, 1)).toMatchObject({ atEnd: false });
    await topic.put({ payload: "y" });
    expect((await remove(topic)).status).toBe(202);
    expect(await tablesOf(logs[0] as unknown as DurableObjectStub)).toEqual([]);
  });

  it("answers 202 again while the topic is being deleted", async () => {
    const topic = await makeTopic(app);
    await topic.put({ payload: "a" });
    await topic.read();
    const stuck = halting();
    expect((await remove(topic, stuck)).status).toBe(202);
    expect((await remove(topic, stuck)).status).toBe(202);
  });

  // shows: events/publish-subscribe-operations/delete-topics-owner-eventtype
  // shows: events/scopes-of-topics/plat.pubsub_publish
  it("answers 403 without the scope, 404 for somebody else's topic and for one that does not exist", async () => {
    const topic = await makeTopic(app);
    const noScope = await remove(topic, app, { ...topic.owner, scopes: [] });
    await expectProblem(noScope, 403, "insufficient_permissions");
    const stranger = someClient({ scopes: ["plat.pubsub_publish", "plat.pubsub.topic=*"] });
    await expectProblem(await remove(topic, app, stranger), 404, "element_resource_non_existing");
    const missing = await app.call(`${topic.path}x`, { as: topic.owner, method: "DELETE" });
    await expectProblem(missing, 404, "element_resource_non_existing");
    expect((await app.call(topic.path, { as: topic.owner })).status).toBe(200);
  });
});

describe("a topic that is being deleted", () => {
  async function halfDeleted() {
    const topic = await makeTopic(app, { shards: 2 });
    await topic.put([{ payload: "a" }, { payload: "b" }]);
    const { token } = await topic.read({ ttlMs: 3_600_000 });
    const objects = await objectsOf(topic);
    await remove(topic, halting());
    return { topic, token, ...objects };
  }

  // shows: events/publish-subscribe-operations/delete-topics-owner-eventtype
  // shows: events/publish-subscribe-operations/a-topic-that-is-deleting
  it("tells its owner, and is neither published to, read nor created again", async () => {
    const { topic, token } = await halfDeleted();
    const fresh = eventsApp();
    const view = await fresh.call(topic.path, { as: topic.owner });
    expect(await view.json()).toMatchObject({ state: "deleting", storedEvents: 0, lag: 0 });
    const list = await fresh.call("/pubsub/v1/topics", { as: topic.owner });
    expect(await list.json()).toMatchObject([{ state: "deleting" }]);
    const body = await expectProblem(await create(topic, fresh), 409, "conflict_resource");
    expect(faults(body)).toEqual(["topic_deletion_in_progress eventType"]);
    for (const [operation, json] of [
      ["publish", { payload: "x" }],
      ["read", {}],
      ["commit", { token }],
      ["extend", { token, ttlMs: 1000 }],
      ["release", { token }],
      ["seek", { to: "oldest" }],
    ] as const)
      await expectProblem(
        await fresh.call(`${topic.path}/${operation}`, { as: topic.owner, json }),
        404,
        "element_resource_non_existing",
      );
    await expectProblem(
      await fresh.call(`${topic.path}/events`, { as: topic.owner }),
      404,
      "element_resource_non_existing",
    );
  });

  it("is closed for an isolate that still remembers it, also after the objects were evicted", async () => {
    const { topic, logs } = await halfDeleted();
    // `app` has read the topic and keeps its record.
    await expectProblem(await topic.publish({ payload: "x" }), 404, "element_resource_non_existing");
    for (const log of logs) await evictDurableObject(log);
    expect(await logs[0]!.stats()).toEqual({ kind: "gone" });
    const late = someClient({ scopes: ["plat.pubsub.topic=*"] });
    expect((await topic.read({}, { as: late })).status).toBe(404);
    expect(await logs[0]!.addConsumer("late")).toBe("gone");
  });

  it("is completed by the sweep, which may be repeated", async () => {
    const { topic, record, logs, consumer } = await halfDeleted();
    await Promise.all([app.sweep(), app.sweep()]);
    await app.sweep();
    for (const stub of [consumer, ...logs]) expect(await tablesOf(stub as unknown as DurableObjectStub)).toEqual([]);
    expect(await createTopicStore(env.DB).find(record)).toBeUndefined();
    expect((await create(topic)).status).toBe(201);
  });

  it("leaves nothing of a read in progress", async () => {
    const topic = await makeTopic(app);
    await topic.put([{ payload: "a" }, { payload: "b" }]);
    const { consumer } = await objectsOf(topic);
    const reads = Promise.all(Array.from({ length: 5 }, () => topic.read({ autoCommit: true })));
    const [, outcomes] = await Promise.all([remove(topic), reads]);
    for (const { status } of outcomes) expect([200, 204, 404]).toContain(status);
    await app.sweep();
    expect(await tablesOf(consumer as unknown as DurableObjectStub)).toEqual([]);
  });

  it("is completed by the sweep though another topic fails; the sweep waits for all", async () => {
    await app.sweep();
    const [bad, good] = [await makeTopic(app), await makeTopic(app)];
    for (const topic of [bad, good]) {
      await topic.put({ payload: "a" });
      await topic.read();
      await remove(topic, halting());
    }
    const { record } = await objectsOf(good);
    const consumers = {
      getByName: (name: string) => ({
        destroy: async () => {
          if (!name.includes(record.incarnation)) throw new Error("out of reach");
          await scheduler.wait(50);
          await env.TOPIC_CONSUMER.getByName(name).destroy();
        },
      }),
    };
    const own = eventsApp({ ...env, TOPIC_CONSUMER: consumers as unknown as typeof env.TOPIC_CONSUMER });
    const said = vi.spyOn(console, "error").mockReturnValue();
    await expect(own.sweep()).rejects.toThrow("out of reach");
    expect(said.mock.calls.join()).toContain(nameOf((await objectsOf(bad)).record));
    expect(said.mock.calls.join()).toContain("out of reach");
    expect(await createTopicStore(env.DB).find(record)).toBeUndefined();
    await app.sweep();
  });

  /** Begins deletions. The logs of all but the last topic have this fault when they are to be closed. */
  const begun = async (count: number, fault: () => Promise<never>) => {
    await app.sweep();
    const topics = Array.from({ length: count }, (_, at) => ({
      owner: `${unique("proj")}.app`,
      eventType: "begun",
      description: "",
      shards: 1,
      incarnation: unique("incarnation"),
      state: "deleting" as const,
      createdAtMs: at,
    }));
    const store = createTopicStore(env.DB);
    for (const topic of topics) await store.insert(topic);
    const last = topics.at(-1)!;
    const getByName = (name: string) => {
      const log = env.TOPIC_LOG.getByName(name);
      if (name.includes(last.incarnation)) return log;
      return new Proxy(log, { get: (target, method) => (method === "close" ? fault : Reflect.get(target, method)) });
    };
    const own = eventsApp({ ...env, TOPIC_LOG: { getByName } as unknown as typeof env.TOPIC_LOG });
    return { topics, own, isThere: async () => (await store.find(last)) !== undefined };
  };

  itAtNight("is completed by the sweep although many others always fail, and each failure is logged", async () => {
    const said = vi.spyOn(console, "error").mockReturnValue();
    const { topics, own, isThere } = await begun(DELETE.topicsASweep + 10, () => Promise.reject(new Error("broken")));
    const sweep = () => expect(own.sweep()).rejects.toThrow("broken");
    for (let run = 0; run < 50 && (await isThere()); run++) await sweep();
    expect(await isThere()).toBe(false);
    said.mockClear();
    await sweep();
    const told = new Set(said.mock.calls.map(([line]) => (JSON.parse(String(line)) as { topic: string }).topic));
    expect(told.size).toBe(DELETE.topicsASweep);
    for (const name of told) expect(topics.map(nameOf)).toContain(name);
    await app.sweep();
    await app.sweep();
  });

  it("leaves the sweep time for others, even if many do not answer", () => {
    expect(DELETE.topicsASweep * DELETE.topicWaitMs).toBeLessThanOrEqual((15 * 60_000 * 2) / 3);
  });

  it("is completed by the sweep although another one does not answer, which is logged", async () => {
    const said = vi.spyOn(console, "error").mockReturnValue();
    let hangs = false;
    const { topics, own, isThere } = await begun(2, () => {
      hangs = true;
      return new Promise(() => {});
    });
    // Its timeout fires at once, and that of the other never.
    const real = setTimeout;
    vi.spyOn(globalThis, "setTimeout").mockImplementation(((run: () => void, ms: number) => {
      if (ms !== DELETE.topicWaitMs) return real(run, ms);
      if (hangs) queueMicrotask(run);
      hangs = false;
    }) as unknown as typeof setTimeout);
    await expect(own.sweep()).rejects.toThrow(`no answer within ${DELETE.topicWaitMs} ms`);
    expect(await isThere()).toBe(false);
    expect(said.mock.calls.map(([line]) => JSON.parse(String(line)) as object)).toEqual([
      expect.objectContaining({ event: "topic not cleared", topic: nameOf(topics[0]!) }),
    ]);
    await app.sweep();
  });

  it("removes its consumer only after a read in progress, which would otherwise write after it", async () => {
    const topic = await makeTopic(app);
    await topic.put({ payload: "a" });
    const { consumer, record } = await objectsOf(topic);
    const answered = await runInDurableObject(consumer, async (instance: TopicConsumer) => {
      const real = logOf(env.TOPIC_LOG, record, 0);
      const reached = Promise.withResolvers<void>();
      const slow = {
        read: async (...given: Parameters<typeof real.read>) => {
          reached.resolve();
          await scheduler.wait(20);
          return real.read(...given);
        },
        addConsumer: (clientId: string) => real.addConsumer(clientId),
      };
      const own = instance as unknown as { env: object };
      own.env = { ...own.env, TOPIC_LOG: { getByName: () => slow } };
      const { clientId } = topic.owner;
      const read = instance.read({
        topic: { ...record },
        consumer: clientId,
        numEvents: 1,
        ttlMs: 1000,
        autoCommit: false,
      });
      await reached.promise;
      const [answer] = await Promise.all([read, instance.destroy()]);
      return answer.kind;
    });
    expect(answered).toBe("batch");
    expect(await tablesOf(consumer as unknown as DurableObjectStub)).toEqual([]);
  });

  it("stores nothing for a client that the topic does not know: a failed registration is no batch", async () => {
    vi.spyOn(console, "warn").mockReturnValue();
    const topic = await makeTopic(app);
    await topic.put({ payload: "a" });
    const { consumer } = await objectsOf(topic);
    let attempts = 0;
    const logs = {
      getByName: (name: string) => {
        const real = env.TOPIC_LOG.getByName(name);
        const addConsumer = () => {
          attempts += 1;
          return Promise.reject(new Error("out of reach"));
        };
        return { read: (...given: Parameters<typeof real.read>) => real.read(...given), addConsumer };
      },
    };
    const use = (namespace: unknown) =>
      runInDurableObject(consumer, (instance) => {
        const own = instance as unknown as { env: object };
        own.env = { ...own.env, TOPIC_LOG: namespace };
      });
    await use(logs);
    const read = await topic.read();
    expect([read.status, attempts]).toEqual([204, 1]);
    expect(read.response.headers.get("link")).toContain('rel="more"');
    expect(await tablesOf(consumer as unknown as DurableObjectStub)).toEqual([]);
    await use(env.TOPIC_LOG);
    expect(payloads(await topic.read())).toEqual(["a"]);
  });

  it("is found by its index", async () => {
    const plan = await env.DB.prepare(`EXPLAIN QUERY PLAN ${TOPIC_SQL.listDeleting}`)
      .bind(20)
      .all<{ detail: string }>();
    expect(plan.results.map((row) => row.detail)).toEqual([
      "SEARCH topic USING INDEX topic_deleting (state=?)",
      "USE TEMP B-TREE FOR ORDER BY",
    ]);
  });
});
