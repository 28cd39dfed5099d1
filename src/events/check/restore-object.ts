import type { PrepareOutcome, RestoreTo } from "../../platform/storage/object-restore.ts";
import { randomId } from "../../platform/runtime/random.ts";
import { consumerOf } from "../consume/stub.ts";
import { logOf } from "../log/client.ts";
import type { Topic, TopicId } from "../model/topic.ts";
import { pushOf } from "../push/stub.ts";
import { subscribersOf, type MendPorts } from "./mend.ts";

/** An object of a topic: the log of a shard, a consumer by its name, a push subscription by its id. */
export type ObjectOfTopic =
  | { readonly kind: "log"; readonly shard: number }
  | { readonly kind: "consumer"; readonly name: string }
  | { readonly kind: "push"; readonly id: string };

/**
 * Restores one object to an earlier time. A restored log is then marked as reset, so that cursors beyond its end go
 * back to it (log/resets.ts), and learns again who reads it. If this fails before the mark, repeat it: the same time
 * leads to the same state. A restored consumer reads the events again that it committed since. A push subscription
 * delivers them again, and is woken for that.
 *
 * Undefined: there is no such topic, shard or push subscription.
 */
export async function restoreObject(
  ports: MendPorts,
  id: TopicId,
  object: ObjectOfTopic,
  to: RestoreTo,
): Promise<PrepareOutcome | undefined> {
  const topic = await ports.store.find(id);
  if (topic?.state !== "active" || (object.kind === "log" && object.shard >= topic.shards)) return undefined;
  const { logs, consumers, pushSubscriptions, push } = ports;
  if (object.kind === "push" && (await push.store.findAsked(object.id))?.incarnation !== topic.incarnation)
    return undefined;
  const stub = () => {
    switch (object.kind) {
      case "log":
        return logOf(logs, topic, object.shard);
      case "consumer":
        return consumerOf(consumers, topic, object.name);
      case "push":
        return pushOf(pushSubscriptions, topic, object.id);
    }
  };
  const isLog = object.kind === "log";
  const consumerNames = isLog && object.shard === 0 ? await consumersOf(ports, topic) : [];
  const subscribers = isLog ? await subscribersOf(ports, topic) : [];
  const prepared: PrepareOutcome = await stub().prepareRestore(to);
  if (prepared.kind === "impossible") return prepared;
  // The restart ends the object's session before the call can return.
  await Promise.resolve(stub().restart()).catch(() => undefined);
  if (isLog) {
    const log = logOf(logs, topic, object.shard);
    await log.reset(randomId(ports.random), object.shard, ports.retention, subscribers);
    for (const names of consumerNames) await log.addConsumers(names);
  }
  if (object.kind === "push") await pushOf(pushSubscriptions, topic, object.id).wake();
  return prepared;
}

/** The names of a topic's consumers in parts. Only the first shard's log has them. */
async function consumersOf({ logs }: MendPorts, topic: Topic): Promise<readonly (readonly string[])[]> {
  const parts: (readonly string[])[] = [];
  for (let after = ""; ;) {
    const names: readonly string[] = await logOf(logs, topic, 0).consumersAfter(after, NAMES_AT_ONCE);
    parts.push(names);
    if (names.length < NAMES_AT_ONCE) return parts;
    after = names.at(-1)!;
  }
}

/** Some 100 bytes each. */
const NAMES_AT_ONCE = 10_000;
