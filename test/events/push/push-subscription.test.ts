import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { TopicLog } from "../../../src/events/log/topic-log.do.ts";
import { DELIVERY } from "../../../src/events/model/limits.ts";
import { addressOf, nameOf, pushObjectName } from "../../../src/events/model/topic.ts";
import type { PushSubscriptionObject } from "../../../src/events/push/push-subscription.do.ts";
import type { PushPorts } from "../../../src/events/push/types.ts";
import { makeClient } from "../../support/platform/clients.ts";
import { put } from "../../support/platform/operator.ts";
import { unique } from "../../support/platform/unique.ts";
import { pass, stopTheClockBeforeEach } from "../support/push/push-clock.ts";
import { limits } from "../support/push/push-limits.ts";
import { idsOf } from "../support/push/push-requests.ts";
import { makePush, pushApp, type TestPush } from "../support/push/test-push.ts";
import { makeTopic } from "../support/test-topic.ts";
import { until } from "../support/until.ts";
import { pushStore } from "../support/push/push-store.ts";
import { heldRun } from "../support/push/held-run.ts";
import { itAtNight } from "../../support/model-runs.ts";
import { DAY_MS } from "../../../src/platform/runtime/clock.ts";

stopTheClockBeforeEach();

const inside = <T>(
  push: TestPush,
  look: (object: PushSubscriptionObject, state: DurableObjectState) => T | Promise<T>,
) => runInDurableObject(push.stub, look);
const tablesOf = (push: TestPush) =>
  inside(push, (_, state) =>
    state.storage.sql.exec(`SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf%' ESCAPE '\\'`).toArray(),
  );
const subscribersOf = (push: TestPush) => Promise.all(push.logs.map(async (log) => log.subscribers(100)));
/** Expects that nothing of it is left anywhere, and that nothing brings it back. */
async function expectGone(push: TestPush): Promise<void> {
  expect(await tablesOf(push)).toEqual([]);
  expect(await push.alarmInMs()).toBeUndefined();
  expect((await subscribersOf(push)).flat()).toEqual([]);
  expect(await push.stub.wake()).toBe("gone");
  expect(await push.status()).toEqual({ lag: 0, deadLetters: 0, eventsLost: 0 });
  expect(await push.deliveries()).toEqual([]);
  expect(await push.stub.redeliver("0000000000000000-g")).toBe("unknown");
  expect(await push.stub.sendTest("tenant1")).toEqual({ kind: "gone" });
  await push.stub.changed();
  expect(await push.alarmInMs()).toBeUndefined();
}
/** Replaces ports of the running instance, until it is evicted. */
const withPorts = (push: TestPush, change: (ports: PushPorts) => Partial<PushPorts>) =>
  inside(push, (object) => {
    Object.assign(object.ports, change({ ...object.ports }));
  });
/** The ports before a test replaced some. All objects of the Worker share them, so they are put back. */
let portsBefore: { readonly ports: PushPorts; readonly before: PushPorts } | undefined;
beforeEach(async () => {
  const push = await makePush();
  await inside(push, (object) => {
    portsBefore = { ports: object.ports, before: { ...object.ports } };
  });
});
afterEach(() => void Object.assign(portsBefore!.ports, portsBefore!.before));

/** Replaces a method of a log, until the returned function is called. */
async function breaking(log: DurableObjectStub<TopicLog>, method: "read" | "addSubscriber", does: () => unknown) {
  const broken = await runInDurableObject(log, (object: TopicLog) => object);
  const real = TopicLog.prototype[method] as (...args: unknown[]) => unknown;
  const spy = vi.spyOn(TopicLog.prototype, method).mockImplementation(function (this: TopicLog, ...args: unknown[]) {
    return (this === broken ? does() : real.apply(this, args)) as never;
  });
  return () => spy.mockRestore();
}
const failing = () => {
  throw new Error("out of order");
};

