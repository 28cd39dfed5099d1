import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import { DELIVERY_SQL } from "../../../src/events/push/delivery-table.ts";
import type { PushSubscriptionObject } from "../../../src/events/push/push-subscription.do.ts";
import { pass, stopTheClockBeforeEach } from "../support/push/push-clock.ts";
import { limits } from "../support/push/push-limits.ts";
import { idsOf, verified } from "../support/push/push-requests.ts";
import { makePush, type TestPush } from "../support/push/test-push.ts";
import { until } from "../support/until.ts";
import { pushStore } from "../support/push/push-store.ts";
import { DAY_MS } from "../../../src/platform/runtime/clock.ts";

stopTheClockBeforeEach();

const many = (count: number): string[] => Array.from({ length: count }, (_, at) => `${at}`);
const inside = <T>(push: TestPush, look: (sql: SqlStorage, state: DurableObjectState) => T) =>
  runInDurableObject(push.stub, (_: PushSubscriptionObject, state) => look(state.storage.sql, state));
/** Removes all events from the logs, as retention does. */
async function trim(push: TestPush): Promise<void> {
  pass(7 * DAY_MS + 1);
  for (const log of push.logs) await runDurableObjectAlarm(log);
}

describe("redeliver", () => {
  // shows: events/push-subscriptions/post-redeliver
  it("restarts the schedule of a dead delivery and continues the count of its attempts", async () => {
    const push = await makePush();
    await push.answer({ status: 500 });
    const [id] = await push.put(["x"]);
    await push.drive(2 * DAY_MS);
    expect((await push.delivery(id!)).state).toBe("dead");
    await trim(push);
    await push.received();
    expect(await push.stub.redeliver(id!)).toBe("again");
    expect(await push.status()).toEqual({ lag: 1, deadLetters: 0, eventsLost: 0 });
    await push.run();
    const delivery = await push.delivery(id!);
    expect(delivery).toMatchObject({ state: "pending", attemptCount: 10 });
    expect(delivery.nextAttemptAtMs! - Date.now()).toBeLessThanOrEqual(6000);
    const [request] = await push.received();
    expect(request!.headers["plat-delivery-attempt"]).toBe("10");
    expect(verified(push, request!).payload).toBe("x");
    await push.drive(2 * DAY_MS);
    expect(await push.delivery(id!)).toMatchObject({ state: "dead", attemptCount: 18 });
  });

  it("reads a delivered event again from the log and sends it once more", async () => {
    const push = await makePush();
    const [id] = await push.put(["x"]);
    await push.run();
    await push.evict();
    expect(await push.stub.redeliver(id!)).toBe("again");
    expect(await push.alarmInMs()).toBe(0);
    await push.run();
    expect(idsOf(await push.received())).toEqual([id, id]);
    expect(await push.delivery(id!)).toMatchObject({ state: "delivered", attemptCount: 2 });
  });

  it("answers expired if the log no longer has a delivered event, which stays delivered", async () => {
    const push = await makePush();
    const [id] = await push.put(["x"]);
    await push.run();
    await trim(push);
    await push.evict();
    expect(await push.stub.redeliver(id!)).toBe("expired");
    expect((await push.delivery(id!)).state).toBe("delivered");
  });

  it("sends a pending event at once", async () => {
    const push = await makePush();
    await push.answer({ status: 500 }, { status: 500 }, {});
    const [id] = await push.put(["x"]);
    await push.drive(7000);
    expect((await push.delivery(id!)).nextAttemptAtMs! - Date.now()).toBeGreaterThan(20_000);
    expect(await push.stub.redeliver(id!)).toBe("again");
    await push.run();
    expect(await push.delivery(id!)).toMatchObject({ state: "delivered", attemptCount: 3 });
  });

  it("restarts the schedule of an event whose attempt in flight fails", async () => {
    const push = await makePush();
    await push.answer({ held: true, status: 500 });
    const [id] = await push.put(["x"]);
    const running = push.run();
    await until(async () => (await push.held()) === 1);
    expect(await push.stub.redeliver(id!)).toBe("again");
    await push.release();
    await running;
    expect(await push.delivery(id!)).toMatchObject({ state: "pending", attemptCount: 1 });
    expect(await push.alarmInMs()).toBeLessThanOrEqual(6000);
  });

  it("hands the event to the current run", async () => {
    const push = await makePush();
    const [id] = await push.put(["x"]);
    await push.run();
    await push.answer({ held: true });
    await push.put(["slow"]);
    const running = push.run();
    await until(async () => (await push.held()) === 1);
    await push.answer({});
    await push.stub.redeliver(id!);
    await until(async () => (await push.delivery(id!)).attemptCount === 2);
    await push.release();
    await running;
  });

  it("ends a silence for one attempt", async () => {
    const restore = limits({ attemptMs: 15 });
    const push = await makePush();
    await push.answer({ hangs: "at once" });
    const ids = await push.put(many(10));
    await push.drive(600_000);
    expect(await push.alarmInMs()).toBeGreaterThan(1000);
    restore();
    await push.answer({});
    await push.stub.redeliver(ids[0]!);
    await push.run();
    expect(await push.delivery(ids[0]!)).toMatchObject({ state: "delivered" });
  });

  it("answers unknown for an event without a delivery", async () => {
    const push = await makePush();
    for (const id of ["", "x", "0000000000000000-g", "test-0000000000000000", "\u0000", "__proto__", "x".repeat(5000)])
      expect(await push.stub.redeliver(id)).toBe("unknown");
  });

  it("fails retryably while the log does not answer", async () => {
    vi.spyOn(console, "warn").mockReturnValue();
    const push = await makePush();
    const [id] = await push.put(["x"]);
    await push.run();
    await push.evict();
    const { TopicLog } = await import("../../../src/events/log/topic-log.do.ts");
    vi.spyOn(TopicLog.prototype, "read").mockImplementation(() => {
      throw new Error("out of order");
    });
    const fault = await (async () => push.stub.redeliver(id!))().catch((thrown: unknown) => thrown);
    expect(fault).toMatchObject({ retryable: true });
    expect((await push.delivery(id!)).state).toBe("delivered");
  });
});

