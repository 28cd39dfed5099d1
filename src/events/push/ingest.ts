import type { Clock } from "../../platform/runtime/clock.ts";
import type { Log } from "../../platform/runtime/log.ts";
import { askLog, askLogs } from "../log/client.ts";
import { positionOf } from "../log/event-id.ts";
import { idOf, unpackSegment, type LogEvent } from "../log/segments.ts";
import { positionAfter } from "../log/resets.ts";
import type { TopicLog } from "../log/topic-log.do.ts";
import type { ReadOutcome } from "../log/types.ts";
import { DELIVERY } from "../model/limits.ts";
import { pushObjectName, shardsOf } from "../model/topic.ts";
import type { Deliveries } from "./deliveries.ts";
import type { PushState } from "./state.ts";

export interface IngestPorts {
  readonly logs: DurableObjectNamespace<TopicLog>;
  readonly state: PushState;
  readonly deliveries: Deliveries;
  readonly clock: Clock;
  readonly log: Log;
}

/** `more`: a log has more events than were taken. `failed`: a log did not answer; the others were read completely. */
export type Taken = { readonly more: boolean; readonly failed: boolean } | "gone";

/**
 * Takes events from the topic's logs into memory (deliveries.ts). Their texts are cached in memory too, and read from
 * the log again if the cache dropped them.
 */
export class PushIngest {
  readonly #ports: IngestPorts;
  readonly #texts = new EventTexts(DELIVERY.textChars);
  /** When a shard's log failed to answer. It is then skipped for some seconds, so that it does not delay the others. */
  readonly #failedAtMs = new Map<number, number>();
  #closed = false;

  constructor(ports: IngestPorts) {
    this.#ports = ports;
  }

  /** Ends all writes, even those of a read in progress. */
  close(): void {
    this.#closed = true;
  }

  /** Takes as many events after the cursor as there is capacity for. */
  async take(): Promise<Taken> {
    const { deliveries } = this.#ports;
    const cursor = deliveries.taken;
    const answers = await this.#readLogs(cursor);
    if (this.#closed) return { more: false, failed: false };
    const rewound = await this.#rewind(answers);
    if (rewound !== undefined) return rewound;
    if (answers.some((answer) => answer?.kind === "gone")) return "gone";
    const pages = answers.map((answer) => (answer?.kind === "segments" ? answer : undefined));
    const found = pages.flatMap((page, shard) =>
      (page?.segments ?? [])
        .flatMap((segment) => unpackSegment(segment, cursor[shard]!))
        .map((event): Found => ({ ...event, shard })),
    );
    // Oldest first, so that no shard delays another; the sort is stable within each.
    const events = cut(
      found.toSorted((a, b) => a.createdAtMs - b.createdAtMs),
      deliveries.capacity(),
    );
    const ends = cursor.map((after, shard) => {
      const taken = events.findLast((event) => event.shard === shard)?.seq ?? after;
      const left = found.some((event) => event.shard === shard && event.seq > taken);
      return left ? taken : Math.max(taken, pages[shard]?.endSeq ?? taken);
    });
    this.#keep(events, cursor, ends);
    const more = pages.some((page) => page?.atEnd === false) || events.length < found.length;
    return { more, failed: answers.includes(undefined) };
  }

  /** The answer of each shard's log; undefined: it did not answer, or was left out because it just failed. */
  async #readLogs(cursor: readonly number[]): Promise<(ReadOutcome | undefined)[]> {
    const { logs, state, clock } = this.#ports;
    const { topic } = state;
    const share = Math.ceil(DELIVERY.textChars / topic.shards);
    const shards = shardsOf(topic);
    const asked = shards.filter((shard) => !this.#isLeftOut(shard, clock.nowMs()));
    const told = await askLogs(logs, topic, asked, async (shardLog, shard): Promise<ReadOutcome> =>
      shardLog.read(cursor[shard]!, 1, share, share),
    );
    const answers = shards.map((shard) => told[asked.indexOf(shard)]);
    for (const shard of asked) if (answers[shard] === undefined) this.#failedAtMs.set(shard, clock.nowMs());
    return answers;
  }

  /** Takes the events into memory, and moves the cursor to these ends. */
  #keep(events: readonly Found[], cursor: readonly number[], ends: readonly number[]): void {
    const { state, deliveries, clock, log } = this.#ports;
    const passed = ends.reduce((sum, end, shard) => sum + end - cursor[shard]!, 0);
    if (passed <= 0) return;
    const lost = passed - events.length;
    const taken = events.map(({ text, shard, seq }) => ({ eventId: idOf(text), shard, seq }));
    deliveries.take(taken, ends, lost, clock.nowMs());
    for (const event of events) this.#texts.put(idOf(event.text), event);
    if (lost > 0) log.warn("events lost to retention before they were pushed", { push: state.id, events: lost });
  }

