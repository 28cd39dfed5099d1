import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { createBuiltIn } from "../../../src/platform/model/built-in.ts";
import { createNames } from "../../../src/platform/model/names.ts";
import { systemRandom } from "../../../src/platform/runtime/random.ts";
import { createDeps } from "../../../src/deps.ts";
import { runSchedule } from "../../../src/schedule.ts";
import {
  createOutbox,
  DRAIN,
  type EventPublisher,
  type Outbox,
} from "../../../src/oauth/subscription-events/outbox.ts";
import { heardLog } from "../../support/runtime/heard-log.ts";
import { isolate } from "../../support/isolate.ts";
import { call, expectJson, ORIGIN } from "../../support/platform/call.ts";
import { makeClient, type TestClient } from "../../support/platform/clients.ts";
import { operate, OPERATOR, put, putService } from "../../support/platform/operator.ts";
import { makeTenant } from "../../support/platform/tenants.ts";
import { tokenFor } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";
import { directoryWith } from "../../support/directory.ts";
import { itAtNight, runs } from "../../support/model-runs.ts";
import type { WireEvent } from "../../events/support/test-topic.ts";
import { databaseThrough } from "../../support/database-through.ts";

const TOPICS = "/pubsub/v1/topics";
const CREATED = `${TOPICS}/plat.authorization/subscriptionCreated`;
const CANCELLED = `${TOPICS}/plat.authorization/subscriptionCancelled`;
/** The consumer's only right. Its tenant has no package. */
const SCOPE = "plat.pubsub.topic=plat.authorization.*";

type SubscriptionEvent = WireEvent & { readonly metadata: { readonly schema: string } };

const outboxRows = async (): Promise<number> =>
  Number(await env.DB.prepare("SELECT count(*) AS n FROM outbox").first("n"));

let consumer: TestClient;
let consumerToken: string;
/** The events that this file's consumer has not read yet. */
async function news(topic: string): Promise<SubscriptionEvent[]> {
  const token = consumerToken;
  const events: SubscriptionEvent[] = [];
  for (;;) {
    const response = await call(`${topic}/read`, { token, json: { numEvents: 1000, autoCommit: true } });
    if (response.status === 204) return events;
    events.push(...(await expectJson<{ events: SubscriptionEvent[] }>(response, 200)).events);
  }
}

/** Waits until nothing is left to publish, which happens after the responses. */
const settled = () => expect.poll(outboxRows).toBe(0);

/** The schemas of one tenant's events, in the order of the topic. */
const schemas = (events: readonly SubscriptionEvent[], tenant: string): string[] =>
  events.filter((event) => event.tenant === tenant).map((event) => event.metadata.schema);