describe("open", () => {
  // shows: events/push-subscriptions/begins
  it("registers at every shard's log and starts at the newest event; a repeat changes nothing", async () => {
    const before = await makePush({ shards: 4 });
    for (let shard = 0; shard < 4; shard++) await before.put(["old"], shard);
    const push = await makePush({ topic: before.topic });
    const name = pushObjectName(push.record, push.id);
    for (const names of await subscribersOf(push)) expect(names).toContain(name);
    const ids = [];
    for (let shard = 0; shard < 4; shard++) ids.push(...(await push.put(["new"], shard)));
    expect(await push.stub.open({ id: push.id, topic: addressOf(push.record) })).toEqual({ kind: "open" });
    expect(await push.status()).toEqual({ lag: 4, deadLetters: 0, eventsLost: 0 });
    await push.run();
    expect(idsOf(await push.received()).toSorted()).toEqual(ids.toSorted());
  });

  it("opens at most once when open() and destroy() race", async () => {
    const { record } = await makePush({ shards: 2 });
    const open = (id: string) => {
      const stub = env.PUSH_SUBSCRIPTION.getByName(pushObjectName(record, id));
      return { stub, opened: stub.open({ id, topic: addressOf(record) }) };
    };
    const id = unique("push");
    const outcomes = await Promise.all([open(id), open(id), open(id)].map(async ({ opened }) => await opened));
    expect(outcomes).toEqual([{ kind: "open" }, { kind: "open" }, { kind: "open" }]);
    const { stub, opened } = open(unique("push"));
    await Promise.all([opened, stub.destroy()]);
    const tables = await runInDurableObject(stub, (_: PushSubscriptionObject, state) =>
      state.storage.sql.exec(`SELECT name FROM sqlite_master WHERE name = 'subscription'`).toArray(),
    );
    expect(tables).toEqual([]);
  });

  it("answers gone for a topic that is gone, and stores nothing", async () => {
    const { record, logs } = await makePush({ shards: 2 });
    await logs[1]!.close();
    const id = unique("push");
    const stub = env.PUSH_SUBSCRIPTION.getByName(pushObjectName(record, id));
    expect(await stub.open({ id, topic: addressOf(record) })).toEqual({ kind: "gone" });
    expect(await stub.wake()).toBe("gone");
  });

  it("fails retryably when a log does not answer", async () => {
    vi.spyOn(console, "warn").mockReturnValue();
    const { record, logs } = await makePush({ shards: 2 });
    const mend = await breaking(logs[1]!, "addSubscriber", failing);
    const id = unique("push");
    const stub = env.PUSH_SUBSCRIPTION.getByName(pushObjectName(record, id));
    const open = async () => stub.open({ id, topic: addressOf(record) });
    const fault = await open().catch((thrown: unknown) => thrown);
    expect(fault).toMatchObject({ retryable: true });
    expect(await stub.wake()).toBe("gone");
    mend();
    expect(await open()).toEqual({ kind: "open" });
  });
});

describe("a record that is not there yet", () => {
  it("waits for it and keeps events until it comes", async () => {
    const push = await makePush({ withRecord: false });
    const [id] = await push.put(["x"]);
    await push.drive(60_000);
    expect(await push.received()).toEqual([]);
    expect(await push.alarmInMs()).toBeLessThanOrEqual(5000);
    const other = (await pushStore.findById((await makePush({ topic: push.topic })).id))!;
    await pushStore.insert(
      { ...other, id: push.id, name: unique("n"), endpoint: push.endpoint },
      { ofClient: 99, ofTopic: 99 },
    );
    // Sealed for another row, it does not open: the endpoint hears nothing, and nothing is lost.
    vi.spyOn(console, "error").mockReturnValue();
    await push.drive(10_000);
    expect(await push.received()).toEqual([]);
    expect(await push.status()).toMatchObject({ lag: 1 });
    expect(id).toBeDefined();
  });

  it("removes itself when the record does not come within ten minutes", async () => {
    const push = await makePush({ withRecord: false, shards: 3 });
    expect(await push.alarmInMs()).toBe(600_000);
    await push.drive(600_000);
    await expectGone(push);
  });

  it("removes itself also when events come", async () => {
    const push = await makePush({ withRecord: false });
    await push.put(["x"]);
    await push.drive(605_000);
    await expectGone(push);
  });
});

