import { describe, expect, it, vi } from "vitest";
import type { Env } from "../../src/env.ts";
import { attempt } from "../../src/events/push/request.ts";
import { systemClock } from "../../src/platform/runtime/clock.ts";
import { createNames } from "../../src/platform/model/names.ts";
import { systemRandom } from "../../src/platform/runtime/random.ts";
import { noTracing, passedOn, type Tracing } from "../../src/platform/ports/tracing.ts";
import type { ObjectClass } from "../../src/platform/storage/object-schema.ts";
import { withSpans } from "../../src/tracing/objects.ts";
import { createTracing, LIMITS } from "../../src/tracing/tracing.ts";
import { makeTopic } from "../fuzz/belongings.ts";
import { heardLog } from "../support/runtime/heard-log.ts";
import { isolate } from "../support/isolate.ts";
import { answerAt, answerJson, heldAt, release, requestsTo } from "../support/outside.ts";
import { makeClient } from "../support/platform/clients.ts";
import { put } from "../support/platform/operator.ts";
import { makeTenant } from "../support/platform/tenants.ts";
import { basic, tokenFor } from "../support/platform/tokens.ts";
import { unique } from "../support/platform/unique.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const PARENT = "b7ad6b7169203331";
const TRACEPARENT = `00-${TRACE}-${PARENT}-01`;

interface SentSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status: { readonly code?: number; readonly message?: string };
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly attributes: Record<string, unknown>;
}

/** An endpoint of its own, and the isolate that sends there. */
function traced(bindings: Partial<Env> = {}) {
  const endpoint = `https://${unique("otlp-")}.example`;
  const address = `${endpoint}/v1/traces`;
  const sampled = { OTLP_ENDPOINT: endpoint, TRACE_SAMPLE: "1", OTLP_HEADERS: "x-key=the key,x-more=1" };
  const own = isolate({ ...sampled, ...bindings });
  return { own, endpoint, address, open: () => answerJson(address, {}), spans: () => spansAt(address) };
}

async function spansAt(address: string): Promise<SentSpan[]> {
  return (await requestsTo(address)).flatMap(({ body }) =>
    JSON.parse(body).resourceSpans.flatMap(({ scopeSpans }: any) =>
      scopeSpans.flatMap(({ spans }: any) =>
        spans.map((span: any) => ({ ...span, attributes: plain(span.attributes) }) as SentSpan),
      ),
    ),
  );
}

const plain = (attributes: { key: string; value: object }[]): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0] as unknown]));

/** A service behind the gateway, open to everybody. */
async function makeService(): Promise<{ path: string; source: string }> {
  const name = unique("svc-");
  const source = `https://${name}.example.com/v1`;
  const tenant = await makeTenant({ subscribed: false });
  const body = { sourceUrl: source, proxyPath: `/${name}/v1`, scopes: [], essential: false, tenant, access: "public" };
  await put(`services/${name}`, body);
  await answerJson(`${source}/x`, {});
  return { path: `/${name}/v1/x`, source: `${source}/x` };
}

