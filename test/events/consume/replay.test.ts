import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { TopicConsumer } from "../../../src/events/consume/topic-consumer.do.ts";
import { breakLogs, failing, hanging, noWaiting } from "../support/broken-log.ts";
import { frozenTime } from "../../support/frozen-time.ts";
import { eventsApp } from "../support/events-app.ts";
import { inShard } from "../support/in-shard.ts";
import { expectProblem, faults } from "../support/problem.ts";
import { someClient } from "../support/some-client.ts";
import { makeTopic, names, once, payloads, texts, type ReadAnswer, type TestTopic } from "../support/test-topic.ts";
import { objectsOf } from "../support/topic-objects.ts";
import { itAtNight } from "../../support/model-runs.ts";
import { until } from "../support/until.ts";

const app = eventsApp();
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const header = (read: ReadAnswer, name: string) => read.response.headers.get(name);
/** All that a client sees of a read. */
const seen = (read: ReadAnswer) => ({
  events: read.events,
  token: read.token,
  attempt: header(read, "plat-delivery-attempt"),
  lost: header(read, "plat-events-lost"),
});
/** Removes the events up to a position, as if their time had come. */
const trim = async (topic: TestTopic, upTo: number) =>
  runInDurableObject((await objectsOf(topic)).logs[0]!, (_, { storage }) => {
    storage.sql.exec(`UPDATE log SET trimmed_seq = ?, trimmed_at = 1`, upTo);
    storage.sql.exec(`DELETE FROM segment WHERE last_seq <= ?`, upTo);
  });

