import { RestorableObject } from "../../platform/storage/restorable-object.do.ts";
import { systemClock } from "../../platform/runtime/clock.ts";
import { createLog, describeError } from "../../platform/runtime/log.ts";
import type { ImportOutcome, ImportPlace } from "../../platform/storage/object-import.ts";
import { systemRandom } from "../../platform/runtime/random.ts";
import { LOG } from "../model/limits.ts";
import { LogAlarm } from "./alarm.ts";
import { ConsumerTable } from "./consumer-table.ts";
import { newEventIds } from "./event-id.ts";
import type { OwnTenant } from "./hidden-ids.ts";
import { clearedAtMs, expiryOf, IdempotencyKeys } from "./idempotency-keys.ts";
import { notifySubscribers } from "./notifier.ts";
import { ResetTable } from "./resets.ts";
import { LogRetention } from "./retention.ts";
import { createLogTables, logExists, readLog } from "./schema.ts";
import { SegmentTable } from "./segment-table.ts";
import { idOf, packSegments, unpackSegment, type NewEvent, type Segment } from "./segments.ts";
import { SubscriberTable } from "./subscriber-table.ts";
import type { Subscriber } from "./subscriber.ts";
import { readTenant, type TenantRead } from "./tenant-segments.ts";
import { exportEvents, exportRegister, importLogPage, type EventsPage, type RegisterPage } from "./transfer.ts";
import { WaitingReaders } from "./waiting-readers.ts";
import type {
  Gone,
  LogStats,
  PeekFrom,
  PeekOutcome,
  Once,
  Place,
  PublishOutcome,
  ReadOutcome,
  Retention,
} from "./types.ts";

/**
 * The events of one shard of a topic, in publishing order: append-only, in SQLite.
 *
 * States: absent → open, only by `init` or an import (transfer.ts); open → closed, by `close`; any → absent, by
 * `destroy`. A log that is not open answers "gone", so an isolate that still caches a deleted topic cannot revive it. A
 * closed log still lists the topic's consumers, so that they can be removed.
 *
 * No method has an `await` between its first read and its last write, so calls do not interleave. The runtime stores
 * the writes of one turn together, the alarm included, and sends the response only after they are on disk.
 *
 * The alarm (alarm.ts) removes expired events (retention.ts) and keys, and wakes push subscriptions (notifier.ts). The
 * runtime repeats an interrupted alarm. A finished one checks all work again in the same turn in which it sets the next
 * alarm.
 */
export class TopicLog extends RestorableObject<LogEnv> {
  readonly #sql = this.ctx.storage.sql;
  readonly #segments = new SegmentTable(this.#sql);
  readonly #retention = new LogRetention(this.#sql, this.#segments);
  readonly #keys = new IdempotencyKeys(this.#sql);
  readonly #subscribers = new SubscriberTable(this.#sql);
  readonly #readers = new WaitingReaders(this.ctx);
  readonly #resets = new ResetTable(this.#sql);
  readonly #consumers = new ConsumerTable(this.#sql);
  readonly #alarm = new LogAlarm(this.ctx, () => Math.min(this.#trimDueMs(), this.#wakeDueMs()));
  #tail: Tail | undefined = this.#load();

