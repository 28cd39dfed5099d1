import { askLogs } from "../log/client.ts";
import type { OwnTenant } from "../log/hidden-ids.ts";
import { positionAfter } from "../log/resets.ts";
import type { TopicLog } from "../log/topic-log.do.ts";
import type { ReadOutcome } from "../log/types.ts";
import { READ } from "../model/limits.ts";
import { shardFor, shardsOf, type TopicAddress } from "../model/topic.ts";
import type { Rewind } from "./consumer-row.ts";
import { UNREAD } from "./lock.ts";
import { PrefetchBuffer, type AnswerLimits } from "./prefetch-buffer.ts";

/**
 * Events that a consumer reads ahead from a topic's logs, and the result of the last fetch from all shards.
 *
 * Reads that arrived before a fetch started can use its result, so parallel reads of a topic share one fetch.
 */
export class Prefetch {
  readonly buffer = new PrefetchBuffer();
  /** Grows while reading continues, so that a client that reads little causes no fetch of many events. */
  #prefetchChars: number = READ.firstPrefetchChars;
  /** Reads that had arrived when the last fetch started. */
  #arrivals = 0;
  /** Every shard that answered was read to its end. */
  #complete = false;
  /** Consecutive fetches in which a shard did not answer. */
  #failures = 0;
  /** The last position of each shard that its log reported; empty for a reader of one tenant's events. */
  readonly #heads: number[] = [];
  /** The last reset of each log whose reading starts here, at its oldest event. */
  readonly #adopted: (string | undefined)[] = [];
  /** The last fetch stopped because it skipped too many events of other tenants. */
  #isCut = false;

  /** Number of events after the cursor; undefined until each shard reported its last position. */
  lagBehind(cursor: readonly number[]): number | undefined {
    let lag = 0;
    for (const [shard, position] of cursor.entries()) {
      const head = this.#heads[shard];
      if (head === undefined) return undefined;
      lag += Math.max(0, head - Math.max(position, 0));
    }
    return lag;
  }

  get failed(): boolean {
    return this.#failures > 0;
  }

  get isCut(): boolean {
    return this.#isCut;
  }

  /** True after so many failed fetches that a client following `rel="more"` should stop. */
  get keepsFailing(): boolean {
    return this.#failures > READ.failedFetches;
  }

  /**
   * True if this read needs no other fetch: since it arrived, each shard was read to its end or failed.
   */
  isCompleteFor(arrival: number): boolean {
    return this.#complete && arrival <= this.#arrivals;
  }

  /** Drops runs that do not start at the cursor. True if it dropped none. */
  align(cursor: readonly number[]): boolean {
    const kept = this.buffer.align(cursor);
    if (!kept) this.#prefetchChars = READ.firstPrefetchChars;
    return kept;
  }

