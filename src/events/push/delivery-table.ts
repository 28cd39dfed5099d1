import { DELIVERY } from "../model/limits.ts";
import type { AfterAttempt, Progress } from "../../platform/delivery/retry-schedule.ts";
import { attemptOf, toStored, type StoredAttempt } from "./stored-attempt.ts";
import type { Attempt, Delivery, DeliveryState } from "./types.ts";

/**
 * The rows of deliveries (deliveries.ts says which events have one), in the order in which the events were taken from
 * the topic.
 *
 *   (memory) ── add ──→ pending ── 2xx ──→ delivered ── 7 days, or 1,000 newer ones ──→ removed
 *                       pending ── last attempt failed ──→ dead ── 30 days, or 10,000 newer ones ──→ removed
 *                       delivered, dead, pending ── redeliver ──→ pending, at the start of its schedule
 *
 * `at` is when a pending delivery is due, and when any other ended. `text` is the event, kept from the first failure
 * until delivery, since retention may remove it from the log meanwhile.
 */
export class DeliveryTable {
  readonly #sql: SqlStorage;
  #counts: Record<DeliveryState, number> | undefined;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Number of deliveries in a state. Counted once per instance, then maintained. */
  count(state: DeliveryState): number {
    if (this.#counts === undefined) {
      const counts = { pending: 0, delivered: 0, dead: 0 };
      for (const row of this.#sql.exec<CountRow>(DELIVERY_SQL.counts)) counts[row.state] = row.deliveries;
      this.#counts = counts;
    }
    return this.#counts[state];
  }

  /** Counts again after a failed write. */
  recount(): void {
    this.#counts = undefined;
  }

  /** Adds a delivery without an attempt. */
  add(eventId: string, place: number, dueAtMs: number): void {
    this.#insert({ eventId, place }, { state: "pending", atMs: dueAtMs, ...NOT_TRIED }, [], null);
  }

  /** Adds a delivery with its first attempt. */
  addTried(event: PlacedEvent, attempt: Attempt, after: AfterAttempt, text: string | null, nowMs: number): void {
    const { state } = after;
    const schedule = state === "pending" ? { atMs: after.dueAtMs, step: after.step } : { atMs: nowMs, step: 0 };
    const kept = state === "delivered" ? null : text;
    this.#insert(event, { state, ...schedule, tries: 1, attemptCount: 1 }, [attempt], kept);
  }

  #insert(
    { eventId, place }: PlacedEvent,
    { state, atMs, step, tries, attemptCount }: Standing,
    attempts: readonly Attempt[],
    text: string | null,
  ): void {
    const stored = JSON.stringify(attempts.map(toStored));
    const values = [place, eventId, state, atMs, step, tries, attemptCount, stored, text];
    if (this.#sql.exec(DELIVERY_SQL.add, ...values).toArray().length > 0) this.#counted(state, 1);
  }

  /** The largest place; 0 if there is none. */
  lastPlace(): number {
    return this.#sql.exec<{ place: number | null }>(DELIVERY_SQL.lastPlace).one().place ?? 0;
  }

  has(eventId: string): boolean {
    return this.#sql.exec(DELIVERY_SQL.has, eventId).toArray().length > 0;
  }

  /** The next pending deliveries by due time, including those not due yet. */
  next(limit: number): PendingDelivery[] {
    return this.#sql.exec<{ eventId: string; dueAtMs: number }>(DELIVERY_SQL.next, limit).toArray();
  }

  /** Due deliveries by due time. With `anewFromMs`, also those not tried since then. */
  due(limit: number, nowMs: number, anewFromMs: number | undefined): PendingDelivery[] {
    if (anewFromMs === undefined) return this.next(limit).filter(({ dueAtMs }) => dueAtMs <= nowMs);
    return this.#sql
      .exec<{ eventId: string; dueAtMs: number }>(DELIVERY_SQL.dueAnew, limit, nowMs, anewFromMs)
      .toArray();
  }

  /** The due delivery with the fewest tries; of several, the one due first. */
  leastTried(nowMs: number): { readonly eventId: string; readonly tries: number } | undefined {
    let least: { readonly eventId: string; readonly tries: number } | undefined;
    for (const row of this.#sql.exec<{ eventId: string; tries: number }>(DELIVERY_SQL.tried, nowMs)) {
      if (least === undefined || row.tries < least.tries) least = row;
      if (least.tries === 0) break;
    }
    return least;
  }

  /** True if a pending delivery was tried at least `DELIVERY.failingTries` times. */
  isFailing(): boolean {
    return this.#sql.exec(DELIVERY_SQL.failing, DELIVERY.failingTries).toArray().length > 0;
  }

  find(eventId: string): StoredDelivery | undefined {
    const row = this.#sql.exec<DeliveryRow & { text: string | null }>(DELIVERY_SQL.find, eventId).toArray()[0];
    if (row === undefined) return undefined;
    return { ...toDelivery(row), step: row.step, tries: row.tries, text: row.text ?? undefined };
  }

  /** Records an attempt. `text` is kept unless the event was delivered. */
  record(before: StoredDelivery, attempt: Attempt, after: AfterAttempt, text: string, nowMs: number): void {
    const attempts = [...before.attempts, attempt].slice(-DELIVERY.attemptsKept);
    this.#sql.exec(
      DELIVERY_SQL.record,
      before.eventId,
      after.state,
      after.state === "pending" ? after.dueAtMs : nowMs,
      after.state === "pending" ? after.step : before.step,
      before.tries + 1,
      before.attemptCount + 1,
      JSON.stringify(attempts.map(toStored)),
      after.state === "delivered" ? null : text,
    );
    this.#moved(before.state, after.state);
  }