describe("spans of a request", () => {
  // shows: platform/traces/spans
  it("are sent with route, status, client and tenant, in the trace of the caller, and without secrets", async () => {
    const { own, address, open } = traced();
    await open();
    const client = await makeClient();
    const token = await tokenFor(client);
    const headers = { authorization: `Bearer ${token}`, traceparent: TRACEPARENT };
    const answer = await own.fetch(`/pubsub/v1/topics?pageSize=3&x=a-secret-in-a-query`, { headers });
    expect(answer.status).toBe(200);
    const [message, ...more] = await requestsTo(address);
    expect(more).toEqual([]);
    expect(message!.headers).toMatchObject({ "x-key": "the key", "x-more": "1", "content-type": "application/json" });
    for (const secret of [token, "a-secret-in-a-query", "the key"]) expect(message!.body).not.toContain(secret);
    const { resource, scopeSpans } = JSON.parse(message!.body).resourceSpans[0];
    expect(plain(resource.attributes)).toMatchObject({ "service.name": "plat" });
    const spans = scopeSpans[0].spans.map((span: any) => ({
      ...span,
      attributes: plain(span.attributes),
    })) as SentSpan[];
    const root = spans.find(({ name }) => name === "GET /pubsub/v1/topics")!;
    expect(root).toMatchObject({
      traceId: TRACE,
      parentSpanId: PARENT,
      attributes: {
        "http.request.method": "GET",
        "http.route": "/pubsub/v1/topics",
        "http.response.status_code": 200,
        "request.id": answer.headers.get("plat-request-id"),
        operation: "listTopics",
        client: client.clientId,
        tenant: client.tenant,
      },
    });
    expect(Number(root.endTimeUnixNano)).toBeGreaterThanOrEqual(Number(root.startTimeUnixNano));
    expect(Math.abs(Number(root.startTimeUnixNano) / 1e6 - Date.now())).toBeLessThan(60_000);
    const query = spans.filter(({ name }) => name === "D1");
    expect(query.length).toBeGreaterThan(0);
    for (const { traceId, parentSpanId } of query) expect([traceId, parentSpanId]).toEqual([TRACE, root.spanId]);
    expect(query.map(({ attributes }) => attributes["db.query.text"]).join()).toContain("FROM topic");
  });

  it("name the client and the tenant of a token that was asked for", async () => {
    const { own, open, spans } = traced();
    await open();
    const client = await makeClient();
    expect((await own.token(client)).status).toBe(200);
    const root = (await spans()).find(({ name }) => name === "POST /oauth2/v1/token");
    expect(root?.attributes).toMatchObject({ client: client.clientId, tenant: client.tenant });
  });

  it("name the client of a request that is refused, or that a browser brings", async () => {
    const { own, open, spans } = traced();
    await open();
    const client = await makeClient();
    const token = await tokenFor(client);
    const code = new URLSearchParams({ grant_type: "refresh_token", refresh_token: "unknown" });
    for (const [path, init, status] of [
      ["/admin/v1/tenants", { headers: { authorization: `Bearer ${token}` } }, 403],
      ["/oauth2/v1/token", { method: "POST", headers: { authorization: basic(client) }, body: code }, 400],
      ["/oauth2/v1/introspect", { method: "POST", headers: { authorization: basic(client) }, body: code }, 400],
      [`/oauth2/v1/authorize?client_id=${client.clientId}`, {}, 400],
    ] as const) {
      expect([path, (await own.fetch(path, init)).status]).toEqual([path, status]);
      const [route] = path.split("?");
      const root = (await spans()).find(({ attributes }) => attributes["http.route"] === route);
      expect([path, root?.attributes["client"]]).toEqual([path, client.clientId]);
    }
  });

  it("include calls of objects, and say what failed", async () => {
    const { own, open, spans } = traced();
    await open();
    const token = await tokenFor(await makeClient());
    const send = (path: string, json: object) =>
      own.fetch(path, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify(json),
      });
    const { path, owner } = await makeTopic(token);
    expect((await send(`${path}/publish`, { payload: "x" })).status).toBe(201);
    const published = await spans();
    const root = published.find(({ name }) => name.startsWith("POST /pubsub/v1/topics/{topicOwnerClient}"))!;
    const call = published.find(({ name }) => name === "TopicLog.append")!;
    expect(call).toMatchObject({ traceId: root.traceId, parentSpanId: root.spanId });
    expect(root.parentSpanId).toBeUndefined();
    expect((await send(`/pubsub/v1/topics/${owner}/nosuch/publish`, { payload: "x" })).status).toBe(404);
    expect((await spans()).map(({ attributes }) => attributes["error.type"])).toContain(
      "element_resource_non_existing",
    );
  });

  it("tell a caller of a newer release which method an object lacks, as the runtime does without them", async () => {
    class Log {
      readonly events = [];
    }
    const Traced = withSpans(Log as unknown as ObjectClass, "Log", {
      tracingOf: () => noTracing,
      traced: (bindings: object) => bindings,
    }) as unknown as new (...given: object[]) => {
      inTrace(traceparent: string, method: string, args: readonly unknown[]): Promise<unknown>;
    };
    const inTrace = (method: string): Promise<unknown> => new Traced({}, {}).inTrace(TRACEPARENT, method, []);
    await expect(inTrace("ofNextRelease")).rejects.toThrow('does not implement the method "ofNextRelease"');
  });

  it("are not made if the share is 0, whatever the caller wants, nor without an endpoint", async () => {
    for (const bindings of [{ TRACE_SAMPLE: "0" }, { OTLP_ENDPOINT: "" }]) {
      const { own, open, spans } = traced(bindings);
      await open();
      expect((await own.fetch("/health", { headers: { traceparent: TRACEPARENT } })).status).toBe(200);
      expect(await spans()).toEqual([]);
    }
  });

  it("are lost if the endpoint fails: callers do not notice it, and the log reports it once a minute", async () => {
    const { own, address, spans } = traced();
    const said = vi.spyOn(console, "warn").mockReturnValue();
    await answerAt(address, { status: 500, body: "no" });
    for (let count = 0; count < 3; count++) expect((await own.fetch("/health")).status).toBe(200);
    expect(await spans()).toHaveLength(3);
    expect(said.mock.calls.map(([line]) => JSON.parse(String(line)) as object)).toEqual([
      { level: "warn", event: "spans not sent", why: "the endpoint answered 500" },
    ]);
    said.mockRestore();
  });
});

