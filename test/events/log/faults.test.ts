import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { logOf } from "../../../src/events/log/client.ts";
import { unpackSegment } from "../../../src/events/log/segments.ts";
import type { TopicLog } from "../../../src/events/log/topic-log.do.ts";
import type { Once, Retention } from "../../../src/events/log/types.ts";
import { LOG } from "../../../src/events/model/limits.ts";
import { unique } from "../../support/platform/unique.ts";
import { eventsApp, KEPT } from "../support/events-app.ts";
import { inShard } from "../support/in-shard.ts";
import { expectProblem } from "../support/problem.ts";
import { makeTopic, payloads } from "../support/test-topic.ts";
import { objectsOf } from "../support/topic-objects.ts";
import { Fault } from "../support/fault.ts";
import { itAtNight } from "../../support/model-runs.ts";

/**
 * Aborts the log's object before each call of its storage, and after the last one. The runtime stores the writes of a
 * turn as a whole, so the log is then as before the turn or as after it.
 */
type Log = DurableObjectStub<TopicLog>;
const { rowsTrimmedAStep } = LOG;
beforeEach(() => void vi.spyOn(console, "warn").mockReturnValue());
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  Object.assign(LOG, { rowsTrimmedAStep });
});

const addressed = () => ({ owner: "proj.app", eventType: unique("fault"), incarnation: "i", shards: 1 });
const event = (chars: number) => ({ text: `"payload":"${"x".repeat(chars)}"}`, payloadBytes: chars });
const once = (key: string): Once => ({ key, digest: `of ${key}`, expiresAtMs: undefined });
const keeping = (changes: Partial<Retention>): Retention => ({ ...KEPT, ...changes });

const inject = (log: Log, n: number) => runInDurableObject(log, (_: TopicLog, state) => new Fault(n).inject(state));

/** All that is stored, the alarm included. */
const contents = (log: Log) =>
  runInDurableObject(log, async (_: TopicLog, { storage }) => ({
    log: storage.sql.exec(`SELECT * FROM log`).toArray(),
    segments: storage.sql.exec(`SELECT first_seq, last_seq, created_at, payload_bytes FROM segment`).toArray(),
    keys: storage.sql.exec(`SELECT * FROM publish_key ORDER BY key`).toArray(),
    subscribers: storage.sql.exec(`SELECT * FROM subscriber ORDER BY name`).toArray(),
    alarmAtMs: await storage.getAlarm(),
  }));

/** The ids of the stored events by position. Throws if a position is missing. */
async function stored(log: Log): Promise<Map<number, string>> {
  const stats = await log.stats();
  if (stats.kind === "gone") throw new Error("gone");
  const ids = new Map<number, string>();
  for (let at = stats.firstSeq - 1; at < stats.lastSeq;) {
    const read = await log.read(at, 1000, 0, 4_000_000);
    if (read.kind === "gone" || read.segments.length === 0) throw new Error(`nothing behind ${at}`);
    for (const segment of read.segments)
      for (const { seq, text } of unpackSegment(segment, at)) {
        expect(seq).toBe(at + 1);
        at = seq;
        ids.set(seq, (JSON.parse(text) as { id: string }).id);
      }
  }
  return ids;
}

describe("a publish that is interrupted", () => {
  /** A log at its maximum, so that a publish removes events; with a key, a subscription, and no alarm by itself. */
  const RULE = keeping({ maxBytes: 120_000 });
  async function fullLog(address: ReturnType<typeof addressed>): Promise<Log> {
    const log = logOf(env.TOPIC_LOG, address, 0);
    await log.init(0, RULE);
    await runInDurableObject(log, (instance: TopicLog) => {
      for (let at = 0; at < 14; at++) instance.publish([event(10_000)], once(`earlier ${at}`), RULE);
      instance.addSubscriber("push");
    });
    await evictDurableObject(log);
    return log;
  }

  // shows: events/publish-subscribe-operations/one-shard
  it("stores nothing; a repeat with its key stores everything once and sets the alarm", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 86_400_000 });
    const part = [event(20_000), event(50_000), event(20_000)];
    let aborted = 0;
    for (let n = 1; ; n++) {
      const address = addressed();
      let log = await fullLog(address);
      const before = await contents(log);
      const ids = await stored(log);
      const fault = await inject(log, n);
      const outcome = await log.publish(part, once("k"), RULE).catch(() => "aborted" as const);
      fault.isOver = true;
      expect(outcome === "aborted").toBe(fault.isCut);
      if (fault.isCut) {
        aborted += 1;
        log = logOf(env.TOPIC_LOG, address, 0);
        expect(await contents(log)).toEqual(before);
      }
      // Its answer may be lost too.
      const first = await log.publish(part, once("k"), RULE);
      await evictDurableObject(log);
      expect(await log.publish(part, once("k"), RULE)).toEqual({ ...first, isRepeat: true });
      if (first.kind !== "stored") throw new Error(first.kind);
      if (!fault.isCut) expect(first).toEqual({ ...(outcome as typeof first), isRepeat: true });
      const left = await stored(log);
      expect([15, 16, 17].map((seq) => left.get(seq))).toEqual(first.ids);
      expect(left.size).toBeLessThan(ids.size + part.length);
      for (const [seq, id] of left) if (seq < 15) expect(id).toBe(ids.get(seq));
      expect((await contents(log)).alarmAtMs).toBe(Date.now());
      if (!fault.isCut) break;
    }
    expect(aborted).toBeGreaterThan(10);
  });

  it("answers 503; a repeat with its key stores each event once, whatever its shard, under the id of the first answer", async () => {
    const app = eventsApp();
    const owner = (await makeTopic(app)).owner;
    const tenants = [inShard(0, 2, "aaa"), inShard(1, 2, "bbb")];
    for (const tenant of tenants) app.actsFor.add(`${owner.clientId} ${tenant}`);
    const events = tenants.flatMap((tenant) => ["1", "2"].map((payload) => ({ tenant, payload: tenant + payload })));
    let cut = 0;
    for (const shard of [0, 1])
      for (let n = 1; ; n++) {
        const topic = await makeTopic(app, { owner, shards: 2 });
        const { logs } = await objectsOf(topic);
        const key = inShard(0, 2, "key");
        const headers = { "idempotency-key": key, "content-type": "application/json" };
        const fault = await inject(logs[shard]!, n);
        const first = await topic.publish(events, { headers });
        fault.isOver = true;
        if (fault.isCut) {
          await expectProblem(first, 503, "service_temporarily_unavailable");
          cut += 1;
        } else expect(first.status).toBe(201);
        const ids = await topic.put(events, { headers });
        expect(await topic.put(events, { headers })).toEqual(ids);
        const read = await topic.read({ numEvents: 100 });
        expect(payloads(read).toSorted()).toEqual(events.map(({ payload }) => payload).toSorted());
        expect(read.events.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
        if (!fault.isCut) break;
      }
    expect(cut).toBeGreaterThan(8);
  });
});

