import type { Segment } from "./segments.ts";

/** What version 2 added. */
const SINCE_2 = [`CREATE TABLE subscriber (name TEXT PRIMARY KEY, woken_seq INTEGER NOT NULL) STRICT, WITHOUT ROWID`];

/**
 * The tables of a topic log, and how its rows are read.
 *
 * - `log`: one row. `trimmed_*` is the last segment that retention removed: the end of a log that is empty now.
 * - `segment`: see segments.ts. `created_at` never falls as `first_seq` grows.
 * - `consumer`: clients that read the topic, in the first shard's log alone.
 * - `publish_key`: idempotency keys of the last 24 hours.
 * - `subscriber`: see topic-subscribers.ts.
 */
export const SCHEMA_VERSION = 2;
export const SCHEMA = [
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
];

/** What brings a log of an older version to this one. */
export const upgradeFrom = (version: number): readonly string[] =>
  version >= SCHEMA_VERSION ? [] : [...SINCE_2, `UPDATE log SET schema_version = ${SCHEMA_VERSION}`];

/** From the segment that holds a position on: it may begin before it. */
const FROM_POSITION = `FROM segment
  WHERE first_seq >= coalesce((SELECT max(first_seq) FROM segment WHERE first_seq <= ?1), 0) ORDER BY first_seq`;
export const SEGMENTS_FROM = `SELECT first_seq, last_seq, created_at, payload_bytes, events ${FROM_POSITION}`;
export const SEGMENT_PLACE_FROM = `SELECT first_seq, last_seq, created_at ${FROM_POSITION} LIMIT 1`;

export interface LogRow extends Record<string, SqlStorageValue> {
  schema_version: number;
  shard: number;
  closed: number;
  retention_ms: number;
  trimmed_seq: number;
  trimmed_at: number;
}

export interface SegmentPlace extends Record<string, SqlStorageValue> {
  first_seq: number;
  last_seq: number;
  created_at: number;
}

export interface SegmentRow extends SegmentPlace {
  payload_bytes: string;
  events: string;
}

export const toSegment = (row: SegmentRow): Segment => ({
  firstSeq: row.first_seq,
  lastSeq: row.last_seq,
  createdAtMs: row.created_at,
  payloadBytes: row.payload_bytes,
  events: row.events,
});

/** What a log is and where it ends, kept in memory. */
export interface Tail {
  readonly shard: number;
  readonly retentionMs: number;
  readonly seq: number;
  readonly createdAtMs: number;
}
