import type { DurableObject } from "cloudflare:workers";
import type { Env } from "../../src/env.ts";
import platform, * as objects from "../../src/worker.ts";
import type { SentStatement } from "../../src/platform/storage/object-protocol.ts";
import { faultyBinding, faultyDatabase, passDatabase } from "./bindings.ts";
import { faults, type FaultName } from "./faults.ts";

/**
 * The platform's Worker, whose parts (faults.ts) fail when they are told to; only for `npm run drill`.
 * `POST /drill/<what>/<how>?seconds=60` begins a fault, which ends by itself or at `POST /drill/off`, and tells what
 * users see. The runtime has one isolate, so all that it runs sees the same faults.
 */
let wrapped: { readonly given: Env["DB"]; readonly env: Env } | undefined;

function withFaults(env: Env): Env {
  // Wrapped only once, since the platform caches objects by their database.
  if (wrapped?.given !== env.DB) {
    const shards = Object.entries(env as unknown as Record<string, D1Database>).flatMap(([name, db]) =>
      /^SHARD_\d+$/.test(name) ? [[name, faultyDatabase(db, "shards")] as const] : [],
    );
    const others = {
      DB: faultyDatabase(env.DB, "database"),
      MEDIA: faultyBinding(env.MEDIA, "bucket"),
      MEDIA_JOBS: faultyBinding(env.MEDIA_JOBS, "queue"),
      IMAGES: faultyBinding(env.IMAGES, "images"),
    };
    wrapped = { given: env.DB, env: { ...env, ...Object.fromEntries(shards), ...others } };
  }
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
  ["publish", "read", "peek", "commit", "attempt", "admit", "wake", "open", "status", "stats", "add"].includes(name);

/** Exports the platform's own classes. A name that is exported below replaces one of them. */
export * from "../../src/worker.ts";
export const TopicLog = faulty(objects.TopicLog);
export const TopicConsumer = faulty(objects.TopicConsumer);
export const PushSubscription = faulty(objects.PushSubscription);
export const LoginAttempts = faulty(objects.LoginAttempts);
export const GuessCounter = faulty(objects.GuessCounter);
export const MetricsStore = faulty(objects.MetricsStore);
export const MetricsCollector = faulty(objects.MetricsCollector);
/** The shard that is an object. */
export class ShardDatabase extends objects.ShardDatabase {
  override async execute(newest: string, statements: readonly SentStatement[], wakes?: number) {
    await passDatabase(
      "shards",
      statements.map(({ sql }) => sql),
    );
    return super.execute(newest, statements, wakes);
  }
}

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