  /**
   * Asks every shard for the events after the held ones; for one tenant's events, only the shard that has them. Shards
   * with more events are asked again while the response has space, since most of a topic may lie in one shard. Each
   * round completes a shard or fills the response. The buffer then holds at most one response and one segment per
   * shard.
   *
   * `arrivals`: number of reads that arrived so far. `seenResets`: the last reset of each shard that the consumer saw.
   * If a log was reset, returns the positions to go back to; the held events are then invalid.
   */
  async fill(
    logs: DurableObjectNamespace<TopicLog>,
    topic: TopicAddress,
    limits: AnswerLimits,
    arrivals: number,
    own: OwnTenant | undefined,
    seenResets: readonly (string | null)[] = [],
  ): Promise<"filled" | "gone" | readonly Rewind[]> {
    const shards = own === undefined ? shardsOf(topic) : [shardFor(own.tenant, topic.shards)];
    const share = (chars: number): number => Math.ceil(chars / shards.length);
    const first = { events: limits.maxEvents, aheadChars: share(this.#prefetchChars), chars: share(limits.maxChars) };
    const ask = (of: readonly number[], much: Much): Promise<Seen> => this.#ask(logs, topic, of, much, own, seenResets);
    let seen = await ask(shards, first);
    let failed = seen.failed;
    for (
      let missing = this.buffer.missing(limits);
      missing !== undefined && seen.unread.length > 0 && !seen.isCut;
      missing = this.buffer.missing(limits)
    ) {
      const chars = Math.ceil(missing.chars / seen.unread.length);
      const { rewinds } = seen;
      seen = await ask(seen.unread, { events: missing.events, aheadChars: 0, chars });
      seen.rewinds.push(...rewinds);
      failed ||= seen.failed;
    }
    // Keep no result for a deleted topic, so that every waiting read asks and gets "gone" itself.
    if (seen.gone) return "gone";
    if (seen.rewinds.length > 0) return seen.rewinds;
    this.#prefetchChars = Math.min(this.#prefetchChars * READ.prefetchGrowth, READ.prefetchChars);
    this.#arrivals = arrivals;
    this.#isCut = seen.isCut;
    this.#complete = seen.unread.length === 0;
    this.#failures = failed ? this.#failures + 1 : 0;
    return "filled";
  }

  /** Drops events that exceed the memory limit. The fetch then no longer counts as complete. */
  shrink(): void {
    if (this.buffer.shrink(READ.prefetchChars)) this.#complete = false;
  }

  /** Fetches at least `events` from each of these shards, unless the shard ends before. Parameters: `TopicLog.read`. */
  async #ask(
    logs: DurableObjectNamespace<TopicLog>,
    topic: TopicAddress,
    shards: readonly number[],
    { events, aheadChars, chars }: Much,
    own: OwnTenant | undefined,
    seenResets: readonly (string | null)[],
  ): Promise<Seen> {
    const answers = await askLogs(logs, topic, shards, async (log, shard): Promise<ReadOutcome> => {
      const afterSeq = this.buffer.endOf(shard);
      if (own === undefined) return log.read(afterSeq, events, aheadChars, chars);
      return log.readTenant(own, { afterSeq, minEvents: events, aheadChars, maxChars: chars });
    });
    if (answers.some((answer) => answer?.kind === "gone"))
      return { gone: true, failed: false, isCut: false, unread: [], rewinds: [] };
    const unread: number[] = [];
    const rewinds: Rewind[] = [];
    for (const [index, answer] of answers.entries())
      if (answer?.kind === "segments") {
        const rewind = this.#rewind(shards[index]!, answer, seenResets);
        if (rewind !== undefined) {
          rewinds.push(rewind);
          continue;
        }
        this.buffer.append(shards[index]!, answer.segments, answer.endSeq);
        if (own === undefined) this.#heads[shards[index]!] = answer.lastSeq ?? answer.endSeq;
        if (!answer.atEnd) unread.push(shards[index]!);
      }
    const isCut = answers.some((answer) => answer?.kind === "segments" && answer.isCut === true);
    return { gone: false, failed: answers.includes(undefined), isCut, unread, rewinds };
  }

  /** The last reset seen of each shard: as stored, and for shards whose reading starts here, as their log reported. */
  seenResets(stored: readonly (string | null)[] | undefined, shards: number): readonly (string | null)[] | undefined {
    if (this.#adopted.length === 0) return stored;
    return Array.from({ length: shards }, (_, shard) => this.#adopted[shard] ?? stored?.[shard] ?? null);
  }

  #rewind(
    shard: number,
    { endSeq, resets }: Extract<ReadOutcome, { kind: "segments" }>,
    seenResets: readonly (string | null)[],
  ): Rewind | undefined {
    const position = this.buffer.cursor[shard]!;
    if (position === UNREAD) {
      const last = resets?.at(-1);
      if (last !== undefined) this.#adopted[shard] = last.id;
      return undefined;
    }
    const seen = seenResets[shard] ?? this.#adopted[shard] ?? null;
    const after = positionAfter(resets, seen ?? undefined, position);
    if (after !== undefined) return { shard, ...after };
    // The log lost events without recording where, so only its oldest event is a start that misses none.
    return endSeq < this.buffer.endOf(shard) ? { shard, position: UNREAD, seen } : undefined;
  }
}

interface Much {
  readonly events: number;
  readonly aheadChars: number;
  readonly chars: number;
}

interface Seen {
  /** The topic is gone. */
  readonly gone: boolean;
  /** A shard did not answer. */
  readonly failed: boolean;
  readonly isCut: boolean;
  /** Shards that have more than they returned. */
  readonly unread: readonly number[];
  readonly rewinds: Rewind[];
}
