import type { Attempts } from "./attempts.ts";
import { StoreUnavailable } from "../storage/database.ts";
import type { Isolate } from "./isolate.ts";

/** A value, and the time when its read began. A value from a copy is as old as the copy. */
export interface Read<V> {
  readonly value: V;
  readonly readAtMs: number;
}

/** Where a value comes from. */
export interface Source<V> {
  /**
   * Finds a copy without a request to the source. `sinceMs`: the last change in this isolate; older copies do not
   * count.
   */
  copy?(nowMs: number, sinceMs: number): Promise<Read<V> | undefined>;
  /**
   * Claims the request to the source. False if another isolate is asking for this value now; with `isProbe`, which
   * means that the source is failing, if another isolate is asking for any value.
   */
  claim?(nowMs: number, isProbe: boolean): Promise<boolean>;
  /** Asks the source itself. */
  ask(): Promise<Read<V>>;
}

export interface FreshCacheLimits<V> {
  /** Maximum age of a value. */
  readonly ttlMs: number;
  readonly maxEntries: number;
  /** From about this age on, a request also reloads the value in the background. Default: 4/5 of `ttlMs`. */
  readonly aheadMs?: number;
  /** Maximum age while the source does not respond. Default: `ttlMs`. */
  readonly withoutSourceMs?: number;
  /** True for a value to keep. Default: all are kept, so that known and unknown keys cost the same. */
  readonly keeps?: (value: V) => boolean;
}

/**
 * A bounded cache of records that may be some seconds old.
 *
 *   none ──load──▶ fresh ──aheadMs──▶ ageing ──ttlMs──▶ old ──withoutSourceMs──▶ none
 *                    ▲                  │ one request loads it beside its answer
 *                    └──────────────────┘
 *
 * - One load of a key runs at a time. Other requests wait for its value. They fail if it fails, and load themselves if
 *   it is late or its value is not kept.
 * - Values are kept, never promises: in a Worker a promise belongs to the request that made it, and a cancelled one
 *   would leave every other request waiting.
 * - After a late load, or three failed ones in a row of any keys, loads back off (attempts.ts). Then requests without a
 *   value look for a copy of another isolate, and fail if there is none. A request whose load is late fails, and the
 *   value is kept when it comes.
 * - One isolate of a location asks for a key, and the others wait for its copy.
 * - `clear` also stops running loads from being kept, since they may have read the state before a change.
 */
export class FreshCache<K, V> {
  readonly #entries = new Map<K, Entry<V>>();
  readonly #loads = new Map<K, Load<V>>();
  readonly #isolate: Isolate;
  readonly #limits: Required<FreshCacheLimits<V>>;
  readonly #attempts: Attempts;
  #generation = 0;
  #changedAtMs = Number.NEGATIVE_INFINITY;

  /** `source`: the attempts of the source that is asked. Default: those of the database. */
  constructor(limits: FreshCacheLimits<V>, isolate: Isolate, source?: Attempts) {
    const { ttlMs } = limits;
    const aheadMs = ttlMs * (4 / 5);
    this.#limits = { aheadMs, withoutSourceMs: ttlMs, keeps: () => true, ...limits };
    this.#isolate = isolate;
    this.#attempts = source ?? isolate.database;
  }

  /** Returns the kept value while it is fresh, else loads it. A failed load is not kept. */
  get(key: K, nowMs: number, load: () => Promise<V>): Promise<V> {
    return this.getFrom(key, nowMs, { ask: async () => ({ value: await load(), readAtMs: nowMs }) });
  }