  /** Makes deliveries due that wait longer than any may: the clock was set back since. */
  hasten(nowMs: number): void {
    this.#sql.exec(DELIVERY_SQL.hasten, nowMs, nowMs + DELIVERY.maxRetryAfterMs);
  }

  /** Moves the due time without counting an attempt. */
  postpone(eventId: string, dueAtMs: number): void {
    this.#sql.exec(DELIVERY_SQL.postpone, eventId, dueAtMs);
  }

  /** Restarts the schedule ahead of all other due deliveries, since the client asked for it. */
  restart({ eventId, state }: StoredDelivery, text: string | undefined, nowMs: number): void {
    const firstMs = this.next(1)[0]?.dueAtMs ?? nowMs;
    this.#sql.exec(DELIVERY_SQL.again, eventId, Math.min(nowMs, firstMs - 1), text ?? null);
    this.#moved(state, "pending");
  }

  /** Restarts dead letters, the latest first, ahead of all other due deliveries. Returns their number. */
  restartDead(limit: number, nowMs: number): number {
    const firstMs = this.next(1)[0]?.dueAtMs ?? nowMs;
    const again = this.#sql.exec(DELIVERY_SQL.deadAgain, limit, Math.min(nowMs, firstMs - 1)).toArray().length;
    this.#counted("dead", -again);
    this.#counted("pending", again);
    return again;
  }

  remove({ eventId, state }: StoredDelivery): void {
    this.#sql.exec(DELIVERY_SQL.remove, eventId);
    this.#counted(state, -1);
  }

  /** Deliveries with a smaller place than `after`, the latest first. */
  latest(state: DeliveryState | undefined, after: number, skip: number, limit: number): PlacedDelivery[] {
    const range = [after, limit, skip];
    const rows =
      state === undefined
        ? this.#sql.exec<DeliveryRow>(DELIVERY_SQL.page, ...range)
        : this.#sql.exec<DeliveryRow>(DELIVERY_SQL.pageOfState, ...range, state);
    return rows.toArray().map((row) => ({ place: row.place, delivery: toDelivery(row) }));
  }

  /** Removes one step of expired rows. True if there may be more. `packed`: number of packed deliveries. */
  clear(nowMs: number, packed: number): boolean {
    let removed = 0;
    for (const [state, kept, keptMs] of KEPT) {
      // Dead letters take the most space, so remove the oldest ones if the object is full.
      const surplus =
        state === "dead" && this.isFull()
          ? DELIVERY.clearedAStep
          : this.count(state) + (state === "delivered" ? packed : 0) - kept;
      removed += this.#removeOldest(state, Number.MAX_SAFE_INTEGER, Math.min(surplus, DELIVERY.clearedAStep));
      removed += this.#removeOldest(state, nowMs - keptMs, DELIVERY.clearedAStep);
    }
    return removed >= DELIVERY.clearedAStep;
  }

  /** When age next removes something; Infinity if nothing has ended. */
  clearAtMs(): number {
    const times = KEPT.map(([state, , keptMs]) => {
      const oldestMs = this.oldestMs(state);
      return oldestMs === undefined ? Infinity : oldestMs + keptMs + DELIVERY.clearGraceMs;
    });
    return Math.min(...times);
  }

  /** The oldest `at` in this state. */
  oldestMs(state: DeliveryState): number | undefined {
    return this.#sql.exec<{ at: number }>(DELIVERY_SQL.oldest, state).toArray()[0]?.at;
  }

  isFull(): boolean {
    return this.#sql.databaseSize > DELIVERY.maxStoredBytes;
  }

  #removeOldest(state: DeliveryState, upToMs: number, limit: number): number {
    if (limit <= 0) return 0;
    const removed = this.#sql.exec(DELIVERY_SQL.clear, state, upToMs, limit).toArray().length;
    this.#counted(state, -removed);
    return removed;
  }

  #moved(from: DeliveryState, to: DeliveryState): void {
    this.#counted(from, -1);
    this.#counted(to, 1);
  }

  #counted(state: DeliveryState, more: number): void {
    if (this.#counts !== undefined) this.#counts[state] += more;
  }
}

