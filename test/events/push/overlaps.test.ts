import { runInDurableObject } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import { TopicLog } from "../../../src/events/log/topic-log.do.ts";
import { DeliveredPacks } from "../../../src/events/push/delivered-packs.ts";
import { DeliveryTable } from "../../../src/events/push/delivery-table.ts";
import type { PushSubscriptionObject } from "../../../src/events/push/push-subscription.do.ts";
import { pass, stopTheClockBeforeEach } from "../support/push/push-clock.ts";
import { limits } from "../support/push/push-limits.ts";
import { idsOf } from "../support/push/push-requests.ts";
import { makePush, type TestPush } from "../support/push/test-push.ts";
import { until } from "../support/until.ts";
import { heldRun } from "../support/push/held-run.ts";
import { itAtNight } from "../../support/model-runs.ts";
import { DAY_MS } from "../../../src/platform/runtime/clock.ts";

/** Calls to a push subscription's object while other work is in progress. */
stopTheClockBeforeEach();

const sqlOf = <T>(push: TestPush, ask: (sql: SqlStorage) => T): Promise<T> =>
  runInDurableObject(push.stub, (_: PushSubscriptionObject, { storage }) => ask(storage.sql));

const cursorOf = (sql: SqlStorage): unknown =>
  JSON.parse(sql.exec<{ cursor: string }>(`SELECT cursor FROM subscription`).one().cursor);

/** A push subscription whose endpoint asked for a pause of ten minutes. */
async function pausedPush(): Promise<TestPush> {
  const push = await makePush();
  await push.answer({ status: 429, headers: { "retry-after": "600" } }, {});
  await push.put(["x"]);
  await push.run();
  return push;
}

describe("the endpoint is replaced while attempts are under way", () => {
  it("sends six at once to the new endpoint though the old one never answered", async () => {
    const restore = limits({ attemptMs: 400 });
    const push = await makePush();
    const other = await makePush();
    await push.answer({ hangs: "at once" });
    const old = await push.put(["1", "2", "3", "4", "5"]);
    const running = push.run();
    await until(async () => (await push.received()).length > 0);
    restore();
    await push.change({ endpoint: other.endpoint });
    await push.stub.changed();
    await push.put(["first at the new one"]);
    await until(async () => (await push.deliveries("delivered")).length === 1);
    await running;
    expect((await push.delivery(old[0]!)).attempts).toMatchObject([{ error: "timeout" }]);
    await other.answer({ held: true });
    await push.put(Array.from({ length: 6 }, (_, at) => `${at}`));
    const next = push.run();
    await until(async () => (await other.held()) === 6);
    await other.answer({});
    await other.release();
    await next;
  });
});

describe("an update of a paused subscription", () => {
  it("ends the pause in the status at once", async () => {
    const push = await pausedPush();
    expect((await push.status()).pausedUntilMs).toBe(Date.now() + 600_000);
    await push.change({});
    await push.stub.changed();
    expect((await push.status()).pausedUntilMs).toBeUndefined();
    expect(await push.alarmInMs()).toBe(0);
  });
});

describe("a list of deliveries that cannot be saved first", () => {
  it("fails, and the next one has them", async () => {
    const push = await makePush();
    const { ended } = await heldRun(push, 6);
    await push.release(2);
    await until(async () => (await push.status()).lag === 4);
    await runInDurableObject(push.stub, (_: PushSubscriptionObject, { storage: { sql } }) => {
      const exec = sql.exec.bind(sql);
      sql.exec = ((statement: string, ...values: unknown[]) => {
        if (!statement.startsWith("UPDATE subscription SET cursor")) return exec(statement, ...values);
        sql.exec = exec;
        throw new Error("not written");
      }) as typeof exec;
    });
    await expect(push.deliveries("delivered")).rejects.toThrow("not written");
    expect(await push.deliveries("delivered")).toHaveLength(2);
    await push.answer({});
    await push.release();
    await ended;
    expect(await push.deliveries("delivered")).toHaveLength(6);
    expect(idsOf(await push.received())).toHaveLength(6);
  });
});

