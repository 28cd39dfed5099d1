import { RestorableObject } from "../../platform/storage/restorable-object.do.ts";
import { systemClock } from "../../platform/runtime/clock.ts";
import { toBase64Url } from "../../platform/text/encoding.ts";
import { createLog } from "../../platform/runtime/log.ts";
import { PAGE_FORMAT, takePage, type ImportOutcome, type ImportPlace } from "../../platform/storage/object-import.ts";
import { Mutex } from "../../platform/runtime/mutex.ts";
import { systemRandom } from "../../platform/runtime/random.ts";
import { tenantFilter } from "../access/reader.ts";
import type { Position } from "../log/event-id.ts";
import type { TopicLog } from "../log/topic-log.do.ts";
import type { Place } from "../log/types.ts";
import { READ } from "../model/limits.ts";
import { shardsOf, type TopicAddress } from "../model/topic.ts";
import {
  withStartPositions,
  ConsumerRow,
  newRecord,
  rewound,
  encodeRecord,
  type ConsumerPage,
  type ConsumerRecord,
  type Rewind,
} from "./consumer-row.ts";
import { countBatch, deliveryCount } from "./delivery-counts.ts";
import {
  cursorAfter,
  commit,
  extend,
  lockedForMs,
  release,
  repeated,
  seek,
  withoutLock,
  acquire,
  type ConsumerState,
  type KeyedLock,
  type LockChange,
} from "./lock.ts";
import type { AnswerLimits, Taken } from "./prefetch-buffer.ts";
import { Prefetch } from "./prefetch.ts";
import { Registration, unregister } from "./registration.ts";
import { findPlace } from "./sought.ts";
import { replay, type Replay } from "./replay.ts";
import type { ConsumerReadOutcome, GivenBack, LockOutcome, ReadRequest, SeekOutcome } from "./types.ts";

/**
 * One reader on one topic: its cursor, its lock and how its last batches ended, in one row.
 *
 * lock.ts has the states and transitions. This object makes them hold under parallel calls, lost responses and
 * eviction:
 * - Reads take turns. A read that waits for the log keeps its turn, and the others decide after it, so exactly one of
 *   many parallel reads gets the batch. A repeat changes nothing, so it waits for the logs outside a turn.
 * - No `await` lies between choosing a batch and writing the row, and the runtime responds only after the row is on
 *   disk. If the object is evicted before the write, nothing happened. If it is evicted after it, the lock holds; when
 *   it expires, the same events are read again, since the cursor did not move.
 * - A log that fails or is slow leaves no lock, since nothing was written. A read that then finds nothing gets
 *   `rel="more"` a few times in a row, and after that 503.
 * - If a log was reset to an earlier position (log/resets.ts), the cursor goes back there, so no new event is missed.
 * - A commit whose response was lost can be repeated; it gets `already_committed`. A read whose response was lost can
 *   be repeated if it had a key.
 */
export class TopicConsumer extends RestorableObject<ConsumerEnv> {
  readonly #row = new ConsumerRow(this.ctx.storage.sql);
  #record: ConsumerRecord | undefined = this.#row.load();
  #prefetch = new Prefetch();
  readonly #registration = new Registration(this.#record !== undefined);
  /** Serializes reads, seeks and the deletion. */
  readonly #mutex = new Mutex();
  /** Number of reads that arrived. Comparing it tells whether a fetch started after a read arrived. */
  #arrivals = 0;
  /** The batch being read again. Parallel repeats share it, since each could take several megabytes. */
  #replaying: { readonly token: string; readonly left: Promise<Replay> } | undefined;

  /** Token of the last batch that a repeated read got. */
  #repeatedToken: string | undefined;