describe("a caller's trace", () => {
  const ask = async (own: ReturnType<typeof isolate>, headers: Record<string, string>) => {
    const { path, source } = await makeService();
    expect((await own.fetch(path, { headers })).status).toBe(200);
    return (await requestsTo(source))[0]!.headers;
  };

  // shows: platform/traces/through-the-gateway
  it("continues at the service behind the gateway, with the span of the call if there is one", async () => {
    const plainOwn = isolate();
    expect(await ask(plainOwn, { traceparent: TRACEPARENT, tracestate: "a=1" })).toMatchObject({
      traceparent: TRACEPARENT,
      tracestate: "a=1",
    });
    const { own, open, spans } = traced();
    await open();
    const got = await ask(own, { traceparent: `00-${TRACE}-${PARENT}-00`, tracestate: "a=1" });
    const sent = await spans();
    const call = sent.find(({ name }) => name === "GET service")!;
    expect(got).toMatchObject({ traceparent: `00-${TRACE}-${call.spanId}-01`, tracestate: "a=1" });
    expect(call.attributes).toMatchObject({ "http.response.status_code": 200 });
  });

  it("is not passed on if it is invalid", async () => {
    const got = await ask(isolate(), { traceparent: `00-${"0".repeat(32)}-${PARENT}-01`, tracestate: "a=1" });
    expect(got).not.toHaveProperty("traceparent");
    expect(got).not.toHaveProperty("tracestate");
  });

  it.each([
    ["the form of version 00", TRACEPARENT, true],
    ["a later version with more fields", `cc-${TRACE}-${PARENT}-01-what-comes`, true],
    ["version 00 with more fields", `${TRACEPARENT}-more`, false],
    ["version ff", `ff-${TRACE}-${PARENT}-01`, false],
    ["no trace", `00-${"0".repeat(32)}-${PARENT}-01`, false],
    ["no parent", `00-${TRACE}-${"0".repeat(16)}-01`, false],
    ["capitals", TRACEPARENT.toUpperCase(), false],
    ["nothing", "", false],
    ["a text too long", `cc-${TRACE}-${PARENT}-01-${"x".repeat(600)}`, false],
  ])("is taken by its form: %s", (_, traceparent, isTaken) => {
    expect(passedOn(new Headers({ traceparent }))).toEqual(isTaken ? { traceparent } : {});
  });

  it("leaves out a state that is too long or has other characters", () => {
    const received = (tracestate: string) =>
      passedOn(new Map(Object.entries({ traceparent: TRACEPARENT, tracestate })));
    expect(received("a=1,b=2")).toEqual({ traceparent: TRACEPARENT, tracestate: "a=1,b=2" });
    for (const bad of ["x".repeat(513), "a=\u00e9"]) expect(received(bad)).toEqual({ traceparent: TRACEPARENT });
  });
});

