import { env } from "cloudflare:workers";
import { Hono } from "hono";
import { expect } from "vitest";
import { createAuditLog } from "../../src/admin/audit/audit-log.ts";
import { createTopicStore } from "../../src/events/access/topic-store.ts";
import { consumerOf } from "../../src/events/consume/stub.ts";
import { decorateDeprecated } from "../../src/events/deprecation.ts";
import { logOf } from "../../src/events/log/client.ts";
import type { Retention } from "../../src/events/log/types.ts";
import { shardFor, shardsOf } from "../../src/events/model/topic.ts";
import { createPushStore } from "../../src/events/push/record/push-store.ts";
import { createEvents, type Events } from "../../src/events/service.ts";
import type { PlatformTopic } from "../../src/events/topics/platform-topics.ts";
import type { Principal } from "../../src/http/callers/auth.ts";
import { mountServices } from "../../src/http/mount.ts";
import { noRequestMeter } from "../../src/http/request-meter.ts";
import { noMeter } from "../../src/platform/ports/metrics.ts";
import { noTracing } from "../../src/platform/ports/tracing.ts";
import { systemClock } from "../../src/platform/runtime/clock.ts";
import { fromBase64Url, fromUtf8, toBase64Url, utf8 } from "../../src/platform/text/encoding.ts";
import { createLog, type Log } from "../../src/platform/runtime/log.ts";
import { createNames } from "../../src/platform/model/names.ts";
import { systemRandom } from "../../src/platform/runtime/random.ts";
import type { Shards } from "../../src/platform/storage/shards.ts";
import { createSealer } from "../../src/platform/secrets/seal.ts";
import { heardLog } from "../support/runtime/heard-log.ts";
import { unique } from "../support/platform/unique.ts";
import { noteRequest } from "../support/secrets.ts";
import { ownIsolate } from "../support/runtime/own-isolate.ts";

/**
 * The events service alone, on the real database and Durable Objects, behind the real HTTP layer. Only the ports to
 * the OAuth service are played: a token is its principal as JSON, and a client's registered scopes are a set.
 */
export interface EventsApp {
  call(path: string, init?: EventsCall): Promise<Response>;
  sweep(): Promise<void>;
  readonly publish: Events["publish"];
  /** `<client id> <scope>` */
  readonly registered: Set<string>;
  /** `<client id> <tenant>` */
  readonly actsFor: Set<string>;
  /** Clients whose tokens are revoked. */
  readonly revoked: Set<string>;
}

export interface EventsCall {
  readonly as?: Principal;
  readonly method?: string;
  readonly json?: unknown;
  readonly body?: BodyInit;
  readonly headers?: Record<string, string>;
  /** Aborts when the client leaves. */
  readonly signal?: AbortSignal;
  /** The connection turns out to be dead when the answer is sent. */
  readonly isDead?: boolean;
}

export const ORIGIN = "https://events.test";

/** Faults are shown; the rest is heard alone. */
const LOG: Log = { ...heardLog, error: createLog("error").error };

/** As the deployment's variables say unless they are set. */
export const KEPT: Retention = { ageMs: 7 * 86_400_000, maxBytes: 8_000_000_000 };

/** The audit log on this database, and the names. */
export const auditedBy = (db: D1Database) => ({
  names: createNames("plat"),
  audit: createAuditLog({ db, log: LOG, operatorClientId: "plat.operator", wait: async () => {} }),
});