describe("test", () => {
  // shows: events/push-subscriptions/post-test
  it("sends an event that is marked as a test and signed like any other, and leaves no trace", async () => {
    const push = await makePush();
    const outcome = await push.stub.sendTest("tenant1");
    expect(outcome).toEqual({
      kind: "tried",
      attempt: { atMs: Date.now(), durationMs: 0, status: 200, error: undefined },
    });
    const [request] = await push.received();
    expect(verified(push, request!)).toEqual({
      id: request!.headers["webhook-id"],
      createdAt: Date.now(),
      tenant: expect.any(String),
      sourceClient: push.record.owner,
      eventType: push.record.eventType,
      payload: "{}",
      metadata: { test: "true" },
    });
    expect(request!.headers).toMatchObject({ "plat-delivery-attempt": "1", authorization: `Basic ${btoa("user:pw")}` });
    expect(await push.deliveries()).toEqual([]);
    expect(await push.stub.redeliver(request!.headers["webhook-id"]!)).toBe("unknown");
  });

  it("sends one at a time, at most one a second", async () => {
    const push = await makePush();
    await push.answer({ held: true });
    const first = push.stub.sendTest("tenant1");
    await until(async () => (await push.held()) === 1);
    pass(5000);
    expect(await push.stub.sendTest("tenant1")).toEqual({ kind: "busy", retryAfterMs: 1000 });
    await push.release();
    expect((await first).kind).toBe("tried");
    await push.answer({});
    expect((await push.stub.sendTest("tenant1")).kind).toBe("tried");
    pass(400);
    expect(await push.stub.sendTest("tenant1")).toEqual({ kind: "busy", retryAfterMs: 600 });
    pass(600);
    expect((await push.stub.sendTest("tenant1")).kind).toBe("tried");
  });

  it("reports how the endpoint answers, and never disables the subscription", async () => {
    const push = await makePush();
    await push.answer({ status: 410 }, { status: 302, headers: { location: "https://x.test" } }, { hangs: "at once" });
    for (const expected of [
      { status: 410, error: "status" },
      { status: 302, error: "redirect" },
      { status: undefined, error: "timeout" },
    ]) {
      pass(1000);
      if (expected.error === "timeout") limits({ attemptMs: 60 });
      expect(await push.stub.sendTest("tenant1")).toMatchObject({ kind: "tried", attempt: expected });
    }
    expect(await push.stored()).toMatchObject({ state: "active" });
  });

  it("works for a disabled subscription, with the record's current endpoint", async () => {
    const push = await makePush();
    await push.put(["x"]);
    await push.run();
    await push.change({ password: "newer" });
    await push.disable();
    expect((await push.stub.sendTest("tenant1")).kind).toBe("tried");
    expect((await push.received()).at(-1)!.headers["authorization"]).toBe(`Basic ${btoa("user:newer")}`);
  });

  it("takes a slot of the window, so that there are never more than six calls", async () => {
    const push = await makePush();
    await push.answer({ held: true });
    await push.put(many(20));
    const running = push.run();
    await until(async () => (await push.held()) === 6);
    const test = push.stub.sendTest("tenant1");
    await push.release(1);
    await until(async () => (await push.received()).some(({ headers }) => headers["webhook-id"]!.startsWith("test-")));
    expect(await push.held()).toBe(6);
    await push.answer({});
    await push.release();
    expect((await test).kind).toBe("tried");
    await running;
    expect(Math.max(0, ...(await push.received()).map(({ parallel }) => parallel))).toBeLessThanOrEqual(6);
  });

  it("ends a silence when the endpoint answers", async () => {
    const restore = limits({ attemptMs: 15 });
    const push = await makePush();
    await push.answer({ hangs: "at once" });
    await push.put(many(30));
    await push.drive(60_000);
    restore();
    await push.received();
    await push.answer({});
    await push.stub.sendTest("tenant1");
    expect(await push.alarmInMs()).toBe(0);
    await push.run();
    expect((await push.received()).length).toBeGreaterThan(15);
  });

  it("answers gone if the subscription is deleted meanwhile", async () => {
    const push = await makePush();
    await pushStore.remove(push.id);
    expect(await push.stub.sendTest("tenant1")).toEqual({ kind: "gone" });
    expect(await push.received()).toEqual([]);
  });

  it("fails retryably and sends nothing if no key opens the credentials", async () => {
    const errors = vi.spyOn(console, "error").mockReturnValue();
    const push = await makePush();
    const before = (await push.stored())!;
    await pushStore.update(push.id, 1, { ...before, credentials: "gone.AAAA.AAAA" }, Date.now());
    const fault = await (async () => push.stub.sendTest("tenant1"))().catch((thrown: unknown) => thrown);
    expect(fault).toMatchObject({ retryable: true });
    expect(errors).toHaveBeenCalledTimes(1);
  });
});