describe("the end", () => {
  it("leaves nothing after destroy, at the logs either; a repeat does no harm", async () => {
    const push = await makePush({ shards: 3 });
    await push.answer({ status: 500 });
    await push.put(["x", "y"]);
    await push.run();
    await push.stub.destroy();
    await expectGone(push);
    await push.stub.destroy();
    await expectGone(push);
  });

  it("writes no row back when destroyed while attempts are in flight", async () => {
    const push = await makePush();
    const { ended: running } = await heldRun(push, 10);
    await push.stub.destroy();
    await push.release();
    await running;
    await expectGone(push);
    expect((await push.received()).length).toBe(6);
  });

  it("stores nothing from a log when destroyed while reading it", async () => {
    const push = await makePush();
    await push.put(["x"]);
    let asked = false;
    const segment = {
      firstSeq: 1,
      lastSeq: 1,
      createdAtMs: 1,
      events: `{"id":"0000000000000000-g"}`,
      payloadBytes: "1",
    };
    const mend = await breaking(push.logs[0]!, "read", async () => {
      asked = true;
      await scheduler.wait(50);
      return { kind: "segments", segments: [segment], endSeq: 1, atEnd: true };
    });
    const running = push.run();
    await until(() => asked);
    await push.stub.destroy();
    await running;
    mend();
    await expectGone(push);
    expect(await push.received()).toEqual([]);
  });

  it("finds out at a wake that its record is gone", async () => {
    const push = await makePush({ shards: 2 });
    const record = (await push.stored())!;
    await push.put(["x"]);
    await push.run();
    await pushStore.remove(record.id);
    pass(10_000);
    await push.put(["y"]);
    await push.run();
    await expectGone(push);
    expect((await push.received()).length).toBe(1);
  });

  it("removes itself after its topic", async () => {
    const push = await makePush({ shards: 2 });
    await push.put(["x"]);
    for (const log of push.logs) await log.close();
    await push.run();
    expect(await tablesOf(push)).toEqual([]);
    expect(await push.stub.wake()).toBe("gone");
  });

  it("removes itself if the topic is deleted while a text is only in the log", async () => {
    limits({ textChars: 1 });
    const push = await makePush();
    await push.answer({ held: true });
    await push.put(Array.from({ length: 3 }, (_, at) => `${at}`));
    const running = push.run();
    await until(async () => (await push.held()) > 0);
    await push.logs[0]!.close();
    await push.release();
    await running;
    await push.stub.wake();
    await push.run();
    expect(await push.stub.wake()).toBe("gone");
  });
});