describe("POST …/read with Idempotency-Key", () => {
  describe("200", () => {
    // shows: events/event/id
    // shows: events/read-and-commit/idempotency-key-of-a-read
    it("returns the same events, token and headers to a repeat, also after eviction, without extending the lock", async () => {
      const pass = frozenTime();
      const topic = await makeTopic(app);
      await topic.put(texts(5));
      await topic.post("release", { token: (await topic.read({ numEvents: 2 })).token });
      const body = { numEvents: 3, ttlMs: 10_000 };
      const first = await topic.read(body, once("k"));
      expect(seen(first)).toMatchObject({ attempt: "2", lost: null });
      pass(4000);
      expect(seen(await topic.read(body, once("k")))).toEqual(seen(first));
      const { consumer, logs } = await objectsOf(topic);
      for (const object of [consumer, logs[0]!]) await evictDurableObject(object);
      await topic.put(texts(5, 6));
      expect(seen(await topic.read(body, once("k")))).toEqual(seen(first));
      pass(5999);
      expect((await topic.commit(first.token)).status).toBe(200);
      expect(payloads(await topic.read({ numEvents: 20 }))).toEqual(names(7, 4));
    });

    it("returns the same to many parallel repeats", async () => {
      const topic = await makeTopic(app, { shards: 2 });
      await topic.put(texts(30));
      let asked = 0;
      await breakLogs((await objectsOf(topic)).consumer, (call) => void (asked += call === "read" ? 1 : 0));
      const reads = await Promise.all(Array.from({ length: 20 }, () => topic.read({ numEvents: 7 }, once("k"))));
      expect(new Set(reads.map((read) => JSON.stringify(seen(read)))).size).toBe(1);
      expect(seen(reads[0]!)).toMatchObject({ attempt: "1" });
      expect(payloads(reads[0]!)).toEqual(names(7));
      // Both shards once for the batch, and its own shard once for all repeats.
      expect(asked).toBe(3);
      expect((await topic.commit(reads[0]!.token)).status).toBe(200);
      expect(payloads(await topic.read({ numEvents: 1 }))).toEqual(["p8"]);
    });

    it("keeps the order over several shards", async () => {
      const topic = await makeTopic(app, { shards: 4 });
      const tenants = ["tenant1", "tenant2", "tenant3", "tenant5"];
      for (const tenant of tenants) app.actsFor.add(`${topic.owner.clientId} ${tenant}`);
      for (let at = 0; at < 40; at++) await topic.put({ payload: `p${at}`, tenant: tenants[(at * 7) % 4] });
      await topic.commit((await topic.read({ numEvents: 5 })).token);
      const first = await topic.read({ numEvents: 20 }, once("k"));
      expect(first.events.length).toBe(20);
      expect(seen(await topic.read({ numEvents: 20 }, once("k")))).toEqual(seen(first));
    });

    itAtNight("returns a batch of large events from the middle of a segment", async () => {
      const topic = await makeTopic(app);
      await topic.put(texts(3));
      for (let at = 0; at < 24; at++) await topic.put({ payload: `${at}`.padEnd(250 * 1024, "\u0000") });
      await topic.commit((await topic.read()).token);
      const first = await topic.read({ numEvents: 100 }, once("k"));
      expect(first.events.length).toBeGreaterThan(4);
      expect(payloads(await topic.read({ numEvents: 100 }, once("k")))).toEqual(payloads(first));
    });

    it("treats the same request in another spelling as the same", async () => {
      const topic = await makeTopic(app);
      await topic.put(texts(2));
      const first = await topic.read(undefined, once("k"));
      for (const body of [{}, { numEvents: 1 }, { ttlMs: 60_000, autoCommit: false, other: 1 }])
        expect(seen(await topic.read(body, once("k")))).toEqual(seen(first));
    });

    // shows: events/read-and-commit/idempotency-key-of-a-read
    it("returns the same batch after extend, and a new one after commit, release, expiry and seek", async () => {
      const pass = frozenTime();
      const topic = await makeTopic(app);
      await topic.put(texts(9));
      const read = () => topic.read({ ttlMs: 2000 }, once("k"));
      const first = await read();
      await topic.post("extend", { token: first.token, ttlMs: 5000 });
      pass(4999);
      expect(seen(await read())).toEqual(seen(first));
      pass(1);
      const second = await read();
      expect([payloads(second), header(second, "plat-delivery-attempt")]).toEqual([["p1"], "2"]);
      expect(second.token).not.toBe(first.token);
      await topic.commit(second.token);
      const third = await read();
      expect(payloads(third)).toEqual(["p2"]);
      await topic.post("release", { token: third.token });
      const fourth = await read();
      expect([payloads(fourth), header(fourth, "plat-delivery-attempt")]).toEqual([["p2"], "2"]);
      pass(2000);
      await topic.post("seek", { to: "oldest" });
      const fifth = await read();
      expect([payloads(fifth), header(fifth, "plat-delivery-attempt")]).toEqual([["p1"], "1"]);
      expect(new Set([first, second, third, fourth, fifth].map(({ token }) => token)).size).toBe(5);
    });

    it("takes no lock with autoCommit, so the same key gets the next events", async () => {
      const topic = await makeTopic(app);
      await topic.put(texts(2));
      const read = async () => payloads(await topic.read({ autoCommit: true }, once("k")));
      expect([await read(), await read(), await read()]).toEqual([["p1"], ["p2"], []]);
    });

    it("keeps the keys of clients apart", async () => {
      const topic = await makeTopic(app);
      await topic.put(texts(2));
      const as = someClient({ scopes: ["plat.pubsub.topic=*"] });
      const mine = await topic.read({}, once("k"));
      const theirs = await topic.read({}, { ...once("k"), as });
      expect(payloads(theirs)).toEqual(["p1"]);
      expect(theirs.token).not.toBe(mine.token);
    });

    it("returns the rest of the batch, and the number of lost events, after retention removed a part", async () => {
      const topic = await makeTopic(app);
      for (const event of texts(5)) await topic.put(event);
      const first = await topic.read({ numEvents: 4 }, once("k"));
      await trim(topic, 3);
      const left = await topic.read({ numEvents: 4 }, once("k"));
      expect(payloads(left)).toEqual(["p4"]);
      expect(seen(left)).toMatchObject({ token: first.token, attempt: "1", lost: "3" });
      expect((await topic.commit(left.token)).status).toBe(200);
      expect(payloads(await topic.read())).toEqual(["p5"]);
    });

    // shows: events/read-and-commit/idempotency-key-of-a-read
    it("returns the same token and no events after retention removed all; the next ones follow the commit", async () => {
      const topic = await makeTopic(app);
      for (const event of texts(4)) await topic.put(event);
      const first = await topic.read({ numEvents: 3 }, once("k"));
      await trim(topic, 3);
      const reads = await Promise.all(Array.from({ length: 5 }, () => topic.read({ numEvents: 3 }, once("k"))));
      for (const read of reads) expect(seen(read)).toEqual({ events: [], token: first.token, attempt: "1", lost: "3" });
      expect((await topic.read({ numEvents: 3 })).status).toBe(409);
      expect((await topic.commit(first.token)).status).toBe(200);
      const next = await topic.read({ numEvents: 3 }, once("k"));
      expect(seen(next)).toMatchObject({ attempt: "1", lost: null });
      expect(payloads(next)).toEqual(["p4"]);
    });

    it("reads a consumer that an older version stored with a lock and without a key", async () => {
      const topic = await makeTopic(app);
      await topic.put(texts(3));
      const { token } = await topic.read({ ttlMs: 3_600_000 });
      const { consumer } = await objectsOf(topic);
      const expiresAtMs = Date.now() + 3_600_000;
      const stored = {
        state: { cursor: [0], epoch: 1, lock: { token, expiresAtMs, ttlMs: 3_600_000, batch: [[0, 1]] }, outcomes: [] },
        handouts: [[[1, 1]]],
      };
      await runInDurableObject(consumer, (_: TopicConsumer, { storage }) => {
        storage.sql.exec(`DROP TABLE consumer`);
        storage.sql.exec(
          `CREATE TABLE IF NOT EXISTS consumer (
             id INTEGER PRIMARY KEY CHECK (id = 1), schema_version INTEGER NOT NULL, record TEXT NOT NULL
           ) STRICT`,
        );
        storage.sql.exec(`INSERT INTO consumer VALUES (1, 1, ?)`, JSON.stringify(stored));
      });
      await evictDurableObject(consumer);
      expect((await topic.read({}, once("k"))).status).toBe(409);
      expect((await topic.commit(token)).status).toBe(200);
      expect(payloads(await topic.read({}, once("k")))).toEqual(["p2"]);
      expect(payloads(await topic.read({}, once("k")))).toEqual(["p2"]);
    });
  });

  it("stores nothing after 204: the same key gets the next event", async () => {
    const topic = await makeTopic(app);
    expect((await topic.read({}, once("k"))).status).toBe(204);
    await topic.put(texts(1));
    expect(payloads(await topic.read({}, once("k")))).toEqual(["p1"]);
  });

  it.each(["", "a b", "x".repeat(256)])("answers 400 for %j and takes no lock", async (key) => {
    const topic = await makeTopic(app);
    await topic.put(texts(1));
    const body = await expectProblem((await topic.read({}, once(key))).response, 400, "validation_violation");
    expect(faults(body)).toEqual(["invalid_header Idempotency-Key"]);
    expect((await topic.read({}, once("x".repeat(255)))).status).toBe(200);
  });

  it("answers 409 topic_locked under another key or none, until the lock expires", async () => {
    const topic = await makeTopic(app);
    await topic.put(texts(2));
    await topic.read({}, once("k"));
    for (const init of [once("other"), once("K"), {}]) {
      const { response } = await topic.read({}, init);
      expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
      await expectProblem(response, 409, "topic_locked");
    }
  });

  it("answers 409 idempotency_key_used for another request; the lock stays, and the key is free when it ends", async () => {
    const topic = await makeTopic(app);
    await topic.put(texts(2));
    const first = await topic.read({ ttlMs: 5000 }, once("k"));
    for (const body of [{}, { ttlMs: 5001 }, { ttlMs: 5000, numEvents: 2 }, { ttlMs: 5000, autoCommit: true }]) {
      const problem = await expectProblem((await topic.read(body, once("k"))).response, 409, "conflict_resource");
      expect(faults(problem)).toEqual(["idempotency_key_used Idempotency-Key"]);
    }
    expect((await topic.commit(first.token)).status).toBe(200);
    expect(payloads(await topic.read({ ttlMs: 1000 }, once("k")))).toEqual(["p2"]);
  });

  describe("answers 503 while a log of the batch cannot be reached", () => {
    it.each([
      ["fails", failing],
      ["hangs", hanging],
    ])("%s: keeps the lock, and the repeat gets the batch when the log is back", async (_, fault) => {
      vi.spyOn(console, "warn").mockReturnValue();
      const topic = await makeTopic(app, { shards: 2 });
      const tenants = [inShard(0, 2, "tenant"), inShard(1, 2, "tenant")];
      for (const tenant of tenants) app.actsFor.add(`${topic.owner.clientId} ${tenant}`);
      await topic.put([...tenants, ...tenants].map((tenant, at) => ({ tenant, payload: `p${at}` })));
      const first = await topic.read({ numEvents: 4 }, once("k"));
      const { consumer } = await objectsOf(topic);
      const mend = await breakLogs(consumer, (_call, shard) => (shard === 1 ? fault : undefined));
      noWaiting();
      const { response } = await topic.read({ numEvents: 4 }, once("k"));
      expect(response.headers.get("retry-after")).toMatch(/^[12]$/);
      await expectProblem(response, 503, "service_temporarily_unavailable");
      await mend();
      expect(seen(await topic.read({ numEvents: 4 }, once("k")))).toEqual(seen(first));
    });
  });

  it("does not deliver a batch again that is committed while its repeat waits for the log", async () => {
    const topic = await makeTopic(app);
    await topic.put(texts(2));
    const first = await topic.read({}, once("k"));
    const { consumer } = await objectsOf(topic);
    const step = { asked: false, goOn: false };
    await breakLogs(consumer, () => async (real) => {
      step.asked = true;
      await until(() => step.goOn);
      return real();
    });
    const repeat = topic.read({}, once("k"));
    await until(() => step.asked);
    expect((await topic.commit(first.token)).status).toBe(200);
    step.goOn = true;
    expect(payloads(await repeat)).toEqual(["p2"]);
  });

  it("answers 404 if the topic is deleted while its repeat waits for the log", async () => {
    const topic = await makeTopic(app);
    await topic.put(texts(1));
    await topic.read({}, once("k"));
    await app.call(topic.path, { as: topic.owner, method: "DELETE" });
    await expectProblem((await topic.read({}, once("k"))).response, 404, "element_resource_non_existing");
  });
});

