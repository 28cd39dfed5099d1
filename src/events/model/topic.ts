/**
 * A topic as stored in D1. `incarnation` is random and new for every creation, even under the same name. It is part of
 * every object's name, so objects of a deleted topic cannot affect a new one with the same name.
 */
export interface Topic extends TopicId {
  readonly description: string;
  readonly shards: number;
  readonly incarnation: string;
  readonly state: TopicState;
  readonly createdAtMs: number;
}

export interface TopicId {
  readonly owner: string;
  readonly eventType: string;
}

type TopicState = "active" | "deleting";

/** `<owner>.<eventType>`: an owner has exactly one dot, so two topics never share a name. */
export const nameOf = (topic: TopicId): string => `${topic.owner}.${topic.eventType}`;

/** Parses a topic's name. */
export function topicNamed(name: string): TopicId {
  const [project, app, ...rest] = name.split(".");
  return { owner: `${project}.${app}`, eventType: rest.join(".") };
}

/** The part of a topic that its objects need to find each other. */
export interface TopicAddress extends TopicId {
  readonly incarnation: string;
  readonly shards: number;
}

export const addressOf = ({ owner, eventType, incarnation, shards }: TopicAddress): TopicAddress => ({
  owner,
  eventType,
  incarnation,
  shards,
});

/** The name of a shard's log. */
export const logName = (topic: Incarnation, shard: number): string => `${objectPrefix(topic)}/${shard}`;

/** The name of a consumer's object; `reader` is the reader's name (access/reader.ts). */
export const consumerName = (topic: Incarnation, reader: string): string => `${objectPrefix(topic)}/${reader}`;

/** The name of a push subscription's object; `id` is the record's id. */
export const pushObjectName = (topic: Incarnation, id: string): string => `${objectPrefix(topic)}/push/${id}`;

export const shardsOf = (topic: TopicAddress): number[] => Array.from({ length: topic.shards }, (_, shard) => shard);

/** A topic, distinguished from earlier topics of the same name. */
export type Incarnation = Omit<TopicAddress, "shards">;

const objectPrefix = (topic: Incarnation): string => `${topic.owner}/${topic.eventType}/${topic.incarnation}`;

/** The shard of a tenant's events (FNV-1a, mixed). It must never change, or the tenant's order would break. */
export function shardFor(tenant: string, shards: number): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < tenant.length; at++) hash = Math.imul(hash ^ tenant.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x45d9f3b);
  return ((hash ^ (hash >>> 16)) >>> 0) % shards;
}