describe("redelivering one that was delivered, while its log is slow", () => {
  /** The event's text is only in its log, which answers when the test lets it. */
  async function withSlowLog() {
    const push = await makePush();
    const [id] = await push.put(["x"]);
    await push.run();
    await push.received();
    await push.evict();
    const gate = { asked: 0, open: false };
    const read = TopicLog.prototype.read;
    vi.spyOn(TopicLog.prototype, "read").mockImplementation(function (this: TopicLog, ...args) {
      const answer = read.apply(this, args);
      if (args[2] !== 0) return answer;
      gate.asked += 1;
      return (async () => {
        while (!gate.open) await scheduler.wait(1);
        return answer;
      })() as never;
    });
    // Counts from now on, so that a wrong count is seen.
    expect(await push.status()).toMatchObject({ lag: 0, deadLetters: 0 });
    return { push, id: id!, gate };
  }
  /** The counters agree with the rows. */
  async function expectCounted(push: TestPush, pending: number) {
    const rows = await sqlOf(push, (sql) =>
      sql.exec<{ count: number }>(`SELECT count(*) AS count FROM delivery WHERE state = 'pending'`).one(),
    );
    expect([rows.count, (await push.status()).lag]).toEqual([pending, pending]);
  }

  it("answers unknown and counts nothing when its row is removed", async () => {
    const { push, id, gate } = await withSlowLog();
    const again = push.stub.redeliver(id);
    await until(() => gate.asked === 1);
    pass(8 * DAY_MS);
    await push.run();
    expect(await push.deliveries()).toEqual([]);
    gate.open = true;
    expect(await again).toBe("unknown");
    await expectCounted(push, 0);
  });

  it("answers unknown and writes no row back when the subscription is destroyed", async () => {
    const { push, id, gate } = await withSlowLog();
    const again = push.stub.redeliver(id);
    await until(() => gate.asked === 1);
    await push.stub.destroy();
    gate.open = true;
    expect(await again).toBe("unknown");
    expect(await push.alarmInMs()).toBeUndefined();
    expect(await push.stub.wake()).toBe("gone");
  });

  it("makes it pending once and sends it once when called twice at once", async () => {
    const { push, id, gate } = await withSlowLog();
    const both = [push.stub.redeliver(id), push.stub.redeliver(id)];
    await until(() => gate.asked === 2);
    gate.open = true;
    expect(await Promise.all(both)).toEqual(["again", "again"]);
    await expectCounted(push, 1);
    await push.run();
    expect(idsOf(await push.received())).toEqual([id]);
    await expectCounted(push, 0);
  });
});

describe("redelivering one while many are due and the endpoint is silent", () => {
  it("probes with it", async () => {
    limits({ attemptMs: 15 });
    const push = await makePush();
    await push.answer({ hangs: "at once" });
    const ids = await push.put(Array.from({ length: 20 }, (_, at) => `${at}`));
    await push.drive(60_000);
    await push.received();
    expect(await push.stub.redeliver(ids[13]!)).toBe("again");
    await push.run();
    expect(idsOf(await push.received())).toEqual([ids[13]]);
  });
});

