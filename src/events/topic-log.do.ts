import { DurableObject } from "cloudflare:workers";
import { systemClock } from "../platform/clock.ts";
import { systemRandom } from "../platform/random.ts";
import { newEventIds } from "./event-id.ts";
import { LOG, PUBLISH } from "./limits.ts";
import { packSegments, type NewEvent, type Segment } from "./segments.ts";

/**
 * The events of one shard of one topic, in the order in which they were published: append-only, in SQLite.
 *
 * States: absent → open, by `init` alone; open → absent, by `destroy`. An absent log stores nothing and answers "gone"
 * to everything, so an isolate that remembers a deleted topic cannot bring it back to life.
 *
 * Every method runs without an `await` between its first look and its last write, so calls do not interleave, and the
 * runtime holds the answer back until what it wrote is on disk.
 */
export class TopicLog extends DurableObject {
  readonly #sql = this.ctx.storage.sql;
  #tail: Tail | undefined = this.#load();

  /** Opens the log; one that is open stays as it is. */
  init(shard: number): void {
    if (this.#tail !== undefined) return;
    this.ctx.storage.transactionSync(() => {
      for (const statement of SCHEMA) this.#sql.exec(statement);
      this.#sql.exec(`INSERT INTO log (id, schema_version, shard) VALUES (1, ?, ?)`, SCHEMA_VERSION, shard);
    });
    this.#tail = { shard, seq: 0, createdAtMs: 0 };
  }

  /** Stores all of the events or none. With `once`, a repeat of the same request gives the ids that it gave first. */
  publish(events: readonly NewEvent[], once: Once | undefined): PublishOutcome {
    const tail = this.#tail;
    if (tail === undefined) return GONE;
    const nowMs = systemClock.nowMs();
    const earlier = once === undefined ? undefined : this.#earlier(once.key, nowMs);
    if (earlier !== undefined)
      return earlier.digest === once?.digest
        ? { kind: "stored", ids: JSON.parse(earlier.ids) as string[] }
        : { kind: "key_used" };
    // Never before the event in front of it: readers merge shards by this time and search by it.
    const createdAtMs = Math.max(nowMs, tail.createdAtMs);
    const ids = newEventIds(events.length, tail.shard, tail.seq + 1, systemRandom);
    const segments = packSegments(events, ids, tail.seq + 1, createdAtMs, LOG.segmentChars);
    this.ctx.storage.transactionSync(() => {
      for (const segment of segments) this.#append(segment);
      if (once !== undefined) this.#remember(once, ids, nowMs);
    });
    this.#tail = { ...tail, seq: tail.seq + events.length, createdAtMs };
    return { kind: "stored", ids };
  }

  /**
   * What follows position `afterSeq`, in whole segments: at least `minEvents` events unless the log ends before or
   * `maxChars` are reached, and more of them up to `aheadChars`. At least one segment when there is one.
   */
  read(afterSeq: number, minEvents: number, aheadChars: number, maxChars: number): ReadOutcome {
    if (this.#tail === undefined) return GONE;
    const segments: Segment[] = [];
    let chars = 0;
    let endSeq = afterSeq;
    if (afterSeq < this.#tail.seq) {
      for (const row of this.#sql.exec<SegmentRow>(SEGMENTS_FROM, afterSeq + 1)) {
        if (chars >= maxChars || (chars >= aheadChars && endSeq - afterSeq >= minEvents)) break;
        segments.push(toSegment(row));
        chars += row.events.length;
        endSeq = row.last_seq;
      }
    }
    return { kind: "segments", segments, atEnd: endSeq >= this.#tail.seq };
  }

  stats(): LogStats | Gone {
    if (this.#tail === undefined) return GONE;
    const oldest = this.#sql
      .exec<{ first_seq: number; created_at: number }>(
        `SELECT first_seq, created_at FROM segment ORDER BY first_seq LIMIT 1`,
      )
      .toArray()[0];
    const { seq, createdAtMs } = this.#tail;
    if (oldest === undefined) return { kind: "stats", firstSeq: seq + 1, lastSeq: seq };
    const times = { oldestAtMs: oldest.created_at, newestAtMs: createdAtMs };
    return { kind: "stats", firstSeq: oldest.first_seq, lastSeq: seq, ...times };
  }

  /** The position in front of the oldest event, behind the newest one, or in front of the first one of a time or later. */
  positionBefore(place: Place): number | "gone" {
    if (this.#tail === undefined) return "gone";
    if (place === "newest") return this.#tail.seq;
    let lastBefore = (this.#segmentFrom(0)?.first_seq ?? this.#tail.seq + 1) - 1;
    if (place === "oldest") return lastBefore;
    // Times never run backwards along the log, so halving finds the place without an index on them.
    let lastCandidate = this.#tail.seq;
    while (lastBefore < lastCandidate) {
      const segment = this.#segmentFrom(Math.ceil((lastBefore + lastCandidate) / 2))!;
      if (segment.created_at < place) lastBefore = segment.last_seq;
      else lastCandidate = segment.first_seq - 1;
    }
    return lastBefore;
  }

  /** Removes everything; whatever is asked afterwards is told "gone". */
  async destroy(): Promise<void> {
    this.#tail = undefined;
    await this.ctx.storage.deleteAll();
  }

  #load(): Tail | undefined {
    const exists = this.#sql.exec(`SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'log'`).toArray();
    if (exists.length === 0) return undefined;
    const { shard } = this.#sql.exec<{ shard: number }>(`SELECT shard FROM log WHERE id = 1`).one();
    const last = this.#sql
      .exec<{ last_seq: number; created_at: number }>(
        `SELECT last_seq, created_at FROM segment ORDER BY first_seq DESC LIMIT 1`,
      )
      .toArray()[0];
    return { shard, seq: last?.last_seq ?? 0, createdAtMs: last?.created_at ?? 0 };
  }

  /** The segment that holds a position, or the first one behind it. */
  #segmentFrom(seq: number): SegmentPlace | undefined {
    return this.#sql.exec<SegmentPlace>(SEGMENT_PLACE_FROM, seq).toArray()[0];
  }

  #append(segment: Segment): void {
    const { firstSeq, lastSeq, createdAtMs, payloadBytes, events } = segment;
    this.#sql.exec(
      `INSERT INTO segment (first_seq, last_seq, created_at, payload_bytes, events) VALUES (?, ?, ?, ?, ?)`,
      firstSeq,
      lastSeq,
      createdAtMs,
      payloadBytes,
      events,
    );
  }

  #earlier(key: string, nowMs: number): { digest: string; ids: string } | undefined {
    return this.#sql
      .exec<{ digest: string; ids: string }>(
        `SELECT digest, ids FROM publish_key WHERE key = ? AND expires_at > ?`,
        key,
        nowMs,
      )
      .toArray()[0];
  }

  #remember(once: Once, ids: readonly string[], nowMs: number): void {
    this.#sql.exec(
      `DELETE FROM publish_key WHERE key IN
        (SELECT key FROM publish_key WHERE expires_at <= ? ORDER BY expires_at LIMIT ${LOG.keysClearedAPublish})`,
      nowMs,
    );
    this.#sql.exec(
      `INSERT OR REPLACE INTO publish_key (key, digest, ids, expires_at) VALUES (?, ?, ?, ?)`,
      once.key,
      once.digest,
      JSON.stringify(ids),
      nowMs + PUBLISH.idempotencyMs,
    );
  }
}

