import { readPlace, type Place } from "./config.ts";
import type { Env } from "./env.ts";
import type { ObjectClass } from "./platform/storage/object-schema.ts";

/**
 * Puts all objects into the place of the deployment: replaces each namespace of `env` by one that stays within the
 * jurisdiction and creates new objects near the hint. The Worker and each of its objects get their `env` from here, so
 * no other code names a place.
 *
 * In another jurisdiction, a name means another object, which is empty. A topic's log is created together with the
 * topic, so an empty object is not taken for a log: the topic answers 404 and stores nothing.
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

/** Environments that are placed already, such as the one that an object passes on. */
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

/** All namespaces. If one is missing, this does not compile. */
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

/** A namespace with `getByName` only, which is all that the code uses. A shard may have a place of its own. */
function inPlace(namespace: object, { jurisdiction, locationHint }: Place): object {
  const all = namespace as DurableObjectNamespace;
  const home = jurisdiction === undefined ? all : all.jurisdiction(jurisdiction);
  const hinted = locationHint && { locationHint };
  return {
    getByName: (name: string, own?: DurableObjectNamespaceGetDurableObjectOptions) =>
      home.getByName(name, own ?? hinted),
  };
}
