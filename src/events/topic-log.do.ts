import { DurableObject } from "cloudflare:workers";
import { systemClock } from "../platform/clock.ts";
import { createLog, describeError } from "../platform/log.ts";
import { systemRandom } from "../platform/random.ts";
import { newEventIds } from "./event-id.ts";
import { LOG } from "./limits.ts";
import { clearedAtMs, expiryOf, PublishKeys } from "./publish-keys.ts";
import { packSegments, unpackSegment, type NewEvent, type Segment } from "./segments.ts";
import {
  SCHEMA,
  SCHEMA_VERSION,
  SEGMENTS_FROM,
  SEGMENT_PLACE_FROM,
  toSegment,
  upgradeFrom,
  type LogRow,
  type SegmentPlace,
  type SegmentRow,
  type Tail,
} from "./topic-log-schema.ts";
import { TopicSubscribers } from "./topic-subscribers.ts";
import type { Gone, LogStats, LookOutcome, Once, Place, PublishOutcome, ReadOutcome } from "./topic-log.ts";

/**
 * The events of one shard of one topic, in the order in which they were published: append-only, in SQLite.
 *
 * States: absent → open, by `init` alone; open → closed, by `close`; any → absent, by `destroy`. A log that is not open
 * answers "gone", so an isolate that remembers a deleted topic cannot bring it back to life. A closed one still knows the
 * topic's consumers, so that they can be removed.
 *
 * Every method runs without an `await` between its first look and its last write, so calls do not interleave, and the
 * runtime holds the answer back until what it wrote is on disk.
 */
export class TopicLog extends DurableObject {
  readonly #sql = this.ctx.storage.sql;
  #tail: Tail | undefined = this.#load();
  readonly #keys = new PublishKeys(this.#sql);
  readonly #subscribers = new TopicSubscribers(this.#sql);
  /** When the alarm that this instance set is due; one set before it woke is set again, which costs a row. */
  #alarmAtMs = Infinity;

  /** Opens the log; one that is open stays as it is. Events are kept for `retentionMs`. */
  init(shard: number, retentionMs: number): void {
    if (this.#exists()) return;
    this.ctx.storage.transactionSync(() => {
      for (const statement of SCHEMA) this.#sql.exec(statement);
      this.#sql.exec(
        `INSERT INTO log (id, schema_version, shard, retention_ms, trimmed_seq, trimmed_at) VALUES (1, ?, ?, ?, 0, 0)`,
        SCHEMA_VERSION,
        shard,
        retentionMs,
      );
    });
    this.#tail = { shard, retentionMs, seq: 0, createdAtMs: 0 };
  }