  /**
   * Moves the cursor back in shards whose logs were reset to an earlier position. Registers at these logs again, since
   * they may have lost the entry. Undefined: no log was reset.
   */
  async #rewind(answers: readonly (ReadOutcome | undefined)[]): Promise<Taken | undefined> {
    const { logs, state, deliveries, log } = this.#ports;
    const taken = deliveries.taken;
    const cursor = [...taken];
    const seen = new Map<number, string>();
    let failed = false;
    for (const [shard, answer] of answers.entries()) {
      if (answer?.kind !== "segments") continue;
      const from = cursor[shard]!;
      const after = positionAfter(answer.resets, state.seenReset(shard), from);
      if (after === undefined && answer.endSeq >= from) continue;
      const name = pushObjectName(state.topic, state.id);
      const added = await askLog(logs, state.topic, shard, async (shardLog): Promise<number | "gone"> => {
        const end = await shardLog.addSubscriber(name);
        // The log lost events without recording where, so only its oldest event is a start that misses none.
        return after === undefined && end !== "gone" ? shardLog.positionBefore("oldest") : end;
      });
      if (added === "gone") return "gone";
      if (added === undefined) {
        failed = true;
        continue;
      }
      cursor[shard] = after?.position ?? added;
      if (after !== undefined) seen.set(shard, after.seen);
      if (cursor[shard] !== from)
        log.warn("a push subscription goes back", { push: state.id, shard, from, to: cursor[shard] });
    }
    if (this.#closed) return { more: false, failed: false };
    if (seen.size === 0 && cursor.every((after, shard) => after === taken[shard]))
      return failed ? { more: false, failed } : undefined;
    deliveries.rewind(cursor, seen);
    return { more: true, failed };
  }

  /** Reads the text of a taken event whose row does not keep it. "lost": retention removed the event. */
  async textOf(eventId: string): Promise<EventText | "lost" | "failed" | "gone"> {
    const kept = this.#texts.get(eventId);
    if (kept !== undefined) return kept;
    const { logs, state } = this.#ports;
    const position = positionOf(eventId);
    if (position === undefined || position.shard >= state.topic.shards) return "lost";
    const before = position.seq - 1;
    const answer = await askLog(logs, state.topic, position.shard, async (shardLog): Promise<ReadOutcome> =>
      shardLog.read(before, 1, 0, 1),
    );
    if (answer === undefined) return "failed";
    if (answer.kind === "gone") return "gone";
    const events = answer.segments.flatMap((segment) => unpackSegment(segment, before));
    // Cache the following events too, since they are usually needed next.
    for (const event of events.toReversed()) this.#texts.put(idOf(event.text), event);
    const found = events.find(({ text }) => idOf(text) === eventId);
    return found === undefined ? "lost" : { text: found.text, trace: found.trace };
  }

  #isLeftOut(shard: number, nowMs: number): boolean {
    const failedAtMs = this.#failedAtMs.get(shard) ?? -Infinity;
    return nowMs >= failedAtMs && nowMs < failedAtMs + DELIVERY.failedAgainMs;
  }

  /** Drops a text from memory, since its row keeps it or it was delivered. */
  forgetText(eventId: string): void {
    this.#texts.delete(eventId);
  }
}

interface Found extends LogEvent {
  readonly shard: number;
}

/** The first events, as many as the capacity and the memory for texts allow. */
function cut(events: readonly Found[], capacity: number): readonly Found[] {
  let chars = 0;
  const end = events.findIndex((event, index) => {
    chars += event.text.length;
    return index >= Math.min(capacity, DELIVERY.takenAtOnce) || (index > 0 && chars > DELIVERY.textChars);
  });
  return end === -1 ? events : events.slice(0, end);
}

export type EventText = Pick<LogEvent, "text" | "trace">;

/** A bounded cache of texts of events about to be sent. It drops the oldest texts; they are read again later. */
export class EventTexts {
  readonly #texts = new Map<string, EventText>();
  readonly #maxChars: number;
  #chars = 0;

  constructor(maxChars: number) {
    this.#maxChars = maxChars;
  }

  get(eventId: string): EventText | undefined {
    return this.#texts.get(eventId);
  }

  /** Always keeps the newest event, however long it is. */
  put(eventId: string, { text, trace }: EventText): void {
    this.delete(eventId);
    this.#texts.set(eventId, { text, trace });
    this.#chars += text.length;
    for (const first of this.#texts.keys()) {
      if (this.#chars <= this.#maxChars || this.#texts.size === 1) return;
      this.delete(first);
    }
  }

  delete(eventId: string): void {
    this.#chars -= this.#texts.get(eventId)?.text.length ?? 0;
    this.#texts.delete(eventId);
  }
}
