import { askLog } from "../log/client.ts";
import type { TopicLog } from "../log/topic-log.do.ts";
import { READ } from "../model/limits.ts";
import type { TopicAddress } from "../model/topic.ts";
import type { ConsumerReadOutcome } from "./types.ts";

type Logs = DurableObjectNamespace<TopicLog>;

/**
 * A consumer's entry in the log of its topic's first shard. The log must know a consumer before the consumer's object
 * stores anything, so that a deletion of the topic finds the object.
 */
export class Registration {
  #isKnown: boolean;
  /** Number of reads that had arrived when the last failed attempt started. None of them tries again. */
  #failedArrivals = 0;
  /** Consecutive attempts that failed. */
  #failures = 0;

  constructor(isKnown: boolean) {
    this.#isKnown = isKnown;
  }

  get isKnown(): boolean {
    return this.#isKnown;
  }

  /** The import of the topic's log brought the entry. */
  imported(): void {
    this.#isKnown = true;
  }

  forget(): void {
    this.#isKnown = false;
  }

  /** True if an attempt failed that started after this read arrived. */
  hasFailedFor(arrival: number): boolean {
    return !this.#isKnown && arrival <= this.#failedArrivals;
  }

  /** Adds the entry unless it is known to exist. `arrivals`: number of reads that arrived so far. */
  async add(
    logs: Logs,
    topic: TopicAddress,
    consumer: string,
    arrivals: number,
  ): Promise<"registered" | "gone" | "failed"> {
    if (this.#isKnown) return "registered";
    const answer = await askLog(logs, topic, 0, async (log): Promise<"added" | "gone"> => log.addConsumer(consumer));
    if (answer === undefined) {
      this.#failedArrivals = arrivals;
      this.#failures += 1;
      return "failed";
    }
    this.#failures = 0;
    if (answer === "gone") return "gone";
    this.#isKnown = true;
    return "registered";
  }

  /** Response to a read while registration fails: first "there may be more", after several failures an error. */
  failedOutcome(): ConsumerReadOutcome {
    return this.#failures > READ.failedFetches ? { kind: "failed" } : { kind: "empty", more: true, lost: 0 };
  }
}

/** Removes a consumer's entry. */
export async function unregister(logs: Logs, topic: TopicAddress, consumer: string): Promise<"removed" | "failed"> {
  const forgotten = await askLog(logs, topic, 0, async (log): Promise<boolean> => {
    await log.forgetConsumers([consumer]);
    return true;
  });
  return forgotten === undefined ? "failed" : "removed";
}