describe("the log of deliveries", () => {
  it("has pages, the latest delivery first, of one state or of all", async () => {
    const push = await makePush();
    await push.answer({});
    const ids = await push.put(many(10));
    await push.run();
    await push.answer({ status: 500 });
    const failing = await push.put(many(3));
    await push.run();
    const all = (await push.deliveries()).map(({ eventId }) => eventId);
    expect(all.toSorted()).toEqual([...ids, ...failing].toSorted());
    expect(all.slice(0, 3).toSorted()).toEqual(failing.toSorted());
    const pages: string[][] = [];
    for (let after: number | undefined, turns = 0; turns < 10; turns++) {
      const page = await push.stub.deliveries(undefined, after, 0, 5);
      pages.push(page.items.map(({ eventId }) => eventId));
      after = page.next;
      if (after === undefined) break;
    }
    expect(pages).toEqual([all.slice(0, 5), all.slice(5, 10), all.slice(10)]);
    const skipped = await push.stub.deliveries(undefined, undefined, 4, 3);
    expect(skipped.items.map(({ eventId }) => eventId)).toEqual(all.slice(4, 7));
    const ofState = async (state: "pending" | "delivered" | "dead") =>
      (await push.stub.deliveries(state, undefined, 0, 100)).items.map(({ eventId }) => eventId);
    expect(await ofState("pending")).toEqual(all.slice(0, 3));
    expect(await ofState("delivered")).toEqual(all.slice(3));
    expect(await ofState("dead")).toEqual([]);
    const second = await push.stub.deliveries("delivered", undefined, 5, 5);
    expect(second.items.map(({ eventId }) => eventId)).toEqual(all.slice(8));
    expect(second.next).toBeUndefined();
    expect((await push.stub.deliveries("delivered", undefined, 0, 10)).next).toBeUndefined();
    expect((await push.stub.deliveries("delivered", undefined, 0, 9)).next).toBeDefined();
  });

  /** Rows as if so many events had come before. */
  const fill = (push: TestPush, state: "delivered" | "dead", count: number, atMs: number) =>
    inside(
      push,
      (sql) =>
        void sql.exec(
          `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
         INSERT INTO delivery (event_id, state, at, step, tries, attempt_count, attempts, text)
         SELECT ?1 || i, ?1, ?3 + i, 0, 1, 1, '[]', CASE ?1 WHEN 'dead' THEN '{"id":"x"}' END FROM n`,
          state,
          count,
          atMs,
        ),
    );

  const SIZES = `SELECT (SELECT count(*) FROM delivery) AS rows, (SELECT sum(size) FROM delivered) AS packed`;

  it.each([
    ["delivered", 1000],
    ["dead", 10_000],
  ] as const)("keeps the latest %s ones, %i of them", async (state, kept) => {
    const push = await makePush();
    await fill(push, state, kept + 1100, Date.now() - 10_000_000);
    await push.evict();
    await push.stub.wake();
    // In steps, each after the other.
    await push.drive(10);
    const left = await inside(push, (sql) =>
      sql.exec<{ count: number; first: number }>(`SELECT count(*) AS count, min(place) AS first FROM delivery`).one(),
    );
    expect(left).toEqual({ count: kept, first: 1101 });
    if (state === "dead") expect((await push.status()).deadLetters).toBe(kept);
    const [id] = await push.put(["x"]);
    await push.answer({ status: 200 });
    await push.run();
    expect((await push.delivery(id!)).state).toBe("delivered");
    const after = await inside(push, (sql) => sql.exec<{ rows: number; packed: number }>(SIZES).one());
    expect(after).toEqual({ rows: state === "delivered" ? kept - 1 : kept, packed: 1 });
  });

  it("keeps delivered events for seven days and dead ones for thirty, and sets no alarm after that", async () => {
    const push = await makePush();
    await push.answer({ status: 500 });
    await push.put(["dies"]);
    await push.drive(2 * DAY_MS);
    await push.answer({});
    await push.put(["x"]);
    await push.run();
    expect((await push.deliveries()).map(({ state }) => state)).toEqual(["delivered", "dead"]);
    await push.drive(7 * DAY_MS + 2 * 3_600_000);
    expect((await push.deliveries()).map(({ state }) => state)).toEqual(["dead"]);
    await push.drive(30 * DAY_MS);
    expect(await push.deliveries()).toEqual([]);
    expect(await push.alarmInMs()).toBeLessThanOrEqual(DAY_MS);
  });

  it("leaves events in the topic while ten thousand are pending, and takes more below that", async () => {
    limits({ maxPending: 20 });
    const push = await makePush();
    await push.answer({ status: 500 });
    await push.put(many(50));
    await push.run();
    expect((await push.deliveries()).length).toBe(20);
    expect(await push.status()).toEqual({ lag: 50, deadLetters: 0, eventsLost: 0 });
    expect(await push.alarmInMs()).toBeGreaterThanOrEqual(5000);
    await push.answer({});
    await push.drive(60_000);
    expect((await push.deliveries("delivered")).length).toBe(50);
    expect(await push.status()).toEqual({ lag: 0, deadLetters: 0, eventsLost: 0 });
  });

  it("leaves events in the topic while it is full, and removes dead letters to make room", async () => {
    const push = await makePush();
    await push.answer({ status: 500 });
    await push.put(many(8));
    await push.drive(2 * DAY_MS);
    expect((await push.status()).deadLetters).toBe(8);
    const restore = limits({ maxStoredBytes: 1, clearedAStep: 5 });
    await push.put(many(5));
    await push.run();
    expect(await push.status()).toEqual({ lag: 5, deadLetters: 3, eventsLost: 0 });
    restore();
    await push.answer({});
    await push.drive(10_000);
    expect(await push.status()).toEqual({ lag: 0, deadLetters: 3, eventsLost: 0 });
  });
});

