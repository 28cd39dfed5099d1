import { DELIVERY } from "../model/limits.ts";
import { DeliveredPacks, type PackedDelivery } from "./delivered-packs.ts";
import {
  DeliveryTable,
  NOT_TRIED,
  type PendingDelivery,
  type PlacedDelivery,
  type StoredDelivery,
} from "./delivery-table.ts";
import type { AfterAttempt } from "../../platform/delivery/retry-schedule.ts";
import type { PushState } from "./state.ts";
import type { Attempt, DeliveryPage, DeliveryState } from "./types.ts";

/**
 * The deliveries of one subscription. An event is in memory until its first attempt fails; then it has a row.
 *
 *   (the log) ── taken ──→ fresh, in memory
 *   fresh ── 2xx ──→ settled, in memory ── checkpoint ──→ packed (delivered-packs.ts)
 *   fresh ── failed, postponed, before a settled event, or a client asks ──→ a row (delivery-table.ts)
 *   packed ── redeliver ──→ a row
 *
 * The stored cursor passes an event in the transaction that packs it, or after it has a row. A checkpoint comes after
 * `DELIVERY.unsaved` settled events, and at the end of each run. Effect of a crash:
 *
 * - After the take: none. The event is read from the log again.
 * - During an attempt: the attempt is repeated.
 * - Between a 2xx and its checkpoint: up to twice `DELIVERY.unsaved` events are sent again. Delivery is at least once.
 * - Between the row and the cursor: none. The event is read again, and its row is found.
 *
 * All methods are synchronous, so no other code runs between a read and the write that depends on it.
 */
export class Deliveries {
  readonly #state: PushState;
  readonly #table: DeliveryTable;
  readonly #packs: DeliveredPacks;
  /** In the order of taking, which keeps the order of each shard. */
  readonly #fresh = new Map<string, FreshEvent>();
  readonly #settled = new Map<string, FreshEvent & PackedDelivery>();
  /** Position of each shard up to which events were taken; undefined: the stored cursor. */
  #taken: readonly number[] | undefined;
  #lastPlace: number | undefined;
  /** A log was reset, so events that are packed may be read from it again. */
  #rewound = false;

  constructor(sql: SqlStorage, state: PushState) {
    this.#state = state;
    this.#table = new DeliveryTable(sql);
    this.#packs = new DeliveredPacks(sql);
  }

  /** Position of each shard up to which events were taken. */
  get taken(): readonly number[] {
    return this.#taken ?? this.#state.cursor;
  }

