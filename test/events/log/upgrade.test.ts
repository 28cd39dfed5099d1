import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, it, vi } from "vitest";
import { logOf } from "../../../src/events/log/client.ts";
import type { TopicLog } from "../../../src/events/log/topic-log.do.ts";
import { unique } from "../../support/platform.ts";
import { KEPT } from "../events-app.ts";

afterEach(() => void vi.useRealTimers());

/** What version 1 made, and stored of two events, a key and a reader. */
const VERSION_1 = [
  `CREATE TABLE log (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    schema_version INTEGER NOT NULL,
    shard INTEGER NOT NULL,
    closed INTEGER NOT NULL DEFAULT 0,
    retention_ms INTEGER NOT NULL,
    trimmed_seq INTEGER NOT NULL,
    trimmed_at INTEGER NOT NULL
  ) STRICT`,
  `CREATE TABLE segment (
    first_seq INTEGER PRIMARY KEY,
    last_seq INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    payload_bytes TEXT NOT NULL,
    events TEXT NOT NULL
  ) STRICT`,
  `CREATE TABLE consumer (client_id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID`,
  `CREATE TABLE publish_key (
    key TEXT PRIMARY KEY,
    digest TEXT NOT NULL,
    ids TEXT NOT NULL,
    expires_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID`,
  `CREATE INDEX publish_key_by_expiry ON publish_key (expires_at)`,
  `INSERT INTO log (id, schema_version, shard, retention_ms, trimmed_seq, trimmed_at) VALUES (1, 1, 3, 5000, 7, 900)`,
  `INSERT INTO segment VALUES (8, 9, 1000, '1,1', '{"id":"a","payload":"x"}' || char(10) || '{"id":"b","payload":"y"}')`,
  `INSERT INTO consumer VALUES ('reader')`,
  `INSERT INTO publish_key VALUES ('k', 'd', '["a","b"]', 4102444800000)`,
];

const VERSION_2 = [
  `CREATE TABLE subscriber (name TEXT PRIMARY KEY, woken_seq INTEGER NOT NULL) STRICT, WITHOUT ROWID`,
  `ALTER TABLE log ADD COLUMN max_bytes INTEGER NOT NULL DEFAULT 8000000000`,
  `UPDATE log SET schema_version = 2`,
];

async function oldLog(...changes: string[]): Promise<DurableObjectStub<TopicLog>> {
  const log = logOf(env.TOPIC_LOG, { owner: "proj.app", eventType: unique("old"), incarnation: "i", shards: 4 }, 3);
  await runInDurableObject(log, (_: TopicLog, { storage }) => {
    for (const statement of [...VERSION_1, ...changes]) storage.sql.exec(statement);
  });
  await evictDurableObject(log);
  return log;
}
const event = { text: `"payload":"z"}`, payloadBytes: 1 };

it.each([
  [1, []],
  [2, VERSION_2],
])("a log of version %i has all that it had, and can do all that a new one can", async (_version, changes) => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2090, 0, 1) });
  const log = await oldLog(...changes);
  expect(await log.stats()).toEqual({ kind: "stats", firstSeq: 8, lastSeq: 9, oldestAtMs: 1000, newestAtMs: 1000 });
  expect(await log.read(0, 10, 0, 1e6)).toMatchObject({ segments: [{ firstSeq: 8, lastSeq: 9, payloadBytes: "1,1" }] });
  expect(await log.timeOf(9, "b")).toBe(1000);
  expect(await log.consumers(10)).toEqual(["reader"]);
  expect(await log.addSubscriber("push")).toBe(9);
  expect(await log.publish([event], { key: "k", digest: "d", expiresAtMs: undefined }, KEPT)).toMatchObject({
    ids: ["a", "b"],
  });
  expect(await log.publish([event], { key: "k", digest: "e", expiresAtMs: undefined }, KEPT)).toEqual({
    kind: "key_used",
  });
  expect(await log.publish([event], undefined, KEPT)).toMatchObject({ kind: "stored" });
  const columns = await runInDurableObject(log, (_: TopicLog, { storage }) =>
    storage.sql.exec(`SELECT schema_version, shard, retention_ms, max_bytes, key_bytes FROM log`).one(),
  );
  expect(columns).toEqual({
    schema_version: 3,
    shard: 3,
    retention_ms: KEPT.ageMs,
    max_bytes: KEPT.maxBytes,
    key_bytes: 2 + 1 + `["a","b"]`.length + 64,
  });
  // Once is enough.
  await evictDurableObject(log);
  expect(await log.stats()).toMatchObject({ lastSeq: 10 });
  expect(await log.subscribers(10)).toEqual(["push"]);
});

it("an old log trims by its own age until somebody publishes", async () => {
  const log = await oldLog();
  await runInDurableObject(log, (_: TopicLog, { storage }) => storage.setAlarm(Date.now() + 3_600_000));
  await evictDurableObject(log);
  await runDurableObjectAlarm(log);
  expect(await log.stats()).toEqual({ kind: "stats", firstSeq: 10, lastSeq: 9 });
});

it("an old log that was closed stays so, and still tells whom to remove", async () => {
  const log = await oldLog(`UPDATE log SET closed = 1`);
  expect(await log.publish([event], undefined, KEPT)).toEqual({ kind: "gone" });
  expect(await log.consumers(10)).toEqual(["reader"]);
  expect(await log.subscribers(10)).toEqual([]);
});
