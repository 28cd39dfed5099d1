import type { TopicDirectory } from "../access/topic-directory.ts";
import type { NameRange } from "../access/topic-store.ts";
import { noMeter } from "../../platform/ports/metrics.ts";
import { TOPIC } from "../model/limits.ts";
import { nameOf, type Topic, type TopicId } from "../model/topic.ts";
import type { NamedEvent } from "../publish/event-input.ts";
import { storeEvents, type StoringPorts } from "../publish/publish.ts";
import { makeTopic, type CreatePorts } from "./topics.ts";

/**
 * Topics of the platform itself: other services publish to them, and clients with a scope consume them. No client has
 * the owner's name, so no client creates or deletes them. Each is created at the first lookup, so it exists before its
 * first event.
 */
export interface PlatformTopic extends TopicId {
  readonly description: string;
}

/** The stored topic of a name. Creates a platform topic that is missing. */
export async function findOrCreate(
  ports: CreatePorts,
  own: readonly PlatformTopic[],
  id: TopicId,
  nowMs: number,
): Promise<Topic | undefined> {
  const found = await ports.store.find(id);
  if (found !== undefined) return found;
  const missing = own.find((topic) => nameOf(topic) === nameOf(id));
  if (missing === undefined) return undefined;
  return (await makeTopic(ports, { ...missing, shards: TOPIC.defaultShards }, nowMs)).topic;
}

/** Creates the missing platform topics within the ranges, before a list of them. */
export async function createMissing(
  directory: TopicDirectory,
  own: readonly PlatformTopic[],
  ranges: readonly NameRange[],
  nowMs: number,
): Promise<void> {
  for (const topic of own)
    if (ranges.some(([from, to]) => nameOf(topic) >= from && nameOf(topic) < to)) await directory.find(topic, nowMs);
}

/**
 * Publishes events of one tenant to a platform topic. They lie in one shard, so all or none are stored. A repeat under
 * the key within 24 h stores nothing, even with other events.
 */
export async function publishToPlatformTopic(
  ports: StoringPorts,
  topic: TopicId,
  events: readonly NamedEvent[],
  key: string,
  nowMs: number,
): Promise<void> {
  // The platform publishes these events, so they are not metered for a tenant.
  const outcome = await storeEvents({ ...ports, meter: noMeter }, topic, events, key, nowMs);
  if (!outcome.ok && outcome.error.kind !== "key_used") throw new Error(`not published: ${outcome.error.kind}`);
}
