import { askLogs } from "../log/client.ts";
import type { OwnTenant } from "../log/hidden-ids.ts";
import type { TopicLog } from "../log/topic-log.do.ts";
import type { ReadOutcome } from "../log/types.ts";
import { READ } from "../model/limits.ts";
import { shardFor, shardsOf, type TopicAddress } from "../model/topic.ts";
import { PrefetchBuffer, type AnswerLimits } from "./prefetch-buffer.ts";

/**
 * What a consumer knows of a topic's logs: the events that it holds ahead, and how the last look at all shards went.
 *
 * A look that began after a read arrived tells that read all there is to know, so parallel reads of a topic share it.
 */
export class Prefetch {
  readonly buffer = new PrefetchBuffer();
  /** Grows while reading goes on, so that who reads a little at a place does not pay for what nobody reads. */
  #aheadChars: number = READ.firstAheadChars;
  /** Reads that had arrived when the last look began. */
  #arrivals = 0;
  /** Each shard that answered was seen to its end. */
  #complete = false;
  /** Looks in a row in which a shard did not answer. */
  #failures = 0;
  /** The last look ended where it had passed over enough of other tenants. */
  #isCut = false;

  get failed(): boolean {
    return this.#failures > 0;
  }

  get isCut(): boolean {
    return this.#isCut;
  }

  /** Whether that has gone on for so long that who follows `rel="more"` should stop. */
  get keepsFailing(): boolean {
    return this.#failures > READ.failedLooks;
  }

  /** Whether looking again would tell this read no more: each shard was seen to its end since it came, or failed. */
  toldAll(arrival: number): boolean {
    return this.#complete && arrival <= this.#arrivals;
  }

  /** Lets what is held begin behind the cursor; true when it did already. */
  align(cursor: readonly number[]): boolean {
    const kept = this.buffer.align(cursor);
    if (!kept) this.#aheadChars = READ.firstAheadChars;
    return kept;
  }

  /**
   * Asks every shard for what follows what is held, and those that have more once more while an answer has room for it:
   * most of a topic may lie in one shard. Each time one of them is seen to its end, or the answer is full. No more is held
   * meanwhile than an answer and a segment of each shard. `arrivals`: reads that arrived so far. Of one tenant's events all
   * lie in one shard.
   */
  async fill(
    logs: DurableObjectNamespace<TopicLog>,
    topic: TopicAddress,
    limits: AnswerLimits,
    arrivals: number,
    own: OwnTenant | undefined,
  ): Promise<"filled" | "gone"> {
    const shards = own === undefined ? shardsOf(topic) : [shardFor(own.tenant, topic.shards)];
    const share = (chars: number): number => Math.ceil(chars / shards.length);
    const first = { events: limits.maxEvents, aheadChars: share(this.#aheadChars), chars: share(limits.maxChars) };
    let seen = await this.#ask(logs, topic, shards, first, own);
    let failed = seen.failed;
    for (
      let missing = this.buffer.missing(limits);
      missing !== undefined && seen.unread.length > 0 && !seen.isCut;
      missing = this.buffer.missing(limits)
    ) {
      const chars = Math.ceil(missing.chars / seen.unread.length);
      seen = await this.#ask(logs, topic, seen.unread, { events: missing.events, aheadChars: 0, chars }, own);
      failed ||= seen.failed;
    }
    // Of a topic that is gone nothing is told to those who wait: each of them learns it.
    if (seen.gone) return "gone";
    this.#aheadChars = Math.min(this.#aheadChars * READ.aheadGrowth, READ.aheadChars);
    this.#arrivals = arrivals;
    this.#isCut = seen.isCut;
    this.#complete = seen.unread.length === 0;
    this.#failures = failed ? this.#failures + 1 : 0;
    return "filled";
  }

  /** Keeps no more than fits. What is let go was not seen to its end, whatever the last look says. */
  shrink(): void {
    if (this.buffer.shrink(READ.aheadChars)) this.#complete = false;
  }

  /** Adds to what is held: of each of these shards at least `events`, unless it ends before, and what `TopicLog.read` says. */
  async #ask(
    logs: DurableObjectNamespace<TopicLog>,
    topic: TopicAddress,
    shards: readonly number[],
    { events, aheadChars, chars }: { readonly events: number; readonly aheadChars: number; readonly chars: number },
    own: OwnTenant | undefined,
  ): Promise<Seen> {
    const answers = await askLogs(logs, topic, shards, async (log, shard): Promise<ReadOutcome> => {
      const afterSeq = this.buffer.endOf(shard);
      if (own === undefined) return log.read(afterSeq, events, aheadChars, chars);
      return log.readTenant(own, { afterSeq, minEvents: events, aheadChars, maxChars: chars });
    });
    if (answers.some((answer) => answer?.kind === "gone"))
      return { gone: true, failed: false, isCut: false, unread: [] };
    const unread: number[] = [];
    for (const [index, answer] of answers.entries())
      if (answer?.kind === "segments") {
        this.buffer.append(shards[index]!, answer.segments, answer.endSeq);
        if (!answer.atEnd) unread.push(shards[index]!);
      }
    const isCut = answers.some((answer) => answer?.kind === "segments" && answer.isCut === true);
    return { gone: false, failed: answers.includes(undefined), isCut, unread };
  }
}

interface Seen {
  /** The topic is. */
  readonly gone: boolean;
  /** A shard did not answer. */
  readonly failed: boolean;
  readonly isCut: boolean;
  /** Those that have more than they gave. */
  readonly unread: readonly number[];
}
