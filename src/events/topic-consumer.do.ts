import { DurableObject } from "cloudflare:workers";
import { systemClock } from "../platform/clock.ts";
import { toBase64Url } from "../platform/encoding.ts";
import { createLog, describeError } from "../platform/log.ts";
import { systemRandom } from "../platform/random.ts";
import { forgetCommitted, handOut, timesHandedOut, type Handouts } from "./handouts.ts";
import { READ } from "./limits.ts";
import type { Position } from "./event-id.ts";
import {
  behind,
  commit,
  extend,
  lockedForMs,
  release,
  seek,
  take,
  unread,
  type ConsumerState,
  type LockChange,
} from "./lock.ts";
import { ReadAhead, type Taken } from "./read-ahead.ts";
import { logOf, shardsOf, type TopicAddress } from "./topic.ts";
import type { TopicLog } from "./topic-log.do.ts";
import type { Place, ReadOutcome } from "./topic-log.ts";
import type { ConsumerReadOutcome, LockOutcome, ReadRequest, SeekOutcome } from "./topic-consumer.ts";

/**
 * One client on one topic: its cursor, its lock and how its last batches ended, in one row.
 *
 * The states and transitions stand in lock.ts. What this object adds is that they hold under parallel calls, lost
 * answers and eviction:
 * - Reads take turns. A read that waits for the log holds the turn; the others wait and decide afterwards, so of many
 *   parallel reads exactly one gets the batch.
 * - Between choosing a batch and writing the row there is no `await`, and the runtime sends no answer before the row is
 *   on disk. Evicted before that, nothing happened; evicted after it, the lock holds, and when it expires the same
 *   events are read again, since the cursor did not move.
 * - A log that fails or is slow leaves no lock: nothing was written yet.
 * - A commit whose answer was lost can be repeated: it is told `already_committed`.
 */
export class TopicConsumer extends DurableObject<ConsumerEnv> {
  readonly #sql = this.ctx.storage.sql;
  #ahead = new ReadAhead();
  #record: ConsumerRecord | undefined = this.#load();
  /** Whether the topic knows this client: before anything is stored here, so that deleting the topic finds it. */
  #registered = this.#record !== undefined;
  /** Resolves when the read or seek that holds the turn is done. */
  #turn: Promise<void> | undefined;
  /** Reads that ever arrived: says whether a look at the logs began after a read came. */
  #arrivals = 0;
  /** Reads that had arrived when a registration that failed began: none of them tries it again. */
  #unregisteredArrivals = 0;
  #lastLook: Look = { arrivals: 0, complete: false, failed: false };

  read(request: ReadRequest): Promise<ConsumerReadOutcome> {
    const arrival = ++this.#arrivals;
    return this.#inTurn(() => this.#readInTurn(request, arrival));
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
  seek(topic: TopicAddress, clientId: string, to: Place): Promise<SeekOutcome> {
    return this.#inTurn(async () => {
      const registered = await this.#register(topic, clientId);
      if (registered !== "registered") return { kind: registered };
      const answers = await Promise.all(
        shardsOf(topic).map((shard) =>
          this.#ask(topic, shard, async (log): Promise<number | "gone"> => log.positionBefore(to)),
        ),
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
    return this.#inTurn(async () => {
      this.#record = undefined;
      this.#registered = false;
      this.#ahead = new ReadAhead();
      await this.ctx.storage.deleteAll();
    });
  }

  /** For each shard the position of the last event that was committed; undefined when nothing was ever read. */
  position(): readonly number[] | undefined {
    return this.#record?.state.cursor;
  }

  async #readInTurn(request: ReadRequest, arrival: number): Promise<ConsumerReadOutcome> {
    const { topic, numEvents } = request;
    const limits = { maxEvents: numEvents, maxPayloadBytes: READ.maxPayloadBytes, maxChars: READ.maxAnswerChars };
    for (let looks = 0; ; looks++) {
      // Decided anew after each look: other calls ran meanwhile.
      const record = this.#record ?? newRecord(topic.shards);
      const lockedMs = lockedForMs(record.state, systemClock.nowMs());
      if (lockedMs > 0) return { kind: "locked", retryAfterMs: lockedMs };
      if (!this.#registered && arrival <= this.#unregisteredArrivals) return { kind: "empty", more: true };
      const kept = this.#ahead.align(record.state.cursor);
      if (this.#ahead.count >= numEvents || (kept && (looks > 0 || this.#lookedSince(arrival)))) {
        if (this.#ahead.count > 0 && !this.#registered) {
          const registered = await this.#register(topic, request.clientId);
          if (registered === "gone") return { kind: "gone" };
          if (registered === "failed") return { kind: "empty", more: true };
          continue;
        }
        const taken = this.#ahead.take(limits);
        return taken === undefined
          ? { kind: "empty", more: this.#lastLook.failed }
          : this.#handOut(request, record, taken);
      }
      const look = await this.#look(topic, numEvents);
      if (look === "gone") return { kind: "gone" };
      this.#lastLook = look;
    }
  }

  /** Writes what the answer will say. The read-ahead begins behind the batch now; should the write fail, it is aligned anew. */
  #handOut(request: ReadRequest, record: ConsumerRecord, taken: Taken): ConsumerReadOutcome {
    const { batch, first, lost } = taken;
    const { autoCommit, ttlMs } = request;
    const attempt = timesHandedOut(record.handouts[first.shard]!, first.seq) + 1;
    const nonce = toBase64Url(systemRandom.bytes(NONCE_BYTES));
    const state = take(record.state, { batch, autoCommit, ttlMs, nonce }, systemClock.nowMs(), READ.outcomes);
    const upTo = behind(record.state.cursor, batch);
    const handouts = record.handouts.map((known, shard) =>
      upTo[shard]! > record.state.cursor[shard]! ? handOut(known, upTo[shard]!, READ.handoutSteps) : known,
    );
    this.#save({ state, handouts });
    // What is let go was not seen to its end, whatever the last look says.
    if (this.#ahead.shrink(READ.aheadChars)) this.#lastLook = { ...this.#lastLook, complete: false };
    return { kind: "batch", events: taken.texts.join(","), token: state.lock?.token, attempt, lost };
  }

  /** Whether a look that began after this read came saw each shard to its end, or failed: looking again tells no more. */
  #lookedSince(arrival: number): boolean {
    return this.#lastLook.complete && arrival <= this.#lastLook.arrivals;
  }

