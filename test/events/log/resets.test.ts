import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { positionAfter } from "../../../src/events/log/resets.ts";
import type { TopicLog } from "../../../src/events/log/topic-log.do.ts";
import { addressOf, pushObjectName } from "../../../src/events/model/topic.ts";
import { unique } from "../../support/platform/unique.ts";
import { eventsApp, KEPT } from "../support/events-app.ts";
import { inShard } from "../support/in-shard.ts";
import { makeTopic, payloads, type TestTopic } from "../support/test-topic.ts";
import { objectsOf } from "../support/topic-objects.ts";
import { stopTheClock } from "../support/push/push-clock.ts";
import { idsOf } from "../support/push/push-requests.ts";
import { makePush, type TestPush } from "../support/push/test-push.ts";

/** Logs lose their latest events, as in a restore to an earlier point, and get new ones. */
const app = eventsApp();
let warnings: unknown[] = [];
beforeEach(() => {
  warnings = [];
  vi.spyOn(console, "warn").mockImplementation((...told) => void warnings.push(told));
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

type Log = DurableObjectStub<TopicLog>;

/** Takes the log back to a position, as a restore of its object does: no table has anything later. */
async function takeBack(log: Log, seq: number): Promise<void> {
  await runInDurableObject(log, (_: TopicLog, { storage }) => {
    storage.sql.exec(`DELETE FROM segment WHERE first_seq > ?`, seq);
    storage.sql.exec(`UPDATE log SET trimmed_seq = ? WHERE NOT EXISTS (SELECT 1 FROM segment)`, seq);
    storage.sql.exec(`DELETE FROM consumer`);
    storage.sql.exec(`DELETE FROM subscriber`);
  });
  await evictDurableObject(log);
}
const restoreTo = async (log: Log, seq: number, shard = 0): Promise<void> => {
  await takeBack(log, seq);
  expect(await log.reset(unique("reset"), shard, KEPT)).toBe("reset");
};
const publish = async (topic: TestTopic, ...texts: string[]): Promise<void> => {
  for (const payload of texts) await topic.put({ payload });
};
const readAll = async (topic: TestTopic): Promise<string[]> =>
  payloads(await topic.read({ numEvents: 100, autoCommit: true }));

/** A push subscription whose endpoint got three events, published one by one. */
async function pushedThree(): Promise<TestPush> {
  stopTheClock();
  const push = await makePush();
  for (const payload of ["a", "b", "c"]) await push.put([payload]);
  await push.run();
  return push;
}

describe("A log that was restored to an earlier point", () => {
  it("gives a reader that was further ahead every new event once", async () => {
    for (const [later, evicted] of [
      [["e", "f"], true],
      [["e", "f", "g", "h", "i"], true],
      [["e", "f", "g", "h", "i"], false],
    ] as const) {
      const topic = await makeTopic(app);
      const { consumer, logs } = await objectsOf(topic);
      await publish(topic, "a", "b", "c", "d");
      expect(await readAll(topic)).toEqual(["a", "b", "c", "d"]);
      await restoreTo(logs[0]!, 2);
      await publish(topic, ...later);
      if (evicted) await evictDurableObject(consumer);
      expect(await readAll(topic)).toEqual(later);
      expect(await readAll(topic)).toEqual([]);
      // The topic knows the consumer again, so its deletion finds it.
      expect(await logs[0]!.consumers(10)).toEqual([topic.owner.clientId]);
    }
  });

  it("has an alarm again, although the one of then is over", async () => {
    const topic = await makeTopic(app);
    const [log] = (await objectsOf(topic)).logs;
    await publish(topic, "a", "b");
    await runInDurableObject(log!, (_: TopicLog, { storage }) => storage.deleteAlarm());
    await restoreTo(log!, 1);
    const alarmAt = await runInDurableObject(log!, (_: TopicLog, { storage }) => storage.getAlarm());
    expect(alarmAt).toBeGreaterThan(Date.now());
  });

  it("does not move a reader that was not so far, with and without events in memory", async () => {
    const topic = await makeTopic(app);
    const { logs } = await objectsOf(topic);
    await publish(topic, "a", "b", "c", "d");
    // The rest is read ahead.
    expect(payloads(await topic.read({ numEvents: 1, autoCommit: true }))).toEqual(["a"]);
    await restoreTo(logs[0]!, 2);
    await publish(topic, "e", "f", "g");
    const read = await readAll(topic);
    // Events in the memory of a reader may be from before the restore. No new event is missing.
    expect(read.filter((text) => !["c", "d"].includes(text))).toEqual(["b", "e", "f", "g"]);
    expect(await readAll(topic)).toEqual([]);
  });

  it("takes a reader back only in the restored shard, and again after a second restore", async () => {
    const topic = await makeTopic(app, { shards: 2 });
    const { logs } = await objectsOf(topic);
    const tenants = [0, 1].map((shard) => inShard(shard, 2, "tenant"));
    for (const tenant of tenants) app.actsFor.add(`${topic.owner.clientId} ${tenant}`);
    const put = (shard: number, payload: string) => topic.put({ tenant: tenants[shard]!, payload });
    for (const text of ["a", "b", "c"]) for (const shard of [0, 1]) await put(shard, `${text}${shard}`);
    expect(await readAll(topic)).toHaveLength(6);
    await restoreTo(logs[1]!, 1, 1);
    await put(1, "d1");
    await put(0, "d0");
    expect((await readAll(topic)).toSorted()).toEqual(["d0", "d1"]);
    await restoreTo(logs[1]!, 1, 1);
    await put(1, "e1");
    await put(1, "f1");
    expect(await readAll(topic)).toEqual(["e1", "f1"]);
  });

  it("keeps the position of a later seek, and the start of a new reader", async () => {
    const topic = await makeTopic(app);
    const { logs } = await objectsOf(topic);
    await publish(topic, "a", "b", "c");
    await readAll(topic);
    await restoreTo(logs[0]!, 1);
    await publish(topic, "d", "e");
    expect((await topic.post("seek", { to: "newest" })).status).toBe(200);
    await publish(topic, "f");
    expect(await readAll(topic)).toEqual(["f"]);
    const named = { headers: { consumer: "other" } };
    const read = await topic.read({ numEvents: 2, autoCommit: true }, named);
    expect(payloads(read)).toEqual(["a", "d"]);
    expect(payloads(await topic.read({ numEvents: 9, autoCommit: true }, named))).toEqual(["e", "f"]);
  });

  it("gives everything again if it has no mark of the restore, and says so", async () => {
    const topic = await makeTopic(app);
    const { consumer, logs } = await objectsOf(topic);
    await publish(topic, "a", "b", "c", "d");
    await readAll(topic);
    await takeBack(logs[0]!, 2);
    await publish(topic, "e");
    await evictDurableObject(consumer);
    expect(await readAll(topic)).toEqual(["a", "b", "e"]);
    expect(JSON.stringify(warnings)).toContain("cursor goes back");
  });

  it("pushes every new event, and an old one never again", async () => {
    const push = await pushedThree();
    expect(await push.received()).toHaveLength(3);
    await restoreTo(push.logs[0]!, 1);
    const ids = [...(await push.publish(["d"])), ...(await push.publish(["e"])), ...(await push.publish(["f"]))];
    // The log forgot the subscription; the sweep wakes it.
    await push.stub.wake();
    await push.run();
    expect(idsOf(await push.received()).toSorted()).toEqual(ids.toSorted());
    expect(await push.logs[0]!.subscribers(9)).toEqual([pushObjectName(push.record, push.id)]);
    expect(await push.status()).toMatchObject({ lag: 0, eventsLost: 0 });
    const later = await makePush({ topic: push.topic });
    const [id] = await later.put(["g"]);
    await later.run();
    expect(idsOf(await later.received())).toEqual([id]);
  });

  it("pushes from its oldest event on if it has no mark of the restore", async () => {
    const push = await pushedThree();
    await push.received();
    await takeBack(push.logs[0]!, 1);
    const [id] = await push.publish(["d"]);
    await push.stub.wake();
    await push.run();
    // It still knows that it delivered the first one.
    expect(idsOf(await push.received())).toEqual([id]);
    expect(await push.status()).toMatchObject({ lag: 0, eventsLost: 0 });
  });
});

describe("A log that was lost", () => {
  it("is opened anew, and readers get every event from then on", async () => {
    const topic = await makeTopic(app);
    const { record, logs } = await objectsOf(topic);
    await publish(topic, "a", "b");
    await readAll(topic);
    await logs[0]!.destroy();
    expect((await topic.publish({ payload: "c" })).status).toBe(404);
    expect(await logs[0]!.reset("one", 0, KEPT)).toBe("reset");
    expect(await logs[0]!.reset("one", 0, KEPT)).toBe("reset");
    await publish(topic, "c");
    expect(await readAll(topic)).toEqual(["c"]);
    await logs[0]!.close();
    expect(await logs[0]!.reset("two", 0, KEPT)).toBe("gone");
    expect(addressOf(record).shards).toBe(1);
  });
});

describe("The position after resets", () => {
  it.each([
    [undefined, undefined, 9, undefined],
    [[{ id: "a", seq: 5 }], "a", 9, undefined],
    [[{ id: "a", seq: 5 }], undefined, 9, { position: 5, seen: "a" }],
    [[{ id: "a", seq: 5 }], undefined, 3, { position: 3, seen: "a" }],
    [
      [
        { id: "a", seq: 2 },
        { id: "b", seq: 7 },
      ],
      "a",
      9,
      { position: 7, seen: "b" },
    ],
    [
      [
        { id: "a", seq: 2 },
        { id: "b", seq: 7 },
      ],
      undefined,
      9,
      { position: 2, seen: "b" },
    ],
    [[{ id: "b", seq: 7 }], "undone", 9, { position: 7, seen: "b" }],
  ])("is the lowest of those that were not seen: %j, seen %s, at %i", (told, seen, position, expected) => {
    expect(positionAfter(told, seen, position)).toEqual(expected);
  });
});