export const NOT_TRIED = { step: 0, tries: 0, attemptCount: 0 } as const;

interface PlacedEvent {
  readonly eventId: string;
  readonly place: number;
}

interface Standing extends Progress {
  readonly state: DeliveryState;
  readonly atMs: number;
  readonly attemptCount: number;
}

export interface PlacedDelivery {
  readonly place: number;
  readonly delivery: Delivery;
}

export interface PendingDelivery {
  readonly eventId: string;
  readonly dueAtMs: number;
}

export interface StoredDelivery extends Delivery, Progress {
  /** The event's JSON text, if this row keeps it. */
  readonly text: string | undefined;
}

/** State, maximum number, and maximum age. */
const KEPT = [
  ["delivered", DELIVERY.deliveredKept, DELIVERY.deliveredKeptMs],
  ["dead", DELIVERY.deadKept, DELIVERY.deadKeptMs],
] as const;

const COLUMNS = `place, event_id AS eventId, state, at, step, tries, attempt_count AS attemptCount, attempts`;

/** A test checks the query plan of each statement, so that none scans the table. */
export const DELIVERY_SQL = {
  counts: `SELECT state, count(*) AS deliveries FROM delivery GROUP BY state`,
  add: `INSERT INTO delivery (place, event_id, state, at, step, tries, attempt_count, attempts, text)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (event_id) DO NOTHING RETURNING place`,
  lastPlace: `SELECT max(place) AS place FROM delivery`,
  has: `SELECT 1 FROM delivery WHERE event_id = ?1`,
  next: `SELECT event_id AS eventId, at AS dueAtMs FROM delivery WHERE state = 'pending' ORDER BY at, place LIMIT ?1`,
  dueAnew: `SELECT event_id AS eventId, at AS dueAtMs FROM delivery
    WHERE state = 'pending' AND (at <= ?2 OR json_extract(attempts, '$[#-1][0]') <= ?3) ORDER BY at, place LIMIT ?1`,
  tried: `SELECT event_id AS eventId, tries FROM delivery WHERE state = 'pending' AND at <= ?1 ORDER BY at, place`,
  failing: `SELECT 1 FROM delivery WHERE state = 'pending' AND tries >= ?1 LIMIT 1`,
  find: `SELECT ${COLUMNS}, text FROM delivery WHERE event_id = ?1`,
  record: `UPDATE delivery SET state = ?2, at = ?3, step = ?4, tries = ?5, attempt_count = ?6, attempts = ?7, text = ?8
    WHERE event_id = ?1`,
  hasten: `UPDATE delivery SET at = ?1 WHERE state = 'pending' AND at > ?2`,
  postpone: `UPDATE delivery SET at = ?2 WHERE event_id = ?1`,
  again: `UPDATE delivery SET state = 'pending', at = ?2, step = 0, tries = 0, text = coalesce(?3, text)
    WHERE event_id = ?1`,
  /** A dead letter keeps its event. */
  deadAgain: `UPDATE delivery SET state = 'pending', at = ?2, step = 0, tries = 0 WHERE place IN
    (SELECT place FROM delivery WHERE state = 'dead' ORDER BY place DESC LIMIT ?1) RETURNING place`,
  remove: `DELETE FROM delivery WHERE event_id = ?1`,
  page: `SELECT ${COLUMNS} FROM delivery WHERE place < ?1 ORDER BY place DESC LIMIT ?2 OFFSET ?3`,
  pageOfState: `SELECT ${COLUMNS} FROM delivery WHERE state = ?4 AND place < ?1 ORDER BY place DESC LIMIT ?2 OFFSET ?3`,
  oldest: `SELECT at FROM delivery WHERE state = ?1 ORDER BY at LIMIT 1`,
  clear: `DELETE FROM delivery WHERE place IN
    (SELECT place FROM delivery WHERE state = ?1 AND at <= ?2 ORDER BY at LIMIT ?3) RETURNING place`,
} as const;

interface CountRow extends Record<string, SqlStorageValue> {
  state: DeliveryState;
  deliveries: number;
}

interface DeliveryRow extends Record<string, SqlStorageValue> {
  place: number;
  eventId: string;
  at: number;
  state: DeliveryState;
  step: number;
  tries: number;
  attemptCount: number;
  attempts: string;
}

const toDelivery = (row: DeliveryRow): Delivery => ({
  eventId: row.eventId,
  state: row.state,
  nextAttemptAtMs: row.state === "pending" ? row.at : undefined,
  attempts: (JSON.parse(row.attempts) as StoredAttempt[]).map(attemptOf),
  attemptCount: row.attemptCount,
});
