import type { Env } from "./env.ts";
import type { Tracing } from "./platform/ports/tracing.ts";
import { noTracing } from "./platform/ports/tracing.ts";
import { tracedObjects } from "./tracing/objects.ts";

/** Objects whose calls have spans, with their classes. Shards have D1's spans, and metrics are sent after responses. */
const CLASSES = {
  TOPIC_LOG: "TopicLog",
  TOPIC_CONSUMER: "TopicConsumer",
  PUSH_SUBSCRIPTION: "PushSubscription",
  LOGIN_ATTEMPTS: "LoginAttempts",
  GUESS_COUNTER: "GuessCounter",
} as const;
type Name = keyof typeof CLASSES;

const plain = new WeakMap<object, Env>();

/** Adds spans around the calls of objects to the bindings. */
export function traceObjects(env: Env, tracing: Tracing): Env {
  if (tracing === noTracing) return env;
  const traced = Object.entries(CLASSES).map(([name, className]) => [
    name,
    tracedObjects(env[name as Name], className, tracing),
  ]);
  const made = { ...env, ...(Object.fromEntries(traced) as Pick<Env, Name>) };
  plain.set(made, env);
  return made;
}

/** The bindings as they were before `traceObjects`. */
export const untraced = (env: Env): Env => plain.get(env) ?? env;
