import { DurableObject } from "cloudflare:workers";
import { systemClock } from "../platform/clock.ts";
import { toBase64Url } from "../platform/encoding.ts";
import { createLog, describeError } from "../platform/log.ts";
import { systemRandom } from "../platform/random.ts";
import { forgetCommitted, handOut, timesHandedOut, type Handouts } from "./handouts.ts";
import { READ } from "./limits.ts";
import { commit, lockedForMs, take, unread, type ConsumerState, type NotLocked } from "./lock.ts";
import { ReadAhead, type Batch } from "./read-ahead.ts";
import { logOf, shardsOf, type TopicAddress } from "./topic.ts";
import type { Gone, ReadOutcome, TopicLog } from "./topic-log.do.ts";

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
  readonly #ahead = new ReadAhead();
  #record: ConsumerRecord | undefined = this.#load();
  /** Resolves when the read that holds the turn is done. */
  #turn: Promise<void> | undefined;
  /** Reads that ever arrived: says whether a look at the logs began after a read came. */
  #arrivals = 0;
  #lastLook: Look = { arrivals: 0, complete: false, failed: false };

  async read(request: ReadRequest): Promise<ConsumerReadOutcome> {
    const arrival = ++this.#arrivals;
    while (this.#turn !== undefined) await this.#turn;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#turn = promise;
    try {
      return await this.#readInTurn(request, arrival);
    } finally {
      this.#turn = undefined;
      resolve();
    }
  }

  commit(token: string): ConsumerCommitOutcome {
    if (this.#record === undefined) return { kind: "not_locked", why: "unknown_token" };
    const outcome = commit(this.#record.state, token, systemClock.nowMs(), READ.outcomes);
    if (outcome.kind === "not_locked") return outcome;
    this.#save({ ...this.#record, state: outcome.state });
    return { kind: "committed" };
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
      const kept = this.#ahead.align(record.state.cursor);
      if (this.#ahead.count >= numEvents || (kept && (looks > 0 || this.#lookedSince(arrival)))) {
        const batch = this.#ahead.take(limits);
        return batch === undefined
          ? { kind: "empty", more: this.#lastLook.failed }
          : this.#handOut(request, record, batch);
      }
      const look = await this.#look(topic, numEvents);
      if (look === "gone") return { kind: "gone" };
      this.#lastLook = look;
    }
  }

  /** Writes what the answer will say. The read-ahead begins behind the batch now; should the write fail, it is aligned anew. */
  #handOut(request: ReadRequest, record: ConsumerRecord, batch: Batch): ConsumerReadOutcome {
    const { first, upTo } = batch;
    const { autoCommit, ttlMs } = request;
    const attempt = timesHandedOut(record.handouts[first.shard]!, first.seq) + 1;
    const nonce = toBase64Url(systemRandom.bytes(NONCE_BYTES));
    const state = take(record.state, { upTo, autoCommit, ttlMs, nonce }, systemClock.nowMs(), READ.outcomes);
    const handouts = record.handouts.map((known, shard) =>
      upTo[shard]! > record.state.cursor[shard]! ? handOut(known, upTo[shard]!, READ.handoutSteps) : known,
    );
    this.#save({ state, handouts });
    // What is let go was not seen to its end, whatever the last look says.
    if (this.#ahead.shrink(READ.aheadChars)) this.#lastLook = { ...this.#lastLook, complete: false };
    const events = batch.texts.join(",");
    return { kind: "batch", events, token: state.lock?.token, attempt, lost: batch.lost };
  }

  /** Whether a look that began after this read came saw each shard to its end, or failed: looking again tells no more. */
  #lookedSince(arrival: number): boolean {
    return this.#lastLook.complete && arrival <= this.#lastLook.arrivals;
  }

  /** Asks every shard for what follows the read-ahead. */
  async #look(topic: TopicAddress, numEvents: number): Promise<Look | "gone"> {
    const arrivals = this.#arrivals;
    const answers = await Promise.all(shardsOf(topic).map((shard) => this.#ask(topic, shard, numEvents)));
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

  /** One shard's answer, or undefined when it failed or took too long. */
  async #ask(topic: TopicAddress, shard: number, numEvents: number): Promise<ReadOutcome | undefined> {
    const share = (chars: number): number => Math.ceil(chars / topic.shards);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const tooLate = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), READ.logWaitMs);
    });
    try {
      const after = this.#ahead.endOf(shard);
      const log = logOf(this.env.TOPIC_LOG, topic, shard);
      return await Promise.race([
        log.read(after, numEvents, share(READ.aheadChars), share(READ.maxAnswerChars)) as Promise<ReadOutcome>,
        tooLate,
      ]);
    } catch (thrown) {
      createLog("warn").warn("topic log failed", { eventType: topic.eventType, shard, error: describeError(thrown) });
      return undefined;
    } finally {
      clearTimeout(timer);
    }
  }

  #load(): ConsumerRecord | undefined {
    const exists = this.#sql.exec(`SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'consumer'`).toArray();
    if (exists.length === 0) return undefined;
    const { record } = this.#sql.exec<{ record: string }>(`SELECT record FROM consumer WHERE id = 1`).one();
    return JSON.parse(record) as ConsumerRecord;
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

export interface ReadRequest {
  readonly topic: TopicAddress;
  readonly numEvents: number;
  readonly ttlMs: number;
  readonly autoCommit: boolean;
}

export type ConsumerReadOutcome =
  | {
      readonly kind: "batch";
      /** Event objects as JSON, comma-separated. */
      readonly events: string;
      /** None when the batch is committed already. */
      readonly token: string | undefined;
      /** How often the first event was handed out, this time included. */
      readonly attempt: number;
      /** Events that retention removed before this client got them. */
      readonly lost: number;
    }
  /** `more`: a shard could not be looked at, so there may be events. */
  | { readonly kind: "empty"; readonly more: boolean }
  | { readonly kind: "locked"; readonly retryAfterMs: number }
  | Gone;

export type ConsumerCommitOutcome =
  | { readonly kind: "committed" }
  | { readonly kind: "not_locked"; readonly why: NotLocked };

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