describe("an attempt to push", () => {
  const attemptAt = (endpoint: string, tracing: Tracing, given: { number: number; trace?: string | undefined }) =>
    attempt(
      { names: createNames("plat"), clock: systemClock, allowLoopback: false, tracing },
      { endpoint, username: "u", password: "p", signingSecret: `whsec_${btoa("a key")}`, previous: [] } as never,
      { eventId: "event-1", text: "{}", ...given },
    );

  // shows: platform/traces/push
  it("is a trace of its own, which its request names, with the event's id", async () => {
    const endpoint = { url: `https://${unique("otlp-")}.example/v1/traces`, headers: {} };
    const hook = `https://${unique("hook-")}.example.com/x`;
    await answerJson(endpoint.url, {});
    await answerAt(hook, { status: 204 });
    const deps = { clock: systemClock, random: systemRandom, log: heardLog };
    const tracing = createTracing({ ...deps, endpoint, sample: 1, serviceName: "plat" });
    const push = (used: Tracing) => attemptAt(hook, used, { number: 2 });
    await push(tracing);
    await push(noTracing);
    const [told, untold] = await requestsTo(hook);
    await vi.waitFor(async () => expect(await heldAt(endpoint.url)).toBe(0));
    const [span] = await spansAt(endpoint.url);
    expect(span).toMatchObject({
      name: "push",
      attributes: {
        "messaging.message.id": "event-1",
        "messaging.delivery.attempt": 2,
        "server.address": new URL(hook).hostname,
        "http.response.status_code": 204,
      },
    });
    expect(told!.headers["traceparent"]).toBe(`00-${span!.traceId}-${span!.spanId}-01`);
    expect(untold!.headers).not.toHaveProperty("traceparent");
  });

  it("has a link to its publish, and is sampled if the publish is, like the next attempt", async () => {
    const endpoint = { url: `https://${unique("otlp-")}.example/v1/traces`, headers: {} };
    const hook = `https://${unique("hook-")}.example.com/x`;
    await answerJson(endpoint.url, {});
    await answerAt(hook, { status: 204 });
    const deps = { clock: systemClock, random: { bytes: (n: number) => new Uint8Array(n).fill(200) }, log: heardLog };
    const tracing = createTracing({ ...deps, endpoint, sample: 0.000_001, serviceName: "plat" });
    const push = (trace?: string) => attemptAt(hook, tracing, { number: 1, trace });
    expect((await push()).attempt.trace).toBeUndefined();
    expect((await push(TRACEPARENT)).attempt.trace).toBe(TRACEPARENT);
    await vi.waitFor(async () => expect(await heldAt(endpoint.url)).toBe(0));
    const spans = await spansAt(endpoint.url);
    expect(spans.map(({ links }) => links)).toMatchObject([[{ traceId: TRACE, spanId: PARENT }]]);
    expect(spans[0]!.traceId).not.toBe(TRACE);
    const [, told] = await requestsTo(hook);
    expect(told!.body).toBe("{}");
  });
});