beforeAll(async () => {
  consumer = await makeClient({ tenant: await makeTenant({ subscribed: false }), scopes: [SCOPE] });
  consumerToken = await tokenFor(consumer);
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

describe("The platform's own topics", () => {
  // shows: oauth/events/topic-owner
  // shows: events/what-the-service-does/consuming-needs-none
  it("exist before their first event, for a client without any package", async () => {
    expect(await env.DB.prepare("SELECT count(*) AS n FROM topic").first("n")).toBe(0);
    const token = await tokenFor(consumer, SCOPE);
    // Several isolates look for the topic at once, and only one topic is created.
    const looks = [0, 1, 2, 3].map(() => isolate().fetch(CREATED, { headers: { authorization: `Bearer ${token}` } }));
    for (const look of await Promise.all(looks))
      expect(await expectJson(look, 200)).toMatchObject({ storedEvents: 0, state: "active", shards: 1, lag: 0 });
    const listed = await expectJson<object[]>(await call(TOPICS, { token }), 200);
    expect(listed).toEqual(
      ["subscriptionCancelled", "subscriptionCreated"].map((eventType) => ({
        topicOwnerClient: "plat.authorization",
        eventType,
        description: expect.stringContaining("subscri"),
        createdAt: expect.any(Number),
        shards: 1,
        state: "active",
        href: `${ORIGIN}/pubsub/v1/topics/plat.authorization/${eventType}`,
      })),
    );
    expect((await call(`${CANCELLED}/read`, { token, json: {} })).status).toBe(204);
    expect(await env.DB.prepare("SELECT count(*) AS n FROM topic").first("n")).toBe(2);
  });

  it("belong to nobody: no client can have the owner's name, create, publish or delete", async () => {
    const other = await makeClient();
    const token = await tokenFor(other);
    expect((await call(CREATED, { method: "DELETE", token })).status).toBe(404);
    expect((await call(`${CREATED}/publish`, { token, json: { payload: "forged" } })).status).toBe(404);
    const owner = "plat.authorization";
    const settings = { tenant: other.tenant, confidential: true, grantTypes: ["client_credentials"], scopes: [] };
    expect((await operate(`clients/${owner}`, "PUT", settings)).status).toBe(409);
    expect((await operate(`clients/${unique("c")}`, "PUT", { ...settings, name: owner })).status).toBe(409);
    expect((await call(CREATED, { token: await tokenFor(OPERATOR) })).status).toBe(404);
  });

  it("return 404 without a scope, 403 for a scope that the token lacks, 404 for an unknown name", async () => {
    const stranger = await makeClient({ scopes: ["plat.pubsub_publish"] });
    const token = await tokenFor(stranger);
    expect((await call(CREATED, { token })).status).toBe(404);
    expect(await expectJson<object[]>(await call(TOPICS, { token }), 200)).toEqual([]);
    const lacking = await makeClient({ tenant: consumer.tenant, scopes: [SCOPE, "plat.pubsub.topic=other.app.x"] });
    const narrow = await tokenFor(lacking, "plat.pubsub.topic=other.app.x");
    expect((await call(CREATED, { token: narrow })).status).toBe(403);
    const wide = await tokenFor(consumer);
    expect((await call(`${TOPICS}/plat.authorization/somethingElse`, { token: wide })).status).toBe(404);
    expect((await call(`${TOPICS}/plat.authorization/subscriptioncreated`, { token: wide })).status).toBe(404);
  });
});

describe("A subscription", () => {
  // shows: oauth/events/topic-owner
  // shows: oauth/events/subscriptioncreated_v3
  // shows: oauth/events/subscriptioncancelled_v1
  // shows: oauth/events/subscriptioncreated_v2
  // shows: oauth/events/subscriptioncreated_v1
  // shows: oauth/events/payloads
  // shows: operator/resources/tenants-id-subscriptions-packageid
  it("is published in every schema, field by field", async () => {
    await news(CREATED);
    const tenant = await makeTenant({ subscribed: false });
    const [shop, stock, pack] = [unique("shop"), unique("stock"), unique("pkg")];
    for (const [name, scopes] of [
      [shop, [`${shop}.read`, `${shop}.write`]],
      [stock, []],
    ] as const)
      await putService(name, { scopes, tenant });
    const provider = unique("org");
    await put(`organizations/${provider}`, { name: "Provider" });
    await put(`packages/${pack}`, { version: '2.0 "é" \\', organization: provider, services: [stock, "media", shop] });
    const { id, createdAt } = await put(`tenants/${tenant}/subscriptions/${pack}`, {});
    await settled();

    const events = await news(CREATED);
    for (const event of events)
      expect(event).toEqual({
        id: expect.any(String),
        createdAt: expect.any(Number),
        tenant,
        sourceClient: "plat.authorization",
        eventType: "subscriptionCreated",
        payload: expect.any(String),
        metadata: { schema: expect.any(String) },
      });
    const v1 = {
      id,
      subscriber: { id: tenant, org: `${tenant}-org` },
      package: {
        id: pack,
        version: '2.0 "é" \\',
        provider: { id: provider, org: provider },
        includedServices: ["media", shop, stock].toSorted().map((name) => ({ id: name, name })),
      },
      validFrom: createdAt,
    };
    const v2 = { ...v1, subscriber: { ...v1.subscriber, tenant } };
    const scopesOf: Record<string, string[]> = {
      [shop]: [`${shop}.read`, `${shop}.write`],
      [stock]: [],
      media: ["plat.media_view", "plat.media_manage", "plat.media_admin"],
    };
    const includedServices = v1.package.includedServices.map((one) => ({ ...one, scopes: scopesOf[one.name] }));
    const v3 = { ...v2, package: { ...v2.package, includedServices }, createdAt };
    expect(events.map((event) => [event.metadata.schema, JSON.parse(event.payload)])).toEqual([
      ["subscriptionCreated_v3", v3],
      ["subscriptionCreated_v2", v2],
      ["subscriptionCreated_v1", v1],
    ]);

    await news(CANCELLED);
    const before = Date.now();
    expect((await operate(`tenants/${tenant}/subscriptions/${pack}`, "DELETE")).status).toBe(204);
    await settled();
    const [cancelled, ...others] = await news(CANCELLED);
    expect(others).toEqual([]);
    expect(cancelled).toMatchObject({
      tenant,
      sourceClient: "plat.authorization",
      eventType: "subscriptionCancelled",
      metadata: { schema: "subscriptionCancelled_v1" },
    });
    const payload = JSON.parse(cancelled!.payload);
    expect(payload).toEqual({
      id,
      subscriber: { id: tenant, org: `${tenant}-org`, tenant },
      package: { id: pack, version: '2.0 "é" \\' },
      validFrom: createdAt,
      cancelledAt: payload.cancelledAt,
    });
    expect(payload.cancelledAt).toBeGreaterThanOrEqual(before);
    expect(payload.cancelledAt).toBeLessThanOrEqual(Date.now());
    expect(await news(CREATED)).toEqual([]);
  });

  it("to the built-in package names the platform's own organization", async () => {
    const tenant = await makeTenant({ subscribed: false });
    await put(`tenants/${tenant}/subscriptions/platform`, {});
    await settled();
    const newest = (await news(CREATED)).filter((event) => event.tenant === tenant)[0]!;
    expect(JSON.parse(newest.payload)).toMatchObject({
      subscriber: { id: tenant, org: `${tenant}-org`, tenant },
      package: {
        id: "platform",
        version: "1",
        provider: { id: "plat", org: "plat" },
        includedServices: [
          { id: "media", name: "media", scopes: ["plat.media_view", "plat.media_manage", "plat.media_admin"] },
          { id: "pubsub", name: "pubsub", scopes: ["plat.pubsub_publish"] },
        ],
      },
    });
  });

  it("is not published if nothing changed: put again, cancelled where there is none, put many times at once", async () => {
    const tenant = await makeTenant({ subscribed: false });
    const path = `tenants/${tenant}/subscriptions/platform`;
    expect((await operate(path, "DELETE")).status).toBe(404);
    const puts = await Promise.all(Array.from({ length: 6 }, () => operate(path, "PUT", {})));
    expect(puts.filter((response) => response.status === 201)).toHaveLength(1);
    expect(puts.filter((response) => response.status === 200)).toHaveLength(5);
    const ids = await Promise.all(puts.map(async (response) => (await response.json<{ id: string }>()).id));
    expect(new Set(ids).size).toBe(1);
    const removals = await Promise.all(Array.from({ length: 4 }, () => operate(path, "DELETE")));
    expect(removals.filter((response) => response.status === 204)).toHaveLength(1);
    expect(removals.filter((response) => response.status === 404)).toHaveLength(3);
    await settled();
    expect(schemas(await news(CREATED), tenant)).toEqual([
      "subscriptionCreated_v3",
      "subscriptionCreated_v2",
      "subscriptionCreated_v1",
    ]);
    expect(schemas(await news(CANCELLED), tenant)).toEqual(["subscriptionCancelled_v1"]);
  });

  // shows: oauth/events/deprecated-schemas
  it("is published in the newest schema only if the deployment says so", async () => {
    const tenant = await makeTenant({ subscribed: false });
    const quiet = isolate({ DEPRECATED_SUBSCRIPTION_EVENTS: "false" });
    const headers = { authorization: `Bearer ${await tokenFor(OPERATOR)}`, "content-type": "application/json" };
    const init = { method: "PUT", headers, body: "{}" };
    expect((await quiet.fetch(`/admin/v1/tenants/${tenant}/subscriptions/platform`, init)).status).toBe(201);
    expect(schemas(await news(CREATED), tenant)).toEqual(["subscriptionCreated_v3"]);
  });

  it("is refused with 400 if the package lists more scopes than an event can hold", async () => {
    const tenant = await makeTenant({ subscribed: false });
    const [service, pack] = [unique("svc"), unique("pkg")];
    const listing = (count: number) => ({
      sourceUrl: "https://s.example",
      proxyPath: `/${service}`,
      scopes: Array.from({ length: count }, (_, n) => `${service}.${"x".repeat(230)}${n}`),
      tenant,
      access: "token",
    });
    const services = [service, ...(await Promise.all([1, 2].map(() => anotherLarge(tenant))))];
    await put(`services/${service}`, listing(100));
    await put(`packages/${pack}`, { version: "1", organization: `${tenant}-org`, services });
    const path = `tenants/${tenant}/subscriptions/${pack}`;
    expect(await expectJson(await operate(path, "PUT", {}), 400)).toMatchObject({
      details: [{ type: "invalid_uri_parameter", field: "packageId" }],
    });
    expect((await operate(path)).status).toBe(404);
    await put(`services/${service}`, listing(1));
    expect((await operate(path, "PUT", {})).status).toBe(201);
    // The service grows. The existing subscription can still be put again and cancelled.
    await put(`services/${service}`, listing(100));
    expect((await operate(path, "PUT", {})).status).toBe(200);
    expect((await operate(path, "DELETE")).status).toBe(204);
    await settled();
    expect(schemas(await news(CREATED), tenant)).toHaveLength(3);
    expect(schemas(await news(CANCELLED), tenant)).toHaveLength(1);
  });

  async function anotherLarge(tenant: string): Promise<string> {
    const name = unique("svc");
    const scopes = Array.from({ length: 230 }, (_, n) => `${name}.${"y".repeat(230)}${n}`);
    await putService(name, { scopes, tenant });
    return name;
  }

  it("is published as it was in its transaction, however late; its response does not wait", async () => {
    const tenant = await makeTenant({ subscribed: false });
    const pack = unique("pkg");
    const version = (text: string) =>
      put(`packages/${pack}`, { version: text, organization: `${tenant}-org`, services: ["media"] });
    await version("1");
    const errors = vi.spyOn(console, "error").mockImplementation(() => {});
    const away = { getByName: () => ({ append: () => Promise.reject(new Error("log away")) }) };
    const broken = isolate({ TOPIC_LOG: away as unknown as typeof env.TOPIC_LOG });
    const headers = { authorization: `Bearer ${await tokenFor(OPERATOR)}`, "content-type": "application/json" };
    const path = `/admin/v1/tenants/${tenant}/subscriptions/${pack}`;
    expect((await broken.fetch(path, { method: "PUT", headers, body: "{}" })).status).toBe(201);
    expect((await broken.fetch(path, { method: "DELETE", headers })).status).toBe(204);
    expect(errors).toHaveBeenCalledWith(expect.stringContaining("log away"));
    errors.mockRestore();
    expect(await outboxRows()).toBe(2);
    await version("2");

    await runSchedule(createDeps(env), Date.now());
    expect(await outboxRows()).toBe(0);
    const created = (await news(CREATED)).filter((event) => event.tenant === tenant);
    expect(JSON.parse(created[0]!.payload)).toMatchObject({ package: { version: "1" } });
    const [cancelled] = (await news(CANCELLED)).filter((event) => event.tenant === tenant);
    expect(JSON.parse(cancelled!.payload)).toMatchObject({ package: { version: "1" } });
    expect(created.at(-1)!.createdAt).toBeLessThanOrEqual(cancelled!.createdAt);
  });

  // shows: oauth/events/not-lost
  it("is published even if its response was lost, and not if it was not written", async () => {
    const errors = vi.spyOn(console, "error").mockImplementation(() => {});
    for (const written of [true, false]) {
      const tenant = await makeTenant({ subscribed: false });
      await settled();
      let batches = 0;
      const db = directoryWith({
        async batch(statements) {
          // The change is the only batch of five statements or more. Lookups and the drain have smaller ones.
          if (statements.length < 5) return env.DB.batch(statements);
          batches += 1;
          if (written) await env.DB.batch(statements);
          throw new Error("lost");
        },
      });
      const other = isolate({ DB: db });
      const headers = { authorization: `Bearer ${await tokenFor(OPERATOR)}`, "content-type": "application/json" };
      const init = { method: "PUT", headers, body: "{}" };
      expect((await other.fetch(`/admin/v1/tenants/${tenant}/subscriptions/platform`, init)).status).toBe(503);
      expect(batches).toBe(1);
      expect(schemas(await news(CREATED), tenant)).toHaveLength(written ? 3 : 0);
    }
    expect(errors).toHaveBeenCalled();
  });
});

const names = createNames("plat");
const real = createDeps(env);

/** An outbox with its own clock, whose bindings can be replaced. */
function outboxAt(
  clock: { ms: number },
  { db = env.DB, publisher = real.events, deprecatedEvents = true }: Partial<OutboxParts> = {},
): Outbox {
  return createOutbox({
    names,
    builtIn: createBuiltIn(names),
    db,
    clock: { nowMs: () => clock.ms },
    random: systemRandom,
    log: heardLog,
    publisher,
    deprecatedEvents,
  });
}
interface OutboxParts {
  readonly db: D1Database;
  readonly publisher: EventPublisher;
  readonly deprecatedEvents: boolean;
}

/** Adds the rows of an organization and of its tenant. */
async function tenantRow(): Promise<string> {
  const id = unique("t");
  await env.DB.batch([
    env.DB.prepare("INSERT INTO organization (id, name, created_at) VALUES (?1, ?1, 1)").bind(id),
    env.DB.prepare("INSERT INTO tenant (id, organization, name, created_at) VALUES (?1, ?1, ?1, 1)").bind(id),
  ]);
  return id;
}

const INSERT = `INSERT INTO subscription (tenant, package, id, created_at) VALUES (?1, ?2, ?3, 5)`;
const DELETE = `DELETE FROM subscription WHERE tenant = ?1 AND package = ?2`;
/** Subscribes as the operator service does, without the drain after the transaction. */
async function subscribe(tenant: string): Promise<string> {
  const id = unique("sub");
  const outbox = outboxAt({ ms: 5 });
  await env.DB.batch([env.DB.prepare(INSERT).bind(tenant, "platform", id), outbox.created(id, 5)]);
  return id;
}
async function cancel(tenant: string): Promise<void> {
  await env.DB.batch([
    outboxAt({ ms: 6 }).cancelled(tenant, "platform", 6),
    env.DB.prepare(DELETE).bind(tenant, "platform"),
  ]);
}

/**
 * Bindings of a drain that crashes at step `at`: before the step, or after it with its response lost. All later steps
 * fail.
 */
function crashing(at: number, when: "before" | "after") {
  let steps = 0;
  const step = async <T>(work: () => Promise<T>): Promise<T> => {
    steps += 1;
    if (steps > at || (steps === at && when === "before")) throw new Error("crashed");
    const done = await work();
    if (steps === at) throw new Error("crashed");
    return done;
  };
  const db = databaseThrough(step);
  const publisher: EventPublisher = { publish: (...args) => step(() => real.events.publish(...args)) };
  return { db, publisher, crashed: () => steps >= at };
}

const V3_TO_V1 = ["subscriptionCreated_v3", "subscriptionCreated_v2", "subscriptionCreated_v1"];

describe("A drain of the outbox", () => {
  // shows: oauth/events/not-lost
  it("loses nothing, repeats nothing and keeps the order, at any crash", async () => {
    await news(CREATED);
    await news(CANCELLED);
    let crashes = 0;
    for (const when of ["before", "after"] as const)
      for (let at = 1, crashed = true; crashed; at++) {
        const clock = { ms: 1_000_000 };
        const [a, b] = [await tenantRow(), await tenantRow()];
        const first = await subscribe(a);
        await cancel(a);
        await subscribe(b);
        const second = await subscribe(a);
        const fault = crashing(at, when);
        const outcome = await outboxAt(clock, fault)
          .drain()
          .then(
            () => "done",
            () => "failed",
          );
        crashed = fault.crashed();
        if (crashed) crashes += 1;
        else expect(outcome).toBe("done");
        // The lease of the crashed drain expires.
        clock.ms += DRAIN.leaseMs;
        await outboxAt(clock).drain();
        const where = `${when} step ${at}`;
        expect(await outboxRows(), where).toBe(0);
        const created = await news(CREATED);
        const ids = created.filter((event) => event.tenant === a).map((event) => JSON.parse(event.payload).id);
        expect(ids, where).toEqual([first, first, first, second, second, second]);
        expect(schemas(created, a), where).toEqual([...V3_TO_V1, ...V3_TO_V1]);
        expect(schemas(created, b), where).toEqual(V3_TO_V1);
        expect(schemas(await news(CANCELLED), a), where).toEqual(["subscriptionCancelled_v1"]);
      }
    // The eleven steps are lease, rows, four times publish and remove, release. Each crashes before and after.
    expect(crashes).toBe(22);
  }, 30_000);

  it("does so on random schedules of changes, drains, crashes and time", async () => {
    const change = fc.record({ kind: fc.constant("change" as const), who: fc.nat(2) });
    const drain = fc.record({ kind: fc.constant("drain" as const), drains: fc.integer({ min: 1, max: 3 }) });
    const crash = fc.record({
      kind: fc.constant("crash" as const),
      at: fc.integer({ min: 1, max: 12 }),
      when: fc.constantFrom("before" as const, "after" as const),
    });
    const time = fc.record({ kind: fc.constant("time" as const), ms: fc.nat(40_000) });
    const schedule = fc.array(fc.oneof({ weight: 3, arbitrary: change }, drain, crash, time), { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(schedule, async (steps) => {
        const clock = { ms: 1_000_000 };
        const tenants = await Promise.all([0, 1, 2].map(() => tenantRow()));
        const expected = tenants.map((): string[] => []);
        const living: (string | undefined)[] = [undefined, undefined, undefined];
        for (const step of steps)
          switch (step.kind) {
            case "change": {
              const tenant = tenants[step.who]!;
              const id = living[step.who];
              if (id === undefined) {
                living[step.who] = await subscribe(tenant);
                expected[step.who]!.push(`created ${living[step.who]!}`);
              } else {
                await cancel(tenant);
                living[step.who] = undefined;
                expected[step.who]!.push(`cancelled ${id}`);
              }
              break;
            }
            case "drain":
              await Promise.all(Array.from({ length: step.drains }, () => outboxAt(clock).drain()));
              break;
            case "crash":
              await outboxAt(clock, crashing(step.at, step.when))
                .drain()
                .catch(() => undefined);
              break;
            case "time":
              clock.ms += step.ms;
              break;
          }
        clock.ms += DRAIN.leaseMs;
        await outboxAt(clock).drain();
        expect(await outboxRows()).toBe(0);
        const [created, cancelled] = [await news(CREATED), await news(CANCELLED)];
        for (const [index, tenant] of tenants.entries()) {
          const told = (events: SubscriptionEvent[], word: string) =>
            events.filter((event) => event.tenant === tenant).map((event) => `${word} ${JSON.parse(event.payload).id}`);
          const of = (word: string) => expected[index]!.filter((line) => line.startsWith(word));
          expect(told(created, "created")).toEqual(of("created").flatMap((line) => [line, line, line]));
          expect(told(cancelled, "cancelled")).toEqual(of("cancelled"));
        }
      }),
      { numRuns: runs(2) },
    );
  }, 30_000);

  it("keeps the order of a tenant whose event cannot be published, and delays nobody else", async () => {
    const clock = { ms: 1_000_000 };
    const [a, b] = [await tenantRow(), await tenantRow()];
    await subscribe(a);
    await cancel(a);
    await subscribe(b);
    const tried: string[] = [];
    const publisher: EventPublisher = {
      publish: (topic, events, key, nowMs) => {
        const { tenant } = events[0]!;
        tried.push(`${tenant} ${topic.eventType}`);
        return tenant === a ? Promise.reject(new Error("no")) : real.events.publish(topic, events, key, nowMs);
      },
    };
    await outboxAt(clock, { publisher }).drain();
    expect(tried).toEqual([`${a} subscriptionCreated`, `${b} subscriptionCreated`]);
    expect(await outboxRows()).toBe(2);
    expect(schemas(await news(CREATED), b)).toEqual(V3_TO_V1);
    await outboxAt(clock).drain();
    expect(await outboxRows()).toBe(0);
    expect(schemas(await news(CREATED), a)).toEqual(V3_TO_V1);
    expect(schemas(await news(CANCELLED), a)).toEqual(["subscriptionCancelled_v1"]);
  });

  it("treats a topic that does not respond as one that cannot be published to", async () => {
    const [a, b] = [await tenantRow(), await tenantRow()];
    await subscribe(a);
    await subscribe(b);
    const began = Promise.withResolvers<void>();
    const publisher: EventPublisher = {
      publish: (topic, events, key, nowMs) => {
        if (events[0]!.tenant !== a) return real.events.publish(topic, events, key, nowMs);
        began.resolve();
        return new Promise(() => {});
      },
    };
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const drained = outboxAt({ ms: 1_000_000 }, { publisher }).drain();
    await began.promise;
    vi.advanceTimersByTime(DRAIN.publishWaitMs);
    vi.useRealTimers();
    await drained;
    expect(await outboxRows()).toBe(1);
    expect(schemas(await news(CREATED), b)).toEqual(V3_TO_V1);
    await outboxAt({ ms: 1_000_000 }).drain();
    expect(schemas(await news(CREATED), a)).toEqual(V3_TO_V1);
  });

  it("waits until the lease of a dead drainer ends, but not for one of a clock that is far ahead", async () => {
    const tenant = await tenantRow();
    const clock = { ms: 1_000_000 };
    const hold = (untilMs: number) =>
      env.DB.prepare("INSERT INTO lease (name, holder, until_at) VALUES ('outbox', 'dead', ?)").bind(untilMs).run();
    await subscribe(tenant);
    await hold(clock.ms + 1);
    await outboxAt(clock).drain();
    expect(await outboxRows()).toBe(1);
    clock.ms += 1;
    await outboxAt(clock).drain();
    expect(await outboxRows()).toBe(0);
    await cancel(tenant);
    await hold(clock.ms + 2 * DRAIN.leaseMs + 1);
    await outboxAt(clock).drain();
    expect(await outboxRows()).toBe(0);
    expect(await env.DB.prepare("SELECT count(*) AS n FROM lease").first("n")).toBe(0);
    expect(schemas(await news(CREATED), tenant)).toEqual(V3_TO_V1);
  });

  // shows: oauth/events/not-lost
  it("publishes each event once if many run at once", async () => {
    const tenants = await Promise.all(Array.from({ length: 5 }, () => tenantRow()));
    for (const tenant of tenants) await subscribe(tenant);
    await Promise.all(Array.from({ length: 8 }, () => outboxAt({ ms: 1_000_000 }).drain()));
    expect(await outboxRows()).toBe(0);
    const events = await news(CREATED);
    expect(events.map((event) => event.tenant)).toEqual(tenants.flatMap((tenant) => [tenant, tenant, tenant]));
  });

  it("stops and repeats nothing if it lost its lease while publishing", async () => {
    const [a, b] = [await tenantRow(), await tenantRow()];
    await subscribe(a);
    await subscribe(b);
    const clock = { ms: 1_000_000 };
    let published = 0;
    const publisher: EventPublisher = {
      async publish(...args) {
        published += 1;
        // The drain pauses so long that another one takes over and publishes everything.
        clock.ms += DRAIN.leaseMs;
        await outboxAt(clock).drain();
        await real.events.publish(...args);
      },
    };
    await outboxAt(clock, { publisher }).drain();
    expect(published).toBe(1);
    const events = await news(CREATED);
    expect(events.map((event) => event.tenant)).toEqual([a, a, a, b, b, b]);
  });

  it("finds rows that were written while it held the lease, up to its release", async () => {
    const tenants = await Promise.all([0, 1, 2].map(() => tenantRow()));
    const [a, b, c] = tenants as [string, string, string];
    const clock = { ms: 1_000_000 };
    const comeBy = async (tenant: string) => {
      await subscribe(tenant);
      await outboxAt(clock).drain();
    };
    let whenPublishing: string | undefined = b;
    let whenReleasing: string | undefined = c;
    const publisher: EventPublisher = {
      async publish(...args) {
        if (whenPublishing !== undefined) await comeBy(whenPublishing);
        whenPublishing = undefined;
        await real.events.publish(...args);
      },
    };
    const db = directoryWith({
      async batch(statements) {
        const rows = await outboxRows();
        // The outbox is empty, so this batch releases the lease.
        if (rows === 0 && whenReleasing !== undefined) {
          const tenant = whenReleasing;
          whenReleasing = undefined;
          await comeBy(tenant);
        }
        return env.DB.batch(statements);
      },
    });
    await subscribe(a);
    await outboxAt(clock, { publisher, db }).drain();
    expect(await outboxRows()).toBe(0);
    expect((await news(CREATED)).map((event) => event.tenant)).toEqual(tenants.flatMap((one) => [one, one, one]));
  });

  itAtNight("is limited; the next one goes on", async () => {
    const tenant = await tenantRow();
    const many = DRAIN.rowsARun + 30;
    await subscribe(tenant);
    await env.DB.prepare(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?1)
       INSERT INTO outbox (id, event_type, tenant, snapshot, created_at)
       SELECT 'many' || i, event_type, tenant, json_set(snapshot, '$.id', 'many' || i), created_at FROM n, outbox`,
    )
      .bind(many)
      .run();
    await outboxAt({ ms: 1_000_000 }, { deprecatedEvents: false }).drain();
    expect(await outboxRows()).toBe(many - DRAIN.rowsARun);
    await outboxAt({ ms: 1_000_000 }, { deprecatedEvents: false }).drain();
    expect(await outboxRows()).toBe(0);
    const ids = (await news(CREATED)).map((event) => JSON.parse(event.payload).id as string);
    expect(ids.slice(1)).toEqual(Array.from({ length: many - 1 }, (_, index) => `many${index + 1}`));
  });
});

describe("An event that was stored while its row stayed", () => {
  /** Publishes an event, and crashes before its row is removed. */
  async function storedButLeft(): Promise<string> {
    const tenant = await tenantRow();
    await subscribe(tenant);
    // The fourth step, after lease, rows and publish, is the removal.
    await outboxAt({ ms: 1_000_000 }, crashing(4, "before"))
      .drain()
      .catch(() => undefined);
    expect(await outboxRows()).toBe(1);
    expect(schemas(await news(CREATED), tenant)).toEqual(V3_TO_V1);
    return tenant;
  }
  const later = { ms: 1_000_000 + DRAIN.leaseMs };

  it("is not published again if other schemas are wanted meanwhile", async () => {
    const tenant = await storedButLeft();
    await outboxAt(later, { deprecatedEvents: false }).drain();
    expect(await outboxRows()).toBe(0);
    expect(schemas(await news(CREATED), tenant)).toEqual([]);
  });

  it("is known to its topic for 24 h; after a day without a drain it comes twice, under its subscription's id", async () => {
    const day = 86_400_000;
    const tenant = await storedButLeft();
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(Date.now() + day - 60_000);
    consumerToken = await tokenFor(consumer);
    await outboxAt(later).drain();
    expect(schemas(await news(CREATED), tenant)).toEqual([]);
    const another = await storedButLeft();
    vi.setSystemTime(Date.now() + day + 120_000);
    consumerToken = await tokenFor(consumer);
    await outboxAt(later).drain();
    expect(schemas(await news(CREATED), another)).toEqual(V3_TO_V1);
  });
});