  /** Asks every shard for what follows the read-ahead. */
  async #look(topic: TopicAddress, numEvents: number): Promise<Look | "gone"> {
    const arrivals = this.#arrivals;
    const share = (chars: number): number => Math.ceil(chars / topic.shards);
    const [aheadChars, maxChars] = [share(READ.aheadChars), share(READ.maxAnswerChars)];
    const answers = await Promise.all(
      shardsOf(topic).map((shard) =>
        this.#ask(topic, shard, async (log): Promise<ReadOutcome> =>
          log.read(this.#ahead.endOf(shard), numEvents, aheadChars, maxChars),
        ),
      ),
    );
    let complete = true;
    let failed = false;
    for (const [shard, answer] of answers.entries()) {
      if (answer === undefined) failed = true;
      else if (answer.kind === "gone") return "gone";
      else {
        this.#ahead.append(shard, answer.segments);
        complete &&= answer.atEnd;
      }
    }
    return { arrivals, complete, failed };
  }

  async #register(topic: TopicAddress, clientId: string): Promise<"registered" | "gone" | "failed"> {
    if (this.#registered) return "registered";
    const arrivals = this.#arrivals;
    const answer = await this.#ask(topic, 0, async (log): Promise<"added" | "gone"> => log.addConsumer(clientId));
    if (answer === undefined) {
      this.#unregisteredArrivals = arrivals;
      return "failed";
    }
    if (answer === "gone") return "gone";
    this.#registered = true;
    return "registered";
  }

  /** One shard's answer, or undefined when it failed or took too long. */
  async #ask<T>(
    topic: TopicAddress,
    shard: number,
    question: (log: DurableObjectStub<TopicLog>) => Promise<T>,
  ): Promise<T | undefined> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const tooLate = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), READ.logWaitMs);
    });
    try {
      return await Promise.race([question(logOf(this.env.TOPIC_LOG, topic, shard)), tooLate]);
    } catch (thrown) {
      createLog("warn").warn("topic log failed", { eventType: topic.eventType, shard, error: describeError(thrown) });
      return undefined;
    } finally {
      clearTimeout(timer);
    }
  }

  /** One after the other: what it does may wait for the logs without another of its kind coming between. */
  async #inTurn<T>(run: () => Promise<T>): Promise<T> {
    while (this.#turn !== undefined) await this.#turn;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#turn = promise;
    try {
      return await run();
    } finally {
      this.#turn = undefined;
      resolve();
    }
  }

  #changeLock(change: (state: ConsumerState, nowMs: number) => LockChange): LockOutcome {
    if (this.#record === undefined) return { kind: "not_locked", why: "unknown_token" };
    const outcome = change(this.#record.state, systemClock.nowMs());
    if (outcome.kind !== "done") return outcome;
    this.#save({ ...this.#record, state: outcome.state });
    return { kind: "done" };
  }

  #load(): ConsumerRecord | undefined {
    const exists = this.#sql.exec(`SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'consumer'`).toArray();
    if (exists.length === 0) return undefined;
    const row = this.#sql.exec<{ record: string }>(`SELECT record FROM consumer WHERE id = 1`).toArray()[0];
    return row === undefined ? undefined : (JSON.parse(row.record) as ConsumerRecord);
  }

  /** A client that only looks for its position leaves nothing behind: the table comes with the first batch. */
  #save(next: ConsumerRecord): void {
    const handouts = next.handouts.map((known, shard) => forgetCommitted(known, next.state.cursor[shard]!));
    const record = { ...next, handouts };
    if (this.#record === undefined) this.#sql.exec(SCHEMA);
    this.#sql.exec(
      `INSERT OR REPLACE INTO consumer (id, schema_version, record) VALUES (1, ${SCHEMA_VERSION}, ?)`,
      JSON.stringify(record),
    );
    this.#record = record;
  }
}

interface ConsumerEnv {
  readonly TOPIC_LOG: DurableObjectNamespace<TopicLog>;
}

/** What the row holds, as JSON. */
interface ConsumerRecord {
  readonly state: ConsumerState;
  /** One of each shard. */
  readonly handouts: readonly Handouts[];
}

const newRecord = (shards: number): ConsumerRecord => ({
  state: unread(shards),
  handouts: Array.from({ length: shards }, () => []),
});

/** A look at all logs. */
interface Look {
  /** Reads that had arrived when it began. */
  readonly arrivals: number;
  /** Each shard that answered was seen to its end. */
  readonly complete: boolean;
  /** A shard did not answer. */
  readonly failed: boolean;
}

const NONCE_BYTES = 16;
const SCHEMA_VERSION = 1;
const SCHEMA = `CREATE TABLE IF NOT EXISTS consumer (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  schema_version INTEGER NOT NULL,
  record TEXT NOT NULL
) STRICT`;
