import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { EventsPage, RegisterPage } from "../../../src/events/log/transfer.ts";
import { consumerName, pushObjectName, shardsOf, type Topic } from "../../../src/events/model/topic.ts";
import { eventObjects } from "../../../src/events/transfer/objects.ts";
import type { StorePage } from "../../../src/metrics/store-pages.ts";
import { metricsObjects } from "../../../src/metrics/transfer.ts";
import { createMeter } from "../../../src/metrics/meter.ts";
import { placeOf } from "../../../src/metrics/model/places.ts";
import { PAGE, type ImportOutcome } from "../../../src/platform/storage/object-import.ts";
import { heardLog } from "../../support/runtime/heard-log.ts";
import { unique } from "../../support/platform/unique.ts";
import { eventsApp, KEPT } from "../support/events-app.ts";
import { inShard } from "../support/in-shard.ts";
import { makeTopic, payloads, type TestTopic } from "../support/test-topic.ts";
import { objectsOf } from "../support/topic-objects.ts";
import { stopTheClock } from "../support/push/push-clock.ts";
import { idsOf } from "../support/push/push-requests.ts";
import { makePush, type TestPush } from "../support/push/test-push.ts";

/** Objects are exported, destroyed and imported. Then they answer as before. */
const objects = eventObjects({
  logs: env.TOPIC_LOG,
  consumers: env.TOPIC_CONSUMER,
  pushSubscriptions: env.PUSH_SUBSCRIPTION,
});
const app = eventsApp();
const { chars } = PAGE;
const withPagesOf = (limit: number) => void Object.assign(PAGE, { chars: limit });
afterEach(() => {
  withPagesOf(chars);
  vi.useRealTimers();
});

type LogPage = RegisterPage | EventsPage;

const some = <T extends object>(page: T | { readonly kind: "gone" }): T => {
  if ("kind" in page && page.kind === "gone") throw new Error("gone");
  return page as T;
};

async function registerOf(topic: Topic, shard: number): Promise<RegisterPage[]> {
  const pages: RegisterPage[] = [];
  do pages.push(some<RegisterPage>(await objects.exportRegister(topic, shard, pages.at(-1)?.next)));
  while (pages.at(-1)!.next !== undefined);
  return pages;
}

async function eventsOf(topic: Topic, shard: number, from: { afterSeq: number } | { fromMs: number }) {
  const pages = [some<EventsPage>(await objects.exportEvents(topic, shard, from))];
  while (!pages.at(-1)!.atEnd)
    pages.push(some<EventsPage>(await objects.exportEvents(topic, shard, { afterSeq: pages.at(-1)!.endSeq })));
  return pages;
}

const logPages = async (topic: Topic, shard: number): Promise<LogPage[]> => [
  ...(await registerOf(topic, shard)),
  ...(await eventsOf(topic, shard, { afterSeq: 0 })),
];

/** Imports all pages, each one twice. */
async function importAll<T>(
  pages: readonly T[],
  take: (place: { id: string; number: number; isLast: boolean }, page: T) => Promise<ImportOutcome>,
): Promise<void> {
  const id = unique("import");
  for (const [number, page] of pages.entries()) {
    const place = { id, number, isLast: number === pages.length - 1 };
    expect(await take(place, page)).toBe("imported");
    expect(await take(place, page)).toBe("again");
  }
}

const importLog = (topic: Topic, shard: number, pages: readonly LogPage[]) =>
  importAll(pages, (place, page) => objects.importLog(topic, shard, place, page));

/** The status of the topic as its owner, who also reads it, gets it. */
const statusOf = async (topic: TestTopic): Promise<any> => (await app.call(topic.path, { as: topic.owner })).json();

