import type { Position } from "../log/event-id.ts";
import { unpackSegment, type LogEvent, type Segment } from "../log/segments.ts";
import { UNREAD, type Run } from "./lock.ts";

/**
 * Events that a consumer holds in memory: for each shard, a run that starts right after a position.
 *
 * They are copies of the log's immutable events, so losing them costs only a call. A run that does not start at the
 * cursor is dropped: the lock expired, or the cursor moved.
 */
export class PrefetchBuffer {
  #lanes: Lane[] = [];

  /** Drops runs that do not start at the cursor. True if it dropped none. */
  align(cursor: readonly number[]): boolean {
    const fits = (after: number, shard: number) =>
      this.#lanes[shard]?.after === after || this.#lanes[shard]?.cursor === after;
    if (cursor.every(fits)) return true;
    this.#lanes = cursor.map((after, shard) =>
      fits(after, shard) ? this.#lanes[shard]! : { cursor: after, after, end: after, events: [], chars: 0 },
    );
    return false;
  }

  /** The cursor it is aligned to, with the start of each shard that was read for the first time. */
  get cursor(): readonly number[] {
    return this.#lanes.map((lane) => lane.after);
  }

  /** Number of positions after the cursor that the logs covered without an event, if no events are held. */
  get lost(): number {
    return this.#lanes.reduce((sum, lane) => sum + lane.end - lane.after, 0);
  }

  /** Number of events held. */
  get count(): number {
    return this.#lanes.reduce((sum, lane) => sum + lane.events.length, 0);
  }

  /** The position after which the run of a shard continues. */
  endOf(shard: number): number {
    return Math.max(0, this.#lanes[shard]!.end);
  }

  /** Appends a shard's answer, which covers the log up to `endSeq`. */
  append(shard: number, segments: readonly Segment[], endSeq: number): void {
    const lane = this.#lanes[shard]!;
    if (lane.after === UNREAD) lane.after = lane.end = segments[0] === undefined ? endSeq : segments[0].firstSeq - 1;
    for (const segment of segments)
      for (const event of unpackSegment(segment, lane.end)) {
        lane.events.push(event);
        lane.chars += event.text.length;
      }
    lane.end = Math.max(lane.end, endSeq);
  }

  /** Moves the start of empty runs to their end, past events of other tenants that this reader is not shown. */
  skipToEnd(): void {
    for (const lane of this.#lanes) if (lane.events.length === 0) lane.after = lane.end;
  }

  /** Number of events and characters that still fit into a response; undefined if the held events fill it. */
  missing(limits: AnswerLimits): { readonly events: number; readonly chars: number } | undefined {
    const events = limits.maxEvents - this.count;
    if (events <= 0) return undefined;
    let payloadBytes = 0;
    for (const lane of this.#lanes) for (const event of lane.events) payloadBytes += event.payloadBytes;
    const chars = limits.maxChars - this.#chars - this.count;
    return payloadBytes >= limits.maxPayloadBytes || chars <= 0 ? undefined : { events, chars };
  }

  /** Takes the next events within the limits, but at least one: oldest first, and in order within a shard. */
  take(limits: AnswerLimits): Taken | undefined {
    const taken = this.#lanes.map(() => 0);
    const texts: string[] = [];
    const batch: Run[] = [];
    let first: Position | undefined;
    let payloadBytes = 0;
    let chars = 0;
    while (texts.length < limits.maxEvents) {
      const shard = this.#oldest(taken);
      if (shard === undefined) break;
      const event = this.#lanes[shard]!.events[taken[shard]!]!;
      payloadBytes += event.payloadBytes;
      chars += event.text.length + 1;
      if (texts.length > 0 && (payloadBytes > limits.maxPayloadBytes || chars > limits.maxChars)) break;
      first ??= { shard, seq: event.seq };
      texts.push(event.text);
      taken[shard]! += 1;
      if (batch.at(-1)?.[0] === shard) batch.pop();
      batch.push([shard, event.seq]);
    }
    return first === undefined ? undefined : { texts, batch, first, lost: this.#remove(taken) };
  }

  /** Drops the last events of each shard until at most `maxChars` are held. True if more were held. */
  shrink(maxChars: number): boolean {
    if (this.#chars <= maxChars) return false;
    const share = maxChars / this.#lanes.length;
    for (const lane of this.#lanes)
      while (lane.chars > share) {
        lane.chars -= lane.events.pop()!.text.length;
        lane.end = lane.events.at(-1)?.seq ?? lane.after;
      }
    return true;
  }

  /** Length of all held texts. */
  get #chars(): number {
    return this.#lanes.reduce((sum, lane) => sum + lane.chars, 0);
  }

  /** The shard whose next event is the oldest. */
  #oldest(taken: readonly number[]): number | undefined {
    let oldest: number | undefined;
    let oldestAtMs = Infinity;
    for (const [shard, lane] of this.#lanes.entries()) {
      const event = lane.events[taken[shard]!];
      if (event === undefined || event.createdAtMs >= oldestAtMs) continue;
      oldest = shard;
      oldestAtMs = event.createdAtMs;
    }
    return oldest;
  }

  /** Removes taken events. Returns the number of positions without an event before and between them. */
  #remove(taken: readonly number[]): number {
    let lost = 0;
    for (const [shard, lane] of this.#lanes.entries()) {
      const last = lane.events[taken[shard]! - 1];
      if (last === undefined) continue;
      lost += last.seq - lane.after - taken[shard]!;
      for (const event of lane.events.splice(0, taken[shard])) lane.chars -= event.text.length;
      lane.cursor = lane.after = last.seq;
    }
    return lost;
  }
}

/** Limits of one response: events, bytes of their payloads, and characters as JSON. */
export interface AnswerLimits {
  readonly maxEvents: number;
  readonly maxPayloadBytes: number;
  readonly maxChars: number;
}

export interface Taken {
  /** The events as JSON texts. */
  readonly texts: readonly string[];
  readonly batch: readonly Run[];
  readonly first: Position;
  /** Events that retention removed before they were delivered. */
  readonly lost: number;
}

/** `events` follow `after` up to `end`. Gaps are events that retention removed, or that this reader is not shown. */
interface Lane {
  /** Position it was aligned to: `after`, UNREAD for an unread shard, or the position before `skipToEnd`. */
  cursor: number;
  after: number;
  end: number;
  events: LogEvent[];
  /** Length of all its texts. */
  chars: number;
}
