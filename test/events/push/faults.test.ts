import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { addressOf, pushObjectName } from "../../../src/events/model/topic.ts";
import type { PushSubscriptionObject } from "../../../src/events/push/push-subscription.do.ts";
import { unique } from "../../support/platform/unique.ts";
import { inShard } from "../support/in-shard.ts";
import { makeTopic } from "../support/test-topic.ts";
import { objectsOf } from "../support/topic-objects.ts";
import { Fault } from "../support/fault.ts";
import { pass, stopTheClock } from "../support/push/push-clock.ts";
import { idsOf, verified } from "../support/push/push-requests.ts";
import { makePush, pushApp } from "../support/push/test-push.ts";
import { pushStore } from "../support/push/push-store.ts";
import { strideOf } from "../../support/model-runs.ts";
import { MINUTE_MS } from "../../../src/platform/runtime/clock.ts";

/**
 * Aborts the object of a push subscription before each call of its storage: in a run of its alarm, in `open` and in
 * `destroy`. Afterwards every published event is delivered, and a destroyed object leaves nothing.
 */
type Push = DurableObjectStub<PushSubscriptionObject>;

beforeEach(() => {
  stopTheClock();
  for (const level of ["warn", "error"] as const) vi.spyOn(console, level).mockReturnValue();
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const inject = (push: Push, n: number): Promise<Fault> =>
  runInDurableObject(push, (_: PushSubscriptionObject, state) => new Fault(n).inject(state));

/** Sets the alarm again. The runtime does so after a run that was cut off, but not if a test rang the alarm. */
const ringAgain = (push: Push): Promise<void> =>
  runInDurableObject(push, (_: PushSubscriptionObject, { storage }) => storage.setAlarm(Date.now()));

const quietly = (call: () => Promise<unknown>): Promise<unknown> => call().catch(() => undefined);

const tablesOf = (push: Push): Promise<number> =>
  runInDurableObject(
    push,
    (_: PushSubscriptionObject, { storage }) =>
      storage.sql
        .exec(`SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\'`)
        .toArray().length,
  );

it("in a run, before each step: all is delivered, and never without an alarm", { timeout: 60_000 }, async () => {
  let steps = 0;
  for (let n = 1; ; n += strideOf(4)) {
    const push = await makePush({ shards: 2 });
    // One is delivered at once, one fails first: its retry and its text are written too.
    await push.answer({}, { status: 500 }, {});
    const ids = [...(await push.put(["a", "b"], 0)), ...(await push.put(["c"], 1))];
    const fault = await inject(push.stub, n);
    await quietly(() => push.run());
    steps = fault.asked;
    if (!fault.isCut) break;
    const alarmInMs = await push.alarmInMs();
    // After its first step, a run has set the alarm that repeats it.
    if (n > 1) expect(alarmInMs, `step ${n}`).toBeLessThanOrEqual(MINUTE_MS);
    if (alarmInMs === undefined) await ringAgain(push.stub);
    await push.drive(3 * MINUTE_MS);
    const requests = await push.received();
    expect(new Set(idsOf(requests)), `step ${n}`).toEqual(new Set(ids));
    for (const request of requests) verified(push, request);
    expect((await push.deliveries("delivered")).map(({ eventId }) => eventId).toSorted()).toEqual(ids.toSorted());
    expect(await push.status()).toMatchObject({ lag: 0, deadLetters: 0, eventsLost: 0 });
  }
  expect(steps).toBeGreaterThan(20);
});

it("in open, before each step: a repeat opens it; without one the logs forget it", async () => {
  let steps = 0;
  for (let n = 1; ; n += strideOf(4)) {
    const topic = await makeTopic(pushApp(), { shards: 2 });
    const { record, logs } = await objectsOf(topic);
    const tenants = [0, 1].map((shard) => inShard(shard, 2, "tenant"));
    for (const tenant of tenants) pushApp().actsFor.add(`${topic.owner.clientId} ${tenant}`);
    const openings = [unique("repeated"), unique("left")].map((id) => ({
      opening: { id, topic: addressOf(record) },
      stub: () => env.PUSH_SUBSCRIPTION.getByName(pushObjectName(record, id)),
    }));
    let isCut = false;
    for (const { opening, stub } of openings) {
      const fault = await inject(stub(), n);
      await quietly(async () => stub().open(opening));
      steps = fault.asked;
      isCut ||= fault.isCut;
    }
    if (!isCut) break;
    const [repeated, left] = openings;
    expect(await repeated!.stub().open(repeated!.opening)).toEqual({ kind: "open" });
    pass(11 * MINUTE_MS);
    for (let round = 0; round < 3; round++) {
      await topic.put(tenants.map((tenant) => ({ payload: "x", tenant })));
      for (const log of logs) await runDurableObjectAlarm(log);
      for (const { stub } of openings) await runDurableObjectAlarm(stub());
    }
    // Neither has a record: both find out, and leave nothing behind.
    for (const log of logs) expect(await log.subscribers(10), `step ${n}`).toEqual([]);
    for (const one of [repeated!, left!]) expect(await tablesOf(one.stub())).toBe(0);
  }
  expect(steps).toBeGreaterThan(3);
});

it("in destroy, before each step: the logs forget it and nothing is sent any more", async () => {
  for (let n = 1; ; n += strideOf(4)) {
    const push = await makePush({ shards: 2 });
    await push.put(["before"]);
    await pushStore.remove(push.id);
    const fault = await inject(push.stub, n);
    await quietly(async () => push.stub.destroy());
    fault.isOver = true;
    await push.publish(["after"], 0);
    await push.publish(["after"], 1);
    pass(MINUTE_MS);
    for (const log of push.logs) await runDurableObjectAlarm(log);
    // A new object waits ten minutes for its record.
    await push.drive(12 * MINUTE_MS);
    expect(await push.received(), `step ${n}`).toEqual([]);
    for (const log of push.logs) expect(await log.subscribers(10), `step ${n}`).toEqual([]);
    expect(await tablesOf(push.stub)).toBe(0);
    if (!fault.isCut) break;
    expect(n).toBeLessThan(50);
  }
});
