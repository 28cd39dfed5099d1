import { WAKE } from "../model/limits.ts";

/**
 * The push subscriptions that a log wakes when it has new events, and the log's end at the last wake of each.
 *
 * A subscription registers at every shard's log before it stores anything else, so a topic deletion finds even a
 * subscription whose creation failed halfway. Failure counts are in memory only: a new instance tries at once and then
 * backs off again.
 */
export class SubscriberTable {
  readonly #sql: SqlStorage;
  /** All subscribers of an open log, the least recently woken first. */
  readonly #known = new Map<string, SubscriberState>();

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  load(): void {
    const rows = this.#sql.exec<{ name: string; wokenSeq: number }>(
      `SELECT name, woken_seq AS wokenSeq FROM subscriber`,
    );
    for (const { name, wokenSeq } of rows) this.#known.set(name, { wokenSeq, failures: 0, retryAtMs: 0 });
  }

  /** Clears the subscribers in memory: a log that is closed or deleted wakes none. */
  unload(): void {
    this.#known.clear();
  }

  /** Adds a subscriber unless it is known. It is woken only for events after `seq`, the end of the log. */
  add(name: string, seq: number): void {
    if (this.#known.has(name)) return;
    this.#sql.exec(`INSERT INTO subscriber (name, woken_seq) VALUES (?, ?)`, name, seq);
    this.#known.set(name, { wokenSeq: seq, failures: 0, retryAtMs: 0 });
  }

  /** Makes a subscriber due, known or not, even if the log is empty. */
  rouse(name: string): void {
    this.#sql.exec(`INSERT OR REPLACE INTO subscriber (name, woken_seq) VALUES (?, -1)`, name);
    this.#known.set(name, { wokenSeq: -1, failures: 0, retryAtMs: 0 });
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

  /** When the next subscriber must be woken for events up to `endSeq`; 0: at once; Infinity: none. */
  dueMs(endSeq: number, nowMs: number): number {
    let dueMs = Infinity;
    for (const subscriber of this.#known.values())
      if (subscriber.wokenSeq < endSeq) dueMs = Math.min(dueMs, waits(subscriber, nowMs) ? subscriber.retryAtMs : 0);
    return dueMs;
  }

  /**
   * The subscribers to wake now for events up to `endSeq`, except those in flight, the least recently woken first.
   * Those that failed last time may be slow. They come first, but only a few at once, so they neither starve nor take
   * all slots.
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

/**
 * True while a failed subscriber backs off. A longer wait than the maximum means that the clock was set back, so the
 * subscriber is due.
 */
const waits = ({ retryAtMs }: SubscriberState, nowMs: number): boolean =>
  retryAtMs > nowMs && retryAtMs <= nowMs + WAKE.maxRetryMs;

interface SubscriberState {
  readonly wokenSeq: number;
  /** Failures since its last answer, and the time of the next try. */
  readonly failures: number;
  readonly retryAtMs: number;
}