describe("events that the endpoint never answers", () => {
  /** Publishes six events that hang. They were tried once, so the endpoint is paused. All others are answered. */
  async function poisoned(push: TestPush): Promise<{ poison: string[]; restore(): void }> {
    const restore = limits({ attemptMs: 15 });
    await push.answer({ hangs: "at once" });
    const poison = await push.put(Array.from({ length: 6 }, (_, at) => `${at}`));
    await push.run();
    expect((await push.status()).pausedUntilMs).toBe(Date.now() + 5_000);
    expect(idsOf(await push.received()).toSorted()).toEqual(poison.toSorted());
    return { poison, restore };
  }
  /** Time after which the poison is due again, and has waited for longest. */
  const UNTIL_DUE_MS = 6_100;

  // shows: events/push-subscriptions/an-endpoint-that-only-times-out
  it("do not delay a later event: it is the probe, and its answer ends the pause at once", async () => {
    const push = await makePush();
    const { restore } = await poisoned(push);
    // An answer may take its time on a busy machine.
    restore();
    pass(UNTIL_DUE_MS);
    await push.answer({});
    const healthy = await push.put(["first", "second", "third"]);
    await push.run();
    expect(idsOf(await push.received())[0]).toBe(healthy[0]);
    expect(await push.status()).toMatchObject({ lag: 0, pausedUntilMs: undefined });
  });

  it("do not delay taken events that were not tried yet, also when the logs do not answer", async () => {
    vi.spyOn(console, "warn").mockReturnValue();
    limits({ attemptMs: 15 });
    const push = await makePush();
    await push.answer({ hangs: "at once" });
    const ids = await push.put(Array.from({ length: 8 }, (_, at) => `${at}`));
    await push.run();
    await push.received();
    pass(UNTIL_DUE_MS);
    await push.answer({});
    vi.spyOn(TopicLog.prototype, "read").mockImplementation(() => {
      throw new Error("out of reach");
    });
    await push.run();
    expect(ids.slice(6)).toContain(idsOf(await push.received())[0]);
  });

  it("are probed in turn, the least tried first, while there is nothing else", async () => {
    const push = await makePush();
    const { poison } = await poisoned(push);
    const probes: string[] = [];
    for (let round = 0; round < 6; round++) {
      pass(3_600_000);
      await push.run();
      probes.push(...idsOf(await push.received()));
    }
    expect(probes.toSorted()).toEqual(poison.toSorted());
  });
});

describe("a subscription is changed while deliveries wait for their next attempt", () => {
  const failed = async (count: number) => {
    const push = await makePush();
    await push.answer({ status: 500 });
    const ids = await push.put(Array.from({ length: count }, (_, at) => `${at}`));
    await push.drive(3_600_000);
    await push.received();
    for (const { attemptCount } of await push.deliveries("pending")) expect(attemptCount).toBeGreaterThan(3);
    return { push, ids };
  };
  const repair = async (push: TestPush) => {
    await push.change({});
    await push.stub.changed();
  };

  it("makes all of them at once, also those that had hours to wait", async () => {
    const { push, ids } = await failed(20);
    await push.answer({});
    await repair(push);
    await push.run();
    expect(idsOf(await push.received()).toSorted()).toEqual(ids.toSorted());
    expect(await push.status()).toMatchObject({ lag: 0, deadLetters: 0 });
  });

  itAtNight("returns the others to their schedule when one fails", async () => {
    const { push } = await failed(20);
    await repair(push);
    await push.run();
    const tried = (await push.received()).length;
    expect(tried).toBeGreaterThan(0);
    // As many as are sent at once.
    expect(tried).toBeLessThanOrEqual(6);
    await push.run();
    expect(await push.received()).toEqual([]);
  });

  it("uses up no step of a schedule by updates that repair nothing", async () => {
    const { push, ids } = await failed(1);
    const { nextAttemptAtMs } = await push.delivery(ids[0]!);
    for (let updates = 0; updates < 10; updates++) {
      await repair(push);
      await push.run();
    }
    expect(idsOf(await push.received())).toEqual(Array.from({ length: 10 }, () => ids[0]));
    expect(await push.delivery(ids[0]!)).toMatchObject({ state: "pending", nextAttemptAtMs });
    await push.answer({});
    await push.drive(nextAttemptAtMs! - Date.now());
    expect(await push.delivery(ids[0]!)).toMatchObject({ state: "delivered" });
  });

  it("keeps later events to their schedule, too, when they fail", async () => {
    const { push } = await failed(1);
    await push.answer({});
    await repair(push);
    await push.run();
    await push.answer({ status: 500 });
    await push.put(["later"]);
    await push.run();
    await push.received();
    await push.run();
    expect(await push.received()).toEqual([]);
  });
});