describe("A log, exported and imported", () => {
  it("has the same events, keys, cursors and next positions, in all shards", async () => {
    const topic = await makeTopic(app, { shards: 2 });
    const { record, consumer, logs } = await objectsOf(topic);
    const tenants = shardsOf(record).map((shard) => inShard(shard, 2, "tenant"));
    for (const tenant of tenants) app.actsFor.add(`${topic.owner.clientId} ${tenant}`);
    const publish = async (payload: string, key?: string) => {
      const init = key === undefined ? {} : { headers: { "idempotency-key": key } };
      return topic.put(
        tenants.map((tenant) => ({ tenant, payload })),
        init,
      );
    };
    for (let at = 0; at < 6; at++) await publish(`${at}`.padEnd(300, "."), at === 5 ? "key" : undefined);
    const first = await topic.read({ numEvents: 4 });
    await topic.commit(first.token);
    const locked = await topic.read({ numEvents: 2 });
    const before = await statusOf(topic);
    // Databases with the same rows may differ in size.
    const statsOf = async () =>
      (await Promise.all(logs.map((log) => log.stats()))).map((one) => ({ ...one, bytes: 0 }));
    const stats = await statsOf();

    withPagesOf(500);
    const pages = [];
    for (const shard of shardsOf(record)) pages.push(await logPages(record, shard));
    expect(pages[0]!.length).toBeGreaterThan(3);
    const reader = some(await objects.exportConsumer(record, topic.owner.clientId));
    await Promise.all([...logs.map((log) => log.destroy()), consumer.destroy()]);
    expect((await topic.publish([{ payload: "lost" }])).status).toBe(404);

    for (const shard of shardsOf(record)) {
      await importLog(record, shard, pages[shard]!);
      await evictDurableObject(logs[shard]!);
    }
    await importAll([reader], (place, page) => objects.importConsumer(record, topic.owner.clientId, place, page));
    await evictDurableObject(consumer);
    expect(await statusOf(topic)).toEqual(before);
    expect(await statsOf()).toEqual(stats);
    // The lock is gone, so its batch is read again, with a token that is new.
    const again = await topic.read({ numEvents: 2 });
    expect(again.events).toEqual(locked.events);
    expect(again.response.headers.get("plat-delivery-attempt")).toBe("2");
    expect((await topic.commit(locked.token)).status).toBe(409);
    expect((await topic.commit(again.token)).status).toBe(200);
    // A repeat with the key stores nothing; the next event follows the last one.
    const known = payloads(await topic.read({ numEvents: 100, autoCommit: true })).length;
    expect(known).toBe(6);
    await publish("5".padEnd(300, "."), "key");
    expect((await topic.read({})).status).toBe(204);
    await publish("next");
    expect(payloads(await topic.read({ numEvents: 10 }))).toEqual(["next", "next"]);
  });

  it("gives a reader the events after a reset that it had not seen, and none twice to one that had", async () => {
    const topic = await makeTopic(app);
    const { record, consumer, logs } = await objectsOf(topic);
    const other = { headers: { consumer: "other" } };
    const readBy = async (init = {}) => payloads(await topic.read({ numEvents: 9, autoCommit: true }, init));
    const put = async (...texts: string[]) => {
      for (const payload of texts) await topic.put({ payload });
    };
    await put("a", "b", "c");
    for (const init of [{}, other]) expect(await readBy(init)).toEqual(["a", "b", "c"]);
    const log = logs[0]!;
    // As a restore of the log to its first event.
    await runInDurableObject(log, (_: object, { storage }) => {
      storage.sql.exec(`DELETE FROM segment WHERE first_seq > 1`);
    });
    await evictDurableObject(log);
    await log.reset(unique("reset"), 0, KEPT);
    await put("d", "e", "f");
    expect(await readBy(other)).toEqual(["d", "e", "f"]);
    const names = [topic.owner.clientId, `${topic.owner.clientId}/consumer/other`];
    const readers = await Promise.all(names.map(async (name) => some(await objects.exportConsumer(record, name))));
    const pages = await logPages(record, 0);
    await Promise.all([log.destroy(), consumer.destroy()]);
    await env.TOPIC_CONSUMER.getByName(consumerName(record, names[1]!)).destroy();
    await importLog(record, 0, pages);
    for (const [at, name] of names.entries())
      await importAll([readers[at]!], (place, page) => objects.importConsumer(record, name, place, page));
    expect([await readBy(), await readBy(other)]).toEqual([["d", "e", "f"], []]);
  });

  it("begins at the time from which it was exported, and continues the positions", async () => {
    stopTheClock();
    const topic = await makeTopic(app);
    const { record, logs } = await objectsOf(topic);
    await topic.put({ payload: "old" });
    vi.setSystemTime(Date.now() + 1000);
    const fromMs = Date.now();
    await topic.put([{ payload: "new" }, { payload: "newer" }]);
    const pages = [...(await registerOf(record, 0)), ...(await eventsOf(record, 0, { fromMs }))];
    await logs[0]!.destroy();
    await importLog(record, 0, pages);
    expect(await logs[0]!.stats()).toMatchObject({ firstSeq: 2, lastSeq: 3 });
    expect(payloads(await topic.read({ numEvents: 9 }))).toEqual(["new", "newer"]);
    // Without any events, positions continue too.
    const [register] = await registerOf(record, 0);
    await logs[0]!.destroy();
    await importLog(record, 0, [register!]);
    expect(await logs[0]!.stats()).toMatchObject({ firstSeq: 4, lastSeq: 3 });
    await topic.put({ payload: "newest" });
    expect(await logs[0]!.stats()).toMatchObject({ firstSeq: 4, lastSeq: 4 });
  });

  it("accepts increments, and begins after a gap that retention left", async () => {
    const topic = await makeTopic(app);
    const { record, logs } = await objectsOf(topic);
    await topic.put({ payload: "1" });
    await topic.put({ payload: "2" });
    const base = await eventsOf(record, 0, { afterSeq: 0 });
    await topic.put({ payload: "3" });
    const increment = await eventsOf(record, 0, { afterSeq: 2 });
    await topic.put({ payload: "4" });
    await topic.put({ payload: "5" });
    const behindHole = await eventsOf(record, 0, { afterSeq: 4 });
    await logs[0]!.destroy();
    await importLog(record, 0, [...base, ...increment, ...increment]);
    expect(await logs[0]!.stats()).toMatchObject({ firstSeq: 1, lastSeq: 3 });
    await logs[0]!.destroy();
    await importLog(record, 0, [...base, ...behindHole]);
    expect(await logs[0]!.stats()).toMatchObject({ firstSeq: 5, lastSeq: 5 });
    expect(payloads(await topic.read({ numEvents: 9 }))).toEqual(["5"]);
  });

  it("refuses pages that are not the next, are of another import, or of an unknown format", async () => {
    const topic = await makeTopic(app);
    const { record, logs } = await objectsOf(topic);
    await topic.put({ payload: "1" });
    const [page] = await eventsOf(record, 0, { afterSeq: 0 });
    const take = (id: string, number: number, isLast: boolean, format = 1) =>
      objects.importLog(record, 0, { id, number, isLast }, { ...page!, format });
    expect(await take("a", 0, true)).toBe("not_empty");
    await logs[0]!.destroy();
    expect(await take("a", 0, false, 2)).toBe("other_format");
    expect(await take("a", 1, false)).toBe("out_of_order");
    expect(await take("a", 0, false)).toBe("imported");
    // Nobody reads or publishes before the last page.
    expect((await topic.publish({ payload: "early" })).status).toBe(404);
    await logs[0]!.init(0, KEPT);
    expect((await topic.publish({ payload: "early" })).status).toBe(404);
    expect(await take("b", 1, true)).toBe("not_empty");
    expect(await take("a", 2, true)).toBe("out_of_order");
    expect(await take("a", 1, true)).toBe("imported");
    expect(await take("a", 2, true)).toBe("not_empty");
    expect((await topic.publish({ payload: "2" })).status).toBe(201);
  });
});

