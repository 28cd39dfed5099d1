import { env } from "cloudflare:workers";
import { nameOf, pushObjectName, type Topic } from "../../src/events/model/topic.ts";
import { createPushStore } from "../../src/events/push/record/push-store.ts";
import type { PushRecord } from "../../src/events/push/record/record.ts";
import type { Principal } from "../../src/http/callers/auth.ts";
import { guardDatabase } from "../../src/platform/storage/database.ts";
import { systemRandom } from "../../src/platform/runtime/random.ts";
import { createLog } from "../../src/platform/runtime/log.ts";
import { shardsOf, type Shards } from "../../src/platform/storage/shards.ts";
import { everywhere } from "../support/shards.ts";
import { ownIsolate } from "../support/runtime/own-isolate.ts";
import { createSealer } from "../../src/platform/secrets/seal.ts";
import { makeClient } from "../support/platform/clients.ts";
import { makeTenant } from "../support/platform/tenants.ts";
import { auditedBy, eventsApp, someClient, type EventsApp, type EventsCall, type TestTopic } from "./events-app.ts";

/** Shared by the tests of push subscriptions: registered clients, fake objects, and D1 failures. */

let tenant: Promise<string> | undefined;

/** A client that the operator registered: a subscription belongs to one. Its token is played, as in events-app.ts. */
export async function registeredClient(changes: Partial<Principal> = {}): Promise<Principal> {
  const { clientId, tenant: own } = await makeClient({ tenant: await (tenant ??= makeTenant()) });
  return someClient({ clientId, clientName: clientId, tenant: own, ...changes });
}

export const CONSUMES = ["plat.pubsub.topic=*"];

export const PASSWORD = "pässword-of-the-endpoint";
export const body = (changes: Record<string, unknown> = {}) => ({
  name: "orders",
  pushConfig: {
    endpoint: "https://shop.example/events",
    basicAuth: { username: "shop", password: PASSWORD },
  },
  ...changes,
});
/** The same with another push configuration. */
export const bodyWith = (config: Record<string, unknown>, basicAuth: Record<string, unknown> = {}) => {
  const { pushConfig } = body();
  return body({ pushConfig: { ...pushConfig, basicAuth: { ...pushConfig.basicAuth, ...basicAuth }, ...config } });
};

/** The subscriptions of a client on a topic. */
export function subscriptionsOf(app: EventsApp, topic: TestTopic, as: Principal = topic.owner) {
  const collection = `${topic.path}/subscriptions`;
  const send = (path: string, init: EventsCall = {}) => app.call(path, { as, ...init });
  return {
    collection,
    send,
    create: (json: unknown = body()) => send(collection, { json }),
    list: () => send(collection),
    get: (name = "orders") => send(`${collection}/${name}`),
    put: (json: unknown, name = "orders") => send(`${collection}/${name}`, { method: "PUT", json }),
    remove: (name = "orders") => send(`${collection}/${name}`, { method: "DELETE" }),
    rotate: (json?: unknown) => send(`${collection}/orders/signing-secret`, { method: "POST", json }),
    post: (path: string, name = "orders") => send(`${collection}/${name}/${path}`, { method: "POST" }),
  };
}

export interface PlayedCall {
  readonly object: string;
  readonly method: string;
  readonly given: readonly unknown[];
}

/** Objects that only write down what they are asked; a method answers what a test says. */
export function playedObjects(answers: Record<string, (object: string, ...given: any[]) => unknown> = {}) {
  const calls: PlayedCall[] = [];
  const all: typeof answers = {
    open: () => ({ kind: "open" }),
    wake: () => "awake",
    changed: () => undefined,
    destroy: () => undefined,
    status: () => ({ lag: 1, deadLetters: 2, eventsLost: 3 }),
    ...answers,
  };
  const getByName = (object: string) =>
    new Proxy(
      {},
      {
        get:
          (_, method: string) =>
          async (...given: unknown[]) => {
            calls.push({ object, method, given });
            return all[method]!(object, ...given);
          },
      },
    );
  return {
    calls,
    /** The objects whose method was called, each as often as it was. */
    asked: (method: string) => calls.filter((call) => call.method === method).map(({ object }) => object),
    binding: { getByName } as unknown as typeof env.PUSH_SUBSCRIPTION,
  };
}

export function playedApp(objects: ReturnType<typeof playedObjects> = playedObjects(), bindings: Partial<Env> = {}) {
  return eventsApp({ ...env, PUSH_SUBSCRIPTION: objects.binding, ...bindings });
}
type Env = typeof env;

