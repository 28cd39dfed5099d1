import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { TopicLog } from "../../../src/events/log/topic-log.do.ts";
import { frozenTime } from "../../support/frozen-time.ts";
import { eventsApp, KEPT } from "../support/events-app.ts";
import { makeTopic, payloads, type TestTopic } from "../support/test-topic.ts";
import { objectsOf } from "../support/topic-objects.ts";
import { itAtNight } from "../../support/model-runs.ts";
import { DAY_MS } from "../../../src/platform/runtime/clock.ts";

const app = eventsApp();
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const status = async (topic: TestTopic): Promise<any> => (await app.call(topic.path, { as: topic.owner })).json();
const alarmOf = (log: DurableObjectStub<TopicLog>) =>
  runInDurableObject(log, (_: TopicLog, state) => state.storage.getAlarm());

describe("retention by age", () => {
  // shows: events/read-and-commit/7-days
  // shows: events/read-and-commit/plat-events-lost
  it("removes events after seven days, read or not, and wakes for the next", async () => {
    const pass = frozenTime();
    const start = Date.now();
    const topic = await makeTopic(app);
    const log = (await objectsOf(topic)).logs[0]!;
    expect(await alarmOf(log)).toBeNull();
    expect((await topic.read()).status).toBe(204);
    await topic.put([{ payload: "a" }, { payload: "b" }]);
    expect(await alarmOf(log)).toBe(start + 7 * DAY_MS);
    pass(DAY_MS);
    await topic.put({ payload: "c" });
    expect(await alarmOf(log)).toBe(start + 7 * DAY_MS);
    pass(6 * DAY_MS);
    await runDurableObjectAlarm(log);
    expect(await alarmOf(log)).toBe(start + 8 * DAY_MS);
    expect(await status(topic)).toMatchObject({ storedEvents: 1, lag: 1, oldestEventAt: start + DAY_MS });
    const read = await topic.read({ numEvents: 10 });
    expect(payloads(read)).toEqual(["c"]);
    expect(read.response.headers.get("plat-events-lost")).toBe("2");
  });

  it("an empty log keeps its place: positions and times go on, and no alarm is left", async () => {
    const pass = frozenTime();
    const topic = await makeTopic(app);
    const { consumer, logs } = await objectsOf(topic);
    const log = logs[0]!;
    await topic.put([{ payload: "a" }, { payload: "b" }]);
    await topic.commit((await topic.read()).token);
    // "b" is in the read-ahead, from where it could still be read.
    await evictDurableObject(consumer);
    pass(7 * DAY_MS);
    await runDurableObjectAlarm(log);
    expect(await alarmOf(log)).toBeNull();
    await evictDurableObject(log);
    expect(await status(topic)).toMatchObject({ storedEvents: 0, oldestEventAt: null, newestEventAt: null, lag: 0 });
    expect((await topic.read()).status).toBe(204);
    await topic.put({ payload: "c" });
    const read = await topic.read();
    expect(payloads(read)).toEqual(["c"]);
    expect(read.response.headers.get("plat-events-lost")).toBe("1");
    expect(await alarmOf(log)).toBe(Date.now() + 7 * DAY_MS);
  });

  itAtNight("removes in bounded steps, one after the other", async () => {
    const pass = frozenTime();
    const topic = await makeTopic(app);
    const log = (await objectsOf(topic)).logs[0]!;
    for (let at = 0; at < 1100; at += 50)
      await Promise.all(Array.from({ length: 50 }, () => topic.put({ payload: "x" })));
    pass(7 * DAY_MS);
    const left: number[] = [];
    while (await runDurableObjectAlarm(log)) left.push((await status(topic)).storedEvents);
    expect(left).toEqual([600, 100, 0]);
  });

  it("removes expired idempotency keys", async () => {
    const pass = frozenTime();
    const topic = await makeTopic(app);
    const log = (await objectsOf(topic)).logs[0]!;
    const headers = { "idempotency-key": "k", "content-type": "application/json" };
    await topic.put({ payload: "x" }, { headers });
    pass(DAY_MS + 60_000);
    await runDurableObjectAlarm(log);
    const keys = await runInDurableObject(log, (_: TopicLog, state) =>
      state.storage.sql.exec(`SELECT key FROM publish_key`).toArray(),
    );
    expect(keys).toEqual([]);
    expect((await status(topic)).storedEvents).toBe(1);
  });

  it("wakes for an idempotency key that expires before the oldest event", async () => {
    const pass = frozenTime();
    const topic = await makeTopic(app);
    const log = (await objectsOf(topic)).logs[0]!;
    await topic.put({ payload: "x" });
    pass(1000);
    const headers = { "idempotency-key": "k", "content-type": "application/json" };
    await topic.put({ payload: "x" }, { headers });
    const dueMs = Date.now() + DAY_MS + 60_000;
    expect(await alarmOf(log)).toBe(dueMs);
    pass(1000);
    await topic.put({ payload: "x" }, { headers: { ...headers, "idempotency-key": "later" } });
    await topic.put({ payload: "x" });
    expect(await alarmOf(log)).toBe(dueMs);
  });

  it("applies a shorter time with the next event", async () => {
    const pass = frozenTime();
    const topic = await makeTopic(app);
    const { logs } = await objectsOf(topic);
    await topic.put({ payload: "a" });
    pass(1000);
    await logs[0]!.publish([{ text: `"payload":"b"}`, payloadBytes: 1 }], undefined, {
      ageMs: 2000,
      maxBytes: KEPT.maxBytes,
    });
    expect(await alarmOf(logs[0]!)).toBe(Date.now() + 1000);
  });

  it("removes nothing in a failed step, and retries it", async () => {
    const pass = frozenTime();
    vi.spyOn(console, "warn").mockReturnValue();
    const topic = await makeTopic(app);
    const log = (await objectsOf(topic)).logs[0]!;
    await topic.put({ payload: "a" });
    pass(7 * DAY_MS);
    await runInDurableObject(
      log,
      (_: TopicLog, state) => void state.storage.sql.exec(`ALTER TABLE publish_key RENAME TO away`),
    );
    await runDurableObjectAlarm(log);
    expect(await alarmOf(log)).toBe(Date.now() + 60_000);
    await runInDurableObject(
      log,
      (_: TopicLog, state) => void state.storage.sql.exec(`ALTER TABLE away RENAME TO publish_key`),
    );
    expect((await status(topic)).storedEvents).toBe(1);
    await runDurableObjectAlarm(log);
    expect((await status(topic)).storedEvents).toBe(0);
  });
});