describe("retention", () => {
  it("counts lost events that were not taken yet", async () => {
    vi.spyOn(console, "warn").mockReturnValue();
    const push = await makePush({ shards: 2 });
    await push.disable();
    await push.put(many(3), 0);
    await push.put(many(4), 1);
    await trim(push);
    const [id] = await push.put(["new"], 0);
    expect((await push.status()).lag).toBe(1);
    await push.change({});
    await push.stub.changed();
    await push.run();
    expect(idsOf(await push.received())).toEqual([id]);
    expect(await push.status()).toEqual({ lag: 0, deadLetters: 0, eventsLost: 7 });
  });

  it("counts lost events that were taken and never tried; an event that failed once is safe", async () => {
    const push = await makePush();
    await push.answer({ status: 429, headers: { "retry-after": "86400" } });
    const ids = await push.put(many(9));
    await push.run();
    const tried = idsOf(await push.received());
    await push.disable();
    await push.stub.changed();
    await trim(push);
    await push.evict();
    await push.answer({});
    await push.change({});
    await push.stub.changed();
    await push.run();
    await push.drive(1000);
    expect(idsOf(await push.received()).toSorted()).toEqual(tried.toSorted());
    expect(await push.status()).toEqual({ lag: 0, deadLetters: 0, eventsLost: ids.length - tried.length });
    for (const { body } of await push.received()) expect(body).toBe("");
  });
});

