import { runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { DELIVERY } from "../../../src/events/model/limits.ts";
import type { PushSubscriptionObject } from "../../../src/events/push/push-subscription.do.ts";
import { pass, stopTheClockBeforeEach } from "../support/push/push-clock.ts";
import { limits } from "../support/push/push-limits.ts";
import { idsOf } from "../support/push/push-requests.ts";
import { makePush, type TestPush } from "../support/push/test-push.ts";
import { until } from "../support/until.ts";
import { DAY_MS } from "../../../src/platform/runtime/clock.ts";

/** The writes of a push subscription's object, and the cost of a crash between two of them. */
stopTheClockBeforeEach();

const many = (count: number): string[] => Array.from({ length: count }, (_, at) => `${at}`);

interface Written {
  rows: number;
  /** Each is billed as a row, too. */
  alarms: number;
}

async function writtenBy(push: TestPush, run: () => Promise<unknown>): Promise<Written> {
  const written = { rows: 0, alarms: 0 };
  let mend = () => {};
  await runInDurableObject(push.stub, (_: PushSubscriptionObject, { storage }) => {
    const exec = storage.sql.exec.bind(storage.sql);
    const setAlarm = storage.setAlarm.bind(storage);
    storage.sql.exec = ((query: string, ...values: SqlStorageValue[]) => {
      const cursor = exec(query, ...values);
      queueMicrotask(() => (written.rows += cursor.rowsWritten));
      return cursor;
    }) as typeof exec;
    storage.setAlarm = (atMs) => {
      written.alarms += 1;
      return setAlarm(atMs);
    };
    mend = () => Object.assign(storage, { setAlarm }) && Object.assign(storage.sql, { exec });
  });
  await run();
  mend();
  return written;
}

const tables = (push: TestPush) =>
  runInDurableObject(push.stub, (_: PushSubscriptionObject, { storage: { sql } }) => ({
    rows: sql.exec<{ count: number }>(`SELECT count(*) AS count FROM delivery`).one().count,
    cursor: JSON.parse(sql.exec<{ cursor: string }>(`SELECT cursor FROM subscription`).one().cursor) as number[],
  }));
const crash = (push: TestPush): Promise<void> =>
  runInDurableObject(push.stub, (_: PushSubscriptionObject, state) => state.abort()).catch(() => undefined);

/** A push subscription whose object has its table of packs. */
async function used(): Promise<TestPush> {
  const push = await makePush();
  await push.put(["first"]);
  await push.run();
  await push.received();
  return push;
}

describe("the rows of a push", () => {
  it("are two for one event that arrives, and at most 20 for a hundred, with three alarms", async () => {
    const push = await used();
    expect(
      await writtenBy(push, async () => {
        await push.put(["x"]);
        await push.run();
      }),
    ).toEqual({ rows: 2, alarms: 3 });
    const hundred = await writtenBy(push, async () => {
      await push.put(many(100));
      await push.run();
    });
    expect((await push.received()).length).toBe(101);
    expect(hundred.alarms).toBe(3);
    expect(hundred.rows).toBeLessThanOrEqual(20);
    expect(await tables(push)).toEqual({ rows: 0, cursor: [102] });
    expect(await push.status()).toMatchObject({ lag: 0, eventsLost: 0 });
  });

  it("are one more and its indexes for an event that failed, and none for its neighbours", async () => {
    const push = await used();
    await push.answer({ status: 500 }, {});
    const [failed] = await push.put(many(10));
    await push.run();
    expect(await tables(push)).toEqual({ rows: 1, cursor: [11] });
    expect(await push.delivery(failed!)).toMatchObject({ state: "pending", attemptCount: 1 });
    await push.drive(10_000);
    expect(await push.delivery(failed!)).toMatchObject({ state: "delivered", attemptCount: 2 });
  });
});

describe("a crash", () => {
  it("after a 2xx and before its checkpoint repeats at most twice the unsaved ones, and loses none", async () => {
    limits({ unsaved: 4 });
    const push = await used();
    // The first one holds up all others.
    await push.answer({ held: true }, {});
    const ids = await push.put(many(30));
    const running = push.run().catch(() => undefined);
    await until(async () => (await push.held()) === 1 && (await tables(push)).rows === 1);
    // With a row of its own, it holds up no others.
    await until(async () => (await push.received()).length === 0);
    await crash(push);
    await running;
    await push.release();
    await push.received();
    const before = (await tables(push)).cursor[0]!;
    expect(before).toBeGreaterThanOrEqual(30 + 1 - 2 * 4);
    await push.answer({});
    await push.drive(DAY_MS);
    const again = idsOf(await push.received());
    expect(again.length).toBeLessThanOrEqual(2 * 4 + 1);
    expect(again).toContain(ids[0]);
    expect((await push.deliveries("delivered")).length).toBe(31);
    expect(await push.status()).toMatchObject({ lag: 0, eventsLost: 0 });
  });

  it("while all wait for a paused endpoint costs nothing: the log gives them again", async () => {
    const push = await used();
    await push.answer({ status: 503, headers: { "retry-after": "60" } });
    const ids = await push.put(many(10));
    await push.run();
    await push.answer({});
    expect(await push.status()).toMatchObject({ lag: 10 });
    await crash(push);
    expect(await push.status()).toMatchObject({ lag: 10 });
    await push.drive(120_000);
    expect(new Set(idsOf(await push.received()))).toEqual(new Set(ids));
    expect(await push.status()).toMatchObject({ lag: 0, eventsLost: 0 });
  });
});

describe("packed deliveries", () => {
  it("are shown in one order with those that have rows, page by page, in every instance", async () => {
    limits({ packed: 3 });
    const push = await used();
    await push.answer({ status: 500 }, {}, {}, { status: 500 }, {});
    const ids = await push.put(many(9));
    await push.run();
    const all = (await push.deliveries()).map(({ eventId }) => eventId);
    expect(all.slice(0, 9)).toEqual(ids.toReversed());
    await push.evict();
    const pages: string[] = [];
    for (let after: number | undefined; ;) {
      const page = await push.stub.deliveries(undefined, after, 0, 4);
      pages.push(...page.items.map(({ eventId }) => eventId));
      if (page.next === undefined) break;
      after = page.next;
    }
    expect(pages).toEqual(all);
    const skipped = await push.stub.deliveries(undefined, undefined, 3, 4);
    expect(skipped.items.map(({ eventId }) => eventId)).toEqual(all.slice(3, 7));
    expect((await push.deliveries("delivered")).length).toBe(8);
    expect((await push.deliveries("pending")).length).toBe(2);
  });

  it("are delivered again on request, also by another instance, and are shown once", async () => {
    const push = await used();
    const ids = await push.put(many(3));
    await push.run();
    await push.received();
    await push.evict();
    expect(await push.stub.redeliver(ids[1]!)).toBe("again");
    await push.run();
    expect(idsOf(await push.received())).toEqual([ids[1]]);
    expect((await push.deliveries()).slice(0, 3).map(({ eventId, attemptCount }) => [eventId, attemptCount])).toEqual([
      [ids[2], 1],
      [ids[1], 2],
      [ids[0], 1],
    ]);
  });

  it("are kept for seven days, and a thousand of them", async () => {
    limits({ deliveredKept: 20, packed: 5 });
    const push = await used();
    for (let batch = 0; batch < 4; batch++) {
      await push.put(many(10));
      await push.run();
    }
    const kept = (await push.deliveries("delivered")).length;
    expect(kept).toBeGreaterThanOrEqual(20);
    expect(kept).toBeLessThan(20 + DELIVERY.packed);
    pass(8 * DAY_MS);
    await push.run();
    expect(await push.deliveries()).toEqual([]);
    await push.put(["y"]);
    await push.run();
    expect((await push.deliveries("delivered")).length).toBe(1);
  });
});
