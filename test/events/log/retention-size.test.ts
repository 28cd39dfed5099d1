import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { logOf } from "../../../src/events/log/client.ts";
import { unpackSegment } from "../../../src/events/log/segments.ts";
import type { TopicLog } from "../../../src/events/log/topic-log.do.ts";
import { LOG } from "../../../src/events/model/limits.ts";
import { unique } from "../../support/platform/unique.ts";
import { eventsApp, KEPT } from "../support/events-app.ts";
import { inShard } from "../support/in-shard.ts";
import { expectProblem } from "../support/problem.ts";
import { makeTopic, payloads, type TestTopic, type WireEvent } from "../support/test-topic.ts";
import { objectsOf } from "../support/topic-objects.ts";
import { frozenTime as frozenTimeFrom } from "../../support/frozen-time.ts";
import { itAtNight, runs } from "../../support/model-runs.ts";

type Log = DurableObjectStub<TopicLog>;
const { fullBytes } = LOG;
afterEach(() => {
  Object.assign(LOG, { fullBytes });
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Stops the clock: alarms come only when a test runs them. */
const frozenTime = () => frozenTimeFrom(86_400_000);
const keeping = (maxBytes: number) => ({ ageMs: KEPT.ageMs, maxBytes });
const sized = (maxBytes: number) => eventsApp(env, [], keeping(maxBytes));
const openLog = async (maxBytes: number): Promise<Log> => {
  const log = logOf(env.TOPIC_LOG, { owner: "proj.app", eventType: unique("size"), incarnation: "i", shards: 1 }, 0);
  await log.init(0, keeping(maxBytes));
  return log;
};
const event = (chars: number) => ({ text: `"payload":"${"x".repeat(chars)}"}`, payloadBytes: chars });
const sizeOf = (log: Log) => runInDurableObject(log, (_: TopicLog, { storage }) => storage.sql.databaseSize);
const alarmOf = (log: Log) => runInDurableObject(log, (_: TopicLog, { storage }) => storage.getAlarm());
/** Fills a log by many publishes of one event; alarms do not come in between. */
const fill = (log: Log, count: number, chars: number, maxBytes: number) =>
  runInDurableObject(log, (instance: TopicLog) => {
    for (let at = 0; at < count; at++) instance.publish([event(chars)], undefined, keeping(maxBytes));
  });
const status = async (app: ReturnType<typeof sized>, topic: TestTopic): Promise<any> =>
  (await app.call(topic.path, { as: topic.owner })).json();

/** The stored events, read from the front: positions without a gap up to the end. */
async function stored(log: Log): Promise<{ firstSeq: number; lastSeq: number }> {
  const stats = await log.stats();
  if (stats.kind === "gone") throw new Error("gone");
  let at = stats.firstSeq - 1;
  while (at < stats.lastSeq) {
    const read = await log.read(at, 1000, 0, 4_000_000);
    if (read.kind === "gone" || read.segments.length === 0) throw new Error(`nothing behind ${at}`);
    for (const segment of read.segments)
      for (const { seq } of unpackSegment(segment, at)) {
        expect(seq).toBe(at + 1);
        at = seq;
      }
  }
  return { firstSeq: stats.firstSeq, lastSeq: stats.lastSeq };
}

describe("retention by size", () => {
  itAtNight("removes the oldest events for a fast publisher, keeps the newest, and refuses nothing", async () => {
    const maxBytes = 1_000_000;
    const app = sized(maxBytes);
    const topic = await makeTopic(app);
    const log = (await objectsOf(topic)).logs[0]!;
    let [most, published] = [0, 0];
    for (let round = 0; round < 16; round++) {
      const batch = Array.from({ length: 10 + round * 4 }, (_, at) => ({ payload: `${at}`.padEnd(500 + at * 40) }));
      const ids = await Promise.all(Array.from({ length: 6 }, () => topic.put(batch)));
      published += ids.flat().length;
      most = Math.max(most, await sizeOf(log));
    }
    expect(most).toBeGreaterThan(maxBytes * 0.8);
    expect(most).toBeLessThan((maxBytes * 9) / 8);
    const { firstSeq, lastSeq } = await stored(log);
    expect(lastSeq).toBe(published);
    expect(firstSeq).toBeGreaterThan(1);
    expect(firstSeq).toBeLessThan(published - 50);
  });

  it("gives a slow reader what is left, tells it how much it lost, and keeps lag and positions right", async () => {
    const pass = frozenTime();
    const maxBytes = 400_000;
    const app = sized(maxBytes);
    const topic = await makeTopic(app);
    const log = (await objectsOf(topic)).logs[0]!;
    const times: number[] = [];
    for (let at = 0; at < 60; at++) {
      times.push(Date.now());
      await topic.put({ payload: `${at}`.padEnd(20_000) });
      pass(1000);
      if (at === 0) await topic.commit((await topic.read()).token);
    }
    const { firstSeq } = await stored(log);
    expect(firstSeq).toBeGreaterThan(30);
    const left = 60 - firstSeq + 1;
    expect(await status(app, topic)).toMatchObject({
      storedEvents: left,
      lag: left,
      oldestEventAt: times[firstSeq - 1],
      newestEventAt: times[59],
    });
    const read = await topic.read({ numEvents: 2 });
    expect(payloads(read).map(Number)).toEqual([firstSeq - 1, firstSeq]);
    expect(read.response.headers.get("plat-events-lost")).toBe(String(firstSeq - 2));
    await topic.commit(read.token);
    expect(await status(app, topic)).toMatchObject({ lag: left - 2 });
    for (const [to, expected] of [
      ["oldest", firstSeq - 1],
      [times[3], firstSeq - 1],
      [times[firstSeq + 5], firstSeq + 5],
    ] as const) {
      expect((await topic.post("seek", { to })).status).toBe(200);
      expect(payloads(await topic.read({ autoCommit: true })).map(Number)).toEqual([expected]);
    }
  });

  it("continues a peek after a removed event and skips nothing of another shard", async () => {
    const pass = frozenTime();
    const app = sized(300_000);
    const topic = await makeTopic(app, { shards: 2 });
    const [small, large] = [inShard(0, 2, "s"), inShard(1, 2, "l")].map((tenant) => tenant.padEnd(3, "x"));
    const owner = topic.owner.clientId;
    for (const tenant of [small, large]) app.actsFor.add(`${owner} ${tenant}`);
    const [first] = await topic.put({ payload: "first", tenant: large });
    pass(1000);
    await topic.put({ payload: "between", tenant: small });
    for (let at = 0; at < 40; at++) {
      pass(1000);
      await topic.put({ payload: "x".repeat(20_000), tenant: large });
    }
    pass(1000);
    await topic.put({ payload: "last", tenant: small });
    const seen: string[] = [];
    let after: string | null = first!;
    while (after !== null) {
      const response = await app.call(`${topic.path}/events?after=${after}`, { as: topic.owner });
      const { events, next }: { events: WireEvent[]; next: string | null } = await response.json();
      seen.push(...events.map((shown) => shown.payload));
      after = next;
    }
    expect(seen).toEqual(expect.arrayContaining(["between", "last"]));
    expect(seen).not.toContain("first");
    expect(seen.filter((payload) => payload.startsWith("x")).length).toBeLessThan(20);
  });

  it("refuses nothing after the maximum was lowered by far: each publish and the alarm remove a step", async () => {
    const [before, now] = [KEPT.maxBytes, 100_000];
    frozenTime();
    const log = await openLog(before);
    await fill(log, 3_000, 100, before);
    expect(await sizeOf(log)).toBeGreaterThan(now * 5);
    const left: number[] = [];
    for (let at = 0; at < 3; at++) {
      expect(await log.publish([event(1)], undefined, keeping(now))).toMatchObject({ kind: "stored" });
      left.push((await stored(log)).firstSeq);
    }
    expect(left).toEqual([501, 1_001, 1_501]);
    while ((await alarmOf(log)) === Date.now()) await runDurableObjectAlarm(log);
    expect(await sizeOf(log)).toBeLessThanOrEqual(now);
    expect((await stored(log)).lastSeq).toBe(3_003);
  });

  it("answers 503 while an object is nearly full, until its alarm has made room; the refusal uses up no key", async () => {
    const [before, now] = [KEPT.maxBytes, 200_000];
    Object.assign(LOG, { fullBytes: 250_000 });
    const app = sized(now);
    const topic = await makeTopic(sized(before));
    const path = topic.path;
    const log = (await objectsOf(topic)).logs[0]!;
    frozenTime();
    await fill(log, 3_000, 100, before);
    expect(await sizeOf(log)).toBeGreaterThan(now * 2);
    const headers = { "idempotency-key": "k", "content-type": "application/json" };
    const publish = () => app.call(`${path}/publish`, { as: topic.owner, json: { payload: "new" }, headers });
    const refused = await publish();
    expect(refused.headers.get("retry-after")).toMatch(/^[12]$/);
    await expectProblem(refused, 503, "service_temporarily_unavailable");
    expect(await alarmOf(log)).toBe(Date.now());
    expect(await stored(log)).toEqual({ firstSeq: 1 + LOG.rowsTrimmedAStep, lastSeq: 3_000 });
    let steps = 0;
    while ((await alarmOf(log)) === Date.now()) {
      const { firstSeq } = await stored(log);
      await runDurableObjectAlarm(log);
      expect((await stored(log)).firstSeq - firstSeq).toBeLessThanOrEqual(LOG.rowsTrimmedAStep);
      steps += 1;
    }
    expect(steps).toBeGreaterThan(1);
    expect(await sizeOf(log)).toBeLessThanOrEqual(now);
    const { ids }: { ids: string[] } = await (await publish()).json();
    expect(await (await publish()).json()).toEqual({ ids });
    expect((await stored(log)).lastSeq).toBe(3_001);
  });

  it("keeps the newest segment, however small the maximum, until the next batch comes", async () => {
    frozenTime();
    const log = await openLog(1);
    const publish = () =>
      log.publish(
        Array.from({ length: 40 }, () => event(10_000)),
        undefined,
        keeping(1e5),
      );
    expect(await publish()).toMatchObject({ kind: "stored" });
    expect(await stored(log)).toEqual({ firstSeq: 1, lastSeq: 40 });
    await runDurableObjectAlarm(log);
    const { firstSeq } = await stored(log);
    expect(firstSeq).toBeGreaterThan(30);
    expect(firstSeq).toBeLessThanOrEqual(40);
    // Nothing else can be removed, so there is nothing to wake for but age.
    expect(await alarmOf(log)).toBe(Date.now() + KEPT.ageMs);
    expect(await publish()).toMatchObject({ kind: "stored" });
    expect((await stored(log)).lastSeq).toBe(80);
    expect((await stored(log)).firstSeq).toBeLessThanOrEqual(41);
  });

  it("wakes at once when a log grows over its maximum, without another publish", async () => {
    frozenTime();
    const maxBytes = 300_000;
    const log = await openLog(maxBytes);
    await fill(log, 20, 10_000, maxBytes);
    expect(await alarmOf(log)).toBe(Date.now() + KEPT.ageMs);
    await log.publish([event(60_000), event(60_000)], undefined, keeping(maxBytes));
    expect(await sizeOf(log)).toBeGreaterThan(maxBytes);
    expect(await alarmOf(log)).toBe(Date.now());
    await runDurableObjectAlarm(log);
    expect(await sizeOf(log)).toBeLessThanOrEqual(maxBytes);
    expect(await sizeOf(log)).toBeGreaterThan(maxBytes * 0.7);
    expect(await alarmOf(log)).toBe(Date.now() + KEPT.ageMs);
  });

  it("removes by a later alarm what a failed step did not", async () => {
    const pass = frozenTime();
    const maxBytes = 200_000;
    const log = await openLog(maxBytes);
    await fill(log, 4, 60_000, maxBytes);
    expect(await sizeOf(log)).toBeGreaterThan(maxBytes);
    vi.spyOn(console, "warn").mockReturnValueOnce();
    await runInDurableObject(log, async (instance: TopicLog, { storage }) => {
      const exec = storage.sql.exec.bind(storage.sql);
      storage.sql.exec = ((statement: string, ...values: unknown[]) => {
        if (statement.startsWith("UPDATE log SET trimmed_seq")) throw new Error("not written");
        return exec(statement, ...values);
      }) as typeof exec;
      await instance.alarm();
      storage.sql.exec = exec;
    });
    expect(await sizeOf(log)).toBeGreaterThan(maxBytes);
    pass(LOG.trimRetryMs);
    await runDurableObjectAlarm(log);
    expect(await sizeOf(log)).toBeLessThanOrEqual(maxBytes);
  });

  it("removes a bounded number of bytes at a time, but always something", async () => {
    const { bytesTrimmedAStep } = LOG;
    Object.assign(LOG, { bytesTrimmedAStep: 100_000 });
    try {
      frozenTime();
      const log = await openLog(KEPT.maxBytes);
      for (const chars of [90_000, 9_000, 9_000, 150_000, 1]) await log.publish([event(chars)], undefined, KEPT);
      await runInDurableObject(log, (_: TopicLog, { storage }) => storage.sql.exec(`UPDATE log SET max_bytes = 1`));
      await evictDurableObject(log);
      const left: number[] = [];
      for (let at = 0; at < 4; at++) {
        await runDurableObjectAlarm(log);
        left.push((await stored(log)).firstSeq);
      }
      expect(left).toEqual([3, 4, 5, 5]);
    } finally {
      Object.assign(LOG, { bytesTrimmedAStep });
    }
  });

  it("applies the maximum of the last publish after eviction and in the alarm", async () => {
    frozenTime();
    const log = await openLog(KEPT.maxBytes);
    await fill(log, 20, 20_000, KEPT.maxBytes);
    await log.publish([event(1)], undefined, keeping(200_000));
    expect(await sizeOf(log)).toBeLessThan(210_000);
    expect(
      await runInDurableObject(log, (_: TopicLog, { storage }) => storage.sql.exec(`SELECT max_bytes FROM log`).one()),
    ).toEqual({ max_bytes: 200_000 });
    await runInDurableObject(log, (_: TopicLog, { storage }) => storage.sql.exec(`UPDATE log SET max_bytes = 100000`));
    await evictDurableObject(log);
    await runDurableObjectAlarm(log);
    expect(await sizeOf(log)).toBeLessThanOrEqual(100_000);
  });

  it("keeps the newest events, within the maximum after the alarm", async () => {
    frozenTime();
    const publishes = fc.array(fc.array(fc.integer({ min: 1, max: 60_000 }), { minLength: 1, maxLength: 6 }), {
      maxLength: 25,
    });
    await fc.assert(
      fc.asyncProperty(publishes, fc.integer({ min: 50_000, max: 500_000 }), async (batches, maxBytes) => {
        const log = await openLog(maxBytes);
        let lastSeq = 0;
        for (const batch of batches) {
          const outcome = await log.publish(batch.map(event), undefined, keeping(maxBytes));
          if (outcome.kind === "stored") {
            const from = lastSeq;
            lastSeq += batch.length;
            expect((await stored(log)).firstSeq).toBeLessThanOrEqual(from + 1);
          }
          const { firstSeq, lastSeq: end } = await stored(log);
          expect(end).toBe(lastSeq);
          await runDurableObjectAlarm(log);
          const left = await stored(log);
          expect(left.firstSeq).toBeGreaterThanOrEqual(firstSeq);
          const segments = await runInDurableObject(log, (_: TopicLog, { storage }) =>
            Number(storage.sql.exec(`SELECT count(*) AS n FROM segment`).one()["n"]),
          );
          // The alarm that is set then may take a page of its own.
          if (segments > 1) expect(await sizeOf(log)).toBeLessThanOrEqual(maxBytes + 4096);
        }
        await log.destroy();
      }),
      { numRuns: runs(3) },
    );
  });
});