describe("while the text of an event is being read", () => {
  /** Two taken events of two shards, whose texts were lost with the memory; reading the second is slow. */
  async function withSlowText() {
    const push = await makePush({ shards: 2 });
    await push.answer({ held: true });
    const ids = [...(await push.put(["a"], 0)), ...(await push.put(["b"], 1))];
    const running = push.run().catch(() => undefined);
    await until(async () => (await push.held()) === 2);
    // Listing the deliveries gives them rows, without their texts.
    expect(await push.deliveries("pending")).toHaveLength(2);
    await inside(push, (_, state) => state.abort()).catch(() => undefined);
    await running;
    await push.release();
    await push.received();
    const gate = { asked: false, open: false };
    const read = TopicLog.prototype.read;
    const slow = await runInDurableObject(push.logs[1]!, (object: TopicLog) => object);
    vi.spyOn(TopicLog.prototype, "read").mockImplementation(function (this: TopicLog, ...args) {
      const answer = read.apply(this, args);
      if (this !== slow || args[2] !== 0) return answer;
      gate.asked = true;
      return (async () => {
        while (!gate.open) await scheduler.wait(1);
        return answer;
      })() as never;
    });
    return { push, ids, gate };
  }

  it("sends nothing after the subscription is gone", async () => {
    const { push, gate } = await withSlowText();
    await push.answer({});
    const running = push.run();
    await until(() => gate.asked);
    await push.stub.destroy();
    gate.open = true;
    await running;
    await expectGone(push);
    expect((await push.received()).length).toBeLessThanOrEqual(1);
  });

  it("sends nothing if the subscription is deleted while its record is read again", async () => {
    const { push, gate } = await withSlowText();
    await push.answer({});
    const running = push.run();
    await until(() => gate.asked);
    const record = { asked: false, open: false };
    await withPorts(push, ({ store }) => ({
      store: {
        ...store,
        async forDelivery(...given) {
          const found = await store.forDelivery(...given);
          record.asked = true;
          while (!record.open) await scheduler.wait(1);
          return found;
        },
      },
    }));
    await push.received();
    pass(10_000);
    gate.open = true;
    await until(() => record.asked);
    await push.stub.destroy();
    record.open = true;
    await running;
    await expectGone(push);
    expect(await push.received()).toEqual([]);
  });

  it("sends it after a pause that the endpoint asked for", async () => {
    const { push, ids, gate } = await withSlowText();
    await push.answer({ status: 429, headers: { "retry-after": "60" } }, {});
    const running = push.run();
    await until(async () => gate.asked && (await push.delivery(ids[0]!)).attemptCount === 1);
    gate.open = true;
    await running;
    expect(idsOf(await push.received())).toEqual([ids[0]]);
    expect(await push.delivery(ids[1]!)).toMatchObject({ state: "pending", attemptCount: 0 });
    await push.drive(60_000);
    expect((await push.deliveries("delivered")).length).toBe(2);
  });
});

describe("the record changes in the middle of a run", () => {
  async function inTheMiddle() {
    const push = await makePush();
    const { ended: running } = await heldRun(push, 10);
    return { push, running };
  }

  it("sends later attempts to the new endpoint with the new password", async () => {
    const { push, running } = await inTheMiddle();
    const other = await makePush();
    await push.change({ endpoint: other.endpoint, username: "other", password: "new" });
    await push.stub.changed();
    await push.release();
    await running;
    expect((await push.received()).length).toBe(6);
    const requests = await other.received();
    expect(requests.length).toBe(4);
    for (const { headers } of requests) expect(headers["authorization"]).toBe(`Basic ${btoa("other:new")}`);
  });

  it("starts nothing while disabled, and continues when enabled", async () => {
    const { push, running } = await inTheMiddle();
    await push.disable();
    await push.stub.changed();
    await push.release();
    await running;
    expect((await push.received()).length).toBe(6);
    await push.drive(60_000);
    expect(await push.received()).toEqual([]);
    await push.answer({});
    await push.change({});
    await push.stub.changed();
    await push.drive(10);
    expect((await push.received()).length).toBe(4);
  });

  it("ignores a Retry-After of the replaced endpoint", async () => {
    const push = await makePush();
    const other = await makePush();
    await push.answer({ held: true, status: 429, headers: { "retry-after": "600" } });
    await push.put(["x"]);
    const running = push.run();
    await until(async () => (await push.held()) === 1);
    await push.change({ endpoint: other.endpoint });
    await push.stub.changed();
    const [id] = await push.put(["y"]);
    await until(async () => (await push.deliveries("delivered")).length === 1);
    await push.release();
    await running;
    const [later] = await push.put(["z"]);
    await push.run();
    expect(idsOf(await other.received())).toEqual([id, later]);
  });

  it("a 410 of the replaced endpoint does not disable the new one", async () => {
    const push = await makePush();
    const other = await makePush();
    await push.answer({ held: true, status: 410 });
    const [id] = await push.put(["x"]);
    const running = push.run();
    await until(async () => (await push.held()) === 1);
    await push.change({ endpoint: other.endpoint });
    await push.stub.changed();
    await push.release();
    await running;
    expect(await push.stored()).toMatchObject({ state: "active", version: 2 });
    await push.drive(6000);
    expect(idsOf(await other.received())).toEqual([id]);
    expect((await push.delivery(id!)).state).toBe("delivered");
  });

  it("a change while the record is read invalidates that read", async () => {
    const push = await makePush();
    const other = await makePush();
    const gate = { asked: 0, told: false };
    await withPorts(push, ({ store }) => ({
      store: {
        ...store,
        async forDelivery(...given) {
          const record = await store.forDelivery(...given);
          if (gate.asked++ === 0) while (!gate.told) await scheduler.wait(1);
          return record;
        },
      },
    }));
    await push.put(["x"]);
    const running = push.run();
    await until(() => gate.asked === 1);
    await push.change({ endpoint: other.endpoint });
    await push.stub.changed();
    gate.told = true;
    await running;
    expect(await push.received()).toEqual([]);
    expect((await other.received()).length).toBe(1);
  });

  it("a change of which the object was not told is seen ten seconds later", async () => {
    const { push, running } = await inTheMiddle();
    const other = await makePush();
    await push.change({ endpoint: other.endpoint });
    pass(10_000);
    await push.release();
    await running;
    expect((await other.received()).length).toBe(4);
  });
});

