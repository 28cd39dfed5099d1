import { hasTable } from "../../platform/storage/has-table.ts";
import type { ObjectSchema } from "../../platform/storage/object-schema.ts";
import type { Retention } from "./types.ts";

/** Approximate size of a row of `publish_key`; the key is in the index too. */
export const KEY_BYTES = `(2 * length(key) + length(digest) + length(ids) + 64)`;

/**
 * The tables of a topic log.
 *
 * - `log`: one row. `retention_ms` and `max_bytes`: see retention.ts. `trimmed_*`: the last position that retention
 *   removed, and its time; an empty log ends there.
 * - `segment`: see segments.ts and segment-table.ts.
 * - `consumer`: the names of the topic's consumers, in the log of the first shard only.
 * - `publish_key`: idempotency keys of the last 24 hours; `log.key_bytes` is their size. See idempotency-keys.ts.
 * - `subscriber`: see subscriber-table.ts.
 * - `reset`: see resets.ts. Most logs have no such table.
 */
export const LOG_SCHEMA: ObjectSchema = { object: "TopicLog", table: "log", version: 1 };
const TABLES = [
  `CREATE TABLE log (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    schema_version INTEGER NOT NULL,
    shard INTEGER NOT NULL,
    closed INTEGER NOT NULL DEFAULT 0,
    retention_ms INTEGER NOT NULL,
    max_bytes INTEGER NOT NULL,
    key_bytes INTEGER NOT NULL DEFAULT 0,
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
  `CREATE TABLE subscriber (name TEXT PRIMARY KEY, woken_seq INTEGER NOT NULL) STRICT, WITHOUT ROWID`,
];

export const logExists = (sql: SqlStorage): boolean => hasTable(sql, "log");

/** Creates the tables of a log that does not exist. */
export function createLogTables(storage: DurableObjectStorage, shard: number, retention: Retention): void {
  storage.transactionSync(() => {
    for (const statement of TABLES) storage.sql.exec(statement);
    storage.sql.exec(
      `INSERT INTO log (id, schema_version, shard, retention_ms, max_bytes, trimmed_seq, trimmed_at)
        VALUES (1, ${LOG_SCHEMA.version}, ?, ?, ?, 0, 0)`,
      shard,
      retention.ageMs,
      retention.maxBytes,
    );
  });
}

/** Reads the row of a log that exists. */
export function readLog(sql: SqlStorage): StoredLog {
  const row = sql
    .exec<LogRow>(
      `SELECT shard, closed = 1 AS isClosed, retention_ms AS ageMs, max_bytes AS maxBytes, trimmed_seq AS seq,
        trimmed_at AS createdAtMs FROM log`,
    )
    .one();
  const { shard, isClosed, ageMs, maxBytes, seq, createdAtMs } = row;
  return { shard, isClosed: isClosed === 1, retention: { ageMs, maxBytes }, trimmed: { seq, createdAtMs } };
}

interface StoredLog {
  readonly shard: number;
  readonly isClosed: boolean;
  readonly retention: Retention;
  readonly trimmed: { readonly seq: number; readonly createdAtMs: number };
}

interface LogRow extends Record<string, SqlStorageValue> {
  shard: number;
  isClosed: number;
  ageMs: number;
  maxBytes: number;
  seq: number;
  createdAtMs: number;
}