  /**
   * Stores all of the events or none. With `once`, a repeat of the same request gives the ids that it gave first.
   * `retentionMs` is the deployment's variable as it is now.
   */
  publish(events: readonly NewEvent[], once: Once | undefined, retentionMs: number): PublishOutcome {
    const tail = this.#tail;
    if (tail === undefined) return GONE;
    const nowMs = systemClock.nowMs();
    const earlier = once === undefined ? undefined : this.#keys.find(once, nowMs);
    if (earlier !== undefined)
      return earlier.digest === once?.digest
        ? { kind: "stored", ids: earlier.ids, keyExpiresAtMs: earlier.expiresAtMs }
        : { kind: "key_used" };
    const key = once === undefined ? undefined : { ...once, expiresAtMs: expiryOf(once, nowMs) };
    // Never before the event in front of it: readers merge shards by this time and search by it.
    const createdAtMs = Math.max(nowMs, tail.createdAtMs);
    const ids = newEventIds(events.length, tail.shard, tail.seq + 1, systemRandom);
    const segments = packSegments(events, ids, tail.seq + 1, createdAtMs, LOG.segmentChars);
    this.ctx.storage.transactionSync(() => {
      for (const segment of segments) this.#append(segment);
      if (key !== undefined) {
        this.#keys.clear(nowMs, LOG.keysClearedAPublish);
        this.#keys.remember(key, ids);
      }
      if (retentionMs !== tail.retentionMs) this.#sql.exec(`UPDATE log SET retention_ms = ?`, retentionMs);
    });
    this.#tail = { ...tail, retentionMs, seq: tail.seq + events.length, createdAtMs };
    const dueMs = Math.min(createdAtMs + retentionMs, clearedAtMs(key?.expiresAtMs ?? Infinity));
    if (dueMs < this.#alarmAtMs || retentionMs !== tail.retentionMs) this.#wakeWhenDue(retentionMs);
    return { kind: "stored", ids, keyExpiresAtMs: key?.expiresAtMs };
  }

  /**
   * Retention: removes what is too old, some rows at a time, and wakes again when the next row is due. It never
   * throws, since the runtime gives up after some failures: it tries again later.
   */
  override alarm(): void {
    this.#alarmAtMs = Infinity;
    const tail = this.#tail;
    if (tail === undefined) return;
    try {
      this.ctx.storage.transactionSync(() => this.#trim(systemClock.nowMs() - tail.retentionMs));
      this.#wakeWhenDue(tail.retentionMs);
    } catch (thrown) {
      createLog("warn").warn("retention failed", { shard: tail.shard, error: describeError(thrown) });
      this.#wakeAt(systemClock.nowMs() + LOG.trimRetryMs);
    }
  }

  /**
   * What follows position `afterSeq`, in whole segments: at least `minEvents` events unless the log ends before or
   * `maxChars` are reached, and more of them up to `aheadChars`. At least one segment when there is one.
   */
  read(afterSeq: number, minEvents: number, aheadChars: number, maxChars: number): ReadOutcome {
    if (this.#tail === undefined) return GONE;
    const segments: Segment[] = [];
    const { seq: lastSeq } = this.#tail;
    if (afterSeq >= lastSeq) return { kind: "segments", segments, endSeq: lastSeq, atEnd: true };
    let chars = 0;
    let endSeq = afterSeq;
    for (const row of this.#sql.exec<SegmentRow>(SEGMENTS_FROM, afterSeq + 1)) {
      if (chars >= maxChars || (chars >= aheadChars && endSeq - afterSeq >= minEvents))
        return { kind: "segments", segments, endSeq, atEnd: false };
      segments.push(toSegment(row));
      chars += row.events.length;
      endSeq = row.last_seq;
    }
    return { kind: "segments", segments, endSeq: lastSeq, atEnd: true };
  }

  /** What follows a position, or what is of a time or later; for a reader without a cursor. */
  look(
    from: { readonly afterSeq: number } | { readonly fromMs: number },
    minEvents: number,
    maxChars: number,
  ): LookOutcome {
    const afterSeq = "afterSeq" in from ? from.afterSeq : this.positionBefore(from.fromMs);
    if (afterSeq === "gone") return GONE;
    const read = this.read(afterSeq, minEvents, 0, maxChars);
    return read.kind === "gone" ? read : { ...read, afterSeq };
  }

  /**
   * When an event was published; of a position that retention passed, up to when it removed, so that nothing that is to
   * be kept lies before it. "unknown" when another event has this position, or none was ever there.
   */
  timeOf(seq: number, id: string): number | "unknown" | "gone" {
    if (this.#tail === undefined) return "gone";
    if (seq > this.#tail.seq) return "unknown";
    const row = this.#sql.exec<SegmentRow>(`${SEGMENTS_FROM} LIMIT 1`, seq).toArray()[0];
    if (row === undefined || row.first_seq > seq)
      return this.#sql.exec<{ trimmed_at: number }>(`SELECT trimmed_at FROM log`).one().trimmed_at;
    const [event] = unpackSegment(toSegment(row), seq - 1);
    return event!.text.startsWith(`{"id":"${id}"`) ? row.created_at : "unknown";
  }

  stats(): LogStats | Gone {
    if (this.#tail === undefined) return GONE;
    const oldest = this.#segmentFrom(0);
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

  /** Remembers a client that reads the topic: the log of the first shard keeps them for all. */
  addConsumer(clientId: string): "added" | "gone" {
    if (this.#tail === undefined) return "gone";
    this.#sql.exec(`INSERT OR IGNORE INTO consumer (client_id) VALUES (?)`, clientId);
    return "added";
  }

  /** Some of the clients that read the topic; none of an absent log. */
  consumers(limit: number): string[] {
    if (!this.#exists()) return [];
    return this.#sql
      .exec<{ client_id: string }>(`SELECT client_id FROM consumer ORDER BY client_id LIMIT ?`, limit)
      .toArray()
      .map((row) => row.client_id);
  }

  forgetConsumers(clientIds: readonly string[]): void {
    if (!this.#exists()) return;
    for (const clientId of clientIds) this.#sql.exec(`DELETE FROM consumer WHERE client_id = ?`, clientId);
  }

  /** Remembers a push subscription, by its object's name; gives the end of this log, behind which it begins. */
  addSubscriber(name: string): number | "gone" {
    if (this.#tail === undefined) return "gone";
    this.#subscribers.add(name, this.#tail.seq);
    return this.#tail.seq;
  }

  removeSubscriber(name: string): void {
    if (this.#exists()) this.#subscribers.remove(name);
  }

  /** Some of the push subscriptions, by their objects' names; none of an absent log. */
  subscribers(limit: number): string[] {
    return this.#exists() ? this.#subscribers.list(limit) : [];
  }

  /** Ends publishing and reading. */
  close(): void {
    if (this.#tail === undefined) return;
    this.#sql.exec(`UPDATE log SET closed = 1`);
    this.#tail = undefined;
  }

  /** Removes everything; whatever is asked afterwards is told "gone". */
  async destroy(): Promise<void> {
    this.#tail = undefined;
    await this.ctx.storage.deleteAll();
  }

  #exists(): boolean {
    return this.#sql.exec(`SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'log'`).toArray().length > 0;
  }

  #load(): Tail | undefined {
    if (!this.#exists()) return undefined;
    const log = this.#sql
      .exec<LogRow>(`SELECT schema_version, shard, closed, retention_ms, trimmed_seq, trimmed_at FROM log WHERE id = 1`)
      .one();
    this.ctx.storage.transactionSync(() => {
      for (const statement of upgradeFrom(log.schema_version)) this.#sql.exec(statement);
    });
    if (log.closed === 1) return undefined;
    const last = this.#sql
      .exec<SegmentPlace>(`SELECT first_seq, last_seq, created_at FROM segment ORDER BY first_seq DESC LIMIT 1`)
      .toArray()[0];
    return {
      shard: log.shard,
      retentionMs: log.retention_ms,
      seq: last?.last_seq ?? log.trimmed_seq,
      createdAtMs: last?.created_at ?? log.trimmed_at,
    };
  }

  /** Removes a step of what was published up to a time. What the end of the log was is kept when nothing else is left. */
  #trim(upToMs: number): void {
    const old = this.#sql
      .exec<SegmentPlace>(
        `SELECT first_seq, last_seq, created_at FROM segment ORDER BY first_seq LIMIT ${LOG.rowsTrimmedAStep}`,
      )
      .toArray()
      .findLast((segment) => segment.created_at <= upToMs);
    if (old !== undefined) {
      this.#sql.exec(`DELETE FROM segment WHERE first_seq <= ?`, old.first_seq);
      this.#sql.exec(`UPDATE log SET trimmed_seq = ?, trimmed_at = ?`, old.last_seq, old.created_at);
    }
    this.#keys.clear(systemClock.nowMs(), LOG.rowsTrimmedAStep);
  }

  /** Wakes the object when the oldest segment or idempotency key is due; not at all when there is none. */
  #wakeWhenDue(retentionMs: number): void {
    const segment = this.#segmentFrom(0);
    const dueMs = Math.min((segment?.created_at ?? Infinity) + retentionMs, this.#keys.dueMs());
    if (dueMs !== Infinity) this.#wakeAt(dueMs);
  }

  #wakeAt(timeMs: number): void {
    this.#alarmAtMs = timeMs;
    this.ctx.waitUntil(this.ctx.storage.setAlarm(timeMs));
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
}

const GONE = { kind: "gone" } as const;