describe("rights", () => {
  const setClient = (clientId: string, changes: object) =>
    put(`clients/${clientId}`, {
      tenant: clientId.split(".")[0],
      confidential: true,
      redirectUris: [],
      postLogoutRedirectUris: [],
      grantTypes: ["client_credentials"],
      ...changes,
    });

  it("that are lost stop deliveries; every five minutes the object checks, and sends everything once they are back", async () => {
    const { topic, record } = await makePush();
    const { clientId } = await makeClient({ scopes: [`plat.pubsub.topic=${nameOf(record)}`] });
    const push = await makePush({ topic, client: clientId });
    const ids = await push.put(["a"]);
    await push.run();
    expect(idsOf(await push.received())).toEqual(ids);
    await setClient(clientId, { scopes: ["plat.media_view"] });
    pass(30_000);
    const later = await push.put(["b", "c"]);
    await push.run();
    expect(await push.received()).toEqual([]);
    expect(await push.alarmInMs()).toBe(300_000);
    expect(await push.status()).toMatchObject({ lag: 2 });
    await push.drive(DAY_MS);
    expect(await push.received()).toEqual([]);
    await setClient(clientId, { scopes: ["plat.pubsub.topic=*"] });
    await push.drive(330_000);
    expect(idsOf(await push.received())).toEqual(later);
  });

  it("of the topic's owner last as long as the client lives", async () => {
    const { clientId } = await makeClient({ scopes: ["plat.pubsub_publish"] });
    const owner = { ...(await makePush()).topic.owner, clientId, clientName: clientId };
    const push = await makePush({ topic: await makeTopic(pushApp(), { owner }) });
    await push.put(["a"]);
    await push.run();
    expect((await push.received()).length).toBe(1);
    await setClient(clientId, { scopes: [], disabled: true });
    pass(30_000);
    await push.put(["b"]);
    await push.drive(600_000);
    expect(await push.received()).toEqual([]);
    await setClient(clientId, { scopes: [], disabled: false });
    await push.drive(330_000);
    expect((await push.received()).length).toBe(1);
  });
});