  /** Takes events up to the positions `ends`. `lost`: number of events up to there that retention removed. */
  take(events: readonly TakenEvent[], ends: readonly number[], lost: number, nowMs: number): void {
    for (const event of events)
      if (!this.#isKnown(event.eventId))
        this.#fresh.set(event.eventId, { ...event, place: this.#nextPlace(), takenAtMs: nowMs });
    this.#taken = ends;
    // Store the cursor at once, so that an instance that starts later does not count this gap again.
    if (lost > 0) this.flush(lost);
  }

  /** Moves the cursor back in shards whose logs were reset. */
  rewind(cursor: readonly number[], seen: ReadonlyMap<number, string>): void {
    this.flush();
    this.#state.rewind(cursor, seen);
    this.#taken = undefined;
    this.#rewound = true;
  }

  /** Saves all settled events. Untried events before them get rows; those after them stay in memory. */
  settle(): void {
    const last = new Map<number, number>();
    for (const { shard, seq } of this.#settled.values()) last.set(shard, Math.max(seq, last.get(shard) ?? 0));
    for (const event of this.#fresh.values()) if (event.seq < (last.get(event.shard) ?? 0)) this.#toRow(event);
    this.#checkpoint(0);
  }

  /** Moves everything from memory to the tables, for callers that read the tables. */
  flush(lost = 0): void {
    for (const event of this.#fresh.values()) this.#toRow(event);
    this.#checkpoint(lost);
  }

  count(state: DeliveryState): number {
    const rows = this.#table.count(state);
    if (state === "dead") return rows;
    return rows + (state === "pending" ? this.#fresh.size : this.#settled.size + this.#packs.count);
  }

  /** True if a pending event has failed several times. */
  isFailing(): boolean {
    return this.#table.isFailing();
  }

  /** Counts again after a failed write. */
  recount(): void {
    this.#table.recount();
    this.#packs.forget();
    this.#lastPlace = undefined;
  }

  /** Number of further events that may be taken from the logs. */
  capacity(): number {
    if (this.#table.isFull()) return 0;
    const inMemory = this.#fresh.size + this.#settled.size;
    return Math.max(0, Math.min(DELIVERY.maxPending - this.count("pending"), DELIVERY.takenAtOnce - inMemory));
  }

  /** The next pending deliveries by due time, including those not due yet. */
  next(limit: number): PendingDelivery[] {
    return this.#withFresh(this.#table.next(limit), limit);
  }

  /** Due deliveries by due time. With `anewFromMs`, also those not tried since then. */
  due(limit: number, nowMs: number, anewFromMs: number | undefined): string[] {
    const due = this.#withFresh(this.#table.due(limit, nowMs, anewFromMs), limit);
    return due.map(({ eventId }) => eventId);
  }

  /** The due delivery with the fewest tries; of several, the one due first. */
  leastTried(nowMs: number): { readonly eventId: string; readonly tries: number } | undefined {
    const row = this.#table.leastTried(nowMs);
    const [fresh] = this.#fresh.keys();
    return fresh === undefined || row?.tries === 0 ? row : { eventId: fresh, tries: 0 };
  }

  find(eventId: string): StoredDelivery | undefined {
    const fresh = this.#fresh.get(eventId);
    if (fresh !== undefined)
      return {
        ...NOT_TRIED,
        eventId,
        state: "pending",
        nextAttemptAtMs: fresh.takenAtMs,
        attempts: [],
        text: undefined,
      };
    const row = this.#table.find(eventId);
    if (row !== undefined) return row;
    const packed = this.#settled.get(eventId) ?? this.#packs.find(eventId);
    return packed === undefined
      ? undefined
      : { ...toDelivery(packed), step: 0, tries: 1, nextAttemptAtMs: undefined, text: undefined };
  }

  /** Records an attempt. `text` is kept unless the event was delivered. */
  record(before: StoredDelivery, attempt: Attempt, after: AfterAttempt, text: string, nowMs: number): void {
    const fresh = this.#fresh.get(before.eventId);
    if (fresh === undefined) return this.#table.record(before, attempt, after, text, nowMs);
    if (after.state !== "delivered") {
      this.#table.addTried(fresh, attempt, after, text, nowMs);
      this.#fresh.delete(fresh.eventId);
      return;
    }
    this.#fresh.delete(fresh.eventId);
    this.#settled.set(fresh.eventId, { ...fresh, atMs: nowMs, attempt });
    if (this.#settled.size >= 2 * DELIVERY.unsaved) this.settle();
    else if (this.#settled.size >= DELIVERY.unsaved && this.#isFirstInOrder()) this.#checkpoint(0);
  }

  /** Makes deliveries due that wait longer than any may: the clock was set back since. */
  hasten(nowMs: number): void {
    this.#table.hasten(nowMs);
  }

  /** Moves the due time without counting an attempt. */
  postpone(eventId: string, dueAtMs: number): void {
    const fresh = this.#fresh.get(eventId);
    if (fresh !== undefined) this.#toRow(fresh);
    this.#table.postpone(eventId, dueAtMs);
  }

  /** Removes the delivery of an event that retention removed, and counts it as lost. False if there is none. */
  lose(eventId: string): boolean {
    this.flush();
    const row = this.#table.find(eventId);
    if (row !== undefined) this.#state.lose(() => this.#table.remove(row));
    return row !== undefined;
  }

  /** Restarts the schedule ahead of all other due deliveries, since the client asked for it. */
  restart(delivery: StoredDelivery, text: string | undefined, nowMs: number): void {
    this.flush();
    const packed = this.#packs.find(delivery.eventId);
    if (packed !== undefined)
      this.#state.inTransaction(() => {
        this.#packs.remove(packed.eventId);
        this.#table.addTried(packed, packed.attempt, DELIVERED, null, packed.atMs);
      });
    this.#table.restart(delivery, text, nowMs);
  }

  /** Restarts dead letters, the latest first, ahead of all other due deliveries. Returns their number. */
  restartDead(limit: number, nowMs: number): number {
    this.flush();
    return this.#table.restartDead(limit, nowMs);
  }

  /** A page of deliveries, the latest first. `after` is the place of the previous page's last delivery. */
  page(state: DeliveryState | undefined, after: number | undefined, skip: number, limit: number): DeliveryPage {
    this.flush();
    const before = after ?? Number.MAX_SAFE_INTEGER;
    const rows = this.#latest(state, before, skip, limit + 1);
    const items = rows.slice(0, limit);
    return {
      items: items.map(({ delivery }) => delivery),
      next: rows.length > limit ? items.at(-1)?.place : undefined,
    };
  }

  /** Deliveries that are packed, by place. */
  packed(): readonly PackedDelivery[] {
    this.flush();
    return this.#packs.all();
  }

  /** Removes one step of expired deliveries. True if there may be more. */
  clear(nowMs: number): boolean {
    for (let step = 0; step < DELIVERY.clearedAStep; step++) {
      const pack = this.#packs.oldest();
      if (pack === undefined) break;
      const isOld = pack.atMs <= nowMs - DELIVERY.deliveredKeptMs;
      const isBeyond = this.count("delivered") - pack.size >= DELIVERY.deliveredKept;
      if (!isOld && !(isBeyond && pack.atMs <= (this.#table.oldestMs("delivered") ?? Infinity))) break;
      this.#packs.removePack(pack.id);
    }
    return this.#table.clear(nowMs, this.#packs.count);
  }

  /** When age next removes something; Infinity if nothing has ended. */
  clearAtMs(): number {
    const pack = this.#packs.oldest();
    const packMs = pack === undefined ? Infinity : pack.atMs + DELIVERY.deliveredKeptMs + DELIVERY.clearGraceMs;
    return Math.min(packMs, this.#table.clearAtMs());
  }

  #latest(state: DeliveryState | undefined, before: number, skip: number, limit: number): readonly PlacedDelivery[] {
    const isPackedToo = state === undefined || state === "delivered";
    if (!isPackedToo || this.#packs.count === 0) return this.#table.latest(state, before, skip, limit);
    const packed = this.#packs.all().filter(({ place }) => place < before);
    const placed = packed.map((one) => ({ place: one.place, delivery: toDelivery(one) }));
    return [...this.#table.latest(state, before, 0, skip + limit), ...placed]
      .toSorted((a, b) => b.place - a.place)
      .slice(skip, skip + limit);
  }

  /** Adds fresh events to rows, by due time. A fresh event is due from the time of its taking. */
  #withFresh(rows: PendingDelivery[], limit: number): PendingDelivery[] {
    if (this.#fresh.size === 0) return rows;
    const fresh: PendingDelivery[] = [];
    for (const { eventId, takenAtMs } of this.#fresh.values()) {
      if (fresh.length === limit) break;
      fresh.push({ eventId, dueAtMs: takenAtMs });
    }
    return rows.length === 0 ? fresh : [...rows, ...fresh].toSorted((a, b) => a.dueAtMs - b.dueAtMs).slice(0, limit);
  }

  /** True if the first event in memory is settled, so that a checkpoint moves the cursor. */
  #isFirstInOrder(): boolean {
    const [fresh] = this.#fresh.values();
    const [settled] = this.#settled.values();
    return fresh === undefined || (settled !== undefined && settled.place < fresh.place);
  }

  #checkpoint(lost: number): void {
    const cursor = [...this.taken];
    for (const { shard, seq } of this.#fresh.values()) cursor[shard] = Math.min(cursor[shard]!, seq - 1);
    const ended = [...this.#settled.values()].filter(({ shard, seq }) => seq <= cursor[shard]!);
    const isMoved = cursor.some((position, shard) => position !== this.#state.cursor[shard]);
    if (!isMoved && ended.length === 0 && lost === 0) return;
    try {
      this.#state.moveCursor(cursor, lost, () => this.#packs.add(ended));
    } catch (thrown) {
      // A transaction that fails takes the packs back.
      this.#packs.forget();
      throw thrown;
    }
    for (const { eventId } of ended) this.#settled.delete(eventId);
  }

  #toRow({ eventId, place, takenAtMs }: FreshEvent): void {
    this.#table.add(eventId, place, takenAtMs);
    this.#fresh.delete(eventId);
  }

  #isKnown(eventId: string): boolean {
    return (
      this.#fresh.has(eventId) ||
      this.#settled.has(eventId) ||
      this.#table.has(eventId) ||
      (this.#rewound && this.#packs.find(eventId) !== undefined)
    );
  }

  #nextPlace(): number {
    this.#lastPlace ??= Math.max(
      this.#table.lastPlace(),
      this.#packs.lastPlace,
      ...[...this.#fresh.values(), ...this.#settled.values()].map(({ place }) => place),
    );
    return (this.#lastPlace += 1);
  }
}

export interface TakenEvent {
  readonly eventId: string;
  readonly shard: number;
  readonly seq: number;
}

interface FreshEvent extends TakenEvent {
  readonly place: number;
  readonly takenAtMs: number;
}

const DELIVERED = { state: "delivered" } as const;

const toDelivery = ({ eventId, attempt }: PackedDelivery) => ({
  eventId,
  state: "delivered" as const,
  nextAttemptAtMs: undefined,
  attempts: [attempt],
  attemptCount: 1,
});