describe("A push subscription, exported and imported", () => {
  beforeEach(stopTheClock);
  const exportPush = async (push: TestPush) => {
    const name = pushObjectName(push.record, push.id);
    const pages = [some(await objects.exportPush(name))];
    while (pages.at(-1)!.next !== undefined) pages.push(some(await objects.exportPush(name, pages.at(-1)!.next)));
    return pages;
  };

  it("has its cursor, deliveries, dead letters and health, and delivers the remaining events", async () => {
    const push = await makePush();
    await push.answer({ status: 500 });
    const [dead] = await push.put(["dead"]);
    await push.drive(3 * 86_400_000);
    expect(await push.status()).toMatchObject({ deadLetters: 1 });
    await push.answer({});
    const [delivered] = await push.put(["delivered"]);
    await push.run();
    const [pending] = await push.put(["pending"]);
    const before = { status: await push.status(), deliveries: await push.deliveries() };
    withPagesOf(200);
    const pages = await exportPush(push);
    expect(pages.length).toBeGreaterThan(1);
    const log = await logPages(push.record, 0);
    await push.stub.destroy();
    await push.logs[0]!.destroy();
    await push.received();

    await importLog(push.record, 0, log);
    const name = pushObjectName(push.record, push.id);
    await importAll(pages, (place, page) => objects.importPush(name, place, page));
    await push.evict();
    expect({ status: await push.status(), deliveries: await push.deliveries() }).toEqual(before);
    await push.run();
    expect(idsOf(await push.received())).toEqual([pending]);
    expect(await push.stub.redeliver(dead!)).toBe("again");
    await push.run();
    expect(idsOf(await push.received())).toEqual([dead]);
    expect((await push.delivery(delivered!)).state).toBe("delivered");
  });

  it("delivers the events after a reset that it had not seen, and none twice if it had", async () => {
    for (const hasSeen of [false, true]) {
      const push = await makePush();
      for (const text of ["a", "b", "c"]) await push.put([text]);
      await push.run();
      const log = push.logs[0]!;
      await runInDurableObject(log, (_: object, { storage }) => {
        storage.sql.exec(`DELETE FROM segment WHERE first_seq > 1`);
      });
      await evictDurableObject(log);
      await log.reset(unique("reset"), 0, KEPT);
      const later = [];
      for (const text of ["d", "e", "f"]) later.push(...(await push.publish([text])));
      if (hasSeen) {
        await push.stub.wake();
        await push.run();
      }
      const [pages, log0] = [await exportPush(push), await logPages(push.record, 0)];
      await push.stub.destroy();
      await log.destroy();
      await push.received();
      await importLog(push.record, 0, log0);
      const name = pushObjectName(push.record, push.id);
      await importAll(pages, (place, page) => objects.importPush(name, place, page));
      await push.evict();
      await push.run();
      expect(idsOf(await push.received())).toEqual(hasSeen ? [] : later);
    }
  });

  it("is absent until its last page, and wakes for an event published before it", async () => {
    const push = await makePush();
    await push.put(["1"]);
    await push.run();
    const [page] = await exportPush(push);
    const [next] = await push.publish(["2"]);
    await push.stub.destroy();
    await push.received();
    const name = pushObjectName(push.record, push.id);
    expect(await objects.importPush(name, { id: "a", number: 0, isLast: false }, page!)).toBe("imported");
    await push.evict();
    expect(await push.stub.wake()).toBe("gone");
    expect(await objects.importPush(name, { id: "a", number: 1, isLast: true }, { ...page!, deliveries: [] })).toBe(
      "imported",
    );
    await push.run();
    expect(idsOf(await push.received())).toEqual([next]);
  });
});