describe("D1 does not answer", () => {
  const down = (push: TestPush) =>
    withPorts(push, ({ store }) => ({
      store: {
        ...store,
        forDelivery: () => Promise.reject(new Error("D1 is down")),
        findById: () => Promise.reject(new Error("D1 is down")),
        disable: () => Promise.reject(new Error("D1 is down")),
      },
    }));
  const up = () => void Object.assign(portsBefore!.ports, portsBefore!.before);
  const portsOf = async (push: TestPush) =>
    inside(push, (object) => {
      portsBefore = { ports: object.ports, before: { ...object.ports } };
    });

  it("is bridged by its last answer for a minute; then everything waits, and nothing is lost", async () => {
    vi.spyOn(console, "warn").mockReturnValue();
    const push = await makePush();
    await portsOf(push);
    await push.put(["a"]);
    await push.run();
    await down(push);
    pass(45_000);
    await push.put(["b"]);
    await push.run();
    expect((await push.received()).length).toBe(2);
    pass(16_000);
    await push.put(["c"]);
    await push.run();
    expect(await push.received()).toEqual([]);
    expect(await push.alarmInMs()).toBe(10_000);
    await push.drive(60_000);
    expect(await push.received()).toEqual([]);
    up();
    await push.drive(10_000);
    expect((await push.received()).length).toBe(1);
  });

  it("after a change: its earlier answers are not used", async () => {
    const push = await makePush();
    await portsOf(push);
    await push.put(["a"]);
    await push.run();
    await push.received();
    await down(push);
    await push.stub.changed();
    await push.put(["b"]);
    await push.run();
    expect(await push.received()).toEqual([]);
  });

  it("delays the report of a 410, and nothing is sent until then", async () => {
    const push = await makePush();
    await portsOf(push);
    await push.put(["a"]);
    await push.run();
    await push.answer({ status: 410 });
    await down(push);
    await push.put(["b", "c"]);
    await push.run();
    await push.received();
    expect(await push.stored()).toMatchObject({ state: "active" });
    await push.drive(30_000);
    expect(await push.received()).toEqual([]);
    up();
    await push.drive(10_000);
    expect(await push.received()).toEqual([]);
    expect(await push.stored()).toMatchObject({ state: "disabled", version: 2 });
  });

  itAtNight("keeps a 410 that cannot be reported, even over a crash", async () => {
    const push = await makePush();
    await push.answer({ status: 410 });
    await push.put(["a"]);
    await withPorts(push, ({ store }) => ({
      store: { ...store, disable: () => Promise.reject(new Error("D1 is down")) },
    }));
    await push.run();
    expect((await push.received()).length).toBe(1);
    expect(await push.stored()).toMatchObject({ state: "active" });
    await push.evict();
    up();
    await push.answer({ status: 200 });
    await push.drive(DAY_MS);
    expect(await push.received()).toEqual([]);
    expect(await push.stored()).toMatchObject({ state: "disabled", version: 2 });
  });
});

describe("credentials that do not open", () => {
  it("stop sending with one error; it retries after five minutes, or when they change", async () => {
    const errors = vi.spyOn(console, "error").mockReturnValue();
    const push = await makePush();
    const before = (await push.stored())!;
    await pushStore.update(
      push.id,
      1,
      { ...before, credentials: before.credentials.replace("t1.", "gone.") },
      Date.now(),
    );
    await push.put(["a"]);
    await push.run();
    await push.stub.wake();
    await push.run();
    expect(errors).toHaveBeenCalledTimes(1);
    expect(String(errors.mock.calls[0]![0])).toContain("push credentials do not open");
    expect(await push.alarmInMs()).toBe(300_000);
    await push.drive(300_000);
    expect(errors).toHaveBeenCalledTimes(2);
    expect(await push.received()).toEqual([]);
    await pushStore.update(push.id, 2, before, Date.now());
    await push.drive(300_000);
    expect((await push.received()).length).toBe(1);
  });
});