/**
 * A database whose next statements of a kind fail: before they run, or after they ran, as when the answer is lost.
 * `run` is told of each of them and may do something first.
 */
export function faultyDatabase(
  sql: string,
  fault: { readonly fails?: "before" | "after"; readonly times?: number; run?(): Promise<unknown> },
): D1Database {
  let left = fault.times ?? 1;
  const real = new WeakMap<object, { statement: D1PreparedStatement; matches: boolean }>();
  const step = async <T>(matches: boolean, run: () => Promise<T>): Promise<T> => {
    if (!matches || left === 0) return run();
    left -= 1;
    await fault.run?.();
    if (fault.fails === "before") throw new Error("injected: not run");
    const outcome = await run();
    if (fault.fails === "after") throw new Error("injected: answer lost");
    return outcome;
  };
  const wrap = (statement: D1PreparedStatement, matches: boolean): D1PreparedStatement => {
    const wrapped = new Proxy(statement, {
      get(target, name) {
        const value = Reflect.get(target, name, target) as (...given: unknown[]) => any;
        if (name === "bind") return (...given: unknown[]) => wrap(target.bind(...given), matches);
        return (...given: unknown[]) => step(matches, () => value.apply(target, given));
      },
    });
    real.set(wrapped, { statement, matches });
    return wrapped;
  };
  const db = {
    prepare: (text: string) => wrap(env.DB.prepare(text), text === sql),
    batch: (statements: D1PreparedStatement[]) => {
      const known = statements.map((one) => real.get(one)!);
      return step(
        known.some(({ matches }) => matches),
        () => env.DB.batch(known.map(({ statement }) => statement)),
      );
    },
  };
  return guardDatabase(db as unknown as D1Database);
}

/** The key of events-app.ts. */
export const sealer = createSealer([{ id: "t1", bytes: new Uint8Array(32).fill(7) }], systemRandom);
/** All records, and those of the directory alone. */
export const store = pushStoreOn(shardsOf(env));
export const directoryStore = pushStoreOn([{ number: 0, db: env.DB }]);

/** The store, with a row of the audit log and a maker where a test does not care. */
function pushStoreOn(shards: Shards) {
  const real = createPushStore({
    ...auditedBy(env.DB),
    shards,
    isolate: ownIsolate,
    log: createLog("error"),
  });
  const row = { atMs: 0, requestId: "", actor: "", action: "", subject: "", outcome: "done", reason: "" } as const;
  type Change = Parameters<typeof real.update>[2];
  return {
    ...real,
    insert: (record: PushRecord, limits: Parameters<typeof real.insert>[1]) => real.insert(record, limits, row),
    update: (id: string, version: number, change: Omit<Change, "made">, nowMs: number) =>
      real.update(id, version, { made: undefined, ...change }, nowMs),
    remove: (id: string) => real.remove(id, row),
    disable: (id: string, version: number, nowMs: number) => real.disable(id, version, nowMs, row),
    verify: (id: string, version: number, to: "done" | "failed", nowMs: number) =>
      real.verify(id, version, to, nowMs, row),
  };
}

/** All records of a topic. */
export async function recordsOf(topic: Topic): Promise<PushRecord[]> {
  const { results } = await everywhere
    .prepare(`SELECT id FROM push_subscription WHERE incarnation = ? ORDER BY id`)
    .bind(topic.incarnation)
    .all<{ id: string }>();
  const found = await Promise.all(results.map(async ({ id }) => store.findById(id)));
  return found.filter((record) => record !== undefined);
}

export const objectNamesOf = async (topic: Topic): Promise<string[]> =>
  (await recordsOf(topic)).map(({ id }) => pushObjectName(topic, id));

/** So many more, straight into the database. */
export async function fill(topic: Topic, client: string, count: number): Promise<void> {
  await env.DB.prepare(
    `WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ?4)
     INSERT INTO push_subscription (id, topic, incarnation, client, name, as_owner, endpoint, username, credentials,
       seal_key, state, version, created_at, updated_at)
     SELECT lower(hex(randomblob(16))), ?1, ?2, ?3, 'many' || n, 1, 'https://e.example', 'u', 'x', 't1', 'active', 1, 0, 0
     FROM number`,
  )
    .bind(nameOf(topic), topic.incarnation, client, count)
    .run();
}
