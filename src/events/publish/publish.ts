import type { ClientAccess, Principal } from "../../http/callers/auth.ts";
import type { Problem } from "../../http/errors/errors.ts";
import { sha256Hex } from "../../platform/secrets/hash.ts";
import type { Meter } from "../../platform/ports/metrics.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import type { Tracing } from "../../platform/ports/tracing.ts";
import type { TopicDirectory } from "../access/topic-directory.ts";
import { logOf, publishTo } from "../log/client.ts";
import type { NewEvent } from "../log/segments.ts";
import type { TopicLog } from "../log/topic-log.do.ts";
import type { Once, PublishOutcome, Retention } from "../log/types.ts";
import type { Failure } from "../model/failure.ts";
import { refusedKey } from "../model/idempotency-key.ts";
import { shardFor, shardsOf, type Topic, type TopicId } from "../model/topic.ts";
import { encodeEvent, readEvents, type NamedEvent, type PublishedEvent } from "./event-input.ts";

export interface StoringPorts {
  readonly directory: TopicDirectory;
  readonly logs: DurableObjectNamespace<TopicLog>;
  readonly retention: Retention;
  readonly meter: Meter;
  readonly tracing: Tracing;
}

export interface PublishPorts extends StoringPorts {
  readonly clients: ClientAccess;
}

/** The owner of the topic. Its tenant is that of events that name none. */
type Publisher = Pick<Principal, "clientId" | "user" | "tenant">;

export interface PublishRequest {
  readonly topic: TopicId;
  readonly principal: Publisher;
  readonly body: unknown;
  /** The `Idempotency-Key` header. */
  readonly key: string | null;
  readonly nowMs: number;
}

/**
 * Publishes events and returns their ids in the same order. The caller has checked that the client owns the topic.
 * Each shard stores its part completely or not at all. With a key, a repeat stores the parts that failed.
 */
export async function publish(
  ports: PublishPorts,
  request: PublishRequest,
): Promise<Result<readonly string[], Failure | Problem>> {
  const { topic: id, principal, key, nowMs } = request;
  const refusedHeader = refusedKey(key);
  if (refusedHeader !== undefined) return err(refusedHeader);
  const events = readEvents(request.body, principal);
  if (!events.ok) return events;
  const refused = await refusedTenant(ports.clients, principal, events.value, nowMs);
  if (refused !== undefined) return err(refused);
  return storeEvents(ports, id, events.value, key, nowMs);
}

/**
 * Stores events of the topic's owner, each shard's part completely or not at all. Returns their ids in the same order.
 */
export async function storeEvents(
  ports: StoringPorts,
  id: TopicId,
  events: readonly NamedEvent[],
  key: string | null,
  nowMs: number,
): Promise<Result<readonly string[], Failure>> {
  const encoded = events.map((event) => encodeEvent(event, id));
  const once = key === null ? undefined : { key, digest: await digestOf(encoded), expiresAtMs: undefined };
  const outcome = await ports.directory.onActive(id, nowMs, (topic) => storeAll(ports, topic, events, encoded, once));
  if (outcome === undefined) return err({ kind: "no_topic" });
  if (outcome === "full") return err({ kind: "unavailable" });
  return outcome === "key_used" ? err({ kind: "key_used" }) : ok(outcome);
}

/** Checks tenants other than the token's: the client must be able to get a token for them. */
async function refusedTenant(
  clients: ClientAccess,
  principal: Publisher,
  events: readonly PublishedEvent[],
  nowMs: number,
): Promise<Failure | undefined> {
  const asked = new Set([principal.tenant]);
  for (const { tenant, at } of events) {
    if (asked.has(tenant)) continue;
    if (!(await clients.mayActFor(principal, tenant, nowMs)))
      return { kind: "tenant_refused", field: `${at}tenant`, tenant };
    asked.add(tenant);
  }
  return undefined;
}

/** Stores each shard's part. Undefined: the topic is gone. */
async function storeAll(
  { logs, retention, meter, tracing }: StoringPorts,
  topic: Topic,
  events: readonly NamedEvent[],
  encoded: readonly NewEvent[],
  once: Once | undefined,
): Promise<readonly string[] | Refusal | undefined> {
  const places = events.map((event) => shardFor(event.tenant, topic.shards));
  const { traceparent: trace } = tracing.outgoing();
  const store = async (shard: number, key: Once | undefined): Promise<[number, PublishOutcome]> => {
    const part = encoded.filter((_, index) => places[index] === shard);
    const outcome = await publishTo(logOf(logs, topic, shard), part, key, retention, trace);
    if (outcome.kind === "stored" && outcome.isRepeat !== true)
      for (const [index, { tenant }] of events.entries())
        if (places[index] === shard) meter.add("events_published", { service: "events", tenant });
    return [shard, outcome];
  };
  const shards = new Set(places);
  const outcomes = new Map<number, PublishOutcome>();
  let claim = once;
  if (once !== undefined) {
    // The key's home shard records every use of the key, so it goes first: it refuses a key that another request used,
    // and sets the expiry for all shards.
    const home = shardFor(once.key, topic.shards);
    const [, claimed] = await store(home, once);
    if (claimed.kind !== "stored") return refusalOf(claimed);
    claim = { ...once, expiresAtMs: claimed.keyExpiresAtMs };
    outcomes.set(home, claimed);
    shards.delete(home);
  }
  const others = await Promise.all([...shards].map((shard) => store(shard, claim)));
  for (const [shard, outcome] of others) outcomes.set(shard, outcome);
  const ids = new Map<number, Iterator<string>>();
  for (const shard of shardsOf(topic)) {
    const outcome = outcomes.get(shard);
    if (outcome === undefined) continue;
    if (outcome.kind !== "stored") return refusalOf(outcome);
    ids.set(shard, outcome.ids.values());
  }
  return places.map((shard) => ids.get(shard)!.next().value as string);
}

type Refusal = "key_used" | "full";

const refusalOf = ({ kind }: Exclude<PublishOutcome, { kind: "stored" }>): Refusal | undefined =>
  kind === "gone" ? undefined : kind;

/** Digest of the parsed events, so that white space in the request makes no difference. */
const digestOf = (encoded: readonly NewEvent[]): Promise<string> =>
  sha256Hex(encoded.map((event) => event.text).join("\n"));