describe("a subscription that is busy", () => {
  it("takes as many events at a time as fit into memory, and sends all of them", async () => {
    limits({ textChars: 1500, takenAtOnce: 15 });
    const push = await makePush({ shards: 2 });
    const ids: string[] = [];
    for (let round = 0; round < 4; round++) for (const shard of [0, 1]) ids.push(...(await push.put(many(15), shard)));
    await push.drive(1000);
    expect(idsOf(await push.received()).toSorted()).toEqual(ids.toSorted());
    expect(await push.status()).toEqual({ lag: 0, deadLetters: 0, eventsLost: 0 });
  });
});

describe("every statement of the object", () => {
  it("finds its rows by a key or an index", async () => {
    const push = await makePush();
    const walks = await inside(push, (sql) =>
      Object.entries(DELIVERY_SQL).flatMap(([name, statement]) => {
        const count = Math.max(...[...statement.matchAll(/\?(\d)/g)].map(([, digit]) => Number(digit)), 0);
        const plan = sql.exec<{ detail: string }>(
          `EXPLAIN QUERY PLAN ${statement}`,
          ...Array.from({ length: count }, () => 1),
        );
        return [...plan]
          .filter(({ detail }) => /SCAN|TEMP B-TREE/.test(detail))
          .map(({ detail }) => `${name}: ${detail}`);
      }),
    );
    // Counting walks over the index of states, once an instance, of a table that is bounded.
    expect(walks).toEqual(["counts: SCAN delivery USING COVERING INDEX delivery_by_state"]);
  });

  it("has tables that store their version", async () => {
    const push = await makePush();
    expect(await inside(push, (sql) => sql.exec(`SELECT schema_version FROM subscription`).one())).toEqual({
      schema_version: 1,
    });
  });
});