describe("a failed write", () => {
  it("of a checkpoint keeps the outcomes in memory; the next run saves them, and nothing is sent again", async () => {
    const errors = vi.spyOn(console, "error").mockReturnValue();
    const push = await makePush();
    const ids = await push.put(["a", "b", "c"]);
    const failing = vi.spyOn(DeliveredPacks.prototype, "add").mockImplementationOnce(() => {
      throw new Error("the disk is full");
    });
    await push.run();
    expect(errors.mock.calls.join()).toContain("the disk is full");
    expect(failing).toHaveBeenCalledOnce();
    expect(idsOf(await push.received()).toSorted()).toEqual(ids.toSorted());
    expect(await sqlOf(push, cursorOf)).toEqual([0]);
    expect(await push.alarmInMs()).toBeLessThanOrEqual(60_000);
    await push.drive(60_000);
    expect(await sqlOf(push, cursorOf)).toEqual([3]);
    expect(await push.received()).toEqual([]);
    expect((await push.deliveries("delivered")).map(({ eventId }) => eventId)).toEqual(ids.toReversed());
    expect(await push.status()).toMatchObject({ lag: 0, eventsLost: 0 });
  });

  it("of the row of a failed attempt sends the event again", async () => {
    const errors = vi.spyOn(console, "error").mockReturnValue();
    const push = await makePush();
    await push.answer({ status: 500 }, {});
    const [id] = await push.put(["a"]);
    const failing = vi.spyOn(DeliveryTable.prototype, "addTried").mockImplementationOnce(() => {
      throw new Error("the disk is full");
    });
    await push.run();
    expect(errors.mock.calls.join()).toContain("the disk is full");
    expect(failing).toHaveBeenCalledOnce();
    expect(await push.status()).toMatchObject({ lag: 1, eventsLost: 0 });
    await push.drive(10_000);
    expect(idsOf(await push.received())).toEqual([id, id]);
    expect(await push.status()).toMatchObject({ lag: 0, eventsLost: 0 });
  });
});

describe("a test that is under way", () => {
  it("ends and writes nothing when the subscription is destroyed while it is paused", async () => {
    const push = await makePush();
    await push.answer({ status: 429, headers: { "retry-after": "600" } });
    await push.put(["x"]);
    await push.run();
    await push.answer({ held: true });
    const test = push.stub.sendTest("tenant1");
    await until(async () => (await push.held()) === 1);
    await push.stub.destroy();
    await push.release();
    expect(await test).toMatchObject({ kind: "tried", attempt: { status: 200 } });
    expect(await push.alarmInMs()).toBeUndefined();
  });
});

describe("a clock that is set back by a day", () => {
  it("ignores a pause and a recent test until the old time is reached again", async () => {
    const push = await pausedPush();
    expect(await push.stub.sendTest("tenant1")).toMatchObject({ kind: "tried" });
    pass(-DAY_MS + 3_600_000);
    expect(await push.stub.sendTest("tenant1")).toMatchObject({ kind: "tried" });
    const [id] = await push.put(["y"]);
    await push.run();
    expect((await push.delivery(id!)).state).toBe("delivered");
  });
});

describe("a clock that is set back by days", () => {
  it("does not delay a retry by them", async () => {
    // Afterwards the clock is still ahead, so that no alarm rings by itself.
    pass(3 * DAY_MS);
    const push = await makePush();
    await push.answer({ status: 500 }, {});
    const [id] = await push.put(["failed"]);
    await push.run();
    expect(await push.delivery(id!)).toMatchObject({ state: "pending", attemptCount: 1 });
    pass(-3 * DAY_MS);
    await push.stub.wake();
    await push.run();
    expect((await push.delivery(id!)).state).toBe("delivered");
    expect(await push.alarmInMs()).toBeLessThanOrEqual(DAY_MS);
  });
});

describe("a run that was aborted silently", () => {
  it("blocks the next run for at most fifteen minutes", async () => {
    const push = await makePush();
    const { ended: lost } = await heldRun(push, 6);
    await push.put(["later"]);
    expect(await push.alarmInMs()).toBeGreaterThan(0);
    pass(900_000);
    await push.stub.wake();
    // The alarm of the lost run is overdue: it is set again.
    expect(await push.alarmInMs()).toBe(0);
    await push.answer({});
    await push.release();
    await lost;
  });
});
