import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { logOf } from "../../../src/events/log/client.ts";
import type { WakeOutcome } from "../../../src/events/log/subscriber.ts";
import type { TopicLog } from "../../../src/events/log/topic-log.do.ts";
import { LOG, WAKE } from "../../../src/events/model/limits.ts";
import { addressOf, pushObjectName } from "../../../src/events/model/topic.ts";
import { unique } from "../../support/platform/unique.ts";
import { frozenTime as frozenTimeFrom } from "../../support/frozen-time.ts";
import { eventsApp, KEPT } from "../support/events-app.ts";
import { makeTopic } from "../support/test-topic.ts";
import { objectsOf } from "../support/topic-objects.ts";
import { itAtNight } from "../../support/model-runs.ts";

const app = eventsApp();
type Log = DurableObjectStub<TopicLog>;
const { waitMs: usualWaitMs } = WAKE;
afterEach(() => {
  Object.assign(WAKE, { waitMs: usualWaitMs });
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const openLog = async (): Promise<Log> => {
  const log = logOf(env.TOPIC_LOG, { owner: "proj.app", eventType: unique("wake"), incarnation: "i", shards: 1 }, 0);
  await log.init(0, KEPT);
  return log;
};
const publish = (log: Log, count = 1) =>
  log.publish(
    Array.from({ length: count }, () => ({ text: `"payload":"p"}`, payloadBytes: 1 })),
    undefined,
    KEPT,
  );
/** `name position`, by name. */
const subscribers = (log: Log) =>
  runInDurableObject(log, (_: TopicLog, { storage }) =>
    storage.sql
      .exec<{ name: string; woken_seq: number }>(`SELECT name, woken_seq FROM subscriber ORDER BY name`)
      .toArray()
      .map(({ name, woken_seq: seq }) => `${name} ${seq}`),
  );
const alarmOf = (log: Log) => runInDurableObject(log, (_: TopicLog, { storage }) => storage.getAlarm());
/** Stops the clock: alarms come only when a test runs them. */
const frozenTime = () => frozenTimeFrom(86_400_000);

/** Lets a log wake played subscriptions instead of the real ones, until it is evicted. */
const play = (log: Log, wake: (name: string, instance: TopicLog) => Promise<WakeOutcome>) =>
  runInDurableObject(log, (instance: TopicLog) => {
    const played = { getByName: (name: string) => ({ wake: () => wake(name, instance) }) };
    (instance as unknown as { env: unknown }).env = { ...env, PUSH_SUBSCRIPTION: played };
  });
/** The subscriptions woken, in order. */
async function playAwake(log: Log): Promise<string[]> {
  const woken: string[] = [];
  await play(log, async (name) => {
    woken.push(name);
    return "awake";
  });
  return woken;
}
const after = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe("a publish", () => {
  it("wakes each subscription once and stores the position it was told about", async () => {
    const log = await openLog();
    const woken = await playAwake(log);
    await publish(log, 2);
    expect(await log.addSubscriber("a")).toBe(2);
    expect(await log.addSubscriber("b")).toBe(2);
    await publish(log, 3);
    await vi.waitFor(async () => expect(await subscribers(log)).toEqual(["a 5", "b 5"]));
    expect(woken.toSorted()).toEqual(["a", "b"]);
    // Nothing but retention is left to do.
    await vi.waitFor(async () => expect(await alarmOf(log)).toBeGreaterThan(Date.now() + 6 * 86_400_000));
    await publish(log);
    await vi.waitFor(async () => expect(await subscribers(log)).toEqual(["a 6", "b 6"]));
    expect(woken).toHaveLength(4);
  });

  it("does nothing without subscriptions, and nothing more once all are woken", async () => {
    frozenTime();
    const log = await openLog();
    const woken = await playAwake(log);
    await publish(log);
    expect(await alarmOf(log)).toBe(Date.now() + KEPT.ageMs);
    await log.addSubscriber("late");
    await log.addSubscriber("late");
    await runDurableObjectAlarm(log);
    expect(woken).toEqual([]);
    expect(await subscribers(log)).toEqual(["late 1"]);
    await log.removeSubscribers(["late"]);
    await publish(log);
    expect(await alarmOf(log)).toBe(Date.now() + KEPT.ageMs);
  });

  it("writes the alarm at most once while it is pending, and no other rows", async () => {
    const pass = frozenTime();
    const log = await openLog();
    await playAwake(log);
    await log.addSubscriber("a");
    const written: string[] = [];
    await runInDurableObject(log, (_: TopicLog, { storage }) => {
      const setAlarm = storage.setAlarm.bind(storage);
      storage.setAlarm = (...args) => {
        written.push("alarm");
        return setAlarm(...args);
      };
      const exec = storage.sql.exec.bind(storage.sql);
      storage.sql.exec = ((query: string, ...args: unknown[]) => {
        if (!/^\s*SELECT/i.test(query)) written.push(query.trim().split(/\s+/).slice(0, 3).join(" "));
        return exec(query, ...args);
      }) as typeof exec;
    });
    for (let at = 0; at < 5; at++) {
      await publish(log);
      pass(1);
    }
    expect(written.filter((what) => what === "alarm")).toHaveLength(1);
    expect(written.filter((what) => what !== "alarm")).toEqual(Array.from({ length: 5 }, () => "INSERT INTO segment"));
    written.length = 0;
    await runDurableObjectAlarm(log);
    expect(written).toEqual(["UPDATE subscriber SET", "alarm"]);
  });

  it("is told by a running alarm too; no subscription is told about events after the call", async () => {
    const log = await openLog();
    await log.addSubscriber("a");
    const seen: unknown[] = [];
    let running = 0;
    let most = 0;
    await play(log, async (_, instance) => {
      most = Math.max(most, ++running);
      seen.push(instance.stats());
      if (seen.length === 1) instance.publish([{ text: `"payload":"p"}`, payloadBytes: 1 }], undefined, KEPT);
      await after(5);
      running -= 1;
      return "awake";
    });
    await publish(log);
    await vi.waitFor(async () => expect(await subscribers(log)).toEqual(["a 2"]));
    expect(seen).toMatchObject([{ lastSeq: 1 }, { lastSeq: 2 }]);
    expect(most).toBe(1);
  });

  it("wakes a subscription of a busy log a few times a second, without an alarm for each", async () => {
    const log = await openLog();
    const woken = await playAwake(log);
    await log.addSubscriber("a");
    const fromMs = Date.now();
    const published = 100;
    let alarms = 0;
    await runInDurableObject(log, async (instance: TopicLog, { storage }) => {
      const setAlarm = storage.setAlarm.bind(storage);
      storage.setAlarm = (...args) => {
        alarms += 1;
        return setAlarm(...args);
      };
      for (let at = 0; at < published; at++) {
        instance.publish([{ text: `"payload":"p"}`, payloadBytes: 1 }], undefined, KEPT);
        await after(2);
      }
    });
    await vi.waitFor(async () => expect(await subscribers(log)).toEqual([`a ${published}`]));
    expect(alarms).toBeLessThan(published / 4);
    expect(woken.length).toBeLessThanOrEqual((Date.now() - fromMs) / WAKE.roundMs + 2);
  });

  it("is told even if the object was evicted before its alarm", async () => {
    frozenTime();
    const log = await openLog();
    await log.addSubscriber("a");
    await publish(log);
    expect(await alarmOf(log)).toBe(Date.now());
    await evictDurableObject(log);
    const woken = await playAwake(log);
    await runDurableObjectAlarm(log);
    expect(woken).toEqual(["a"]);
  });

  it("sets an alarm again that the runtime gave up", async () => {
    const pass = frozenTime();
    const log = await openLog();
    await log.addSubscriber("a");
    await publish(log);
    await runInDurableObject(log, (_: TopicLog, { storage }) => storage.deleteAlarm());
    pass(LOG.alarmLostMs);
    await publish(log);
    expect(await alarmOf(log)).toBeNull();
    pass(1);
    await publish(log);
    expect(await alarmOf(log)).toBe(Date.now());
  });
});

describe("subscriptions that are slow or broken", () => {
  it("does not delay others for a slow one, and does not call it again meanwhile", async () => {
    const log = await openLog();
    const calls: string[] = [];
    const slow = new Set(["slow"]);
    await play(log, async (name) => {
      calls.push(name);
      while (slow.has(name)) await after(5);
      return "awake";
    });
    await log.addSubscriber("slow");
    await log.addSubscriber("quick");
    for (let seq = 1; seq <= 4; seq++) {
      await publish(log);
      await vi.waitFor(async () => expect(await subscribers(log)).toEqual([`quick ${seq}`, "slow 0"]), {
        interval: 10,
      });
    }
    expect(calls.filter((name) => name === "slow")).toHaveLength(1);
    slow.clear();
    // A second call tells it about events published after the first.
    await vi.waitFor(async () => expect(await subscribers(log)).toEqual(["quick 4", "slow 4"]));
    expect(calls.filter((name) => name === "slow")).toHaveLength(2);
  });

  it("retries one that does not answer in time; its late answer is ignored", async () => {
    vi.spyOn(console, "warn").mockReturnValue();
    Object.assign(WAKE, { waitMs: 50 });
    const log = await openLog();
    const calls: string[] = [];
    await play(log, async (name) => {
      calls.push(name);
      await after(name === "late" ? 100 : 0);
      return name === "late" ? "gone" : "awake";
    });
    await log.addSubscriber("late");
    await log.addSubscriber("quick");
    await publish(log);
    const soonestMs = Date.now() + WAKE.minRetryMs;
    await vi.waitFor(async () => expect(await alarmOf(log)).toBeGreaterThanOrEqual(soonestMs));
    expect(await alarmOf(log)).toBeLessThanOrEqual(Date.now() + WAKE.minRetryMs);
    await publish(log);
    await vi.waitFor(async () => expect(await subscribers(log)).toEqual(["late 0", "quick 2"]));
    await after(150);
    expect(await subscribers(log)).toEqual(["late 0", "quick 2"]);
    expect(calls).toEqual(["late", "quick", "quick"]);
  });

  it("retries a failing one ever more rarely, up to once a minute, until it answers", async () => {
    vi.spyOn(console, "warn").mockReturnValue();
    const pass = frozenTime();
    const log = await openLog();
    let broken = true;
    await play(log, async () => {
      if (broken) throw new Error("out of reach");
      return "awake";
    });
    await log.addSubscriber("a");
    await publish(log);
    const waits: number[] = [];
    for (let at = 0; at < 6; at++) {
      await runDurableObjectAlarm(log);
      const waitMs = (await alarmOf(log))! - Date.now();
      waits.push(waitMs);
      pass(waitMs);
    }
    expect(waits).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
    broken = false;
    await runDurableObjectAlarm(log);
    expect(await subscribers(log)).toEqual(["a 1"]);
    broken = true;
    await publish(log);
    await runDurableObjectAlarm(log);
    expect((await alarmOf(log))! - Date.now()).toBe(5_000);
  });

  it("loses only time when the namespace throws or a write fails", async () => {
    vi.spyOn(console, "warn").mockReturnValue();
    const pass = frozenTime();
    const log = await openLog();
    await log.addSubscriber("a");
    await runInDurableObject(log, (instance: TopicLog) => {
      (instance as unknown as { env: unknown }).env = { PUSH_SUBSCRIPTION: undefined };
    });
    await publish(log);
    await runDurableObjectAlarm(log);
    expect(await alarmOf(log)).toBe(Date.now() + WAKE.minRetryMs);
    pass(WAKE.minRetryMs);
    await playAwake(log);
    await runInDurableObject(log, (_: TopicLog, { storage }) => {
      storage.sql.exec(`ALTER TABLE subscriber RENAME TO away`);
    });
    await runDurableObjectAlarm(log);
    expect(await alarmOf(log)).toBe(Date.now() + 2 * WAKE.minRetryMs);
    await runInDurableObject(log, (_: TopicLog, { storage }) => {
      storage.sql.exec(`ALTER TABLE away RENAME TO subscriber`);
    });
    pass(2 * WAKE.minRetryMs);
    await runDurableObjectAlarm(log);
    expect(await subscribers(log)).toEqual(["a 1"]);
  });

  it("wakes even if the log cannot trim", async () => {
    vi.spyOn(console, "warn").mockReturnValue();
    frozenTime();
    const log = await openLog();
    const woken = await playAwake(log);
    await log.addSubscriber("a");
    await publish(log);
    await runInDurableObject(log, (_: TopicLog, { storage }) => {
      storage.sql.exec(`ALTER TABLE publish_key RENAME TO away`);
    });
    await runDurableObjectAlarm(log);
    expect(woken).toEqual(["a"]);
    expect(await alarmOf(log)).toBe(Date.now() + LOG.trimRetryMs);
  });

  itAtNight("wakes many in groups over several alarms, and only a few failing ones at once", async () => {
    vi.spyOn(console, "warn").mockReturnValue();
    const pass = frozenTime();
    const log = await openLog();
    const count = WAKE.aRun + 60;
    const failing = new Set(Array.from({ length: 40 }, (_, at) => `s${at}`));
    let broken = true;
    let [now, most, nowFailing, mostFailing, calls] = [0, 0, 0, 0, 0];
    await play(log, async (name) => {
      calls += 1;
      most = Math.max(most, ++now);
      if (failing.has(name)) mostFailing = Math.max(mostFailing, ++nowFailing);
      await after(2);
      now -= 1;
      if (!failing.has(name)) return "awake";
      nowFailing -= 1;
      if (broken) throw new Error("out of reach");
      return "awake";
    });
    await runInDurableObject(log, (instance: TopicLog) => {
      for (let at = 0; at < count; at++) instance.addSubscriber(`s${at}`);
    });
    await publish(log);
    await runDurableObjectAlarm(log);
    expect([calls, most]).toEqual([WAKE.aRun, WAKE.atOnce]);
    expect(await alarmOf(log)).toBe(Date.now());
    await runDurableObjectAlarm(log);
    expect(calls).toBe(count);
    // Now it is known which of them fail.
    pass(WAKE.minRetryMs);
    broken = false;
    mostFailing = 0;
    await runDurableObjectAlarm(log);
    expect(calls).toBe(count + failing.size);
    expect(mostFailing).toBe(WAKE.failingAtOnce);
    expect((await subscribers(log)).every((one) => one.endsWith(" 1"))).toBe(true);
  });
});

describe("a busy log", () => {
  const one = [{ text: `"payload":"p"}`, payloadBytes: 1 }];
  /** Publishes one more event at each wake but the last of `count`. */
  async function publishAtWakes(log: Log, count: number): Promise<{ readonly wakes: number }> {
    const woken = { wakes: 0 };
    await play(log, async (_, instance) => {
      woken.wakes += 1;
      if (woken.wakes < count) instance.publish(one, undefined, KEPT);
      return "awake";
    });
    return woken;
  }

  it("wakes all of many equally often, failing ones too, under constant publishing", async () => {
    vi.spyOn(console, "warn").mockReturnValue();
    const pass = frozenTime();
    const log = await openLog();
    const count = WAKE.aRun + 100;
    const woken = new Map<string, number>();
    const failing = new Set(["s3", "s550", "s599"]);
    let broken = true;
    await play(log, async (name, instance) => {
      instance.publish(one, undefined, KEPT);
      if (broken && failing.has(name)) throw new Error("out of reach");
      woken.set(name, (woken.get(name) ?? 0) + 1);
      return "awake";
    });
    await runInDurableObject(log, (instance: TopicLog) => {
      for (let at = 0; at < count; at++) instance.addSubscriber(`s${at}`);
    });
    await publish(log);
    for (let run = 0; run < 2; run++) await runDurableObjectAlarm(log);
    expect(woken.size).toBe(count - failing.size);
    pass(WAKE.minRetryMs);
    broken = false;
    await runDurableObjectAlarm(log);
    for (const name of failing) expect(woken.get(name)).toBeGreaterThan(0);
    for (let run = 0; run < 3; run++) await runDurableObjectAlarm(log);
    const times = [...woken.values()];
    expect(Math.max(...times) - Math.min(...times)).toBeLessThan(3);
  });

  it("removes expired events while it wakes", async () => {
    const pass = frozenTime();
    const log = await openLog();
    await runInDurableObject(log, (instance: TopicLog) => {
      for (let at = 0; at < 3_000; at++) instance.publish(one, undefined, KEPT);
    });
    pass(KEPT.ageMs + 1000);
    await log.addSubscriber("a");
    const woken = await publishAtWakes(log, 12);
    await publish(log);
    await runDurableObjectAlarm(log);
    expect(await log.stats()).toMatchObject({ firstSeq: 3_001 });
    expect(woken.wakes).toBe(12);
  });

  it("retries a failed trim once per run, not after each group", async () => {
    const warned = vi.spyOn(console, "warn").mockReturnValue();
    const pass = frozenTime();
    const log = await openLog();
    await publish(log);
    await log.addSubscriber("a");
    const woken = await publishAtWakes(log, 4);
    await publish(log);
    pass(KEPT.ageMs);
    await runInDurableObject(log, (_: TopicLog, { storage }) => {
      storage.sql.exec(`ALTER TABLE publish_key RENAME TO away`);
    });
    await runDurableObjectAlarm(log);
    expect([woken.wakes, warned.mock.calls.length]).toEqual([4, 1]);
    expect(await alarmOf(log)).toBe(Date.now() + LOG.trimRetryMs);
  });

  it("recovers from a run that the runtime aborted", async () => {
    const pass = frozenTime();
    const log = await openLog();
    await log.addSubscriber("a");
    let wakes = 0;
    Object.assign(WAKE, { waitMs: 3_600_000 });
    await play(log, () => (++wakes === 1 ? new Promise<never>(() => {}) : Promise.resolve("awake")));
    await publish(log);
    await runInDurableObject(log, (instance: TopicLog) => void instance.alarm());
    expect(wakes).toBe(1);
    pass(LOG.alarmRunMs);
    await runInDurableObject(log, (instance: TopicLog) => instance.alarm());
    expect(wakes).toBe(1);
    pass(1);
    await publish(log);
    expect(await alarmOf(log)).toBe(Date.now());
    await runDurableObjectAlarm(log);
    expect(await subscribers(log)).toEqual(["a 2"]);
  });

  it("never waits longer than the maximum when the clock was set back", async () => {
    vi.spyOn(console, "warn").mockReturnValue();
    const pass = frozenTime();
    const log = await openLog();
    await log.addSubscriber("a");
    let broken = true;
    await play(log, async () => {
      if (broken) throw new Error("out of reach");
      return "awake";
    });
    await publish(log);
    await runDurableObjectAlarm(log);
    broken = false;
    pass(-3_600_000);
    await publish(log);
    expect(await alarmOf(log)).toBe(Date.now());
    await runDurableObjectAlarm(log);
    expect(await subscribers(log)).toEqual(["a 2"]);
  });
});

describe("the end", () => {
  it("forgets a subscription that is gone", async () => {
    frozenTime();
    const log = await openLog();
    const calls: string[] = [];
    await play(log, async (name) => {
      calls.push(name);
      return name === "gone" ? "gone" : "awake";
    });
    await log.addSubscriber("gone");
    await log.addSubscriber("here");
    await publish(log);
    await runDurableObjectAlarm(log);
    expect(await subscribers(log)).toEqual(["here 1"]);
    await publish(log);
    await runDurableObjectAlarm(log);
    expect(calls.toSorted()).toEqual(["gone", "here", "here"]);
  });

  it.each(["close", "destroy"] as const)("%s: removes the alarm, and a call under way writes nothing", async (end) => {
    const log = await openLog();
    let calls = 0;
    await play(log, async (name, instance) => {
      calls += 1;
      await after(10);
      await instance[end]();
      await after(20);
      return name === "a" ? "gone" : "awake";
    });
    await log.addSubscriber("a");
    await log.addSubscriber("b");
    await publish(log);
    await vi.waitFor(() => expect(calls).toBe(2));
    await after(WAKE.roundMs * 3);
    expect(await alarmOf(log)).toBeNull();
    expect(await runDurableObjectAlarm(log)).toBe(false);
    expect(await publish(log)).toEqual({ kind: "gone" });
    if (end === "destroy")
      expect(
        await runInDurableObject(log, (_: TopicLog, { storage }) =>
          storage.sql.exec(`SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf%' ESCAPE '\\'`).toArray(),
        ),
      ).toEqual([]);
    else expect(await subscribers(log)).toEqual(["a 0", "b 0"]);
    expect(calls).toBe(2);
  });

  it("leaves nothing of a log that could not trim and was destroyed meanwhile", async () => {
    vi.spyOn(console, "warn").mockReturnValue();
    const log = await openLog();
    let isDestroyed = false;
    await play(log, async (_, instance) => {
      await instance.destroy();
      isDestroyed = true;
      return "awake";
    });
    await log.addSubscriber("a");
    await runInDurableObject(log, (instance: TopicLog, { storage }) => {
      instance.publish([{ text: `"payload":"p"}`, payloadBytes: 1 }], undefined, KEPT);
      storage.sql.exec(`ALTER TABLE publish_key RENAME TO away`);
    });
    await vi.waitFor(() => expect(isDestroyed).toBe(true));
    await after(WAKE.roundMs * 2);
    expect(await alarmOf(log)).toBeNull();
  });

  it("removes the alarm of a closed log, also after eviction, and still lists its names", async () => {
    frozenTime();
    const log = await openLog();
    await log.addSubscriber("a");
    await publish(log);
    await log.close();
    await log.close();
    expect(await alarmOf(log)).toBeNull();
    await evictDurableObject(log);
    expect(await log.subscribers(10)).toEqual(["a"]);
    expect(await log.addSubscriber("b")).toBe("gone");
    await log.removeSubscribers(["a"]);
    expect(await log.subscribers(10)).toEqual([]);
  });

  it("leaves no alarm of a destroyed log", async () => {
    const log = await openLog();
    await publish(log);
    expect(await alarmOf(log)).not.toBeNull();
    await log.destroy();
    expect(await alarmOf(log)).toBeNull();
  });
});

describe("with real subscriptions", () => {
  it("wakes them by their objects' names on every shard, and forgets one that was never opened", async () => {
    const topic = await makeTopic(app, { shards: 2 });
    const { record, logs } = await objectsOf(topic);
    const [id, strange] = [unique("push"), unique("push")];
    const name = pushObjectName(record, id);
    expect(await env.PUSH_SUBSCRIPTION.getByName(name).open({ id, topic: addressOf(record) })).toEqual({
      kind: "open",
    });
    await logs[0]!.addSubscriber(pushObjectName(record, strange));
    for (const log of logs) await publish(log);
    for (const log of logs) await vi.waitFor(async () => expect(await subscribers(log)).toEqual([`${name} 1`]));
    await env.PUSH_SUBSCRIPTION.getByName(name).destroy();
    for (const log of logs) expect(await log.subscribers(10)).toEqual([]);
  });

  it("keeps one that is being opened, which then looks for the events it was told about", async () => {
    const topic = await makeTopic(app, { shards: 2 });
    const { record, logs } = await objectsOf(topic);
    const id = unique("push");
    const name = pushObjectName(record, id);
    const object = env.PUSH_SUBSCRIPTION.getByName(name);
    await runInDurableObject(object, (instance) => {
      const slow = {
        getByName(log: string) {
          const stub = env.TOPIC_LOG.getByName(log);
          const addSubscriber = async (added: string) => {
            if (log.endsWith("/1")) await after(300);
            return stub.addSubscriber(added);
          };
          return { addSubscriber, read: (...asked: Parameters<TopicLog["read"]>) => stub.read(...asked) };
        },
      };
      (instance as unknown as { env: unknown }).env = { ...env, TOPIC_LOG: slow };
    });
    const opened = object.open({ id, topic: addressOf(record) });
    await vi.waitFor(async () => expect(await logs[0]!.subscribers(1)).toEqual([name]), { interval: 5 });
    await publish(logs[0]!);
    await vi.waitFor(async () => expect(await subscribers(logs[0]!)).toEqual([`${name} 1`]), { interval: 5 });
    expect(await logs[1]!.subscribers(1)).toEqual([]);
    expect(await opened).toEqual({ kind: "open" });
    for (const log of logs) expect(await log.subscribers(1)).toEqual([name]);
    const alarmAtMs = await runInDurableObject(object, (_, { storage }) => storage.getAlarm());
    expect(alarmAtMs ?? 0).toBeLessThan(Date.now() + 100_000);
    await evictDurableObject(object);
    await object.destroy();
  });
});
