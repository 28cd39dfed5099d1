import { askLogs } from "./ask-log.ts";
import { READ } from "./limits.ts";
import { ReadAhead } from "./read-ahead.ts";
import { shardsOf, type TopicAddress } from "./topic.ts";
import type { TopicLog } from "./topic-log.do.ts";
import type { ReadOutcome } from "./topic-log.ts";

/**
 * What a consumer knows of a topic's logs: the events that it holds ahead, and how the last look at all shards went.
 *
 * A look that began after a read arrived tells that read all there is to know, so parallel reads of a topic share it.
 */
export class LookAhead {
  readonly ahead = new ReadAhead();
  /** Grows while reading goes on, so that who reads a little at a place does not pay for what nobody reads. */
  #aheadChars: number = READ.firstAheadChars;
  /** Reads that had arrived when the last look began. */
  #arrivals = 0;
  /** Each shard that answered was seen to its end. */
  #complete = false;
  /** Looks in a row in which a shard did not answer. */
  #failures = 0;

  get failed(): boolean {
    return this.#failures > 0;
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
    const kept = this.ahead.align(cursor);
    if (!kept) this.#aheadChars = READ.firstAheadChars;
    return kept;
  }

  /** Asks every shard for what follows what is held. `arrivals`: reads that arrived so far. */
  async look(
    logs: DurableObjectNamespace<TopicLog>,
    topic: TopicAddress,
    numEvents: number,
    arrivals: number,
  ): Promise<"looked" | "gone"> {
    const share = (chars: number): number => Math.ceil(chars / topic.shards);
    const [aheadChars, maxChars] = [share(this.#aheadChars), share(READ.maxAnswerChars)];
    const answers = await askLogs(logs, topic, shardsOf(topic), async (log, shard): Promise<ReadOutcome> =>
      log.read(this.ahead.endOf(shard), numEvents, aheadChars, maxChars),
    );
    // Of a topic that is gone nothing is told to those who wait: each of them learns it.
    if (answers.some((answer) => answer?.kind === "gone")) return "gone";
    this.#aheadChars = Math.min(this.#aheadChars * READ.aheadGrowth, READ.aheadChars);
    this.#arrivals = arrivals;
    this.#complete = true;
    this.#failures = answers.includes(undefined) ? this.#failures + 1 : 0;
    for (const [shard, answer] of answers.entries())
      if (answer?.kind === "segments") {
        this.ahead.append(shard, answer.segments, answer.endSeq);
        this.#complete &&= answer.atEnd;
      }
    return "looked";
  }

  /** Keeps no more than fits. What is let go was not seen to its end, whatever the last look says. */
  shrink(): void {
    if (this.ahead.shrink(READ.aheadChars)) this.#complete = false;
  }
}
