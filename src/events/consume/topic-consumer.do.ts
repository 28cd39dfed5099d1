import { DurableObject } from "cloudflare:workers";
import { systemClock } from "../../platform/clock.ts";
import { toBase64Url } from "../../platform/encoding.ts";
import { systemRandom } from "../../platform/random.ts";
import { shownTo } from "../access/reader.ts";
import { askLog, askLogs } from "../log/client.ts";
import type { Position } from "../log/event-id.ts";
import type { TopicLog } from "../log/topic-log.do.ts";
import type { Place } from "../log/types.ts";
import { READ } from "../model/limits.ts";
import { shardsOf, type TopicAddress } from "../model/topic.ts";
import { begunAt, ConsumerRow, newRecord, type ConsumerRecord } from "./consumer-row.ts";
import { countBatch, deliveryCount } from "./delivery-counts.ts";
import {
  cursorAfter,
  commit,
  extend,
  lockedForMs,
  release,
  repeated,
  seek,
  acquire,
  type ConsumerState,
  type KeyedLock,
  type LockChange,
} from "./lock.ts";
import type { Taken } from "./prefetch-buffer.ts";
import { Prefetch } from "./prefetch.ts";
import { replay, type Replay } from "./replay.ts";
import type { ConsumerReadOutcome, LockOutcome, ReadRequest, SeekOutcome } from "./types.ts";

/**
 * One reader on one topic: its cursor, its lock and how its last batches ended, in one row.
 *
 * The states and transitions stand in lock.ts. What this object adds is that they hold under parallel calls, lost
 * answers and eviction:
 * - Reads take turns. A read that waits for the log holds the turn; the others wait and decide afterwards, so of many
 *   parallel reads exactly one gets the batch. A repeat changes nothing, so it waits for the logs beside them.
 * - Between choosing a batch and writing the row there is no `await`, and the runtime sends no answer before the row is
 *   on disk. Evicted before that, nothing happened; evicted after it, the lock holds, and when it expires the same
 *   events are read again, since the cursor did not move.
 * - A log that fails or is slow leaves no lock: nothing was written yet. Who finds nothing meanwhile is asked to come
 *   again at once, a few times, and then later.
 * - A commit whose answer was lost can be repeated: it is told `already_committed`. A read whose answer was lost can be
 *   repeated if it came with a key.
 */
export class TopicConsumer extends DurableObject<ConsumerEnv> {
  readonly #row = new ConsumerRow(this.ctx.storage.sql);
  #record: ConsumerRecord | undefined = this.#row.load();
  #prefetch = new Prefetch();
  /** Whether the topic knows this consumer: before anything is stored here, so that deleting the topic finds it. */
  #registered = this.#record !== undefined;
  /** Of reads, seeks and the end. */
  readonly #mutex = new Mutex();
  /** Reads that ever arrived: says whether a look at the logs began after a read came. */
  #arrivals = 0;
  /** Reads that had arrived when a registration that failed began: none of them tries it again. */
  #unregisteredArrivals = 0;
  /** Registrations in a row that failed. */
  #unregistered = 0;
  /** The batch that is read again right now: repeats at once share it, since each could be some megabytes. */
  #again: { readonly token: string; readonly left: Promise<Replay> } | undefined;

