import { LOG } from "../model/limits.ts";
import type { SegmentTable } from "./segment-table.ts";
import type { Retention } from "./types.ts";

/**
 * What a log keeps: no event that is older than `ageMs`, and of the younger ones as many of the newest as fit.
 *
 * Both remove whole segments from the front, some at a time. By age all of them may go. By size the newest one stays:
 * however small the maximum is, what came last can be read. A publish that finds more than the maximum makes room itself
 * and leaves the rest to the alarm, which goes on at once. It is refused only close to what an object can hold: a maximum
 * that was lowered is reached soon, and meanwhile nobody is kept from publishing.
 */
export class LogRetention {
  readonly #sql: SqlStorage;
  readonly #segments: SegmentTable;
  #rule: Retention = { ageMs: Infinity, maxBytes: Infinity };
  /** Characters stored since the size was looked at: looking takes a noticeable part of a small publish. */
  #unseenChars = Infinity;
  #over = false;

  constructor(sql: SqlStorage, segments: SegmentTable) {
    this.#sql = sql;
    this.#segments = segments;
  }

  /** The rule that is stored. */
  load(rule: Retention): void {
    this.#rule = rule;
  }

  get maxBytes(): number {
    return this.#rule.maxBytes;
  }

  isOther({ ageMs, maxBytes }: Retention): boolean {
    return ageMs !== this.#rule.ageMs || maxBytes !== this.#rule.maxBytes;
  }

  /** Goes by another rule from now on. */
  change(rule: Retention): void {
    this.#sql.exec(`UPDATE log SET retention_ms = ?, max_bytes = ?`, rule.ageMs, rule.maxBytes);
    this.#rule = rule;
    this.#unseenChars = Infinity;
  }

  stored(chars: number): void {
    this.#unseenChars += chars;
  }

  /** Whether more is stored than should be. */
  isOver(): boolean {
    if (this.#over || this.#unseenChars >= Math.min(LOG.unseenChars, this.#rule.maxBytes * LOG.unseenPart))
      this.#look();
    return this.#over;
  }

  /** Whether so much is stored that nothing may come in addition. */
  isFull(): boolean {
    return this.#over && this.#sql.databaseSize > LOG.fullBytes;
  }

  /** Removes a step of what is too old or too much. To be called in a transaction. `endSeq`: the end of the log. */
  trim(nowMs: number, endSeq: number): void {
    const oldest = this.#segments.oldest(LOG.rowsTrimmedAStep, LOG.bytesTrimmedAStep);
    let gone = oldest.findLastIndex((place) => place.createdAtMs <= nowMs - this.#rule.ageMs) + 1;
    if (gone > 0) this.#segments.removeThrough(oldest[gone - 1]!);
    const removable = oldest.filter((place) => place.lastSeq < endSeq).length;
    // More at a time the more it is, which removes at most twice as much as there has to be.
    for (let more = 1; this.#look() && gone < removable; more *= 2) {
      gone = Math.min(gone + more, removable);
      this.#segments.removeThrough(oldest[gone - 1]!);
    }
    const last = oldest[gone - 1];
    if (last !== undefined)
      this.#sql.exec(`UPDATE log SET trimmed_seq = ?, trimmed_at = ?`, last.lastSeq, last.createdAtMs);
  }

  /** When the next step is due; Infinity when nothing is stored. */
  dueMs(endSeq: number): number {
    const oldest = this.#segments.placeFrom(0);
    if (oldest === undefined) return Infinity;
    return this.#over && oldest.lastSeq < endSeq ? 0 : oldest.createdAtMs + this.#rule.ageMs;
  }

  /**
   * A time before which nothing is kept, of all that lay in front of what is stored. By age, that is the time of the last
   * event that was removed; what was removed by size is younger than what other shards still have.
   */
  trimmedUpToMs(nowMs: number): number {
    const { trimmed_at } = this.#sql.exec<{ trimmed_at: number }>(`SELECT trimmed_at FROM log`).one();
    return Math.min(trimmed_at, nowMs - this.#rule.ageMs);
  }

  /** The size is that of the pages in use: those that a removal set free do not count. */
  #look(): boolean {
    this.#unseenChars = 0;
    this.#over = this.#sql.databaseSize > this.#rule.maxBytes;
    return this.#over;
  }
}
