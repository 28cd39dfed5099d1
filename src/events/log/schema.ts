import { hasTable } from "../../platform/has-table.ts";
import { LOG } from "../model/limits.ts";
import type { Retention } from "./types.ts";

/** What a row of `publish_key` takes, about: its key is in the index too. */
export const KEY_BYTES = `(2 * length(key) + length(digest) + length(ids) + 64)`;

/** What version 2 added. The maximum of an older log holds until something is published. */
const SINCE_2 = [
  `CREATE TABLE subscriber (name TEXT PRIMARY KEY, woken_seq INTEGER NOT NULL) STRICT, WITHOUT ROWID`,
  `ALTER TABLE log ADD COLUMN max_bytes INTEGER NOT NULL DEFAULT ${LOG.usualMaxBytes}`,
];
/** What version 3 added. */
const SINCE_3 = [
  `ALTER TABLE log ADD COLUMN key_bytes INTEGER NOT NULL DEFAULT 0`,
  `UPDATE log SET key_bytes = (SELECT coalesce(sum(${KEY_BYTES}), 0) FROM publish_key)`,
];

/**
 * The tables of a topic log, and how its rows are read.
 *
 * - `log`: one row. `retention_ms` and `max_bytes`: see retention.ts. `trimmed_*` is the last segment that it
 *   removed: the end of a log that is empty now.
 * - `segment`: see segments.ts and segment-table.ts.
 * - `consumer`: the names of the topic's consumers; in the first shard's log alone.
 * - `publish_key`: idempotency keys of the last 24 hours; `key_bytes` of the log is what they take. See idempotency.ts.
 * - `subscriber`: see subscriber-table.ts.
 */
const SCHEMA_VERSION = 3;
const SCHEMA = [
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
  ...SINCE_2,
  ...SINCE_3,
];

export const logExists = (sql: SqlStorage): boolean => hasTable(sql, "log");

/** Makes the tables of a log that does not exist. */
export function createLogTables(storage: DurableObjectStorage, shard: number, retention: Retention): void {
  storage.transactionSync(() => {
    for (const statement of SCHEMA) storage.sql.exec(statement);
    storage.sql.exec(
      `INSERT INTO log (id, schema_version, shard, retention_ms, max_bytes, trimmed_seq, trimmed_at)
        VALUES (1, ${SCHEMA_VERSION}, ?, ?, ?, 0, 0)`,
      shard,
      retention.ageMs,
      retention.maxBytes,
    );
  });
}

/** What is stored of a log that exists, brought to this version. */
export function readLog(storage: DurableObjectStorage): StoredLog {
  const { sql } = storage;
  const { schema_version } = sql.exec<{ schema_version: number }>(`SELECT schema_version FROM log`).one();
  if (schema_version < SCHEMA_VERSION)
    storage.transactionSync(() => {
      for (const statement of schema_version < 2 ? [...SINCE_2, ...SINCE_3] : SINCE_3) sql.exec(statement);
      sql.exec(`UPDATE log SET schema_version = ?`, SCHEMA_VERSION);
    });
  const row = sql.exec<LogRow>(`SELECT shard, closed, retention_ms, max_bytes, trimmed_seq, trimmed_at FROM log`).one();
  return {
    shard: row.shard,
    isClosed: row.closed === 1,
    retention: { ageMs: row.retention_ms, maxBytes: row.max_bytes },
    trimmed: { seq: row.trimmed_seq, createdAtMs: row.trimmed_at },
  };
}

interface StoredLog {
  readonly shard: number;
  readonly isClosed: boolean;
  readonly retention: Retention;
  readonly trimmed: { readonly seq: number; readonly createdAtMs: number };
}

interface LogRow extends Record<string, SqlStorageValue> {
  shard: number;
  closed: number;
  retention_ms: number;
  max_bytes: number;
  trimmed_seq: number;
  trimmed_at: number;
}