describe("A consumer that has read", () => {
  it("accepts no import", async () => {
    const topic = await makeTopic(app);
    const { record, consumer } = await objectsOf(topic);
    await topic.put({ payload: "1" });
    await topic.read({ autoCommit: true });
    const page = some(await objects.exportConsumer(record, topic.owner.clientId));
    expect(await objects.importConsumer(record, topic.owner.clientId, { id: "a", number: 0, isLast: true }, page)).toBe(
      "not_empty",
    );
    expect(await consumer.position()).toEqual([1]);
    expect(await objects.exportConsumer(record, "nobody")).toEqual({ kind: "gone" });
    const tables = await runInDurableObject(
      env.TOPIC_CONSUMER.getByName(consumerName(record, "nobody")),
      (_: object, { storage }) => storage.sql.exec(`SELECT name FROM sqlite_master`).toArray(),
    );
    expect(tables).toEqual([]);
  });
});

describe("A store of metrics, exported and imported", () => {
  it("adds what another store counted to what it counts itself, once", async () => {
    const collector = env.METRICS_COLLECTOR.getByName(unique("collector"));
    const tenant = unique("t");
    const clock = { nowMs: () => Date.now() };
    const [one, two] = [unique("isolate"), unique("isolate")];
    const count = async (isolate: string, requests: number) => {
      const send = async (number: number, counts: any) => collector.add(isolate, number, counts);
      const meter = createMeter({ clock, log: heardLog, wait: undefined, send });
      meter.add("requests", { service: "media", label: "2xx", tenant }, requests);
      await meter.flush();
      await collector.passOn();
    };
    await count(one, 3);
    const metrics = metricsObjects(env.METRICS_STORE);
    const from = placeOf(tenant).store;
    // There are few stores for all tenants, and a test of restores may have imported to this one.
    await runInDurableObject(env.METRICS_STORE.getByName(from), (_: object, { storage }) =>
      storage.sql.exec(`DROP TABLE IF EXISTS import_progress`).toArray(),
    );
    expect(metrics.storeNames).toContain(from);
    withPagesOf(50);
    const pages: StorePage[] = [];
    do pages.push(await metrics.exportStore(from, pages.at(-1)?.next));
    while (pages.at(-1)!.next !== undefined);
    expect(pages.length).toBeGreaterThan(2);
    await count(two, 4);
    await importAll(pages, (place, page) => metrics.importStore(from, place, page));
    const rows = await env.METRICS_STORE.getByName(from).read(tenant, "day", 0, Date.now());
    expect(rows.map(({ counts }) => JSON.parse(counts)["requests media 2xx"])).toEqual([3 + 4 + 3]);
  });
});