/**
 * The runtime itself runs these alarms, and repeats a run that was cut off. The subscription's object was never opened,
 * so it answers "gone" if a new instance of the log wakes it.
 */
describe("an alarm that is interrupted", () => {
  interface Scenario {
    readonly rule: Retention;
    /** Inside the object, in one turn. */
    readonly prepare: (instance: TopicLog, rule: Retention) => void;
    readonly settled: (after: Awaited<ReturnType<typeof contents>>, sizeBytes: number) => void;
  }

  async function cutOff(scenario: Scenario, steps: number): Promise<number> {
    const cuts = await Promise.all(
      Array.from({ length: steps }, async (_step, at) => {
        const address = addressed();
        const log = logOf(env.TOPIC_LOG, address, 0);
        await log.init(0, scenario.rule);
        const fault = await runInDurableObject(log, (instance: TopicLog, state) => {
          const played = { getByName: () => ({ wake: async () => "awake" }) };
          (instance as unknown as { env: unknown }).env = { PUSH_SUBSCRIPTION: played };
          scenario.prepare(instance, scenario.rule);
          const armed = new Fault(at + 1);
          const alarm = instance.alarm.bind(instance);
          instance.alarm = async () => {
            await alarm();
            if ((await state.storage.getAlarm())! > Date.now() + 1_000_000) armed.isOver = true;
          };
          return armed.inject(state);
        });
        await vi.waitFor(() => expect(fault.isOver).toBe(true), { timeout: 10_000 });
        await vi.waitFor(
          async () => {
            // The stub of an aborted instance is broken.
            const now = logOf(env.TOPIC_LOG, address, 0);
            const after = await contents(now);
            const sizeBytes = await runInDurableObject(now, (_: TopicLog, { storage }) => storage.sql.databaseSize);
            for (const row of after.subscribers) expect(row["woken_seq"]).toBe(10);
            scenario.settled(after, sizeBytes);
            const ids = await stored(now);
            expect([...ids.keys()].at(-1) ?? 10).toBe(10);
          },
          { timeout: 15_000, interval: 100 },
        );
        return fault.isCut;
      }),
    );
    // Until there was nothing left to cut off.
    expect(cuts.lastIndexOf(true)).toBeLessThan(steps - 1);
    return cuts.filter(Boolean).length;
  }

  const ten = (instance: TopicLog, rule: Retention) => {
    instance.addSubscriber("strange/push/1");
    for (let at = 0; at < 10; at++) instance.publish([event(10_000)], at === 9 ? once("k") : undefined, rule);
  };

  const tooOld: Scenario = {
    rule: keeping({ ageMs: 1 }),
    prepare: ten,
    settled(after) {
      expect(after.segments).toEqual([]);
      expect(after.log[0]).toMatchObject({ trimmed_seq: 10 });
      expect(after.alarmAtMs).toBeGreaterThan(Date.now() + 80_000_000);
    },
  };
  const tooMuch: Scenario = {
    rule: keeping({ maxBytes: 1e9 }),
    prepare(instance, rule) {
      ten(instance, rule);
      instance.publish([], undefined, keeping({ maxBytes: 70_000 }));
    },
    settled(after, sizeBytes) {
      expect(sizeBytes).toBeLessThanOrEqual(70_000);
      expect(after.segments.length).toBeGreaterThan(2);
      expect(after.alarmAtMs).toBeGreaterThan(Date.now() + 80_000_000);
    },
  };

  itAtNight("runs again: it trims by age and size, tells the subscription, and sets the next alarm", async () => {
    Object.assign(LOG, { rowsTrimmedAStep: 3 });
    const cuts = await Promise.all([cutOff(tooOld, 50), cutOff(tooMuch, 36)]);
    for (const cut of cuts) expect(cut).toBeGreaterThan(10);
  });
});
