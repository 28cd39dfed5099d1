import { env } from "cloudflare:workers";
import { decorateDeprecated } from "../../../src/events/deprecation.ts";
import type { Retention } from "../../../src/events/log/types.ts";
import { createPushStore } from "../../../src/events/push/record/push-store.ts";
import { createEvents, type Events } from "../../../src/events/service.ts";
import type { PlatformTopic } from "../../../src/events/topics/platform-topics.ts";
import type { Principal } from "../../../src/http/callers/auth.ts";
import { mountServices } from "../../../src/http/mount.ts";
import { noMeter } from "../../../src/platform/ports/metrics.ts";
import { noTracing } from "../../../src/platform/ports/tracing.ts";
import { systemClock } from "../../../src/platform/runtime/clock.ts";
import { fromBase64Url, fromUtf8, toBase64Url, utf8 } from "../../../src/platform/text/encoding.ts";
import { createNames } from "../../../src/platform/model/names.ts";
import { systemRandom } from "../../../src/platform/runtime/random.ts";
import type { Shards } from "../../../src/platform/storage/shards.ts";
import { sealer } from "../../support/sealer.ts";
import { noteRequest } from "../../support/secrets.ts";
import { ownIsolate } from "../../support/runtime/own-isolate.ts";
import { auditedBy, LOG } from "./audited.ts";
import { noRequestMeter } from "../../support/no-request-meter.ts";

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
  /** True if the connection turns out to be dead when the answer is sent. */
  readonly isDead?: boolean;
}

export const ORIGIN = "https://events.test";

/** The defaults of the deployment's variables. */
export const KEPT: Retention = { ageMs: 7 * 86_400_000, maxBytes: 8_000_000_000 };

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
      sealer,
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
  const app = mountServices(
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
      // Work after the response may wait until its bytes are read.
      const text = init.isDead === true || response.body === null ? null : await response.arrayBuffer();
      await Promise.all(waits);
      return new Response(text, response);
    },
  };
}
