import { readPlace, type Place } from "./config.ts";
import type { Env } from "./env.ts";
import type { ObjectClass } from "./platform/storage/object-schema.ts";

/**
 * Puts all objects where the deployment says: each namespace of `env` is replaced by one that stays within the
 * jurisdiction and makes new objects near the hint. The Worker and each object of ours get their `env` from here, so no
 * other line names a place.
 *
 * A name stands for another object in another jurisdiction. Nothing begins empty by accident, though: a topic's log
 * exists since the topic was made, and an object that is no log says so. Such a topic answers 404 and stores nothing.
 */
export function placeObjects(env: Env): Env {
  if (placed.has(env)) return env;
  const place = readPlace(env as unknown as Record<string, unknown>);
  if (place.jurisdiction === undefined && place.locationHint === undefined) return env;
  const namespaces = Object.keys(NAMESPACES).map((name) => [name, inPlace(env[name as NamespaceName], place)]);
  const made = { ...env, ...(Object.fromEntries(namespaces) as Pick<Env, NamespaceName>) };
  placed.add(made);
  return made;
}

/** An object passes its `env` on, placed already. */
const placed = new WeakSet<object>();

/** The class of an object whose `env` is placed. */
export function withPlacedObjects<T extends ObjectClass>(Class: T): T {
  return class extends Class {
    // TypeScript extends a class of unknown parameters only by `any`.
    // oxlint-disable-next-line typescript/no-explicit-any
    constructor(...[context, env, ...more]: any[]) {
      super(context, placeObjects(env as Env), ...more);
    }
  };
}

type NamespaceName = {
  [Name in keyof Env]-?: Env[Name] extends Pick<DurableObjectNamespace, "idFromName"> ? Name : never;
}[keyof Env];

/** A namespace that is missing here does not compile. */
const NAMESPACES = {
  TOPIC_LOG: true,
  TOPIC_CONSUMER: true,
  PUSH_SUBSCRIPTION: true,
  LOGIN_ATTEMPTS: true,
  GUESS_COUNTER: true,
  METRICS_COLLECTOR: true,
  METRICS_STORE: true,
  BACKUP_JOB: true,
  SHARD_DATABASE: true,
} satisfies Record<NamespaceName, true>;

/** Code of ours asks a namespace for nothing but `getByName`. A shard may have a place of its own. */
function inPlace(namespace: object, { jurisdiction, locationHint }: Place): object {
  const all = namespace as DurableObjectNamespace;
  const home = jurisdiction === undefined ? all : all.jurisdiction(jurisdiction);
  const hinted = locationHint && { locationHint };
  return {
    getByName: (name: string, own?: DurableObjectNamespaceGetDurableObjectOptions) =>
      home.getByName(name, own ?? hinted),
  };
}
