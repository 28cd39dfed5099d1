import { WAKE } from "../model/limits.ts";

/**
 * The push subscriptions that a log wakes when it has new events, and up to which event each was told.
 *
 * A subscription registers at every shard's log before anything else of it is stored, so whoever deletes the topic finds
 * it here, also one that was never finished. How often waking one failed is kept in memory alone: an instance that knows
 * nothing of it tries at once, and waits again.
 */
export class SubscriberTable {
  readonly #sql: SqlStorage;
  /** Of an open log all of them, in the order in which they were told last. */
  readonly #known = new Map<string, SubscriberState>();

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  load(): void {
    for (const { name, woken_seq } of this.#sql.exec<SubscriberRow>(`SELECT name, woken_seq FROM subscriber`))
      this.#known.set(name, { wokenSeq: woken_seq, failures: 0, retryAtMs: 0 });
  }

  /** The log is closed, or gone: nobody is woken any more. */
  unload(): void {
    this.#known.clear();
  }

  /** One that is there stays as it is. `seq`: the end of the log, which it need not be told of. */
  add(name: string, seq: number): void {
    if (this.#known.has(name)) return;
    this.#sql.exec(`INSERT INTO subscriber (name, woken_seq) VALUES (?, ?)`, name, seq);
    this.#known.set(name, { wokenSeq: seq, failures: 0, retryAtMs: 0 });
  }

  remove(name: string): void {
    this.#sql.exec(`DELETE FROM subscriber WHERE name = ?`, name);
    this.#known.delete(name);
  }

  /** Some of them. */
  list(limit: number): string[] {
    return this.#sql
      .exec<{ name: string }>(`SELECT name FROM subscriber ORDER BY name LIMIT ?`, limit)
      .toArray()
      .map((row) => row.name);
  }

  has(name: string): boolean {
    return this.#known.has(name);
  }

  /** When the next one is to be told of `endSeq`; 0 is at once, Infinity when all know. */
  dueMs(endSeq: number, nowMs: number): number {
    let dueMs = Infinity;
    for (const subscriber of this.#known.values())
      if (subscriber.wokenSeq < endSeq) dueMs = Math.min(dueMs, waits(subscriber, nowMs) ? subscriber.retryAtMs : 0);
    return dueMs;
  }

  /**
   * Who is to be told of `endSeq` now, and is not being told, the longest ago first. Those that failed the last time may
   * take long: only so many of them that they do not fill all places, but before the others, of which a busy log always
   * has some.
   */
  due(endSeq: number, nowMs: number, inFlight: ReadonlyMap<string, unknown>): string[] {
    const sound: string[] = [];
    const failing: string[] = [];
    let places: number = WAKE.failingAtOnce;
    for (const [name, subscriber] of this.#known) {
      const { wokenSeq, failures } = subscriber;
      if (inFlight.has(name)) places -= failures > 0 ? 1 : 0;
      else if (wokenSeq < endSeq && !waits(subscriber, nowMs)) (failures > 0 ? failing : sound).push(name);
    }
    return [...failing.slice(0, Math.max(0, places)), ...sound];
  }

  woken(name: string, seq: number): void {
    if (!this.#known.has(name)) return;
    this.#sql.exec(`UPDATE subscriber SET woken_seq = ? WHERE name = ?`, seq, name);
    this.#putLast(name, { wokenSeq: seq, failures: 0, retryAtMs: 0 });
  }

  failed(name: string, nowMs: number): void {
    const known = this.#known.get(name);
    if (known === undefined) return;
    const waitMs = Math.min(WAKE.minRetryMs * 2 ** known.failures, WAKE.maxRetryMs);
    this.#putLast(name, { ...known, failures: known.failures + 1, retryAtMs: nowMs + waitMs });
  }

  #putLast(name: string, subscriber: SubscriberState): void {
    this.#known.delete(name);
    this.#known.set(name, subscriber);
  }
}

/** One that would wait longer than any wait is was told to under a clock that was set back since: it is due. */
const waits = ({ retryAtMs }: SubscriberState, nowMs: number): boolean =>
  retryAtMs > nowMs && retryAtMs <= nowMs + WAKE.maxRetryMs;

interface SubscriberState {
  readonly wokenSeq: number;
  /** How often waking it failed since it answered last, and when it is tried again. */
  readonly failures: number;
  readonly retryAtMs: number;
}

interface SubscriberRow extends Record<string, SqlStorageValue> {
  name: string;
  woken_seq: number;
}