  async read(request: ReadRequest): Promise<ConsumerReadOutcome> {
    const arrival = ++this.#arrivals;
    for (;;) {
      const outcome = await this.#mutex.run(() => this.#readInTurn(request, arrival));
      if (outcome.kind !== "repeat") return outcome;
      const { token, keyed } = outcome.lock;
      this.#repeatedToken = token;
      const left = await this.#replay(request, outcome);
      if (left.kind !== "left") return left;
      // A repeat returns the whole batch, so it fails with 503 until the caller has enough memory for it.
      if (left.events.length > Math.max(mostChars(request), READ.maxEventChars)) return { kind: "failed" };
      // Other calls ran during the replay, so respond only if the lock still holds.
      if (this.#holds(token))
        return {
          kind: "batch",
          events: left.events,
          token,
          attempt: keyed.attempt,
          lost: visibleLoss(request, left.lost),
        };
    }
  }

  commit(token: string): LockOutcome {
    return this.#changeLock((state, nowMs) => commit(state, token, nowMs, READ.outcomes));
  }

  extend(token: string, ttlMs: number): LockOutcome {
    return this.#changeLock((state, nowMs) => extend(state, token, ttlMs, nowMs));
  }

  release(token: string, through: Position | undefined): LockOutcome {
    return this.#changeLock((state, nowMs) => release(state, token, through, nowMs, READ.outcomes));
  }

  /** Releases a batch whose reader has left, unless a repeat with the same key asked for it since. */
  giveBack(token: string): GivenBack {
    return this.#repeatedToken === token ? { kind: "kept" } : this.release(token, undefined);
  }

  /** Moves the cursor unless the topic is locked. */
  seek(topic: TopicAddress, consumer: string, to: Place): Promise<SeekOutcome> {
    return this.#mutex.run(async () => {
      const registered = await this.#register(topic, consumer);
      if (registered !== "registered") return { kind: registered };
      const place = await findPlace(this.env.TOPIC_LOG, topic, to);
      if (typeof place === "string") return { kind: place };
      const { cursor, seenResets } = place;
      const record = this.#record ?? newRecord(topic.shards);
      const lockedMs = lockedForMs(record.state, systemClock.nowMs());
      if (lockedMs > 0) return { kind: "locked", retryAfterMs: lockedMs };
      // A seek resets the delivery counts, since a count starts at the cursor.
      this.#prefetch = new Prefetch();
      const sought = { ...newRecord(topic.shards), state: seek(record.state, cursor, READ.outcomes) };
      this.#save(seenResets.every((seen) => seen === null) ? sought : { ...sought, seenResets });
      return { kind: "done" };
    });
  }

  /** Deletes everything because the topic is being deleted. Waits for a running read, which might write afterwards. */
  destroy(): Promise<void> {
    return this.#mutex.run(() => this.#forget());
  }

  /**
   * Deletes everything at the client's request, and then the name in the topic's log. A crash in between leaves an
   * empty object that the log still knows, and the request can be repeated.
   */
  remove(topic: TopicAddress, consumer: string): Promise<"removed" | "failed"> {
    return this.#mutex.run(async () => {
      await this.#forget();
      return unregister(this.env.TOPIC_LOG, topic, consumer);
    });
  }

  /** Position of each shard's last committed event; undefined if nothing was ever read. */
  position(): readonly number[] | undefined {
    return this.#record?.state.cursor;
  }

  /** Exports the record without its lock, so a restored consumer reads the locked batch again. */
  exportPage(): ConsumerPage | { readonly kind: "gone" } {
    if (this.#record === undefined) return { kind: "gone" };
    const { state, counts, seenResets } = this.#record;
    const record: ConsumerRecord = { state: withoutLock(state, READ.outcomes), counts, seenResets };
    return { kind: "consumer", format: PAGE_FORMAT, record: encodeRecord(record) };
  }

  /** Imports the page of another consumer into an empty one. The import of the topic's log brings the name. */
  importPage(place: ImportPlace, page: ConsumerPage): Promise<ImportOutcome> {
    return this.#mutex.run(async () => {
      const outcome = takePage(this.ctx.storage, place, page, this.#record === undefined, () =>
        this.#row.import(page.record),
      );
      if (outcome === "imported") {
        this.#record = this.#row.load();
        this.#registration.imported();
        this.#prefetch = new Prefetch();
      }
      return outcome;
    });
  }

  /** Fetches and registers until the read can be answered. Decides anew after each wait, since other calls ran then. */
  async #readInTurn(request: ReadRequest, arrival: number): Promise<ConsumerReadOutcome | Repeat> {
    const { topic, numEvents } = request;
    const limits = { maxEvents: numEvents, maxPayloadBytes: READ.maxPayloadBytes, maxChars: mostChars(request) };
    for (let waits = 0; ; waits++) {
      const { buffer } = this.#prefetch;
      const stored = this.#record ?? newRecord(topic.shards);
      const inTheWay = obstacleTo(request, stored.state, systemClock.nowMs());
      if (inTheWay !== undefined) return inTheWay;
      if (this.#registration.hasFailedFor(arrival)) return this.#registration.failedOutcome();
      const isAligned = this.#prefetch.align(stored.state.cursor);
      const isComplete = isAligned && (waits > 0 || this.#prefetch.isCompleteFor(arrival));
      if (buffer.count < numEvents && !isComplete) {
        const failure = await this.#fetch(request, limits, stored.seenResets);
        if (failure !== undefined) return failure;
        continue;
      }
      // The next read continues after the events that this reader is not shown.
      if (this.#prefetch.isCut && buffer.count === 0) buffer.skipToEnd();
      const record = this.#withStart(stored, topic);
      // Store the start position even if the read was empty, so the next read can report lost events.
      const mustStore = buffer.count > 0 || (record !== stored && !this.#prefetch.failed);
      if (mustStore && !this.#registration.isKnown) {
        const failure = await this.#registerReader(request);
        if (failure !== undefined) return failure;
        continue;
      }
      const taken = buffer.take(limits);
      if (taken !== undefined) return this.#deliver(request, record, taken);
      if (this.#prefetch.keepsFailing) return { kind: "failed" };
      if (mustStore) this.#save(record);
      return this.#nothing(request, record);
    }
  }

  /** Fetches from the logs, and goes back in those that were reset. Returns the response if that fails. */
  async #fetch(
    request: ReadRequest,
    limits: AnswerLimits,
    seenResets: ConsumerRecord["seenResets"],
  ): Promise<ConsumerReadOutcome | undefined> {
    const { topic } = request;
    const own = tenantFilter(request, topic);
    const filled = await this.#prefetch.fill(this.env.TOPIC_LOG, topic, limits, this.#arrivals, own, seenResets);
    if (filled === "gone") return { kind: "gone" };
    if (filled === "filled") return undefined;
    // The log that was reset may have lost this consumer's entry.
    this.#registration.forget();
    const failure = await this.#registerReader(request);
    if (failure === undefined) this.#rewind(topic, filled);
    return failure;
  }

  /** Registers the consumer. Returns the response if that fails. */
  async #registerReader({ topic, consumer }: ReadRequest): Promise<ConsumerReadOutcome | undefined> {
    const registered = await this.#register(topic, consumer);
    if (registered === "registered") return undefined;
    return registered === "gone" ? { kind: "gone" } : this.#registration.failedOutcome();
  }

  /** The record with a position for each shard that is read for the first time; the same one if there is none. */
  #withStart(stored: ConsumerRecord, { shards }: TopicAddress): ConsumerRecord {
    const begun = withStartPositions(this.#prefetch.buffer.cursor, stored);
    if (begun === stored) return stored;
    return { ...begun, seenResets: this.#prefetch.seenResets(stored.seenResets, shards) };
  }

  #nothing(request: ReadRequest, record: ConsumerRecord): ConsumerReadOutcome {
    const { buffer, failed, isCut } = this.#prefetch;
    return {
      kind: "empty",
      more: failed || isCut,
      lost: visibleLoss(request, buffer.lost),
      upTo: shardsOf(request.topic).map((shard) => buffer.endOf(shard)),
      lag: failed ? undefined : this.#prefetch.lagBehind(record.state.cursor),
    };
  }

  /**
   * Stores the lock and builds the response. The prefetch buffer already starts after the batch. If the write fails,
   * the next read aligns it again.
   */
  #deliver(request: ReadRequest, record: ConsumerRecord, taken: Taken): ConsumerReadOutcome {
    const { batch, first, lost } = taken;
    const { autoCommit, ttlMs, numEvents, key } = request;
    const attempt = deliveryCount(record.counts[first.shard]!, first.seq) + 1;
    const nonce = toBase64Url(systemRandom.bytes(NONCE_BYTES));
    const keyed = key === undefined ? undefined : { key, numEvents, ttlMs, attempt };
    const given = { batch, autoCommit, ttlMs, nonce, keyed };
    const state = acquire(record.state, given, systemClock.nowMs(), READ.outcomes);
    const lag = this.#prefetch.lagBehind(record.state.cursor);
    const upTo = cursorAfter(record.state.cursor, batch);
    const counts = record.counts.map((known, shard) =>
      upTo[shard]! > record.state.cursor[shard]! ? countBatch(known, upTo[shard]!, READ.deliveryCountSteps) : known,
    );
    this.#save({ ...record, state, counts });
    this.#prefetch.shrink();
    const events = taken.texts.join(",");
    const count = taken.texts.length;
    return { kind: "batch", events, token: state.lock?.token, attempt, lost: visibleLoss(request, lost), count, lag };
  }

  /** Moves the cursor back in shards whose logs were reset, and drops the prefetched events. */
  #rewind({ eventType }: TopicAddress, rewinds: readonly Rewind[]): void {
    this.#prefetch = new Prefetch();
    if (this.#record === undefined) return;
    for (const { shard, position } of rewinds) {
      const from = this.#record.state.cursor[shard];
      if (from !== position) createLog("warn").warn("cursor goes back", { eventType, shard, from, to: position });
    }
    this.#save(rewound(this.#record, rewinds));
  }

  #register(topic: TopicAddress, consumer: string): Promise<"registered" | "gone" | "failed"> {
    return this.#registration.add(this.env.TOPIC_LOG, topic, consumer, this.#arrivals);
  }

  async #forget(): Promise<void> {
    this.#record = undefined;
    this.#registration.forget();
    this.#prefetch = new Prefetch();
    await this.ctx.storage.deleteAll();
  }

  #replay(request: ReadRequest, { cursor, lock }: Repeat): Promise<Replay> {
    const { token } = lock;
    if (this.#replaying?.token === token) return this.#replaying.left;
    const left = replay(
      this.env.TOPIC_LOG,
      request.topic,
      cursor,
      lock.batch,
      tenantFilter(request, request.topic),
    ).finally(() => {
      if (this.#replaying?.token === token) this.#replaying = undefined;
    });
    this.#replaying = { token, left };
    return left;
  }

  #holds(token: string): boolean {
    const state = this.#record?.state;
    return state?.lock?.token === token && lockedForMs(state, systemClock.nowMs()) > 0;
  }

  #changeLock(change: (state: ConsumerState, nowMs: number) => LockChange): LockOutcome {
    if (this.#record === undefined) return { kind: "never_read" };
    const outcome = change(this.#record.state, systemClock.nowMs());
    if (outcome.kind !== "done") return outcome;
    this.#save({ ...this.#record, state: outcome.state });
    return { kind: "done" };
  }

  #save(record: ConsumerRecord): void {
    this.#record = this.#row.save(record, this.#record === undefined);
  }
}