export function eventsApp(
  bindings: typeof env = env,
  platformTopics: readonly PlatformTopic[] = [],
  retention: Retention = KEPT,
  shards: Shards = [{ number: 0, db: bindings.DB }],
): EventsApp {
  const names = createNames("plat");
  const registered = new Set<string>();
  const actsFor = new Set<string>();
  const revoked = new Set<string>();
  const { routes, sweep, publish } = createEvents({
    isolate: ownIsolate,
    push: {
      names,
      log: LOG,
      meter: noMeter,
      tracing: noTracing,
      random: systemRandom,
      sealer: createSealer([{ id: "t1", bytes: new Uint8Array(32).fill(7) }], systemRandom),
      store: createPushStore({ ...auditedBy(bindings.DB), shards, isolate: ownIsolate, log: LOG }),
      clients: {
        servesOthers: async (clientId) => [...actsFor].some((entry) => entry.startsWith(`${clientId} `)),
        mayActFor: async ({ clientId }, tenant) => actsFor.has(`${clientId} ${tenant}`),
        listsScope: async (clientId, scope) => registered.has(`${clientId} ${scope}`),
        tenantUses: async () => true,
        belongsTo: async () => true,
        keepsUsersApart: async () => false,
        isLive: async () => true,
      },
      allowLoopback: false,
    },
    db: bindings.DB,
    shards: shards.length,
    topicLogs: bindings.TOPIC_LOG,
    topicConsumers: bindings.TOPIC_CONSUMER,
    pushSubscriptions: bindings.PUSH_SUBSCRIPTION,
    retention,
    platformTopics,
  });
  const app = new Hono();
  mountServices(
    app,
    [
      { name: "events", base: "/pubsub/v1", routes, crossOrigin: true },
      { name: "events", base: "/events/v1", routes, crossOrigin: true, decorate: decorateDeprecated("") },
    ],
    {
      names,
      pathPrefix: "",
      publicUrl: "",
      contentUrl: "",
      authUrl: "",
      clock: systemClock,
      random: systemRandom,
      log: LOG,
      limits: { anonymous: async () => undefined, caller: async () => undefined },
      meter: noRequestMeter,
      tracing: noTracing,
      verifier: {
        proofs: { check: () => Promise.reject(new Error("no token here is bound")) },
        begin: () => {},
        verify: async (token) => {
          const text = fromUtf8(fromBase64Url(token) ?? utf8(""));
          if (!text?.startsWith("{")) return { ok: false, error: "malformed" };
          const value = JSON.parse(text) as Principal;
          return revoked.has(value.clientId) ? { ok: false, error: "revoked" } : { ok: true, value };
        },
      },
    },
  );
  return {
    sweep: () => sweep(Date.now()),
    publish,
    registered,
    actsFor,
    revoked,
    async call(path, init = {}) {
      const headers = new Headers(init.headers);
      if (init.as !== undefined) headers.set("authorization", `Bearer ${toBase64Url(utf8(JSON.stringify(init.as)))}`);
      let body = init.body;
      if (init.json !== undefined) {
        headers.set("content-type", "application/json");
        body = JSON.stringify(init.json);
      }
      const method = init.method ?? (body === undefined ? "GET" : "POST");
      noteRequest(path, headers, body);
      const waits: Promise<unknown>[] = [];
      const context = { waitUntil: (work: Promise<unknown>) => void waits.push(work) } as unknown as ExecutionContext;
      const { signal } = init;
      const request = new Request(new URL(path, ORIGIN), { method, headers, body, signal });
      const response = await app.fetch(request, env, context);
      if (init.isDead === true) await response.body?.cancel();
      // Work beside an answer may wait until its bytes are read.
      const text = init.isDead === true || response.body === null ? null : await response.arrayBuffer();
      await Promise.all(waits);
      return new Response(text, response);
    },
  };
}

/** A client that may publish; its name is its id. */
export function someClient(changes: Partial<Principal> = {}): Principal {
  const clientId = `${unique("proj")}.app`;
  return {
    clientId,
    clientName: clientId,
    clientAuthenticated: true,
    tenant: "tenant1",
    tenantExplicit: false,
    org: "",
    plan: "standard",
    user: "",
    subject: clientId,
    scopes: ["plat.pubsub_publish"],
    tokenId: "t",
    grantId: "g",
    sessionId: "s",
    issuedAtSec: 0,
    expiresAtSec: 4_000_000_000,
    ...changes,
  };
}

export interface WireEvent {
  readonly id: string;
  readonly createdAt: number;
  readonly tenant: string;
  readonly sourceClient: string;
  readonly eventType: string;
  readonly payload: string;
  readonly metadata?: Record<string, string>;
}

export interface ReadAnswer {
  readonly status: number;
  readonly events: readonly WireEvent[];
  readonly token: string | undefined;
  readonly response: Response;
}