describe("eviction", () => {
  it("between any two calls loses nothing and repeats nothing that was written", async () => {
    const push = await makePush({ shards: 2 });
    await push.evict();
    const ids = await push.put(["a", "b"]);
    await push.evict();
    await push.answer({ status: 500 }, {});
    await push.run();
    await push.evict();
    expect(await push.alarmInMs()).toBeGreaterThanOrEqual(5000);
    await push.drive(7000);
    await push.evict();
    const delivered = await push.deliveries("delivered");
    expect(delivered.map(({ eventId }) => eventId).toSorted()).toEqual(ids.toSorted());
    expect((await push.received()).length).toBe(3);
    expect(await push.status()).toEqual({ lag: 0, deadLetters: 0, eventsLost: 0 });
  });

  it("in the middle of a run makes it send again what was in flight, under the same attempt number", async () => {
    const push = await makePush();
    await push.answer({ held: true });
    const ids = await push.put(Array.from({ length: 9 }, (_, at) => `${at}`));
    const running = push.run().catch(() => undefined);
    await until(async () => (await push.held()) === 6);
    await inside(push, (_, state) => state.abort("as a crash does")).catch(() => undefined);
    await running;
    await push.release();
    await push.received();
    // The safety alarm that was set before the run.
    expect(await push.alarmInMs()).toBe(60_000);
    await push.answer({});
    await push.drive(60_000);
    const requests = await push.received();
    expect(idsOf(requests).toSorted()).toEqual(ids.toSorted());
    for (const { headers } of requests) expect(headers["plat-delivery-attempt"]).toBe("1");
    expect((await push.deliveries("delivered")).every(({ attemptCount }) => attemptCount === 1)).toBe(true);
  });

  it("keeps a pause and a silence", async () => {
    const push = await makePush();
    await push.answer({ status: 503, headers: { "retry-after": "100" } });
    await push.put(["a"]);
    await push.run();
    await push.evict();
    await push.put(["b"]);
    await push.run();
    expect(await push.alarmInMs()).toBe(100_000);
    expect((await push.received()).length).toBe(1);
  });
});

describe("an object at rest", () => {
  it("finds out within a day that its record is gone, though nothing is published", async () => {
    const push = await makePush({ shards: 2 });
    await push.put(["x"]);
    await push.run();
    await pushStore.remove(push.id);
    await push.drive(DELIVERY.restMs - 1);
    expect((await subscribersOf(push)).flat()).toEqual([push, push].map(() => expect.stringContaining(push.id)));
    await push.drive(1);
    await expectGone(push);
  });

  it("is left alone while it is paused, and reads new events after the pause", async () => {
    const push = await makePush();
    await push.answer({ status: 429, headers: { "retry-after": "50" } }, {});
    await push.put(["a"]);
    await push.run();
    expect(await push.status()).toMatchObject({ pausedUntilMs: Date.now() + 50_000 });
    await push.put(["b"]);
    expect(await push.alarmInMs()).toBe(50_000);
    await push.drive(50_000);
    expect((await push.deliveries("delivered")).length).toBe(2);
    expect(await push.status()).toMatchObject({ lag: 0, pausedUntilMs: undefined });
  });

  it.each(["redeliver", "sendTest"] as const)("continues at once after %s", async (ask) => {
    const push = await makePush();
    await push.answer({ status: 503, headers: { "retry-after": "86400" } }, {});
    const [first] = await push.put(["a", "b"]);
    await push.run();
    if (ask === "redeliver") expect(await push.stub.redeliver(first!)).toBe("again");
    else expect(await push.stub.sendTest("tenant1")).toMatchObject({ kind: "tried", attempt: { status: 200 } });
    expect(await push.alarmInMs()).toBe(0);
    expect(await push.status()).toMatchObject({ pausedUntilMs: undefined });
    await push.answer({});
    await push.received();
    const [second] = await push.put(["c"]);
    await push.run();
    const sent = idsOf(await push.received());
    expect(sent).toContain(second);
    if (ask === "redeliver") expect(sent).toContain(first);
  });

  it("is woken by new events even if the alarm that guarded its last run would be due", async () => {
    const push = await makePush();
    await push.stub.wake();
    await push.run();
    expect(await push.alarmInMs()).toBe(DELIVERY.restMs);
    for (const ms of [1, DELIVERY.safetyMs - 1, 1, 600_000]) {
      pass(ms);
      const [id] = await push.put(["x"]);
      expect(await push.alarmInMs()).toBe(0);
      await push.run();
      expect((await push.delivery(id!)).state).toBe("delivered");
    }
  });
});

