import { FreshCache } from "../../platform/copies/fresh-cache.ts";
import type { Isolate } from "../../platform/copies/isolate.ts";
import { noLocationCache, throughLocation, type LocationCache } from "../../platform/copies/location-cache.ts";
import { TOPIC } from "../model/limits.ts";
import { nameOf, type Topic, type TopicId } from "../model/topic.ts";

/**
 * This isolate's cache of topics, so that reading, committing and publishing need no D1 call.
 *
 * A record may be 30 s old, and 60 s while D1 does not respond. Two rules make that harmless. Only active topics are
 * cached, so a topic that another isolate has just created is found at once. The objects of a deleted topic answer
 * "gone" and the record is then read again, so a topic that was deleted and created again is found at once too.
 */
export class TopicDirectory {
  readonly #load: (id: TopicId, nowMs: number) => Promise<Topic | undefined>;
  readonly #location: LocationCache;
  readonly #records: FreshCache<string, Topic | undefined>;

  constructor(
    load: (id: TopicId, nowMs: number) => Promise<Topic | undefined>,
    isolate: Isolate,
    location: LocationCache = noLocationCache,
  ) {
    this.#load = load;
    this.#location = location;
    this.#records = new FreshCache(
      {
        ttlMs: TOPIC.recordTtlMs,
        withoutSourceMs: TOPIC.recordKeptMs,
        maxEntries: TOPIC.maxRecords,
        aheadMs: TOPIC.recordAheadMs,
        keeps: isActive,
      },
      isolate,
    );
  }

  find(id: TopicId, nowMs: number): Promise<Topic | undefined> {
    const name = nameOf(id);
    const shared = {
      name: `topic:${name}`,
      nowMs,
      maxAgeMs: TOPIC.locationAgeMs,
      read: () => this.#load(id, nowMs),
      valueOf: (topic: Topic | undefined) => topic,
      keeps: isActive,
    };
    return this.#records.getFrom(name, nowMs, throughLocation(this.#location, shared));
  }

  /** Reads the stored topic, for operations that call D1 anyway. */
  current(id: TopicId, nowMs: number): Promise<Topic | undefined> {
    return this.#load(id, nowMs);
  }

  /** Call this after every change of a topic. */
  forget(id: TopicId): void {
    this.#records.invalidate(nameOf(id));
  }

  clear(): void {
    this.#records.clear();
  }

  /**
   * Runs an operation on the objects of an active topic. If `run` returns undefined, the objects are gone: this method
   * then reads the record again and retries once. It returns undefined if there is no such topic.
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

const isActive = (topic: Topic | undefined): boolean => topic?.state === "active";