describe("POST …/release with commitThrough", () => {
  it("answers 400 for the id of another topic's event at the same place; the lock stays", async () => {
    const [topic, other] = [await makeTopic(app), await makeTopic(app)];
    const [mine, theirs] = [await topic.put(texts(3)), await other.put(texts(3))];
    const { token } = await topic.read({ numEvents: 3 });
    const refused = await topic.post("release", { token, commitThrough: theirs[1] });
    expect(faults(await expectProblem(refused, 400, "validation_violation"))).toEqual(["invalid_field commitThrough"]);
    expect((await topic.post("release", { token, commitThrough: mine[1] })).status).toBe(200);
    expect(payloads(await topic.read({ numEvents: 3 }))).toEqual(["p3"]);
  });

  it("answers 400 for an id of a shard that the topic does not have", async () => {
    const [topic, other] = [await makeTopic(app), await makeTopic(app, { shards: 16 })];
    const tenant = inShard(9, 16, "tenant");
    app.actsFor.add(`${other.owner.clientId} ${tenant}`);
    const [id] = await other.put({ payload: "p", tenant });
    await topic.put(texts(1));
    const { token } = await topic.read();
    await expectProblem(await topic.post("release", { token, commitThrough: id }), 400, "validation_violation");
  });

  it("answers 503 if the log cannot be reached; nothing is committed", async () => {
    vi.spyOn(console, "warn").mockReturnValue();
    const topic = await makeTopic(app);
    const [id] = await topic.put(texts(2));
    const { token } = await topic.read({ numEvents: 2 });
    const logs = { getByName: () => ({ timeOf: () => Promise.reject(new Error("out of reach")) }) };
    const broken = eventsApp({ ...env, TOPIC_LOG: logs as unknown as typeof env.TOPIC_LOG });
    const body = { token, commitThrough: id };
    const response = await broken.call(`${topic.path}/release`, { as: topic.owner, json: body });
    expect(response.headers.get("retry-after")).toMatch(/^[12]$/);
    await expectProblem(response, 503, "service_temporarily_unavailable");
    expect((await topic.post("release", body)).status).toBe(200);
  });
});

describe("an isolate that remembers a deleted topic", () => {
  const made = async () => {
    const stale = eventsApp();
    const old = await makeTopic(app);
    await stale.call(`${old.path}/read`, { as: old.owner, method: "POST" });
    await app.call(old.path, { as: old.owner, method: "DELETE" });
    return { stale, old };
  };

  it.each([
    ["commit", {}],
    ["extend", { ttlMs: 5000 }],
    ["release", {}],
  ])("answers 200 for a %s on the topic that was created anew", async (operation, more) => {
    const { stale, old } = await made();
    const json = { eventType: old.path.split("/").at(-1) };
    expect((await app.call("/pubsub/v1/topics", { as: old.owner, json })).status).toBe(201);
    await old.put(texts(1));
    const { token } = await old.read();
    const done = await stale.call(`${old.path}/${operation}`, { as: old.owner, json: { token, ...more } });
    expect(done.status).toBe(200);
  });

  it("answers 404 for a commit when the topic was not created again", async () => {
    const { stale, old } = await made();
    const response = await stale.call(`${old.path}/commit`, { as: old.owner, json: { token: "1.x" } });
    await expectProblem(response, 404, "element_resource_non_existing");
  });
});