  /** Opens an absent log. Changes nothing if the log exists, open or closed. */
  init(shard: number, retention: Retention): void {
    if (this.#exists()) return;
    createLogTables(this.ctx.storage, shard, retention);
    this.#retention.load(retention);
    this.#tail = { shard, seq: 0, createdAtMs: 0 };
  }

  /**
   * Stores all events or none. With `once`, a repeat of the same request returns the first ids again. `retention` is
   * the deployment's current rule, `trace` the `traceparent` of the publish.
   */
  publish(events: readonly NewEvent[], once: Once | undefined, retention: Retention, trace?: string): PublishOutcome {
    const tail = this.#tail;
    if (tail === undefined) return GONE;
    const nowMs = systemClock.nowMs();
    const earlier = once === undefined ? undefined : this.#keys.find(once, nowMs);
    if (earlier !== undefined)
      return earlier.isSame
        ? { kind: "stored", ids: earlier.ids, keyExpiresAtMs: earlier.expiresAtMs, isRepeat: true }
        : { kind: "key_used" };
    const isOtherRule = this.#retention.isOther(retention);
    if (isOtherRule) this.#retention.change(retention);
    if (this.#retention.isOver()) this.ctx.storage.transactionSync(() => this.#retention.trim(nowMs, tail.seq));
    if (this.#retention.isFull()) {
      this.#alarm.runBy(0);
      return { kind: "full" };
    }
    const key = once === undefined ? undefined : { ...once, expiresAtMs: expiryOf(once, nowMs) };
    // Never earlier than the previous event: readers merge shards and search by this time.
    const createdAtMs = Math.max(nowMs, tail.createdAtMs);
    const firstSeq = tail.seq + 1;
    const ids = newEventIds(events.length, tail.shard, firstSeq, systemRandom);
    const segments = packSegments({ events, ids, firstSeq, createdAtMs, trace }, LOG.segmentChars);
    const store = (): void => {
      for (const segment of segments) this.#segments.append(segment);
      if (key !== undefined) {
        this.#keys.clear(nowMs, LOG.keysClearedAPublish);
        this.#keys.remember(key, ids, retention.maxBytes);
      }
    };
    // A single statement is atomic already, and a savepoint costs almost as much as a small publish.
    if (segments.length === 1 && key === undefined) store();
    else this.ctx.storage.transactionSync(store);
    for (const segment of segments) this.#retention.stored(segment.events.length);
    const { seq } = (this.#tail = { ...tail, seq: tail.seq + events.length, createdAtMs });
    this.#readers.wake();
    const isDue = isOtherRule || this.#retention.isOver();
    const trimDueMs = Math.min(createdAtMs + retention.ageMs, clearedAtMs(key?.expiresAtMs ?? Infinity));
    this.#alarm.runBy(isDue ? 0 : Math.min(trimDueMs, this.#subscribers.dueMs(seq, nowMs)));
    return { kind: "stored", ids, keyExpiresAtMs: key?.expiresAtMs };
  }

  /**
   * The same for a Worker: the runtime passes texts and numbers faster than objects, which is 6 % of a small publish.
   * `texts` has a text in each line, `sizes` numbers between commas. If all is stored, and without a key, the answer is
   * the ids, with commas too.
   */
  append(
    texts: string,
    sizes: string,
    ageMs: number,
    maxBytes: number,
    once?: Once,
    trace?: string,
  ): string | PublishOutcome {
    const payloadBytes = sizes.split(",");
    // A request may store nothing here but its key.
    const lines = texts === "" ? [] : texts.split("\n");
    const events = lines.map((text, index) => ({ text, payloadBytes: Number(payloadBytes[index]) }));
    const outcome = this.publish(events, once, { ageMs, maxBytes }, trace);
    return outcome.kind === "stored" && once === undefined ? outcome.ids.join(",") : outcome;
  }

  /** Lets a reader wait for the next event by a WebSocket (waiting-readers.ts). */
  override async fetch(request: Request): Promise<Response> {
    return this.#readers.answer(request, this.#tail?.seq);
  }

  /** Does the due work, a step at a time. Never throws, since the runtime gives up after several failures. */
  override async alarm(): Promise<void> {
    if (!this.#alarm.begin()) return;
    let isTrimmed = true;
    const trim = () => void (isTrimmed &&= attempt(() => this.#trim()));
    trim();
    try {
      const wake = async (name: string) => this.env.PUSH_SUBSCRIPTION.getByName(name).wake();
      await notifySubscribers({ subscribers: this.#subscribers, endSeq: () => this.#tail?.seq, wake }, trim);
    } finally {
      this.#alarm.end();
    }
    if (this.#tail === undefined) return;
    let trimDueMs = systemClock.nowMs() + LOG.trimRetryMs;
    if (isTrimmed) attempt(() => (trimDueMs = this.#trimDueMs()));
    this.#alarm.set(Math.min(trimDueMs, this.#wakeDueMs()));
  }

  /**
   * Reads whole segments after `afterSeq`: at least `minEvents` events unless the log ends or `maxChars` is reached,
   * and more up to `aheadChars`. Returns at least one segment if any follows.
   */
  read(afterSeq: number, minEvents: number, aheadChars: number, maxChars: number): ReadOutcome {
    if (this.#tail === undefined) return GONE;
    const segments: Segment[] = [];
    const { seq: lastSeq } = this.#tail;
    const resets = this.#resets.all;
    if (afterSeq >= lastSeq) return { kind: "segments", segments, endSeq: lastSeq, atEnd: true, resets };
    let chars = 0;
    let endSeq = afterSeq;
    for (const segment of this.#segments.from(afterSeq + 1)) {
      if (chars >= maxChars || (chars >= aheadChars && endSeq - afterSeq >= minEvents))
        return { kind: "segments", segments, endSeq, atEnd: false, lastSeq, resets };
      segments.push(segment);
      chars += segment.events.length;
      endSeq = segment.lastSeq;
    }
    return { kind: "segments", segments, endSeq: lastSeq, atEnd: true, resets };
  }

  /** Reads one tenant's events after a position. */
  readTenant(own: OwnTenant, asked: TenantRead): ReadOutcome {
    if (this.#tail === undefined) return GONE;
    const found = readTenant(this.#segments.from(asked.afterSeq + 1), this.#tail.seq, own, asked);
    return { ...found, resets: this.#resets.all };
  }

  /** Reads from a position or a time on, for a reader without a cursor. */
  peek(from: PeekFrom, minEvents: number, maxChars: number): PeekOutcome {
    const afterSeq = "afterSeq" in from ? from.afterSeq : this.positionBefore(from.fromMs);
    if (afterSeq === "gone") return GONE;
    const read = this.read(afterSeq, minEvents, 0, maxChars);
    return read.kind === "gone" ? read : { ...read, afterSeq };
  }

  /**
   * When an event was published. For a position that retention removed, a time older than every event still kept.
   * "unknown" if another event has this position, or if none ever had it.
   */
  timeOf(seq: number, id: string): number | "unknown" | "gone" {
    if (this.#tail === undefined) return "gone";
    if (seq > this.#tail.seq) return "unknown";
    const [segment] = this.#segments.from(seq);
    if (segment === undefined || segment.firstSeq > seq) return this.#retention.trimmedUpToMs(systemClock.nowMs());
    const [event] = unpackSegment(segment, seq - 1);
    return idOf(event!.text) === id ? segment.createdAtMs : "unknown";
  }

  stats(): LogStats | Gone {
    if (this.#tail === undefined) return GONE;
    const oldest = this.#segments.placeFrom(0);
    const { seq, createdAtMs } = this.#tail;
    const bytes = this.#sql.databaseSize;
    if (oldest === undefined) return { kind: "stats", firstSeq: seq + 1, lastSeq: seq, bytes };
    const times = { oldestAtMs: oldest.createdAtMs, newestAtMs: createdAtMs };
    return { kind: "stats", firstSeq: oldest.firstSeq, lastSeq: seq, ...times, bytes };
  }

  /**
   * The position before the oldest event, of the newest event, or before the first event at or after a time.
   */
  positionBefore(place: Place): number | "gone" {
    if (this.#tail === undefined) return "gone";
    const { seq } = this.#tail;
    if (place === "newest") return seq;
    return place === "oldest" ? this.#segments.positionBeforeOldest(seq) : this.#segments.positionBefore(place, seq);
  }

  /** Registers a consumer by name, so that deleting the topic finds it. */
  addConsumer(name: string): "added" | "gone" {
    if (this.#tail === undefined) return "gone";
    this.#consumers.add(name);
    return "added";
  }

  /** Registers consumers that a restore took from the log. */
  addConsumers(names: readonly string[]): void {
    if (this.#tail !== undefined) for (const name of names) this.#consumers.add(name);
  }

  /** Registers a consumer unless there are `most` others whose names have this prefix. */
  addNamedConsumer(name: string, beginning: string, most: number): "added" | "full" | "gone" {
    if (this.#tail === undefined) return "gone";
    const names = this.#consumers.listNamed(beginning, most);
    return names.length >= most && !names.includes(name) ? "full" : this.addConsumer(name);
  }

  forgetConsumers(names: readonly string[]): void {
    if (this.#exists()) for (const name of names) this.#consumers.remove(name);
  }

  /** Some of the consumers' names; empty for an absent log. */
  consumers(limit: number): string[] {
    return this.#exists() ? this.#consumers.list(limit) : [];
  }

  /** Some of the consumers' names after `name`, in order. */
  consumersAfter(name: string, limit: number): string[] {
    return this.#tail === undefined ? [] : this.#consumers.listAfter(name, limit);
  }

  /** Some of the consumers' names with this prefix, in order. */
  consumersNamed(beginning: string, limit: number): string[] | "gone" {
    return this.#tail === undefined ? "gone" : this.#consumers.listNamed(beginning, limit);
  }

  /** Registers a push subscription by its object's name. Returns the end of this log, where it starts. */
  addSubscriber(name: string): number | "gone" {
    if (this.#tail === undefined) return "gone";
    this.#subscribers.add(name, this.#tail.seq);
    return this.#tail.seq;
  }

  removeSubscribers(names: readonly string[]): void {
    if (this.#exists()) for (const name of names) this.#subscribers.remove(name);
  }

  /** Some of the push subscriptions' object names; empty for an absent log. */
  subscribers(limit: number): string[] {
    return this.#exists() ? this.#subscribers.list(limit) : [];
  }

  /** Exports consumers, push subscriptions and idempotency keys. */
  exportRegister(after: string | undefined): RegisterPage | Gone {
    return this.#tail === undefined ? GONE : exportRegister(this.#sql, this.#tail, after);
  }

  /** Exports events after a position. */
  exportEvents(afterSeq: number): EventsPage | Gone {
    return this.#tail === undefined ? GONE : exportEvents(this.#sql, this.#tail, afterSeq);
  }

  /** Imports a page into an absent log. The last page opens the log. */
  importPage(place: ImportPlace, page: RegisterPage | EventsPage): ImportOutcome {
    const outcome = importLogPage(this.ctx.storage, place, page);
    if (outcome !== "imported" || !place.isLast) return outcome;
    this.#tail = this.#load();
    this.#resets.forget();
    this.#alarm.runBy(0);
    return outcome;
  }

  /**
   * Opens an absent log if needed, and records a reset: cursors beyond its end go back to it (resets.ts). `subscribers`
   * are all push subscriptions, which are woken. Sets the alarm too, since an earlier state may come without one.
   */
  reset(id: string, shard: number, retention: Retention, subscribers: readonly string[] = []): "reset" | "gone" {
    this.init(shard, retention);
    if (this.#tail === undefined) return "gone";
    this.#resets.add(id, this.#tail.seq);
    for (const name of subscribers) this.#subscribers.rouse(name);
    this.#readers.wake();
    this.#alarm.runBy(0);
    return "reset";
  }

  /** Ends publishing, reading and waking. */
  async close(): Promise<void> {
    if (this.#tail === undefined) return;
    this.#sql.exec(`UPDATE log SET closed = 1`);
    this.#end();
    await this.#alarm.cancel();
  }

  /** Removes everything, the alarm too. Later calls get "gone". */
  async destroy(): Promise<void> {
    this.#end();
    await Promise.all([this.#alarm.cancel(), this.ctx.storage.deleteAll()]);
  }

  /** Ends all work of the open log. Only its deletion writes afterwards. */
  #end(): void {
    this.#tail = undefined;
    this.#subscribers.unload();
    this.#resets.forget();
    this.#readers.wake();
  }

  #exists(): boolean {
    return logExists(this.#sql);
  }

  #load(): Tail | undefined {
    if (!this.#exists()) return undefined;
    const { shard, isClosed, retention, trimmed } = readLog(this.#sql);
    if (isClosed) return undefined;
    this.#retention.load(retention);
    this.#subscribers.load();
    const newest = this.#segments.newest();
    return {
      shard,
      seq: newest?.lastSeq ?? trimmed.seq,
      createdAtMs: newest?.createdAtMs ?? trimmed.createdAtMs,
    };
  }

  /** Removes a step of expired or surplus data. */
  #trim(): void {
    const tail = this.#tail;
    const nowMs = systemClock.nowMs();
    if (tail === undefined || (!this.#retention.isOver() && this.#trimDueMs() > nowMs)) return;
    this.ctx.storage.transactionSync(() => {
      this.#retention.trim(nowMs, tail.seq);
      this.#keys.trim(nowMs, this.#retention.maxBytes);
    });
  }

  #trimDueMs(): number {
    if (this.#tail === undefined) return Infinity;
    return Math.min(this.#retention.dueMs(this.#tail.seq), this.#keys.dueMs(this.#retention.maxBytes));
  }

  #wakeDueMs(): number {
    return this.#tail === undefined ? Infinity : this.#subscribers.dueMs(this.#tail.seq, systemClock.nowMs());
  }
}

export interface LogEnv {
  readonly PUSH_SUBSCRIPTION: DurableObjectNamespace<Subscriber>;
}

/** Identity and end of the log, kept in memory. */
interface Tail {
  readonly shard: number;
  readonly seq: number;
  readonly createdAtMs: number;
}

const GONE = { kind: "gone" } as const;

function attempt(run: () => void): boolean {
  try {
    run();
    return true;
  } catch (thrown) {
    createLog("warn").warn("log not trimmed", { error: describeError(thrown) });
    return false;
  }
}