describe("an alarm for a retry", () => {
  it("looks for events of which the object was not told", async () => {
    const push = await makePush();
    await push.answer({ status: 500 }, {});
    await push.put(["x"]);
    await push.run();
    await push.publish(["untold"]);
    await push.drive(6000);
    expect((await push.deliveries("delivered")).length).toBe(2);
  });
});

describe("a second alarm while a run is under way", () => {
  it("only keeps the object's alarm set", async () => {
    const push = await makePush();
    const { ended: running } = await heldRun(push, 9);
    await inside(push, (object) => object.alarm());
    expect(await push.alarmInMs()).toBe(60_000);
    expect(await push.held()).toBe(6);
    await push.answer({});
    await push.release();
    await running;
    expect((await push.received()).length).toBe(9);
  });
});

describe("a log that does not answer", () => {
  it("does not hold up events already taken, nor the other shards; it is asked again ten seconds later", async () => {
    vi.spyOn(console, "warn").mockReturnValue();
    const push = await makePush({ shards: 2 });
    const mend = await breaking(push.logs[0]!, "read", failing);
    const ids = [...(await push.put(["x"], 0)), ...(await push.put(["x", "y"], 1))];
    await push.run();
    const first = idsOf(await push.received());
    expect(first.toSorted()).toEqual(ids.slice(1).toSorted());
    expect(await push.alarmInMs()).toBe(10_000);
    mend();
    await push.drive(10_000);
    expect([...first, ...idsOf(await push.received())].toSorted()).toEqual(ids.toSorted());
  });

  it("is asked again only after ten seconds when it fails, however many events the others have", async () => {
    vi.spyOn(console, "warn").mockReturnValue();
    const push = await makePush({ shards: 2 });
    let asked = 0;
    const mend = await breaking(push.logs[0]!, "read", () => {
      asked += 1;
      return failing();
    });
    for (let round = 1; round <= 5; round++) {
      await push.put([`${round}`], 1);
      await push.run();
      expect((await push.deliveries("delivered")).length).toBe(round);
      pass(1000);
    }
    expect(asked).toBe(1);
    mend();
    const [late] = await push.put(["late"], 0);
    await push.drive(20_000);
    expect(await push.delivery(late!)).toMatchObject({ state: "delivered" });
  });

  it("delays an event whose text cannot be read, without an attempt", async () => {
    vi.spyOn(console, "warn").mockReturnValue();
    const push = await makePush();
    await push.answer({ held: true });
    const ids = await push.put(Array.from({ length: 9 }, (_, at) => `${at}`));
    const running = push.run().catch(() => undefined);
    await until(async () => (await push.held()) === 6);
    await inside(push, (_, state) => state.abort()).catch(() => undefined);
    await running;
    await push.release();
    await push.received();
    const mend = await breaking(push.logs[0]!, "read", failing);
    await push.answer({});
    await push.stub.wake();
    await push.run();
    expect(await push.received()).toEqual([]);
    expect((await push.deliveries()).every(({ attemptCount }) => attemptCount === 0)).toBe(true);
    mend();
    await push.drive(10_000);
    expect(idsOf(await push.received()).toSorted()).toEqual(ids.toSorted());
  });
});
