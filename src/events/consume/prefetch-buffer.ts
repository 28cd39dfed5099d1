import type { Position } from "../log/event-id.ts";
import { unpackSegment, type LogEvent, type Segment } from "../log/segments.ts";
import { NOT_BEGUN, type Run } from "./lock.ts";

/**
 * Events that a consumer holds in memory, of each shard a stretch that begins right behind a position.
 *
 * They are copies of what the log stores and never changes, so losing them costs a call and nothing else. A stretch
 * that does not begin behind the cursor (the lock expired, the cursor was moved) is of no use and is let go.
 */
export class PrefetchBuffer {
  #lanes: Lane[] = [];

  /** Lets every shard's stretch begin behind its position; true when all of them did already. */
  align(cursor: readonly number[]): boolean {
    const fits = (after: number, shard: number) =>
      this.#lanes[shard]?.after === after || this.#lanes[shard]?.cursor === after;
    if (cursor.every(fits)) return true;
    this.#lanes = cursor.map((after, shard) =>
      fits(after, shard) ? this.#lanes[shard]! : { cursor: after, after, end: after, events: [], chars: 0 },
    );
    return false;
  }

  /** The cursor that it is aligned to; of a shard that was looked at for the first time, where that began. */
  get cursor(): readonly number[] {
    return this.#lanes.map((lane) => lane.after);
  }

  /** Events that retention removed and none followed; for when none are held. */
  get lost(): number {
    return this.#lanes.reduce((sum, lane) => sum + lane.end - lane.after, 0);
  }

  /** Events held. */
  get count(): number {
    return this.#lanes.reduce((sum, lane) => sum + lane.events.length, 0);
  }

  /** The position behind which the stretch of a shard goes on. */
  endOf(shard: number): number {
    return Math.max(0, this.#lanes[shard]!.end);
  }

  /** What a look at a shard gave, which saw it up to `endSeq`. */
  append(shard: number, segments: readonly Segment[], endSeq: number): void {
    const lane = this.#lanes[shard]!;
    if (lane.after === NOT_BEGUN) lane.after = lane.end = segments[0] === undefined ? endSeq : segments[0].firstSeq - 1;
    for (const segment of segments)
      for (const event of unpackSegment(segment, lane.end)) {
        lane.events.push(event);
        lane.chars += event.text.length;
      }
    lane.end = Math.max(lane.end, endSeq);
  }

  /** Begins behind what was seen: of a reader of one tenant's events, who is shown none of what lay before. */
  passOver(): void {
    for (const lane of this.#lanes) if (lane.events.length === 0) lane.after = lane.end;
  }

  /** How many more events, and characters of them, an answer could have; undefined when what is held makes a whole one. */
  missing(limits: AnswerLimits): { readonly events: number; readonly chars: number } | undefined {
    const events = limits.maxEvents - this.count;
    if (events <= 0) return undefined;
    let payloadBytes = 0;
    for (const lane of this.#lanes) for (const event of lane.events) payloadBytes += event.payloadBytes;
    const chars = limits.maxChars - this.#chars - this.count;
    return payloadBytes >= limits.maxPayloadBytes || chars <= 0 ? undefined : { events, chars };
  }

  /** The next events: the oldest first, in order within a shard; within the limits, but at least one event. */
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

  /** Lets go of what is farthest ahead until at most `maxChars` are held; true when there was something to let go. */
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

  /** Length of the texts of all events held. */
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

  /** Gives how many events were missing in between. */
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

/** What one answer may have: events, bytes of their payloads, and characters as JSON. */
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
  /** Events that retention removed before they were handed out. */
  readonly lost: number;
}

/** `events` follow `after` up to `end`; only retention makes gaps, and those are counted when a batch spans them. */
interface Lane {
  /** What it was aligned to: `after`; or NOT_BEGUN, which says nothing of where the shard began; or what was passed over since. */
  cursor: number;
  after: number;
  end: number;
  events: LogEvent[];
  /** Length of all their texts. */
  chars: number;
}
