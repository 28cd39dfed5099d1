import type { DurableObject } from "cloudflare:workers";
import type { Env } from "../../src/env.ts";
import platform, * as objects from "../../src/worker.ts";
import { faultyBucket, faultyDatabase } from "./bindings.ts";
import { faults, type FaultName } from "./faults.ts";

/**
 * The platform's Worker, in which the database, the bucket, the queue or the objects fail when they are told to; only
 * for `npm run drill`. `POST /drill/<what>/<how>?seconds=60` begins a fault, which ends by itself or at
 * `POST /drill/off`. The runtime has one isolate, so all that it runs sees the same faults.
 */
let wrapped: { readonly given: Env["DB"]; readonly env: Env } | undefined;

function withFaults(env: Env): Env {
  // Wrapped only once, since the platform caches objects by their database.
  if (wrapped?.given !== env.DB)
    wrapped = { given: env.DB, env: { ...env, DB: faultyDatabase(env.DB), MEDIA: faultyBucket(env.MEDIA) } };
  return wrapped.env;
}

/** True while a method of an object runs, up to its first `await`. */
let isInside = false;

// TypeScript extends a class of unknown parameters only by `any`.
// oxlint-disable-next-line typescript/no-explicit-any
function faulty<T extends new (...args: any[]) => DurableObject<any>>(Class: T): T {
  const Faulty = class extends Class {
    // oxlint-disable-next-line typescript/no-explicit-any
    constructor(...[context, env]: any[]) {
      super(context, withFaults(env as Env));
    }
  };
  for (let level: object = Class.prototype; level !== Object.prototype; level = Object.getPrototypeOf(level) as object)
    for (const [name, { value: real }] of Object.entries(Object.getOwnPropertyDescriptors(level))) {
      if (typeof real !== "function" || name === "constructor" || Object.hasOwn(Faulty.prototype, name)) continue;
      const value = function (this: { ctx: DurableObjectState }, ...args: unknown[]): unknown {
        const run = (): unknown => {
          const outer = isInside;
          isInside = true;
          try {
            return (real as (...all: unknown[]) => unknown).apply(this, args);
          } finally {
            isInside = outer;
          }
        };
        // A method called by another method of the object is not a call from outside.
        if (isInside) return run();
        if (faults.now("objects") === "abort") this.ctx.abort("drill: the object was reset");
        return faults.now("objects") === "stall" ? faults.stalled("objects").then(run) : run();
      };
      if (isPublic(name)) Object.defineProperty(Faulty.prototype, name, { value, configurable: true });
    }
  return Faulty;
}

const isPublic = (name: string): boolean =>
  ["publish", "read", "peek", "commit", "attempt", "wake", "stats"].includes(name);

/** Exports the platform's own classes. A name that is exported below replaces one of them. */
export * from "../../src/worker.ts";
export const TopicLog = faulty(objects.TopicLog);
export const TopicConsumer = faulty(objects.TopicConsumer);
export const PushSubscription = faulty(objects.PushSubscription);
export const LoginAttempts = faulty(objects.LoginAttempts);

export default {
  async fetch(request, env, context) {
    const url = new URL(request.url);
    const [, drill, what = "", how = "", ...more] = url.pathname.split("/");
    if (drill !== "drill") return platform.fetch(request, withFaults(env), context);
    if (what === "off") faults.clear();
    else if (request.method !== "POST" || more.length > 0 || !faults.begin(what as FaultName, how, secondsOf(url)))
      return new Response(`There is no such fault. ${faults.help}\n`, { status: 404 });
    return new Response(`${faults.describe()}\n`);
  },
  async queue(batch, env) {
    if (faults.now("queue") === "fail") throw new Error("drill: the consumer fails");
    await platform.queue(batch, withFaults(env));
  },
  scheduled: (controller, env) => platform.scheduled(controller, withFaults(env)),
} satisfies ExportedHandler<Env>;

const secondsOf = (url: URL): number => Math.min(Number(url.searchParams.get("seconds") ?? 60) || 60, 3600);
