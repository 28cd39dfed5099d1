import { abortAllDurableObjects, evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { TopicConsumer } from "../../../src/events/consume/topic-consumer.do.ts";
import { decorateDeprecated } from "../../../src/events/deprecation.ts";
import { READ } from "../../../src/events/model/limits.ts";
import { createAnswerMemory, SMALL_BODY_BYTES, type AnswerMemory } from "../../../src/http/input/body-memory.ts";
import { systemClock } from "../../../src/platform/runtime/clock.ts";
import type { TopicLog } from "../../../src/events/log/topic-log.do.ts";
import { breakLogs, failing, hanging, noWaiting } from "../support/broken-log.ts";
import { frozenTime } from "../../support/frozen-time.ts";
import type { Topic } from "../../../src/events/model/topic.ts";
import { eventsApp, ORIGIN } from "../support/events-app.ts";
import { inShard } from "../support/in-shard.ts";
import { expectProblem, faults } from "../support/problem.ts";
import { someClient } from "../support/some-client.ts";
import { makeTopic, names, payloads, texts, type ReadAnswer, type TestTopic } from "../support/test-topic.ts";
import { objectsOf } from "../support/topic-objects.ts";

const app = eventsApp();
const statuses = (answers: readonly { status: number }[]) =>
  answers.map((answer) => answer.status).toSorted((a, b) => a - b);
/** A request for the consumer's object itself. */
const requestOf = ({ owner }: TestTopic, record: Topic, given: { numEvents: number; autoCommit: boolean }) => ({
  topic: { ...record },
  consumer: owner.clientId,
  ttlMs: 1000,
  ...given,
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe("POST …/read", () => {
  describe("200", () => {
    // shows: events/read-request-body/all-optional
    // shows: events/read-response-body/events
    // shows: events/read-response-body/token
    // shows: events/lock-on-a-topic/unlocked-read-200-autocommit-false-or-omitted
    // shows: events/lock-on-a-topic/locked-ttlms-over
    // shows: events/endpoints/post-read
    // shows: events/read-and-commit/defaults
    it("returns one event, locked for a minute, as its first delivery, to a request without a body", async () => {
      const pass = frozenTime();
      const topic = await makeTopic(app);
      await topic.put(texts(3));
      const read = await topic.read();
      expect(payloads(read)).toEqual(["p1"]);
      expect(read.token).toMatch(/^1\.[\w-]{22}$/);
      expect(Object.keys(await read.response.json())).toEqual(["events", "token"]);
      expect(read.response.headers.get("content-type")).toBe("application/json");
      expect(read.response.headers.get("plat-delivery-attempt")).toBe("1");
      expect(read.response.headers.get("plat-events-lost")).toBeNull();
      pass(59_999);
      expect((await topic.read()).status).toBe(409);
      pass(1);
      expect(payloads(await topic.read())).toEqual(["p1"]);
    });

    // shows: events/read-request-body/all-optional
    // shows: platform/errors-of-every-service/empty-body-labelled-json
    it("treats an empty body labelled JSON as no body", async () => {
      const topic = await makeTopic(app);
      await topic.put(texts(1));
      const response = await app.call(`${topic.path}/read`, {
        as: topic.owner,
        method: "POST",
        headers: { "content-type": "application/json" },
      });
      expect(response.status).toBe(200);
    });

    // shows: events/read-request-body/numevents
    // shows: events/read-response-body/events
    // shows: events/limits/events-of-a-read
    it("returns at most numEvents, and all of them if there are enough", async () => {
      const topic = await makeTopic(app);
      await topic.put(texts(5));
      const first = await topic.read({ numEvents: 2 });
      await topic.commit(first.token);
      await topic.put(texts(5, 6));
      // Three are in the read-ahead; the answer is filled from the log.
      const second = await topic.read({ numEvents: 7 });
      expect([payloads(first), payloads(second)]).toEqual([names(2), names(7, 3)]);
    });

    // shows: events/read-and-commit/numevents-over-1000
    it("reduces numEvents above 1000 to 1000", async () => {
      const topic = await makeTopic(app);
      await topic.put(texts(700));
      await topic.put(texts(700, 701));
      const first = await topic.read({ numEvents: 1e300, autoCommit: true });
      expect(payloads(first)).toEqual(names(1000));
      expect(payloads(await topic.read({ numEvents: 1001 }))).toEqual(names(400, 1001));
    });

    // shows: events/read-and-commit/5-mib
    it("returns at most 5 MiB of payload, counted exactly", async () => {
      const topic = await makeTopic(app);
      const payload = "x".repeat(256 * 1024);
      for (let at = 0; at < 3; at++) await topic.put(Array.from({ length: 7 }, () => ({ payload })));
      await topic.put(texts(3));
      expect((await topic.read({ numEvents: 100, autoCommit: true })).events.length).toBe(20);
      const rest = await topic.read({ numEvents: 100, autoCommit: true });
      expect(payloads(rest).slice(1)).toEqual(names(3));
    });

    describe("while other answers hold the memory of the isolate", () => {
      const hold = () => {
        const others: AnswerMemory[] = [];
        for (let room: number | undefined; room !== SMALL_BODY_BYTES;) {
          const memory = createAnswerMemory(`another request ${others.length}`, systemClock);
          room = memory.reserve(READ.maxPayloadBytes);
          others.push(memory);
        }
        return { release: () => others.forEach((memory) => memory.release()) };
      };

      it("returns fewer events, all of them in the end, and as many as before when it is free again", async () => {
        const topic = await makeTopic(app);
        const payload = "x".repeat(100 * 1024);
        for (let at = 0; at < 3; at++) await topic.put(Array.from({ length: 10 }, () => ({ payload })));
        const memory = hold();
        const sizes: number[] = [];
        for (let left = 30; left > 10; left -= sizes.at(-1)!)
          sizes.push((await topic.read({ numEvents: 100, autoCommit: true })).events.length);
        // Two events of 100 KiB fit into 256 KiB.
        expect(new Set(sizes)).toEqual(new Set([2]));
        const peeked = await app.call(`${topic.path}/events?limit=100`, { as: topic.owner });
        expect((await peeked.json<{ events: unknown[] }>()).events).toHaveLength(2);
        memory.release();
        expect((await topic.read({ numEvents: 100, autoCommit: true })).events).toHaveLength(10);
      });

      it("returns one event of any size, and 503 to the repeat of a batch that is larger", async () => {
        const topic = await makeTopic(app);
        const payload = "\u0001".repeat(256 * 1024);
        await topic.put({ payload });
        await topic.put({ payload });
        const keyed = { headers: { "idempotency-key": "k", "content-type": "application/json" } };
        const body = { numEvents: 2 };
        const before = await topic.read(body, keyed);
        expect(before.events).toHaveLength(2);
        const memory = hold();
        await expectProblem(await topic.post("read", body, keyed), 503, "service_temporarily_unavailable");
        memory.release();
        expect((await topic.read(body, keyed)).token).toBe(before.token);
        await topic.commit(before.token);
        await topic.put({ payload });
        const again = hold();
        expect((await topic.read({ numEvents: 2, autoCommit: true })).events).toHaveLength(1);
        again.release();
      });
    });

    describe("a whole answer on sixteen shards, however the events are spread:", () => {
      const kilobyte = "x".repeat(1024);
      const sixfold = "\u0001".repeat(256 * 1024);
      // shows: events/read-and-commit/5-mib
      it.each([
        ["a thousand of 1 KiB in one", 1000, [[kilobyte, 1000]], 1000],
        ["5 MiB of 100 KiB in one", 60, [["x".repeat(100 * 1024), 60]], 51],
        ["8 Mi characters in one", 7, [[sixfold, 7]], 5],
        [
          "most in two, a few in others",
          1000,
          [
            [kilobyte, 400],
            [kilobyte, 700],
            ["x", 5],
            ["x", 5],
          ],
          1000,
        ],
        [
          "all that there is",
          1000,
          [
            [kilobyte, 590],
            ["x", 300],
          ],
          890,
        ],
      ] as const)("%s", async (_, numEvents, spread, expected) => {
        const topic = await makeTopic(app, { shards: 16 });
        for (const [at, [payload, count]] of spread.entries()) {
          const tenant = inShard(at * 3, 16, "tenant");
          app.actsFor.add(`${topic.owner.clientId} ${tenant}`);
          const atOnce = Math.floor((512 * 1024) / payload.length);
          for (let left: number = count; left > 0; left -= atOnce)
            await topic.put(Array.from({ length: Math.min(left, atOnce) }, () => ({ payload, tenant })));
        }
        expect((await topic.read({ numEvents })).events.length).toBe(expected);
      });
    });

    it("asks only the shard with more events a second time, and none if the first look fills the answer", async () => {
      const topic = await makeTopic(app, { shards: 16 });
      await topic.put(Array.from({ length: 900 }, () => ({ payload: "x".repeat(1024) })));
      const asked: number[] = [];
      await breakLogs((await objectsOf(topic)).consumer, (call, shard) => void (call === "read" && asked.push(shard)));
      const few = await topic.read({ numEvents: 100 });
      expect([few.events.length, asked.length]).toEqual([100, 16]);
      await topic.post("release", { token: few.token });
      asked.length = 0;
      expect((await topic.read({ numEvents: 1000 })).events.length).toBe(900);
      expect([asked.length, new Set(asked.slice(16)).size]).toEqual([17, 1]);
    });

    it.each([
      ["fails", failing],
      ["hangs", hanging],
    ])("returns what it has when the shard that has more %s the second time", async (_, fault) => {
      vi.spyOn(console, "warn").mockReturnValue();
      noWaiting();
      const topic = await makeTopic(app, { shards: 16 });
      await topic.put(Array.from({ length: 900 }, (_event, at) => ({ payload: `${at}`.padEnd(1024) })));
      let asked = 0;
      const mend = await breakLogs((await objectsOf(topic)).consumer, (call) =>
        call === "read" && ++asked > 16 ? fault : undefined,
      );
      const first = await topic.read({ numEvents: 1000 });
      expect(first.events.length).toBeGreaterThan(400);
      await topic.commit(first.token);
      await mend();
      const rest = await topic.read({ numEvents: 1000 });
      expect([...payloads(first), ...payloads(rest)].map(Number)).toEqual(
        Array.from({ length: 900 }, (_event, at) => at),
      );
    });

    it("returns payloads that grow sixfold as JSON, some at a time", async () => {
      const topic = await makeTopic(app);
      const payload = "\u0000".repeat(256 * 1024);
      for (let at = 0; at < 7; at++) await topic.put([{ payload }]);
      const counts: number[] = [];
      for (;;) {
        const read = await topic.read({ numEvents: 100, autoCommit: true });
        if (read.status === 204) break;
        expect(payloads(read).every((text) => text === payload)).toBe(true);
        counts.push(read.events.length);
      }
      expect(counts.reduce((sum, count) => sum + count)).toBe(7);
      expect(counts.length).toBeLessThan(4);
    });

    // shows: events/read-request-body/autocommit
    // shows: events/read-response-body/token
    // shows: events/lock-on-a-topic/unlocked-read-200-autocommit-true
    it("returns every event exactly once with autoCommit, without token or lock", async () => {
      const topic = await makeTopic(app);
      await topic.put(texts(10));
      const seen: string[] = [];
      for (let at = 0; at < 4; at++) {
        const read = await topic.read({ numEvents: 3, autoCommit: true });
        expect(Object.keys(await read.response.json())).toEqual(["events"]);
        seen.push(...payloads(read));
      }
      expect(seen).toEqual(names(10));
      expect((await topic.read({ autoCommit: true })).status).toBe(204);
    });

    // shows: events/lock-on-a-topic/per-calling-client
    // shows: events/read-and-commit/new-consumer
    it("gives each client its own lock and cursor", async () => {
      const topic = await makeTopic(app);
      await topic.put(texts(2));
      const other = someClient({ scopes: ["plat.pubsub.topic=*"] });
      const mine = await topic.read();
      const theirs = await topic.read({}, { as: other });
      expect([payloads(mine), payloads(theirs)]).toEqual([["p1"], ["p1"]]);
      expect((await topic.commit(mine.token, { as: other })).status).toBe(409);
      expect((await topic.commit(theirs.token, { as: other })).status).toBe(200);
      expect(payloads(await topic.read({}, { as: other }))).toEqual(["p2"]);
      expect((await topic.read()).status).toBe(409);
    });

    // shows: events/read-and-commit/plat-delivery-attempt
    it("counts the deliveries of the batch's first event", async () => {
      const pass = frozenTime();
      const topic = await makeTopic(app);
      await topic.put(texts(5));
      const attempts: (string | null)[] = [];
      const read = async (numEvents: number) => {
        const answer = await topic.read({ numEvents, ttlMs: 1000 });
        attempts.push(answer.response.headers.get("plat-delivery-attempt"));
        return answer;
      };
      for (let at = 0; at < 2; at++) {
        await read(3);
        pass(1000);
      }
      const { consumer } = await objectsOf(topic);
      await evictDurableObject(consumer);
      await topic.commit((await read(1)).token);
      await topic.commit((await read(2)).token);
      await read(1);
      expect(attempts).toEqual(["1", "2", "3", "3", "1"]);
    });

    it("drops counts of committed events", async () => {
      const topic = await makeTopic(app);
      await topic.put(texts(6));
      const { consumer } = await objectsOf(topic);
      const handouts = () =>
        runInDurableObject(consumer, (_, state) => {
          const { record } = state.storage.sql.exec<{ record: string }>(`SELECT record FROM consumer`).one();
          return (JSON.parse(record) as { handouts: unknown }).handouts;
        });
      for (let at = 1; at <= 3; at++) {
        const { token } = await topic.read();
        expect(await handouts()).toEqual([[[at, 1]]]);
        await topic.commit(token);
        expect(await handouts()).toEqual([[]]);
      }
    });

    describe("after retention", () => {
      /** Removes the events up to a position, as if their time had come. */
      const trim = async (topic: TestTopic, upTo: number, shard = 0) =>
        runInDurableObject((await objectsOf(topic)).logs[shard]!, (_, state) => {
          const { sql } = state.storage;
          sql.exec(`UPDATE log SET trimmed_seq = ?, trimmed_at = 1`, upTo);
          sql.exec(`DELETE FROM segment WHERE last_seq <= ?`, upTo);
        });
      const lost = (read: ReadAnswer) => read.response.headers.get("plat-events-lost");
      /** Evicts the objects, so that they lose their memory. */
      const evict = async (topic: TestTopic) => {
        const { consumer, logs } = await objectsOf(topic);
        for (const object of [consumer, ...logs]) await evictDurableObject(object).catch(() => undefined);
      };

      // shows: events/read-and-commit/plat-events-lost
      it("returns the remaining events and the number lost, until a commit passes them", async () => {
        const topic = await makeTopic(app);
        await topic.put(texts(3));
        await topic.put(texts(2, 4));
        await topic.post("release", { token: (await topic.read({ numEvents: 10 })).token });
        await trim(topic, 3);
        await evict(topic);
        const first = await topic.read({ numEvents: 1 });
        expect([payloads(first), lost(first)]).toEqual([["p4"], "3"]);
        await topic.post("release", { token: first.token });
        const read = await topic.read({ numEvents: 10 });
        expect([payloads(read), lost(read)]).toEqual([["p4", "p5"], "3"]);
        await topic.commit(read.token);
        await topic.put(texts(1));
        expect(lost(await topic.read())).toBeNull();
      });

      it("counts a gap in the middle for the batch that spans it", async () => {
        const topic = await makeTopic(app);
        for (let at = 1; at <= 5; at++) await topic.put(texts(1, at));
        await topic.commit((await topic.read()).token);
        await runInDurableObject(
          (await objectsOf(topic)).logs[0]!,
          (_, state) => void state.storage.sql.exec(`DELETE FROM segment WHERE first_seq IN (3, 4)`),
        );
        await evict(topic);
        const [first, second] = [
          await topic.read({ autoCommit: true }),
          await topic.read({ autoCommit: true, numEvents: 9 }),
        ];
        expect([payloads(first), lost(first), payloads(second), lost(second)]).toEqual([["p2"], null, ["p5"], "2"]);
      });

      it("reports the loss with 204 too, if all events were removed and none was published since", async () => {
        const topic = await makeTopic(app);
        await topic.put(texts(3));
        await topic.commit((await topic.read()).token);
        await trim(topic, 3);
        await evict(topic);
        for (let at = 0; at < 2; at++) {
          const none = await topic.read();
          expect([none.status, lost(none), none.response.headers.get("link")]).toEqual([204, "2", null]);
        }
        await topic.put(texts(1, 4));
        const read = await topic.read();
        expect([payloads(read), lost(read)]).toEqual([["p4"], "2"]);
        await topic.commit(read.token);
        const none = await topic.read();
        expect([none.status, lost(none)]).toEqual([204, null]);
      });

      it("counts no loss for a client that reads for the first time", async () => {
        const topic = await makeTopic(app, { shards: 2 });
        const tenants = [inShard(0, 2, "tenant"), inShard(1, 2, "tenant")];
        for (const tenant of tenants) app.actsFor.add(`${topic.owner.clientId} ${tenant}`);
        for (const tenant of tenants) for (const { payload } of texts(3)) await topic.put({ payload, tenant });
        await trim(topic, 2, 0);
        await trim(topic, 3, 1);
        const read = await topic.read({ numEvents: 10 });
        expect([payloads(read), lost(read)]).toEqual([["p3"], null]);
        await topic.commit(read.token);
        await evict(topic);
        const none = await topic.read();
        expect([none.status, lost(none)]).toEqual([204, null]);
      });

      it("reports the events lost since a read that found nothing", async () => {
        const topic = await makeTopic(app);
        expect((await topic.read()).status).toBe(204);
        await topic.put(texts(2));
        await topic.put(texts(1, 3));
        await trim(topic, 2);
        await evict(topic);
        const read = await topic.read();
        expect([payloads(read), lost(read)]).toEqual([["p3"], "2"]);
      });
    });
  });

  describe("204", () => {
    // shows: events/lock-on-a-topic/unlocked-read-204
    // shows: events/endpoints/post-read
    // shows: platform/errors-of-every-service/no-body-no-content-type
    it("has no body, no type, no Link and no lock for an empty topic", async () => {
      const topic = await makeTopic(app, { shards: 3 });
      const { status, response } = await topic.read();
      expect(status).toBe(204);
      expect(await response.text()).toBe("");
      expect(response.headers.get("link")).toBeNull();
      expect(response.headers.get("content-type")).toBeNull();
      await topic.put(texts(1));
      expect((await topic.read()).status).toBe(200);
    });

    // shows: events/read-and-commit/204
    it("responds to all of many parallel reads of an empty topic", async () => {
      const topic = await makeTopic(app);
      const answers = await Promise.all(Array.from({ length: 20 }, () => topic.read()));
      expect(statuses(answers)).toEqual(Array(20).fill(204));
      expect(answers.every((answer) => answer.response.headers.get("link") === null)).toBe(true);
    });

    // shows: events/read-and-commit/204
    it("responds to a read that started before a publish, never to one that started after it", async () => {
      const topic = await makeTopic(app);
      for (let at = 0; at < 20; at++) {
        const early = Array.from({ length: 5 }, () => topic.read({ autoCommit: true, numEvents: 10 }));
        await topic.put({ payload: `p${at}` });
        const late = await topic.read({ autoCommit: true, numEvents: 10 });
        const all = [...(await Promise.all(early)), late].flatMap(payloads);
        expect(all).toEqual([`p${at}`]);
      }
    });

    // shows: events/lock-on-a-topic/unlocked-read-204
    // shows: events/endpoints/post-read
    // shows: events/read-and-commit/204-with-rel-more
    it("has a Link when a shard fails; no lock is taken, and the events come when it is back", async () => {
      const topic = await makeTopic(app);
      await topic.put(texts(2));
      vi.spyOn(console, "warn").mockReturnValue();
      const mend = await breakLog(topic, 0, () => {
        throw new Error("the log is out of reach");
      });
      const { status, response } = await topic.read();
      expect(status).toBe(204);
      expect(response.headers.get("link")).toBe(`<${ORIGIN}${topic.path}/read>; rel="more"`);
      await mend();
      expect(payloads(await topic.read({ numEvents: 5 }))).toEqual(names(2));
    });

    // shows: events/lock-on-a-topic/unlocked-read-204
    it("has a Link if a shard is slow, for all reads that wait for it", async () => {
      const topic = await makeTopic(app);
      await topic.put(texts(1));
      const mend = await breakLog(topic, 0, () => new Promise(() => {}));
      const { consumer, record } = await objectsOf(topic);
      const request = requestOf(topic, record, { numEvents: 1, autoCommit: false });
      const outcomes = await runInDurableObject(consumer, async (instance: TopicConsumer) => {
        vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
        const reads = Promise.all(Array.from({ length: 5 }, () => instance.read(request)));
        // Two looks: that of the first read, and one for all the other reads.
        for (let look = 0; look < 2; look++) {
          while (vi.getTimerCount() === 0) await Promise.resolve();
          vi.advanceTimersByTime(5000);
          await Promise.resolve();
        }
        const settled = await reads;
        vi.useRealTimers();
        return settled;
      });
      expect(outcomes).toEqual(Array.from({ length: 5 }, () => ({ kind: "empty", more: true, lost: 0, upTo: [0] })));
      await mend();
      expect((await topic.read()).status).toBe(200);
    });

    it("has a Link if the shard that registers readers is slow, for all first reads", async () => {
      const topic = await makeTopic(app, { shards: 2 });
      const tenant = inShard(1, 2, "tenant");
      app.actsFor.add(`${topic.owner.clientId} ${tenant}`);
      await topic.put({ payload: "p1", tenant });
      const hang = () => new Promise(() => {});
      const mend = await breakLog(topic, 0, hang, { addConsumer: hang });
      const { consumer, record } = await objectsOf(topic);
      const { clientId } = topic.owner;
      let looks = 0;
      const outcomes = await runInDurableObject(consumer, async (instance: TopicConsumer) => {
        vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
        const reads = Promise.all(
          [1, 1, 5, 1].map((numEvents) =>
            instance.read({ topic: { ...record }, consumer: clientId, numEvents, ttlMs: 1000, autoCommit: false }),
          ),
        );
        const settled = { all: false };
        void reads.then(() => (settled.all = true));
        while (!settled.all) {
          // A single timer: the other shard has answered.
          if (vi.getTimerCount() === 1) {
            looks += 1;
            vi.advanceTimersByTime(5000);
          }
          await scheduler.wait(1);
        }
        vi.useRealTimers();
        return reads;
      });
      expect(outcomes).toEqual(Array.from({ length: 4 }, () => ({ kind: "empty", more: true, lost: 0 })));
      // The look of the first read, and its registration, which began after all the other reads.
      expect(looks).toBe(2);
      await mend();
      expect(payloads(await topic.read())).toEqual(["p1"]);
    });

    // shows: events/read-and-commit/204
    it("does not occur while another shard has events", async () => {
      const topic = await makeTopic(app, { shards: 2 });
      await topic.put(texts(1));
      const { logs } = await objectsOf(topic);
      const stored = await Promise.all(logs.map(async (log) => (await log.stats()) as { lastSeq: number }));
      const empty = stored.findIndex((log) => log.lastSeq === 0);
      vi.spyOn(console, "warn").mockReturnValue();
      await breakLog(topic, empty, () => {
        throw new Error("the log is out of reach");
      });
      const read = await topic.read();
      expect(payloads(read)).toEqual(["p1"]);
      expect((await topic.commit(read.token)).status).toBe(200);
      expect((await topic.read()).response.headers.get("link")).toContain('rel="more"');
    });
  });

  describe("answers 400", () => {
    // shows: events/read-request-body/numevents
    // shows: events/read-request-body/ttlms
    // shows: events/read-request-body/autocommit
    // shows: events/error-object/type
    // shows: events/error-object/details-.type
    // shows: events/errors/400
    // shows: events/limits/numevents
    // shows: events/limits/ttlms
    it.each([
      [{ numEvents: 0 }, ["invalid_field numEvents"]],
      [{ numEvents: -1 }, ["invalid_field numEvents"]],
      [{ numEvents: 1.5 }, ["invalid_field numEvents"]],
      [{ numEvents: "1" }, ["invalid_field numEvents"]],
      [{ numEvents: null }, ["invalid_field numEvents"]],
      [{ ttlMs: 999 }, ["invalid_field ttlMs"]],
      [{ ttlMs: 3_600_001 }, ["invalid_field ttlMs"]],
      [{ ttlMs: 1000.5 }, ["invalid_field ttlMs"]],
      [{ autoCommit: "true" }, ["invalid_field autoCommit"]],
      [{ autoCommit: 1, ttlMs: 1 }, ["invalid_field ttlMs", "invalid_field autoCommit"]],
      [[], ["invalid_field"]],
      ["text", ["invalid_field"]],
      [null, ["invalid_field"]],
    ])("answers 400 for %j", async (body, expected) => {
      const topic = await makeTopic(app);
      await topic.put(texts(1));
      const { response } = await topic.read(body);
      expect(faults(await expectProblem(response, 400, "validation_violation"))).toEqual(expected);
      expect((await topic.read({ ttlMs: 1000 })).status).toBe(200);
    });

    it("rejects a number that is too large", async () => {
      const topic = await makeTopic(app);
      const init = { as: topic.owner, body: '{"numEvents":1e999}', headers: { "content-type": "application/json" } };
      const body = await expectProblem(await app.call(`${topic.path}/read`, init), 400, "validation_violation");
      expect(faults(body)).toEqual(["invalid_field numEvents"]);
    });

    // shows: events/read-request-body/ttlms
    // shows: events/limits/ttlms
    it("accepts the minimum and maximum of ttlMs", async () => {
      const topic = await makeTopic(app);
      await topic.put(texts(1));
      const first = await topic.read({ ttlMs: 1000 });
      expect((await topic.commit(first.token)).status).toBe(200);
      await topic.put(texts(1));
      expect((await topic.read({ ttlMs: 3_600_000 })).status).toBe(200);
    });
  });

  // shows: events/errors/401
  it("answers 401 without a token", async () => {
    const topic = await makeTopic(app);
    const response = await app.call(`${topic.path}/read`, { method: "POST" });
    await expectProblem(response, 401, "insufficient_credentials");
  });

  describe("answers 403 and 404", () => {
    const attempt = async (topic: TestTopic, changes: Parameters<typeof someClient>[0], registered?: string) => {
      const as = someClient({ scopes: [], ...changes });
      if (registered !== undefined) app.registered.add(`${as.clientId} ${registered}`);
      const answers = [
        await app.call(`${topic.path}/read`, { as, method: "POST" }),
        await app.call(`${topic.path}/commit`, { as, json: { token: "t" } }),
        await app.call(topic.path, { as }),
      ];
      return answers;
    };
    const nameOfTopic = (topic: TestTopic) => topic.path.split("/").slice(-2).join(".");

    // shows: events/scopes-of-topics/owner
    // shows: events/scopes-of-topics/plat.pubsub.topic
    it("accepts the owner without a scope, and a token with a matching scope", async () => {
      const topic = await makeTopic(app);
      const name = nameOfTopic(topic);
      for (const scopes of [
        [`plat.pubsub.topic=${name}`],
        [`plat.pubsub.topic=${name.slice(0, -2)}*`],
        ["plat.pubsub.topic=*"],
      ])
        expect((await attempt(topic, { scopes })).map((answer) => answer.status)).toEqual([204, 409, 200]);
      expect((await topic.read({}, { as: { ...topic.owner, scopes: [] } })).status).toBe(204);
    });

    // shows: events/authentication/scopes-insufficient
    // shows: events/errors/403
    // shows: events/scopes-of-topics/no-access
    it("answers 403 and names the scope for a client that is registered for it", async () => {
      const topic = await makeTopic(app);
      const scope = `plat.pubsub.topic=${nameOfTopic(topic)}`;
      for (const response of await attempt(topic, { scopes: ["plat.pubsub_publish"] }, scope)) {
        expect(response.headers.get("www-authenticate")).toContain(`error="insufficient_scope"`);
        const body = await expectProblem(response, 403, "insufficient_permissions");
        expect(body.message).toContain(scope);
      }
    });

    // shows: events/errors/403
    it("answers 403 for a token that belongs to no client", async () => {
      const topic = await makeTopic(app);
      for (const response of await attempt(topic, {
        clientId: "",
        clientName: "",
        user: "ada@demo.example",
        scopes: ["plat.pubsub.topic=*"],
      }))
        await expectProblem(response, 403, "insufficient_permissions");
    });

    // shows: platform/errors-of-every-service/404-element_resource_non_existing
    // shows: events/scopes-of-topics/no-access
    it("answers 404 for everybody else, whether the topic exists or not", async () => {
      const topic = await makeTopic(app);
      const name = nameOfTopic(topic);
      const none = { ...topic, path: `${topic.path}x` };
      const wrong = [
        [],
        [`plat.pubsub.topic=${name}x`],
        [`plat.pubsub.topic=${name}x*`],
        [`plat.pubsub.topic=${name.slice(0, -1)}`],
      ];
      for (const scopes of wrong)
        for (const response of [...(await attempt(topic, { scopes })), ...(await attempt(none, { scopes: [] }))]) {
          const body = await expectProblem(response, 404, "element_resource_non_existing");
          expect(body.details).toEqual([]);
        }
    });

    // shows: events/errors/404
    it("answers 404 to a client with the scope for a topic that does not exist", async () => {
      const topic = await makeTopic(app);
      const answers = await attempt({ ...topic, path: `${topic.path}x` }, { scopes: ["plat.pubsub.topic=*"] });
      for (const response of answers) await expectProblem(response, 404, "element_resource_non_existing");
    });
  });

  describe("answers 409", () => {
    // shows: events/read-request-body/ttlms
    // shows: events/lock-on-a-topic/locked-read-by-the-same-client
    // shows: events/errors/409-read
    // shows: events/read-and-commit/409-topic_locked
    it("says topic_locked, with the seconds until the lock expires", async () => {
      const pass = frozenTime();
      const topic = await makeTopic(app);
      await topic.put(texts(2));
      await topic.read({ ttlMs: 10_000 });
      pass(2500);
      const { response } = await topic.read();
      expect(response.headers.get("retry-after")).toBe("8");
      await expectProblem(response, 409, "topic_locked");
      const auto = await topic.read({ autoCommit: true });
      expect(auto.status).toBe(409);
    });

    // shows: events/lock-on-a-topic/locked-read-by-the-same-client
    it("is the answer to all but one of many parallel reads, whatever their number of events", async () => {
      const topic = await makeTopic(app, { shards: 2 });
      await topic.put(texts(50));
      for (let round = 0; round < 5; round++) {
        const answers = await Promise.all(
          Array.from({ length: 20 }, (_, at) => topic.read({ numEvents: 1 + (at % 3) })),
        );
        expect(statuses(answers)).toEqual([200, ...Array(19).fill(409)]);
        const winner = answers.find((answer) => answer.status === 200)!;
        expect((await topic.commit(winner.token)).status).toBe(200);
      }
    });

    it("shares the events among parallel reads with autoCommit, each one once", async () => {
      const topic = await makeTopic(app);
      await topic.put(texts(100));
      const answers = await Promise.all(
        Array.from({ length: 30 }, () => topic.read({ numEvents: 7, autoCommit: true })),
      );
      expect(answers.flatMap(payloads).toSorted()).toEqual(names(100).toSorted());
      expect(statuses(answers)).toEqual([...Array(15).fill(200), ...Array(15).fill(204)]);
    });

    it("gives parallel reads with autoCommit their number each from a backlog larger than the read-ahead", async () => {
      const topic = await makeTopic(app);
      const payload = "x".repeat(100 * 1024);
      for (let at = 0; at < 3; at++) await topic.put(Array.from({ length: 20 }, () => ({ payload })));
      const answers = await Promise.all(
        Array.from({ length: 12 }, () => topic.read({ numEvents: 5, autoCommit: true })),
      );
      expect(answers.map((answer) => answer.events.length)).toEqual(Array(12).fill(5));
    });

    it("lets parallel reads with autoCommit use events that another one fetched and did not return", async () => {
      const topic = await makeTopic(app);
      const payload = "x".repeat(256 * 1024);
      for (let at = 0; at < 4; at++) await topic.put(Array.from({ length: 12 }, () => ({ payload })));
      const answers = await Promise.all(
        Array.from({ length: 4 }, () => topic.read({ numEvents: 100, autoCommit: true })),
      );
      expect(answers.map((answer) => answer.events.length)).toEqual([20, 20, 8, 0]);
    });
  });
});

describe("POST …/commit", () => {
  // shows: events/what-the-service-does/pull
  // shows: events/lock-on-a-topic/locked-commit-with-the-read-s-token
  // shows: events/endpoints/post-commit
  // shows: platform/errors-of-every-service/no-body-no-content-type
  it("answers 200 without a body, and the next read continues after the batch", async () => {
    const topic = await makeTopic(app);
    await topic.put(texts(3));
    const { token } = await topic.read({ numEvents: 2 });
    const response = await topic.commit(token);
    expect(response.status).toBe(200);
    expect(await response.text()).toBe("");
    expect(response.headers.get("content-type")).toBeNull();
    expect(payloads(await topic.read())).toEqual(["p3"]);
  });

  // shows: events/commit-request-body/token
  it.each([
    [{}, ["missing_field token"]],
    [{ token: "" }, ["invalid_field token"]],
    [{ token: 7 }, ["invalid_field token"]],
    [[], ["invalid_field"]],
  ])("answers 400 for %j", async (body, expected) => {
    const topic = await makeTopic(app);
    const response = await app.call(`${topic.path}/commit`, { as: topic.owner, json: body });
    expect(faults(await expectProblem(response, 400, "validation_violation"))).toEqual(expected);
  });

  // shows: events/commit-request-body/token
  // shows: events/errors/400
  // shows: platform/errors-of-every-service/400-bad_payload_syntax
  it("answers 400 without a body", async () => {
    const topic = await makeTopic(app);
    const response = await app.call(`${topic.path}/commit`, { as: topic.owner, method: "POST" });
    await expectProblem(response, 400, "bad_payload_syntax");
  });

  // shows: events/errors/404
  it("answers 404 for a topic that does not exist", async () => {
    const topic = await makeTopic(app);
    const response = await app.call(`${topic.path}x/commit`, { as: topic.owner, json: { token: "t" } });
    await expectProblem(response, 404, "element_resource_non_existing");
  });

  describe("answers 409 topic_not_locked", () => {
    const refused = async (response: Response) => faults(await expectProblem(response, 409, "topic_not_locked"));

    // shows: events/lock-on-a-topic/unlocked-commit-with-an-unknown-or-used-token
    // shows: events/errors/409-commit
    // shows: events/read-and-commit/409-topic_not_locked
    it("says already_committed when it is repeated, also after eviction", async () => {
      const topic = await makeTopic(app);
      await topic.put(texts(2));
      const { token } = await topic.read();
      await topic.commit(token);
      expect(await refused(await topic.commit(token))).toEqual(["already_committed token"]);
      const { consumer } = await objectsOf(topic);
      await evictDurableObject(consumer);
      expect(await refused(await topic.commit(token))).toEqual(["already_committed token"]);
      expect(payloads(await topic.read())).toEqual(["p2"]);
      expect(await refused(await topic.commit(token))).toEqual(["already_committed token"]);
    });

    // shows: events/lock-on-a-topic/lock-expired-commit
    // shows: events/errors/409-commit
    // shows: events/read-and-commit/fencing
    // shows: events/read-and-commit/409-topic_not_locked
    it("says lock_expired after ttlMs, and still after the events were read again and committed", async () => {
      const pass = frozenTime();
      const topic = await makeTopic(app);
      await topic.put(texts(3));
      const slow = await topic.read({ numEvents: 2, ttlMs: 1000 });
      pass(1000);
      expect(await refused(await topic.commit(slow.token))).toEqual(["lock_expired token"]);
      const again = await topic.read({ numEvents: 1 });
      expect(payloads(again)).toEqual(["p1"]);
      expect(await refused(await topic.commit(slow.token))).toEqual(["lock_expired token"]);
      expect((await topic.commit(again.token)).status).toBe(200);
      expect(await refused(await topic.commit(slow.token))).toEqual(["lock_expired token"]);
      expect(payloads(await topic.read())).toEqual(["p2"]);
    });

    // shows: events/lock-on-a-topic/unlocked-commit-with-an-unknown-or-used-token
    // shows: events/errors/409-commit
    // shows: events/read-and-commit/409-topic_not_locked
    it("says unknown_token for a token of any characters that was never issued, also before the first read", async () => {
      const topic = await makeTopic(app);
      const odd = ["x", "1.x", "\u0000", "\ud800", "__proto__", "1".repeat(10_000)];
      for (const token of odd) expect(await refused(await topic.commit(token))).toEqual(["unknown_token token"]);
      await topic.put(texts(1));
      const { token } = await topic.read();
      for (const other of odd) expect(await refused(await topic.commit(other))).toEqual(["unknown_token token"]);
      expect((await topic.commit(token)).status).toBe(200);
    });

    it("is the answer to all but one of many parallel commits", async () => {
      const topic = await makeTopic(app);
      await topic.put(texts(2));
      const { token } = await topic.read();
      const answers = await Promise.all(Array.from({ length: 10 }, () => topic.commit(token)));
      expect(statuses(answers)).toEqual([200, ...Array(9).fill(409)]);
      expect(payloads(await topic.read())).toEqual(["p2"]);
    });
  });
});

describe("failures", () => {
  // shows: events/read-and-commit/lock-token-cursor
  it("keeps lock, token and cursor when evicted between read and commit", async () => {
    const topic = await makeTopic(app);
    await topic.put(texts(3));
    const { consumer } = await objectsOf(topic);
    const { token } = await topic.read({ numEvents: 2 });
    await evictDurableObject(consumer);
    expect((await topic.read()).status).toBe(409);
    await evictDurableObject(consumer);
    expect((await topic.commit(token)).status).toBe(200);
    await evictDurableObject(consumer);
    expect(payloads(await topic.read({ numEvents: 10 }))).toEqual(["p3"]);
  });

  it("returns the same events again after eviction and expiry", async () => {
    const pass = frozenTime();
    const topic = await makeTopic(app);
    await topic.put(texts(10));
    await topic.read({ numEvents: 4, ttlMs: 1000 });
    const { consumer, logs } = await objectsOf(topic);
    await evictDurableObject(consumer);
    await evictDurableObject(logs[0]!);
    pass(1000);
    expect(payloads(await topic.read({ numEvents: 10 }))).toEqual(names(10));
  });

  // shows: events/read-and-commit/lock-token-cursor
  it("survives an abort of every object between any two steps", async () => {
    const topic = await makeTopic(app, { shards: 2 });
    app.actsFor.add(`${topic.owner.clientId} tenant2`);
    await topic.put([...texts(3), { payload: "p4", tenant: "tenant2" }]);
    await abortAllDurableObjects();
    const { token, events } = await topic.read({ numEvents: 3 });
    await abortAllDurableObjects();
    expect((await topic.read()).status).toBe(409);
    await abortAllDurableObjects();
    expect((await topic.commit(token)).status).toBe(200);
    await abortAllDurableObjects();
    const rest = await topic.read({ numEvents: 10 });
    expect([...events.map((event) => event.payload), ...payloads(rest)].toSorted()).toEqual(names(4));
  });

  it("takes no lock when a write fails between choosing and answering; the same events come next time", async () => {
    const topic = await makeTopic(app);
    await topic.put(texts(3));
    const { consumer, record } = await objectsOf(topic);
    const request = requestOf(topic, record, { numEvents: 2, autoCommit: true });
    await consumer.read({ ...request, numEvents: 1 });
    const failed = await runInDurableObject(consumer, async (instance: TopicConsumer, state) => {
      state.storage.sql.exec(`ALTER TABLE consumer RENAME TO away`);
      const outcome = await instance.read(request).catch(() => "failed");
      state.storage.sql.exec(`ALTER TABLE away RENAME TO consumer`);
      return outcome;
    });
    expect(failed).toBe("failed");
    expect(payloads(await topic.read({ numEvents: 10 }))).toEqual(["p2", "p3"]);
  });

  // shows: platform/errors-of-every-service/503-service_temporarily_unavailable
  it.each([
    ["went away under the request", Object.assign(new Error("restarting"), { retryable: true })],
    ["is reset", Object.assign(new Error("aborted"), { durableObjectReset: true })],
    // The error of workerd after an abort, for the next instance of the object.
    ["finds its storage still held", new Error("database is locked: SQLITE_BUSY")],
  ])("answers 503 with Retry-After when the object %s", async (_, gone) => {
    const consumers = { getByName: () => ({ read: () => Promise.reject(gone), commit: () => Promise.reject(gone) }) };
    const topic = await makeTopic(app);
    const broken = eventsApp({ ...env, TOPIC_CONSUMER: consumers as unknown as typeof env.TOPIC_CONSUMER });
    const said = vi.spyOn(console, "info");
    const response = await broken.call(`${topic.path}/read`, { as: topic.owner, method: "POST" });
    expect(response.headers.get("retry-after")).toMatch(/^[12]$/);
    await expectProblem(response, 503, "service_temporarily_unavailable");
    expect(said.mock.calls.join()).toContain(gone.message);
    said.mockRestore();
  });
});

describe("/events", () => {
  const deprecated = (path: string) => path.replace("/pubsub/", "/events/");

  // shows: events/what-the-service-does/the-same-under-pubsub
  // shows: events/what-the-service-does/topics-and-subscriptions-stay
  // shows: events/versioning/deprecated
  // shows: platform/addresses/event-consumption-service
  // shows: events/the-same-operations-twice/events
  it("serves the same topics and locks, with deprecation header and successor link", async () => {
    const topic = await makeTopic(app);
    await topic.put(texts(2));
    const read = await app.call(`${deprecated(topic.path)}/read`, { as: topic.owner, method: "POST" });
    expect(read.status).toBe(200);
    expect(read.headers.get("deprecation")).toMatch(/^@\d+$/);
    expect(read.headers.get("link")).toBe(`<${ORIGIN}${topic.path}/read>; rel="successor-version"`);
    expect((await topic.read()).status).toBe(409);
    const { token } = (await read.json()) as { token: string };
    expect((await topic.commit(token)).status).toBe(200);
    expect((await topic.read()).response.headers.get("deprecation")).toBeNull();
  });

  it("replaces only its own base", async () => {
    const odd = await app.call("/events/v1/topics/events/v1", { as: someClient() });
    expect(odd.headers.get("link")).toBe(`<${ORIGIN}/pubsub/v1/topics/events/v1>; rel="successor-version"`);
    const headers = new Headers();
    decorateDeprecated("/events/v1")(headers, new URL(`${ORIGIN}/events/v1/events/v1/topics`), 200);
    expect(headers.get("link")).toBe(`<${ORIGIN}/events/v1/pubsub/v1/topics>; rel="successor-version"`);
  });

  it("keeps the links of a page", async () => {
    const topic = await makeTopic(app);
    const list = await app.call("/events/v1/topics?pageSize=5", { as: topic.owner });
    const link = list.headers.get("link")!;
    expect(link).toContain('rel="self"');
    expect(link).toContain(`<${ORIGIN}/pubsub/v1/topics?pageSize=5>; rel="successor-version"`);
  });

  it("does not repeat a long address: a client that limits headers can read the refusal", async () => {
    const topic = await makeTopic(app);
    for (const [chars, status] of [
      [15_000, 200],
      [17_000, 414],
    ] as const) {
      const long = await app.call(`/events/v1/topics?x=${"y".repeat(chars)}`, { as: topic.owner });
      expect(long.status).toBe(status);
      expect(long.headers.get("deprecation")).toMatch(/^@\d+$/);
      expect(long.headers.get("link")).toContain(`<${ORIGIN}/pubsub/v1>; rel="successor-version"`);
    }
  });

  // shows: events/versioning/deprecated
  // shows: events/the-same-operations-twice/events
  it("marks errors as deprecated too; on 204 a Link means more events and nothing else", async () => {
    const topic = await makeTopic(app);
    const refused = await app.call(`${deprecated(topic.path)}/read`, { method: "POST" });
    expect(refused.status).toBe(401);
    expect(refused.headers.get("deprecation")).toMatch(/^@\d+$/);
    expect(refused.headers.get("link")).toContain("successor-version");
    const none = await app.call(`${deprecated(topic.path)}/read`, { as: topic.owner, method: "POST" });
    expect(none.status).toBe(204);
    expect(none.headers.get("deprecation")).toMatch(/^@\d+$/);
    expect(none.headers.get("link")).toBeNull();
  });
});

/** Replaces `read` of the log for the consumer of the topic's owner. Returns a function that restores it. */
async function breakLog(
  topic: TestTopic,
  shard: number,
  read: () => unknown,
  more: object = {},
): Promise<() => Promise<void>> {
  const { consumer } = await objectsOf(topic);
  const use = (logs: DurableObjectNamespace<TopicLog>) =>
    runInDurableObject(consumer, (instance) => {
      const own = instance as unknown as { env: object };
      own.env = { ...own.env, TOPIC_LOG: logs };
    });
  const broken = {
    getByName: (name: string) =>
      name.endsWith(`/${shard}`) ? { read: async () => read(), ...more } : env.TOPIC_LOG.getByName(name),
  };
  await use(broken as unknown as DurableObjectNamespace<TopicLog>);
  return () => use(env.TOPIC_LOG);
}