/** A topic and what can be done with it, as its owner unless told otherwise. */
export interface TestTopic {
  readonly owner: Principal;
  readonly path: string;
  publish(events: unknown, init?: EventsCall): Promise<Response>;
  /** Publishes and gives the ids. */
  put(events: unknown, init?: EventsCall): Promise<string[]>;
  read(body?: unknown, init?: EventsCall): Promise<ReadAnswer>;
  commit(token: string | undefined, init?: EventsCall): Promise<Response>;
  /** `extend`, `release`, `seek`. */
  post(operation: string, body: unknown, init?: EventsCall): Promise<Response>;
}

export async function makeTopic(
  app: EventsApp,
  options: { shards?: number; owner?: Principal } = {},
): Promise<TestTopic> {
  const owner = options.owner ?? someClient();
  const eventType = unique("order");
  const created = await app.call("/pubsub/v1/topics", { as: owner, json: { eventType, shards: options.shards ?? 1 } });
  if (created.status !== 201) throw new Error(`no topic: ${created.status} ${await created.text()}`);
  return topicAt(app, owner, `/pubsub/v1/topics/${owner.clientName}/${eventType}`);
}

export function topicAt(app: EventsApp, owner: Principal, path: string): TestTopic {
  const publish = (events: unknown, init: EventsCall = {}) =>
    app.call(`${path}/publish`, { as: owner, json: events, ...init });
  return {
    owner,
    path,
    publish,
    async put(events, init) {
      const response = await publish(events, init);
      const text = await response.text();
      if (response.status !== 201) throw new Error(`not published: ${response.status} ${text}`);
      return (JSON.parse(text) as { ids: string[] }).ids;
    },
    async read(body, init = {}) {
      const response = await app.call(`${path}/read`, { as: owner, method: "POST", json: body, ...init });
      const text = await response.clone().text();
      const answer = response.status === 200 ? JSON.parse(text) : { events: [] };
      return { status: response.status, events: answer.events, token: answer.token, response };
    },
    commit: (token, init = {}) => app.call(`${path}/commit`, { as: owner, json: { token }, ...init }),
    post: (operation, body, init = {}) => app.call(`${path}/${operation}`, { as: owner, json: body, ...init }),
  };
}

export const payloads = (answer: ReadAnswer): string[] => answer.events.map((event) => event.payload);

/** A tenant, or a key, that falls on the shard: its name begins like this. */
export function inShard(shard: number, shards: number, prefix: string): string {
  for (let at = 0; ; at++) if (shardFor(`${prefix}${at}`, shards) === shard) return `${prefix}${at}`;
}

/** The objects behind a topic, to evict them or to break what they call. */
export async function objectsOf(topic: TestTopic, client: Principal = topic.owner) {
  const eventType = topic.path.split("/").at(-1)!;
  const record = await createTopicStore(env.DB).find({ owner: topic.owner.clientName, eventType });
  if (record === undefined) throw new Error("there is no such topic");
  return {
    record,
    consumer: consumerOf(env.TOPIC_CONSUMER, record, client.clientId),
    logs: shardsOf(record).map((shard) => logOf(env.TOPIC_LOG, record, shard)),
  };
}

/** An error response with its body, checked for the common shape. */
export async function expectProblem(response: Response, status: number, type: string): Promise<ProblemView> {
  const text = await response.text();
  expect(`${response.status} ${text.slice(0, 300)}`).toMatch(new RegExp(`^${status} `));
  expect(response.headers.get("content-type")).toBe("application/json");
  const body = JSON.parse(text) as ProblemView;
  expect(body).toEqual({
    status,
    type,
    message: expect.any(String),
    moreInfo: `${ORIGIN}/docs/errors#${type}`,
    details: expect.any(Array),
  });
  for (const detail of body.details)
    expect(Object.keys(detail).toSorted()).toEqual(["field", "message", "moreInfo", "type"]);
  return body;
}

export interface ProblemView {
  readonly message: string;
  readonly details: readonly { readonly type: string; readonly field: string; readonly message: string }[];
}

/** Type and field of each detail. */
export const faults = (body: ProblemView): string[] => body.details.map(({ type, field }) => `${type} ${field}`.trim());