/** A number is a time in milliseconds. */
export type Place = "oldest" | "newest" | number;

/** An `Idempotency-Key` and what it was sent with. */
export interface Once {
  readonly key: string;
  readonly digest: string;
}

export interface Gone {
  readonly kind: "gone";
}

export type PublishOutcome =
  | { readonly kind: "stored"; readonly ids: readonly string[] }
  /** The key came before with another request. */
  | { readonly kind: "key_used" }
  | Gone;

export type ReadOutcome =
  | { readonly kind: "segments"; readonly segments: readonly Segment[]; readonly atEnd: boolean }
  | Gone;

export interface LogStats {
  readonly kind: "stats";
  /** Position of the oldest stored event, `lastSeq + 1` when none is stored. */
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly oldestAtMs?: number;
  readonly newestAtMs?: number;
}

/** The end of the log, kept in memory. */
interface Tail {
  readonly shard: number;
  readonly seq: number;
  readonly createdAtMs: number;
}

const GONE = { kind: "gone" } as const;

const SCHEMA_VERSION = 1;
const SCHEMA = [
  `CREATE TABLE log (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    schema_version INTEGER NOT NULL,
    shard INTEGER NOT NULL
  ) STRICT`,
  `CREATE TABLE segment (
    first_seq INTEGER PRIMARY KEY,
    last_seq INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    payload_bytes TEXT NOT NULL,
    events TEXT NOT NULL
  ) STRICT`,
  `CREATE TABLE publish_key (
    key TEXT PRIMARY KEY,
    digest TEXT NOT NULL,
    ids TEXT NOT NULL,
    expires_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID`,
  `CREATE INDEX publish_key_by_expiry ON publish_key (expires_at)`,
];

/** From the segment that holds a position on: it may begin before it. */
const FROM_POSITION = `FROM segment
  WHERE first_seq >= coalesce((SELECT max(first_seq) FROM segment WHERE first_seq <= ?1), 0) ORDER BY first_seq`;
const SEGMENTS_FROM = `SELECT first_seq, last_seq, created_at, payload_bytes, events ${FROM_POSITION}`;
const SEGMENT_PLACE_FROM = `SELECT first_seq, last_seq, created_at ${FROM_POSITION} LIMIT 1`;

interface SegmentPlace extends Record<string, SqlStorageValue> {
  first_seq: number;
  last_seq: number;
  created_at: number;
}

interface SegmentRow extends SegmentPlace {
  payload_bytes: string;
  events: string;
}

const toSegment = (row: SegmentRow): Segment => ({
  firstSeq: row.first_seq,
  lastSeq: row.last_seq,
  createdAtMs: row.created_at,
  payloadBytes: row.payload_bytes,
  events: row.events,
});