describe("limits", () => {
  const made = (sample = 1, clock = systemClock) => {
    const endpoint = { url: `https://${unique("otlp-")}.example/v1/traces`, headers: {} };
    const deps = { clock, random: systemRandom, log: heardLog };
    return { endpoint, tracing: createTracing({ ...deps, endpoint, sample, serviceName: "plat" }) };
  };

  it("hold for the spans of one request", async () => {
    const { endpoint, tracing } = made();
    await answerJson(endpoint.url, {});
    const sending: Promise<unknown>[] = [];
    let ran = 0;
    await tracing.root({ name: "many", kind: "server", waitUntil: (work) => void sending.push(work) }, async () => {
      for (let count = 0; count < LIMITS.spans + 50; count++) await tracing.child("one", {}, async () => void ran++);
    });
    await Promise.all(sending);
    expect(ran).toBe(LIMITS.spans + 50);
    expect(await spansAt(endpoint.url)).toHaveLength(LIMITS.spans);
  });

  it("hold for the messages under way and the spans that wait: others are dropped, and nobody waits", async () => {
    const { endpoint, tracing } = made();
    await answerAt(endpoint.url, [{ held: true }, { held: true }, { held: true }, { held: true }, { status: 200 }]);
    const sending: Promise<unknown>[] = [];
    const waitUntil = (work: Promise<unknown>) => void sending.push(work);
    const one = (): Promise<void> => tracing.root({ name: "x", kind: "server", waitUntil }, async () => {});
    for (let count = 0; count < LIMITS.exports; count++) await one();
    await vi.waitFor(async () => expect(await heldAt(endpoint.url)).toBe(LIMITS.exports));
    for (let count = 0; count < LIMITS.waiting + 50; count++) await one();
    await release(endpoint.url);
    await Promise.all(sending);
    expect(await spansAt(endpoint.url)).toHaveLength(LIMITS.exports + LIMITS.waiting);
  });

  it("do not count a message that is under way for longer than its time limit", async () => {
    let aheadMs = 0;
    const { endpoint, tracing } = made(1, { nowMs: () => Date.now() + aheadMs });
    const held = Array.from({ length: LIMITS.exports }, () => ({ held: true }) as const);
    await answerAt(endpoint.url, [...held, { status: 200 }]);
    const sending: Promise<unknown>[] = [];
    const waitUntil = (work: Promise<unknown>) => void sending.push(work);
    const one = (): Promise<void> => tracing.root({ name: "x", kind: "server", waitUntil }, async () => {});
    for (let count = 0; count < LIMITS.exports; count++) await one();
    await vi.waitFor(async () => expect(await heldAt(endpoint.url)).toBe(LIMITS.exports));
    aheadMs = LIMITS.exportMs + 1_000;
    await one();
    await vi.waitFor(async () => expect(await requestsTo(endpoint.url)).toHaveLength(LIMITS.exports + 1));
    await release(endpoint.url);
    await Promise.all(sending);
  });

  it("hold for the share of requests, by the platform's own random numbers", async () => {
    let drawn = 0;
    const random = { bytes: (length: number) => new Uint8Array(length).fill(drawn) };
    const endpoint = { url: `https://${unique("otlp-")}.example/v1/traces`, headers: {} };
    await answerJson(endpoint.url, {});
    const tracing = createTracing({
      clock: systemClock,
      random,
      log: heardLog,
      endpoint,
      sample: 0.5,
      serviceName: "p",
    });
    const sending: Promise<unknown>[] = [];
    for (drawn of [1, 127, 128, 255])
      await tracing.root({ name: `drawn ${drawn}`, kind: "server", waitUntil: (work) => void sending.push(work) }, () =>
        Promise.resolve(),
      );
    await Promise.all(sending);
    expect((await spansAt(endpoint.url)).map(({ name }) => name)).toEqual(["drawn 1", "drawn 127"]);
  });

  it("keep two requests at the same time apart", async () => {
    const { own, open, spans } = traced();
    await open();
    const token = await tokenFor(await makeClient());
    const traces = ["1", "2", "3"].map((digit) => digit.repeat(32));
    await Promise.all(
      traces.map((trace) =>
        own.fetch("/pubsub/v1/topics", {
          headers: { authorization: `Bearer ${token}`, traceparent: `00-${trace}-${PARENT}-00` },
        }),
      ),
    );
    const sent = await spans();
    expect(new Set(sent.map(({ traceId }) => traceId))).toEqual(new Set(traces));
    for (const trace of traces) {
      const ids = sent.filter(({ traceId }) => traceId === trace);
      const root = ids.find(({ name }) => name.startsWith("GET"))!;
      for (const { name, parentSpanId } of ids) if (name === "D1") expect(parentSpanId).toBe(root.spanId);
    }
  });
});
