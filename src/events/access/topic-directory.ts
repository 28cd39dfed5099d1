import { FreshCache } from "../../platform/fresh-cache.ts";
import { TOPIC } from "../model/limits.ts";
import { nameOf, type Topic, type TopicId } from "../model/topic.ts";

/**
 * The topics that this isolate knows, so that reading, committing and publishing ask D1 nothing.
 *
 * A record may be 30 s old, which two things make harmless: only active topics are remembered (one created in another
 * isolate, also in the place of one that was being deleted, is seen at once), and the objects of a topic that was
 * deleted say "gone", upon which the record is read again (a topic deleted and created anew is seen at once too).
 */
export class TopicDirectory {
  readonly #load: (id: TopicId, nowMs: number) => Promise<Topic | undefined>;
  readonly #records = new FreshCache<string, Topic | undefined>({
    ttlMs: TOPIC.recordTtlMs,
    maxEntries: TOPIC.maxRecords,
    keeps: (topic) => topic?.state === "active",
  });

  constructor(load: (id: TopicId, nowMs: number) => Promise<Topic | undefined>) {
    this.#load = load;
  }

  find(id: TopicId, nowMs: number): Promise<Topic | undefined> {
    return this.#records.get(nameOf(id), nowMs, () => this.#load(id, nowMs));
  }

  /** The topic as it is stored now, for operations that ask D1 anyway. */
  current(id: TopicId, nowMs: number): Promise<Topic | undefined> {
    return this.#load(id, nowMs);
  }

  /** To be called after every change of a topic. */
  forget(id: TopicId): void {
    this.#records.invalidate(nameOf(id));
  }

  /**
   * Runs an operation on the objects of an active topic. `undefined` from it means that they are gone: then the record
   * is read again and the operation tried once more, on the topic as it is now. Undefined when there is none.
   */
  async onActive<T>(id: TopicId, nowMs: number, run: (topic: Topic) => Promise<T | undefined>): Promise<T | undefined> {
    for (let attempt = 0; attempt < 2; attempt++) {
      const topic = await this.find(id, nowMs);
      if (topic?.state !== "active") return undefined;
      const outcome = await run(topic);
      if (outcome !== undefined) return outcome;
      this.forget(id);
    }
    return undefined;
  }
}
