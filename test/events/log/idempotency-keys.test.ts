import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, it, vi } from "vitest";
import { logOf } from "../../../src/events/log/client.ts";
import type { TopicLog } from "../../../src/events/log/topic-log.do.ts";
import type { Once } from "../../../src/events/log/types.ts";
import { LOG } from "../../../src/events/model/limits.ts";
import { unique } from "../../support/platform/unique.ts";
import { KEPT } from "../support/events-app.ts";
import { itAtNight } from "../../support/model-runs.ts";

/** Size of idempotency keys in a log, and which keys are removed when they take too much. */
type Log = DurableObjectStub<TopicLog>;
afterEach(() => void vi.useRealTimers());

const MAX_BYTES = 1_000_000;
const keeping = (maxBytes: number) => ({ ageMs: KEPT.ageMs, maxBytes });
const event = { text: `"payload":"p"}`, payloadBytes: 1 };
const uuidLike = (at: number) => `0b1c9a52-6f0e-4b8e-9d6b-${String(at).padStart(12, "0")}`;
const once = (key: string): Once => ({ key, digest: key.padEnd(64, "d"), expiresAtMs: undefined });

/** A log whose clock is stopped: alarms come only when a test runs them. */
async function openLog(maxBytes = MAX_BYTES): Promise<Log> {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 86_400_000 });
  const log = logOf(env.TOPIC_LOG, { owner: "proj.app", eventType: unique("keys"), incarnation: "i", shards: 1 }, 0);
  await log.init(0, keeping(maxBytes));
  return log;
}
/** Publishes once with each key, a millisecond apart. Returns the ids of each. */
const fill = (log: Log, keys: readonly string[], events = [event], maxBytes = MAX_BYTES) =>
  runInDurableObject(log, (instance: TopicLog) =>
    keys.map((key) => {
      vi.setSystemTime(Date.now() + 1);
      const outcome = instance.publish(events, once(key), keeping(maxBytes));
      return outcome.kind === "stored" ? [...outcome.ids] : outcome.kind;
    }),
  );
interface Stored {
  readonly keys: string[];
  readonly counted: number;
  readonly bytes: number;
  readonly pages: number;
}
const stored = (log: Log): Promise<Stored> =>
  runInDurableObject(log, (_: TopicLog, { storage: { sql } }) => {
    const rows = sql.exec<{ key: string; digest: string; ids: string }>(
      `SELECT * FROM publish_key ORDER BY expires_at`,
    );
    const keys: string[] = [];
    let bytes = 0;
    for (const { key, digest, ids } of rows) {
      keys.push(key);
      bytes += 2 * key.length + digest.length + ids.length + 64;
    }
    const counted = sql.exec<{ key_bytes: number }>(`SELECT key_bytes FROM log`).one().key_bytes;
    return { keys, counted, bytes, pages: sql.databaseSize };
  });
const alarmOf = (log: Log) => runInDurableObject(log, (_: TopicLog, { storage }) => storage.getAlarm());

itAtNight("drops the oldest keys of many small publishes, keeps their events, and refuses nothing", async () => {
  const maxBytes = 400_000;
  const log = await openLog(maxBytes);
  const keys = Array.from({ length: 1_600 }, (_, at) => uuidLike(at));
  const ids = await fill(log, keys, [event], maxBytes);
  expect(ids.filter((of) => typeof of === "string")).toEqual([]);
  const after = await stored(log);
  expect(after.counted).toBe(after.bytes);
  expect(after.bytes).toBeLessThanOrEqual(maxBytes * LOG.keysPart);
  expect(after.bytes).toBeGreaterThan(maxBytes * LOG.keysPart * 0.98);
  // The newest of them, without a gap.
  expect(after.keys).toEqual(keys.slice(-after.keys.length));
  expect(await log.stats()).toMatchObject({ firstSeq: 1, lastSeq: keys.length });
  expect(after.pages).toBeLessThan(maxBytes);
  expect(await alarmOf(log)).toBeGreaterThan(Date.now() + 86_000_000);
  await evictDurableObject(log);
  expect(await log.publish([event], once(keys.at(-1)!), keeping(maxBytes))).toMatchObject({ ids: ids.at(-1) });
  expect(await log.publish([event], once(keys[0]!), keeping(maxBytes))).not.toMatchObject({ ids: ids[0] });
});

it("removes several small keys for one of many events, never that key; its ids come back unchanged", async () => {
  const log = await openLog();
  await fill(
    log,
    Array.from({ length: 700 }, (_, at) => uuidLike(at)),
  );
  const before = await stored(log);
  const many = Array.from({ length: 1000 }, () => event);
  const [ids] = await fill(log, ["many"], many);
  const after = await stored(log);
  expect(after.keys.at(-1)).toBe("many");
  expect(before.keys.length - after.keys.length).toBeGreaterThan(50);
  expect(before.keys.length - after.keys.length).toBeLessThan(300);
  expect(after.bytes).toBeLessThanOrEqual(MAX_BYTES * LOG.keysPart);
  expect(ids).toHaveLength(1000);
  expect(await log.publish(many, once("many"), keeping(MAX_BYTES))).toMatchObject({ ids });
});

it("removes surplus keys by the alarm, a step at a time, after the maximum was lowered", async () => {
  const log = await openLog(KEPT.maxBytes);
  await fill(
    log,
    Array.from({ length: 1_500 }, (_, at) => uuidLike(at)),
    [event],
    KEPT.maxBytes,
  );
  await fill(log, ["last"], [event], MAX_BYTES / 4);
  const left = [(await stored(log)).keys.length];
  while ((await alarmOf(log)) === Date.now()) {
    await runDurableObjectAlarm(log);
    left.push((await stored(log)).keys.length);
  }
  expect(left.slice(0, 2)).toEqual([1_501 - LOG.rowsTrimmedAStep, 1_501 - 2 * LOG.rowsTrimmedAStep]);
  const { bytes, counted, keys } = await stored(log);
  expect([keys.at(-1), counted]).toEqual(["last", bytes]);
  expect(bytes).toBeLessThanOrEqual((MAX_BYTES / 4) * LOG.keysPart);
  expect(bytes).toBeGreaterThan((MAX_BYTES / 4) * LOG.keysPart * 0.98);
});

it("does not count a surplus key again after a publish or the alarm removed it, or it was reused", async () => {
  const log = await openLog();
  await fill(log, ["a", "b", "c", "d"]);
  vi.setSystemTime(Date.now() + 86_400_000);
  await fill(log, ["d"]);
  let now = await stored(log);
  expect([now.keys, now.counted]).toEqual([["a", "b", "c", "d"], now.bytes]);
  vi.setSystemTime(Date.now() + LOG.keyGraceMs);
  await fill(log, ["e"]);
  now = await stored(log);
  expect([now.keys, now.counted]).toEqual([["c", "d", "e"], now.bytes]);
  await runDurableObjectAlarm(log);
  now = await stored(log);
  expect([now.keys, now.counted]).toEqual([["d", "e"], now.bytes]);
});