/** Hides the count of lost events from a reader of one tenant's events: they may have been another tenant's. */
const visibleLoss = ({ onlyTenant }: ReadRequest, lost: number): number => (onlyTenant === undefined ? lost : 0);

/** The response if the lock prevents the read; undefined if the topic is not locked. */
function obstacleTo(
  request: ReadRequest,
  state: ConsumerState,
  nowMs: number,
): ConsumerReadOutcome | Repeat | undefined {
  const lockedMs = lockedForMs(state, nowMs);
  if (lockedMs === 0) return undefined;
  const lock = repeated(state, request, nowMs);
  if (lock === "other_request") return { kind: "key_used" };
  return lock === undefined
    ? { kind: "locked", retryAfterMs: lockedMs }
    : { kind: "repeat", cursor: state.cursor, lock };
}

/** The read that took this lock was repeated. Its batch starts at `cursor`. */
interface Repeat {
  readonly kind: "repeat";
  readonly cursor: readonly number[];
  readonly lock: KeyedLock;
}

interface ConsumerEnv {
  readonly TOPIC_LOG: DurableObjectNamespace<TopicLog>;
}

const NONCE_BYTES = 16;

const mostChars = ({ maxChars = READ.maxAnswerChars }: ReadRequest): number => Math.min(maxChars, READ.maxAnswerChars);
