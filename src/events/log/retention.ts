import { LOG } from "../model/limits.ts";
import type { SegmentTable } from "./segment-table.ts";
import type { Retention } from "./types.ts";

/**
 * Retention of a log. It applies to events whether they were read or not: none older than `ageMs`
 * (`EVENT_RETENTION_DAYS`, seven days by default), and as many of the newest as fit into `maxBytes`.
 *
 * Both rules remove whole segments from the front, a step at a time. Age may remove all of them. Size never removes
 * the newest segment, so the last events can be read however small the maximum is. A publish removes one step if the
 * log is too large; the alarm removes the rest. A publish is refused only near the size limit of an object, so lowering
 * the maximum never blocks publishers.
 */
export class LogRetention {
  readonly #sql: SqlStorage;
  readonly #segments: SegmentTable;
  #rule: Retention = { ageMs: Infinity, maxBytes: Infinity };
  /** Characters stored since the size was last read. Reading it on every small publish would be slow. */
  #unseenChars = Infinity;
  #over = false;

  constructor(sql: SqlStorage, segments: SegmentTable) {
    this.#sql = sql;
    this.#segments = segments;
  }

  /** Loads the stored rule. */
  load(rule: Retention): void {
    this.#rule = rule;
  }

  get maxBytes(): number {
    return this.#rule.maxBytes;
  }

  isOther({ ageMs, maxBytes }: Retention): boolean {
    return ageMs !== this.#rule.ageMs || maxBytes !== this.#rule.maxBytes;
  }

  /** Stores and applies another rule. */
  change(rule: Retention): void {
    this.#sql.exec(`UPDATE log SET retention_ms = ?, max_bytes = ?`, rule.ageMs, rule.maxBytes);
    this.#rule = rule;
    this.#unseenChars = Infinity;
  }

  stored(chars: number): void {
    this.#unseenChars += chars;
  }

  /** True if more is stored than the rule allows. */
  isOver(): boolean {
    if (this.#over || this.#unseenChars >= Math.min(LOG.unseenChars, this.#rule.maxBytes * LOG.unseenPart))
      this.#readSize();
    return this.#over;
  }

  /** True if the object is too full to store anything more. */
  isFull(): boolean {
    return this.#over && this.#sql.databaseSize > LOG.fullBytes;
  }

  /**
   * Removes a step of old or surplus events. Call it in a transaction. `endSeq` is the end of the log. The size is read
   * again afterwards, since the transaction may fail.
   */
  trim(nowMs: number, endSeq: number): void {
    this.#unseenChars = Infinity;
    const oldest = this.#segments.oldest(LOG.rowsTrimmedAStep, LOG.bytesTrimmedAStep);
    let gone = oldest.findLastIndex((place) => place.createdAtMs <= nowMs - this.#rule.ageMs) + 1;
    if (gone > 0) this.#segments.removeThrough(oldest[gone - 1]!);
    const removable = oldest.filter((place) => place.lastSeq < endSeq).length;
    // Remove more per step when the surplus is larger; a step removes at most twice the surplus.
    for (let more = 1; this.#isLarge() && gone < removable; more *= 2) {
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
    return this.isOver() && oldest.lastSeq < endSeq ? 0 : oldest.createdAtMs + this.#rule.ageMs;
  }

  /**
   * A time older than every event still kept, for positions before the stored events. It is not later than the last
   * removed event, and at least `ageMs` ago: an event that size removed may be younger than events of other shards.
   */
  trimmedUpToMs(nowMs: number): number {
    const { trimmed_at } = this.#sql.exec<{ trimmed_at: number }>(`SELECT trimmed_at FROM log`).one();
    return Math.min(trimmed_at, nowMs - this.#rule.ageMs);
  }

  #readSize(): void {
    this.#unseenChars = 0;
    this.#over = this.#isLarge();
  }

  /** Compares the size of the pages in use with the maximum. Pages freed by a removal do not count. */
  #isLarge(): boolean {
    return this.#sql.databaseSize > this.#rule.maxBytes;
  }
}