  /** Like `get`, for a value that may come from a copy. */
  async getFrom(key: K, nowMs: number, source: Source<V>): Promise<V> {
    const { ttlMs, withoutSourceMs } = this.#limits;
    const kept = this.#entries.get(key);
    // If the clock was set back, the entry is old by the difference, instead of fresh for all that time.
    const ageMs = kept === undefined ? Infinity : Math.abs(nowMs - kept.readAtMs);
    if (kept !== undefined && (ageMs < ttlMs || (ageMs < withoutSourceMs && this.#attempts.isFailing(nowMs)))) {
      if (ageMs >= kept.aheadMs && this.#running(key, nowMs) === undefined && this.#attempts.mayAskBeside(nowMs))
        this.#isolate.keepAlive(this.#load(key, nowMs, source));
      return kept.value;
    }
    if (ageMs >= withoutSourceMs) this.#entries.delete(key);
    try {
      return await this.#loadOrWait(key, nowMs, source);
    } catch (thrown) {
      const left = this.#entries.get(key);
      if (left !== undefined && ageMs < withoutSourceMs) return left.value;
      throw thrown;
    }
  }

  /** Loads the value although one is kept. That one stays if the load fails, or returns none to keep. */
  renew(key: K, nowMs: number, load: () => Promise<V>): Promise<V> {
    return this.#loadOrWait(key, nowMs, { ask: async () => ({ value: await load(), readAtMs: nowMs }) });
  }

  clear(): void {
    this.#noteChange();
    this.#entries.clear();
    this.#loads.clear();
  }

  /** Like `clear` for one key. Running loads of other keys are not kept either, which costs a load. */
  invalidate(key: K): void {
    this.#noteChange();
    this.#entries.delete(key);
    this.#loads.delete(key);
  }

  /** Forgets a value that is too old for the caller. Unlike a change, this leaves every running load in use. */
  outdate(key: K): void {
    this.#entries.delete(key);
  }

  #noteChange(): void {
    this.#generation += 1;
    this.#changedAtMs = this.#isolate.nowMs();
  }

  /** Uses the value that another request loads. Loads it if no request does, or if their value is not kept. */
  async #loadOrWait(key: K, nowMs: number, source: Source<V>): Promise<V> {
    const beganAtMs = this.#isolate.nowMs();
    let waitedMs = 0;
    let seen: Load<V> | undefined;
    for (let stepMs = STEP.firstMs; waitedMs < this.#attempts.waitMs; stepMs = Math.min(2 * stepMs, STEP.maxMs)) {
      if (seen?.kept !== undefined) return seen.kept.value;
      if (seen?.hasFailed === true) throw new StoreUnavailable("the load of another request failed");
      const running = this.#running(key, nowMs + waitedMs);
      if (running === undefined || seen?.isOver === true) return this.#load(key, nowMs + waitedMs, source);
      seen = running;
      await this.#isolate.pause(stepMs);
      waitedMs = Math.max(waitedMs + stepMs, this.#isolate.nowMs() - beganAtMs);
    }
    throw new StoreUnavailable(`no value within ${this.#attempts.waitMs} ms`);
  }

  async #load(key: K, nowMs: number, source: Source<V>): Promise<V> {
    const generation = this.#generation;
    const own: Load<V> = { begunAtMs: nowMs, kept: undefined, hasFailed: false, isOver: false };
    this.#loads.set(key, own);
    this.#forgetLost(nowMs);
    const keep = async (reading: Promise<Read<V>>): Promise<V> => {
      try {
        const read = await reading;
        if (generation === this.#generation && this.#limits.keeps(read.value)) own.kept = this.#keep(key, read);
        return read.value;
      } catch (thrown) {
        own.hasFailed = true;
        throw thrown;
      } finally {
        own.isOver = true;
        if (this.#loads.get(key) === own) this.#loads.delete(key);
      }
    };
    // Just after a change in this isolate it asks without a claim: another isolate may have read the state before.
    let isMine = source.claim === undefined || Math.abs(nowMs - this.#changedAtMs) < this.#attempts.waitMs;
    const beganAtMs = this.#isolate.nowMs();
    let waitedMs = 0;
    for (let stepMs = STEP.firstMs; ; stepMs = Math.min(2 * stepMs, STEP.maxMs)) {
      const atMs = nowMs + waitedMs;
      const copy = source.copy === undefined ? undefined : await source.copy(atMs, this.#changedAtMs);
      if (copy !== undefined) return keep(Promise.resolve(copy));
      if (!isMine && this.#attempts.mayAsk(atMs))
        isMine = (await source.claim?.(atMs, this.#attempts.isFailing(atMs))) === true;
      if (isMine && this.#attempts.mayAsk(atMs)) {
        own.begunAtMs = atMs;
        return this.#attempts.run(PURPOSE, atMs, () => keep(source.ask()));
      }
      if (this.#attempts.isFailing(atMs)) return keep(Promise.reject(new StoreUnavailable("the last loads failed")));
      if (waitedMs >= this.#attempts.waitMs) {
        this.#attempts.noteLate(PURPOSE, nowMs, atMs);
        return keep(Promise.reject(new StoreUnavailable("another isolate got no answer")));
      }
      await this.#isolate.pause(stepMs);
      waitedMs = Math.max(waitedMs + stepMs, this.#isolate.nowMs() - beganAtMs);
    }
  }

  /** The load of a key, unless it is late. */
  #running(key: K, nowMs: number): Load<V> | undefined {
    const load = this.#loads.get(key);
    return load !== undefined && Math.abs(nowMs - load.begunAtMs) < this.#attempts.waitMs ? load : undefined;
  }

  /** Removes lost loads: the runtime may end a request and its load silently. */
  #forgetLost(nowMs: number): void {
    if (this.#loads.size < MAX_LOADS) return;
    for (const key of this.#loads.keys()) if (this.#running(key, nowMs) === undefined) this.#loads.delete(key);
  }

  /** Keeps the younger of two values, since a load may be late, and returns it. */
  #keep(key: K, read: Read<V>): Entry<V> {
    const before = this.#entries.get(key);
    const { ttlMs, aheadMs } = this.#limits;
    // Spreads reloads, so that isolates that once read at the same time do not always do so.
    const spreadMs = (Math.min(aheadMs, ttlMs - aheadMs) / 2) * this.#isolate.chance();
    const kept =
      before !== undefined && before.readAtMs > read.readAtMs ? before : { ...read, aheadMs: aheadMs + spreadMs };
    this.#entries.delete(key);
    this.#entries.set(key, kept);
    // The first key is the oldest: a Map keeps the order of insertion, and a refreshed key is inserted again.
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#limits.maxEntries) break;
      this.#entries.delete(oldest);
    }
    return kept;
  }
}

interface Entry<V> extends Read<V> {
  readonly aheadMs: number;
}

interface Load<V> {
  begunAtMs: number;
  kept: Read<V> | undefined;
  hasFailed: boolean;
  isOver: boolean;
}

const PURPOSE = "a record";
/** From this number of loads on, lost ones are removed. */
const MAX_LOADS = 1_000;
/** Pauses between two looks for a value that another request loads. */
const STEP: { readonly firstMs: number; readonly maxMs: number } = { firstMs: 5, maxMs: 50 };