  async read(request: ReadRequest): Promise<ConsumerReadOutcome> {
    const arrival = ++this.#arrivals;
    for (;;) {
      const outcome = await this.#mutex.run(() => this.#readInTurn(request, arrival));
      if (outcome.kind !== "repeat") return outcome;
      const { token, keyed } = outcome.lock;
      const left = await this.#replay(request, outcome);
      if (left.kind !== "left") return left;
      // Other calls ran meanwhile: what is not held any more is no answer.
      if (this.#holds(token))
        return { kind: "batch", events: left.events, token, attempt: keyed.attempt, lost: lostTo(request, left.lost) };
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

  /** Moves the cursor, unless the topic is locked. */
  seek(topic: TopicAddress, consumer: string, to: Place): Promise<SeekOutcome> {
    return this.#mutex.run(async () => {
      const registered = await this.#register(topic, consumer);
      if (registered !== "registered") return { kind: registered };
      const answers = await askLogs(this.env.TOPIC_LOG, topic, shardsOf(topic), async (log): Promise<number | "gone"> =>
        log.positionBefore(to),
      );
      const cursor: number[] = [];
      for (const answer of answers) {
        if (answer === undefined) return { kind: "failed" };
        if (answer === "gone") return { kind: "gone" };
        cursor.push(answer);
      }
      const record = this.#record ?? newRecord(topic.shards);
      const lockedMs = lockedForMs(record.state, systemClock.nowMs());
      if (lockedMs > 0) return { kind: "locked", retryAfterMs: lockedMs };
      // What was handed out before counts no more: from here on the client reads as if for the first time.
      this.#save({ ...newRecord(topic.shards), state: seek(record.state, cursor, READ.outcomes) });
      return { kind: "done" };
    });
  }

  /** Forgets everything: the topic is being deleted. Waits for a read that is on its way, which would write after it. */
  destroy(): Promise<void> {
    return this.#mutex.run(async () => {
      this.#record = undefined;
      this.#registered = false;
      this.#prefetch = new Prefetch();
      await this.ctx.storage.deleteAll();
    });
  }

  /** For each shard the position of the last event that was committed; undefined when nothing was ever read. */
  position(): readonly number[] | undefined {
    return this.#record?.state.cursor;
  }

  async #readInTurn(request: ReadRequest, arrival: number): Promise<ConsumerReadOutcome | Repeat> {
    const { topic, numEvents } = request;
    const { buffer } = this.#prefetch;
    const limits = { maxEvents: numEvents, maxPayloadBytes: READ.maxPayloadBytes, maxChars: READ.maxAnswerChars };
    for (let looks = 0; ; looks++) {
      // Decided anew after each look: other calls ran meanwhile.
      const stored = this.#record ?? newRecord(topic.shards);
      const inTheWay = inTheWayOf(request, stored.state, systemClock.nowMs());
      if (inTheWay !== undefined) return inTheWay;
      if (!this.#registered && arrival <= this.#unregisteredArrivals) return this.#cannotSay();
      const kept = this.#prefetch.align(stored.state.cursor);
      if (buffer.count < numEvents && !(kept && (looks > 0 || this.#prefetch.toldAll(arrival)))) {
        const filled = await this.#prefetch.fill(
          this.env.TOPIC_LOG,
          topic,
          limits,
          this.#arrivals,
          shownTo(request, request.topic),
        );
        if (filled === "gone") return { kind: "gone" };
        continue;
      }
      // Who comes again after "more" goes on behind what it is not shown.
      if (this.#prefetch.isCut && buffer.count === 0) buffer.passOver();
      const record = begunAt(buffer.cursor, stored);
      // Of a client that finds nothing, too, it is kept where it began: so it learns what it missed when it comes again.
      const hasNews = buffer.count > 0 || (record !== stored && !this.#prefetch.failed);
      if (hasNews && !this.#registered) {
        const registered = await this.#register(topic, request.consumer);
        if (registered === "gone") return { kind: "gone" };
        if (registered === "failed") return this.#cannotSay();
        continue;
      }
      const taken = buffer.take(limits);
      if (taken !== undefined) return this.#handOut(request, record, taken);
      if (this.#prefetch.keepsFailing) return { kind: "failed" };
      if (hasNews) this.#save(record);
      return { kind: "empty", more: this.#prefetch.failed || this.#prefetch.isCut, lost: lostTo(request, buffer.lost) };
    }
  }

  /** Writes what the answer will say. The prefetch buffer begins behind the batch now; should the write fail, it is aligned anew. */
  #handOut(request: ReadRequest, record: ConsumerRecord, taken: Taken): ConsumerReadOutcome {
    const { batch, first, lost } = taken;
    const { autoCommit, ttlMs, numEvents, key } = request;
    const attempt = deliveryCount(record.handouts[first.shard]!, first.seq) + 1;
    const nonce = toBase64Url(systemRandom.bytes(NONCE_BYTES));
    const keyed = key === undefined ? undefined : { key, numEvents, ttlMs, attempt };
    const given = { batch, autoCommit, ttlMs, nonce, keyed };
    const state = acquire(record.state, given, systemClock.nowMs(), READ.outcomes);
    const upTo = cursorAfter(record.state.cursor, batch);
    const handouts = record.handouts.map((known, shard) =>
      upTo[shard]! > record.state.cursor[shard]! ? countBatch(known, upTo[shard]!, READ.handoutSteps) : known,
    );
    this.#save({ state, handouts });
    this.#prefetch.shrink();
    const events = taken.texts.join(",");
    return { kind: "batch", events, token: state.lock?.token, attempt, lost: lostTo(request, lost) };
  }

  async #register(topic: TopicAddress, consumer: string): Promise<"registered" | "gone" | "failed"> {
    if (this.#registered) return "registered";
    const arrivals = this.#arrivals;
    const answer = await askLog(this.env.TOPIC_LOG, topic, 0, async (log): Promise<"added" | "gone"> =>
      log.addConsumer(consumer),
    );
    if (answer === undefined) {
      this.#unregisteredArrivals = arrivals;
      this.#unregistered += 1;
      return "failed";
    }
    this.#unregistered = 0;
    if (answer === "gone") return "gone";
    this.#registered = true;
    return "registered";
  }

  /** There may be events, which this client does not get while the topic cannot be told of it. */
  #cannotSay(): ConsumerReadOutcome {
    return this.#unregistered > READ.failedLooks ? { kind: "failed" } : { kind: "empty", more: true, lost: 0 };
  }

  #replay(request: ReadRequest, { cursor, lock }: Repeat): Promise<Replay> {
    const { token } = lock;
    if (this.#again?.token === token) return this.#again.left;
    const left = replay(this.env.TOPIC_LOG, request.topic, cursor, lock.batch, shownTo(request, request.topic)).finally(
      () => {
        if (this.#again?.token === token) this.#again = undefined;
      },
    );
    this.#again = { token, left };
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

/** Of what retention removed nothing says whose it was: who is shown one tenant's events is told nothing of it. */
const lostTo = ({ onlyTenant }: ReadRequest, lost: number): number => (onlyTenant === undefined ? lost : 0);

/** What keeps a read from taking a batch; undefined when nothing does. */
function inTheWayOf(
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

/** The read that took this lock came again; its batch begins behind `cursor`. */
interface Repeat {
  readonly kind: "repeat";
  readonly cursor: readonly number[];
  readonly lock: KeyedLock;
}

interface ConsumerEnv {
  readonly TOPIC_LOG: DurableObjectNamespace<TopicLog>;
}

const NONCE_BYTES = 16;

/** Runs what may wait one after the other: nothing of its kind comes between its first look and its last write. */
class Mutex {
  /** Resolves when the one that runs now is done. */
  #running: Promise<void> | undefined;

  async run<T>(work: () => Promise<T>): Promise<T> {
    while (this.#running !== undefined) await this.#running;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#running = promise;
    try {
      return await work();
    } finally {
      this.#running = undefined;
      resolve();
    }
  }
}
