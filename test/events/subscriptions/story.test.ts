import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createDeps } from "../../../src/deps.ts";
import { createTopicStore } from "../../../src/events/access/topic-store.ts";
import { logOf } from "../../../src/events/log/client.ts";
import { shardsOf, type Topic } from "../../../src/events/model/topic.ts";
import { openCredentials } from "../../../src/events/push/record/credentials.ts";
import { PUSH_SQL } from "../../../src/events/push/record/record-store.ts";
import type { PushRecord } from "../../../src/events/push/record/record.ts";
import { pushOf } from "../../../src/events/push/stub.ts";
import { isolate } from "../../support/isolate.ts";
import { answerAt, requestsTo } from "../../support/outside.ts";
import { call, expectJson, type CallInit } from "../../support/platform/call.ts";
import { makeClient } from "../../support/platform/clients.ts";
import { OPERATOR } from "../../support/platform/operator.ts";
import { tokenFor } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";
import { faultyDatabase } from "../support/faulty-database.ts";
import { playedObjects } from "../support/push/played-objects.ts";
import { recordsOf } from "../support/push/push-records.ts";
import { pushStore } from "../support/push/push-store.ts";
import { body, bodyWith, PASSWORD } from "../support/push/subscription-body.ts";
import { everywhere } from "../../support/shards.ts";

/** Push subscriptions with the real Worker, real clients and tokens, the real objects and an endpoint outside. */
const { events } = createDeps(env);
afterEach(() => void vi.restoreAllMocks());

async function setUp(options: { shards?: number; scopes?: readonly string[] } = {}) {
  const client = await makeClient(options.scopes === undefined ? {} : { scopes: options.scopes });
  const token = await tokenFor(client);
  const eventType = unique("order");
  const made = await call("/pubsub/v1/topics", { token, json: { eventType, shards: options.shards ?? 1 } });
  expect(made.status).toBe(201);
  const path = `/pubsub/v1/topics/${client.clientId}/${eventType}`;
  const topic = (await createTopicStore(env.DB).find({ owner: client.clientId, eventType }))!;
  const send = (below: string, init: CallInit = {}) => call(`${path}${below}`, { token, ...init });
  return {
    client,
    topic,
    path,
    send,
    one: (below = "", init: CallInit = {}) => send(`/subscriptions/orders${below}`, init),
    create: (address: string) => send("/subscriptions", { json: bodyWith({ endpoint: address }) }),
    async publish(payload: string): Promise<string> {
      const { ids } = await expectJson(await send("/publish", { json: { payload } }), 201);
      await events.wakeSubscriptions(Date.now());
      return ids[0] as string;
    },
  };
}

async function endpoint(status = 200): Promise<string> {
  const address = `https://${unique("push")}.example/hook`;
  await answerAt(address, { status });
  return address;
}

async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (let waitedMs = 0; waitedMs < 8_000; waitedMs += 20) {
    const found = await look();
    if (found !== undefined) return found;
    await scheduler.wait(20);
  }
  throw new Error("it never came");
}
const nextRequest = (address: string) => until(async () => (await requestsTo(address))[0]);
/** Expects no request for a while. */
const quiet = async (address: string) => {
  await scheduler.wait(150);
  expect(await requestsTo(address)).toEqual([]);
};

const subscribersOf = async (topic: Topic): Promise<string[]> =>
  (await Promise.all(shardsOf(topic).map((shard) => logOf(env.TOPIC_LOG, topic, shard).subscribers(1000)))).flat();
const tablesOf = (stub: DurableObjectStub) =>
  runInDurableObject(stub, (_, state) =>
    state.storage.sql.exec(`SELECT name FROM sqlite_master WHERE name IN ('subscription', 'delivery')`).toArray(),
  );

/** Expects that an object without a record removes itself. It waits ten minutes, since a record may come late. */
async function expectItGoes(topic: Topic, { id }: PushRecord): Promise<void> {
  const stub = pushOf(env.PUSH_SUBSCRIPTION, topic, id);
  expect(await stub.wake()).toBe("awake");
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3_600_000 });
  try {
    await until(async () => {
      await runDurableObjectAlarm(stub);
      return (await subscribersOf(topic)).length === 0 ? true : undefined;
    });
  } finally {
    vi.useRealTimers();
  }
  expect(await tablesOf(stub as unknown as DurableObjectStub)).toEqual([]);
  expect(await stub.wake()).toBe("gone");
}

const basicOf = (user: string, password: string) =>
  `Basic ${btoa(String.fromCodePoint(...new TextEncoder().encode(`${user}:${password}`)))}`;

describe("a push subscription", () => {
  // shows: events/what-the-service-does/push
  // shows: events/push-subscriptions/begins
  it("delivers events published from now on, lists them, redelivers, and sends a test", async () => {
    const address = await endpoint();
    const there = await setUp({ shards: 2 });
    await there.publish("before");
    expect((await there.create(address)).status).toBe(201);
    const id = await there.publish("after");
    const delivered = await nextRequest(address);
    expect(JSON.parse(delivered.body)).toMatchObject({ id, payload: "after" });
    expect(delivered.headers["authorization"]).toBe(basicOf("shop", PASSWORD));
    await until(async () => ((await expectJson(await there.one(), 200)).lag === 0 ? true : undefined));
    const log = await expectJson(await there.one("/deliveries?state=delivered"), 200);
    expect(log).toEqual([
      {
        eventId: id,
        state: "delivered",
        nextAttemptAt: null,
        attemptCount: 1,
        attempts: [{ at: expect.any(Number), durationMs: expect.any(Number), status: 200, error: null }],
      },
    ]);
    expect((await there.one(`/deliveries/${id}/redeliver`, { method: "POST" })).status).toBe(202);
    expect(JSON.parse((await nextRequest(address)).body)).toMatchObject({ id });
    const unknown = id.replace(/^./, (first) => (first === "0" ? "1" : "0"));
    expect((await there.one(`/deliveries/${unknown}/redeliver`, { method: "POST" })).status).toBe(404);
    expect(await expectJson(await there.one("/test", { method: "POST" }), 200)).toEqual({
      delivered: true,
      status: 200,
      durationMs: expect.any(Number),
      error: null,
    });
    expect(JSON.parse((await nextRequest(address)).body)).toMatchObject({ metadata: { test: "true" } });
    expect((await there.one("/test", { method: "POST" })).status).toBe(429);
  });

  it("sends to the new endpoint with the new password after the update's response", async () => {
    const [old, next] = [await endpoint(), await endpoint()];
    const there = await setUp();
    await there.create(old);
    await there.publish("one");
    await nextRequest(old);
    const json = bodyWith({ endpoint: next }, { username: "new.user", password: "nеw 🙂" });
    expect((await there.one("", { method: "PUT", json })).status).toBe(200);
    const id = await there.publish("two");
    const delivered = await nextRequest(next);
    expect(JSON.parse(delivered.body)).toMatchObject({ id });
    expect(delivered.headers["authorization"]).toBe(basicOf("new.user", "nеw 🙂"));
    await quiet(old);
  });

  it("keeps undelivered events while disabled by 410, until an update enables it", async () => {
    const [gone, next] = [await endpoint(410), await endpoint()];
    const there = await setUp();
    await there.create(gone);
    const id = await there.publish("one");
    await until(async () => ((await expectJson(await there.one(), 200)).state === "disabled" ? true : undefined));
    const again = await there.one(`/deliveries/${id}/redeliver`, { method: "POST" });
    expect((await expectJson(again, 409)).details[0].type).toBe("subscription_disabled");
    expect((await there.one("", { method: "PUT", json: bodyWith({ endpoint: next }) })).status).toBe(200);
    // Its next attempt is some seconds away. A redelivery makes it at once.
    expect((await there.one(`/deliveries/${id}/redeliver`, { method: "POST" })).status).toBe(202);
    expect(JSON.parse((await nextRequest(next)).body)).toMatchObject({ id });
  });

  it("delivers nothing after its deletion; a new one of the same name has nothing of the old one", async () => {
    const [old, next] = [await endpoint(503), await endpoint()];
    const there = await setUp({ shards: 3 });
    await there.create(old);
    const [record] = await recordsOf(there.topic);
    await there.publish("one");
    await nextRequest(old);
    expect((await there.one("", { method: "DELETE" })).status).toBe(204);
    expect(await subscribersOf(there.topic)).toEqual([]);
    const stub = pushOf(env.PUSH_SUBSCRIPTION, there.topic, record!.id);
    expect(await tablesOf(stub as unknown as DurableObjectStub)).toEqual([]);
    expect((await there.create(next)).status).toBe(201);
    expect(await expectJson(await there.one("/deliveries"), 200)).toEqual([]);
    const id = await there.publish("two");
    expect(JSON.parse((await nextRequest(next)).body)).toMatchObject({ id });
    await quiet(old);
    await quiet(next);
  });

  it("leaves nothing in the logs if its creation lost; the logs wake the winner", async () => {
    const there = await setUp({ shards: 2 });
    const address = await endpoint();
    const answers = await Promise.all(Array.from({ length: 8 }, () => there.create(address)));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, ...Array(7).fill(409)]);
    const [record] = await recordsOf(there.topic);
    const name = await until(async () => {
      const names = new Set(await subscribersOf(there.topic));
      return names.size === 1 ? [...names][0] : undefined;
    });
    expect(name).toContain(record!.id);
  });

  it("removes itself at a wake after its client was removed", async () => {
    const there = await setUp();
    const other = await makeClient({ tenant: there.client.tenant });
    const address = await endpoint();
    const made = await there.send("/subscriptions", {
      token: await tokenFor(other),
      json: bodyWith({ endpoint: address }),
    });
    expect(made.status).toBe(201);
    const [record] = await recordsOf(there.topic);
    const removed = await call(`/admin/v1/clients/${other.clientId}`, {
      method: "DELETE",
      token: await tokenFor(OPERATOR),
    });
    expect(removed.status).toBe(204);
    expect(await recordsOf(there.topic)).toEqual([]);
    await there.send("/publish", { json: { payload: "x" } });
    await expectItGoes(there.topic, record!);
    await quiet(address);
  });

  it("removes its object even if its deletion was interrupted before the object was told", async () => {
    const there = await setUp();
    const address = await endpoint();
    await there.create(address);
    const [record] = await recordsOf(there.topic);
    await pushStore.remove(record!.id);
    await expectItGoes(there.topic, record!);
  });
});

describe("a topic that is deleted", () => {
  it("removes the objects of its subscriptions, also those being created", async () => {
    const opened = new Set<string>();
    const recorded = {
      getByName(name: string) {
        opened.add(name);
        return env.PUSH_SUBSCRIPTION.getByName(name);
      },
    };
    const own = isolate({ PUSH_SUBSCRIPTION: recorded as unknown as typeof env.PUSH_SUBSCRIPTION });
    for (let round = 0; round < 6; round++) {
      const there = await setUp({ shards: 2 });
      const { access_token } = await (await own.token(there.client)).json<any>();
      const headers = { authorization: `Bearer ${access_token}`, "content-type": "application/json" };
      const create = (name: string) =>
        own.fetch(`${there.path}/subscriptions`, { method: "POST", headers, body: JSON.stringify(body({ name })) });
      expect((await create("first")).status).toBe(201);
      const answers = await Promise.all([
        ...["one", "two", "three", "four"].map(create),
        scheduler.wait(round * 2).then(() => own.fetch(there.path, { method: "DELETE", headers })),
      ]);
      expect(answers.at(-1)!.status).toBe(202);
      for (const { status } of answers.slice(0, -1)) expect([201, 404, 409]).toContain(status);
      await events.sweep(Date.now());
      expect(await createTopicStore(env.DB).find(there.topic)).toBeUndefined();
      expect(await recordsOf(there.topic)).toEqual([]);
      expect(await subscribersOf(there.topic)).toEqual([]);
    }
    expect(opened.size).toBeGreaterThan(6);
    for (const name of opened) {
      const stub = env.PUSH_SUBSCRIPTION.getByName(name) as unknown as DurableObjectStub;
      expect(await tablesOf(stub), name).toEqual([]);
    }
  });
});

describe("password and signing secret", () => {
  // shows: events/subscription/pushconfig.basicauth.password
  // shows: events/push-subscriptions/password
  it("appear only in the creation's response, in no log line, and unsealed in no row", async () => {
    const lines: string[] = [];
    for (const level of ["log", "info", "warn", "error", "debug"] as const)
      vi.spyOn(console, level).mockImplementation(
        (...given: unknown[]) => void lines.push(given.map(String).join(" ")),
      );
    const failing = await endpoint(500);
    const there = await setUp();
    const own = isolate({ LOG_LEVEL: "info" });
    const faulty = isolate({ LOG_LEVEL: "info", DB: faultyDatabase(PUSH_SQL.insert, { fails: "before", times: 2 }) });
    const { access_token } = await (await own.token(there.client)).json<any>();
    const said: string[] = [];
    const send = async (method: string, below: string, json?: unknown, on = own) => {
      const headers = { authorization: `Bearer ${access_token}`, "content-type": "application/json" };
      const init = { method, headers, ...(json === undefined ? {} : { body: JSON.stringify(json) }) };
      const response = await on.fetch(`${there.path}/subscriptions${below}`, init);
      const text = await response.text();
      said.push(`${response.status} ${text} ${JSON.stringify([...response.headers])}`);
      return text;
    };
    const secret = "the-pässword-that-nobody-sees";
    const json = bodyWith({ endpoint: failing }, { password: secret });
    // The first fails if the topic's records lie in the directory.
    const created = [await send("POST", "", json, faulty), await send("POST", "", json)].map((text) =>
      JSON.parse(text),
    );
    const made = created.findIndex((answer) => answer.signingSecret !== undefined);
    const { signingSecret } = created[made];
    said.splice(made, 1);
    await send("POST", "", json);
    await send("GET", "");
    await send("GET", "/orders");
    await send("PUT", "/orders", json);
    await send("PUT", "/orders", { ...json, name: "other" });
    const wrong = (change: object) => ({ ...json, pushConfig: { ...json.pushConfig, ...change } });
    await send("PUT", "/orders", wrong({ endpoint: `https://shop:${secret}@a.example/` }));
    await send("POST", "", wrong({ basicAuth: { username: secret, password: secret.repeat(40) } }));
    await send("POST", "", wrong({ basicAuth: { username: "u", password: { value: secret } } }));
    await send("POST", "", wrong({ basicAuth: [secret] }));
    await send("POST", "", { ...json, name: secret });
    await there.publish("x");
    await nextRequest(failing);
    await send("POST", "/orders/test");
    await until(async () => ((await send("GET", "/orders/deliveries")).includes('"status":500') ? true : undefined));
    const rows = await everywhere.prepare(`SELECT * FROM push_subscription`).all();
    await send("DELETE", "/orders");
    const secrets = [
      secret,
      JSON.stringify(secret).slice(1, -1),
      basicOf("shop", secret).slice(6),
      signingSecret,
      signingSecret.slice("whsec_".length),
    ];
    expect(lines.join("\n")).toContain("request refused");
    expect(said.length).toBeGreaterThan(10);
    for (const one of secrets) {
      expect(lines.filter((line) => line.includes(one))).toEqual([]);
      expect(said.filter((answer) => answer.includes(one))).toEqual([]);
      expect(JSON.stringify(rows.results)).not.toContain(one);
    }
  });
});

describe("a topic in place of an older one", () => {
  /** Publishes to the topic and returns the ids. */
  const publish = async (there: Awaited<ReturnType<typeof setUp>>, ...payloads: readonly string[]) => {
    const json = payloads.map((payload) => ({ payload }));
    const { ids } = await expectJson<{ ids: string[] }>(await there.send("/publish", { json }), 201);
    await events.wakeSubscriptions(Date.now());
    return ids;
  };
  const standing = async (there: Awaited<ReturnType<typeof setUp>>) => {
    const { lag, deadLetters } = await expectJson(await there.one(), 200);
    return { lag, deadLetters };
  };

  // As docs/operate/shards.md tells the operator of a topic that is older than the shards.
  it("takes over its subscribers without the loss of an event", async () => {
    const address = await endpoint();
    const [old, next] = [await setUp({ shards: 2 }), await setUp({ shards: 2 })];
    expect((await old.create(address)).status).toBe(201);
    const sent = [...(await publish(old, "first", "second"))];
    expect((await next.create(address)).status).toBe(201);
    // One publisher uses the new topic, another still the old one, whose last event is refused at first.
    sent.push(...(await publish(next, "third")));
    const received = new Set<string>();
    const collect = async () => {
      for (const { headers } of await requestsTo(address)) received.add(headers["webhook-id"]!);
    };
    await until(async () => (await collect(), received.size === 3 ? true : undefined));
    await answerAt(address, [{ status: 503 }, { status: 200 }]);
    const [late] = await publish(old, "late");
    sent.push(late!);
    await nextRequest(address);
    // It is still counted, so the old topic stays.
    expect(await until(async () => ((await standing(old)).lag === 1 ? standing(old) : undefined))).toEqual({
      lag: 1,
      deadLetters: 0,
    });
    expect((await old.one(`/deliveries/${late}/redeliver`, { method: "POST" })).status).toBe(202);
    await until(async () => ((await standing(old)).lag === 0 ? true : undefined));
    await collect();
    expect(await standing(old)).toEqual({ lag: 0, deadLetters: 0 });
    expect((await old.send("", { method: "DELETE" })).status).toBe(202);
    sent.push(...(await publish(next, "fifth")));
    await until(async () => (await collect(), received.has(sent.at(-1)!) ? true : undefined));
    expect([...received].toSorted()).toEqual(sent.toSorted());
  });
});

describe("rotation of the seal keys", () => {
  it("keeps passwords readable: a new key in front, everything resealed, the old key taken away", async () => {
    const newKey = `t2:${btoa(String.fromCodePoint(...new Uint8Array(32).fill(9)))}`;
    const rotated = { ...env, SEAL_KEYS: `${newKey},${env.SEAL_KEYS}` };
    // The real objects have only the old key.
    const own = isolate({ ...rotated, PUSH_SUBSCRIPTION: playedObjects().binding });
    const there = await setUp();
    const { signingSecret } = await expectJson(await there.create("https://a.example/"), 201);
    await there.send("/subscriptions", { json: body({ name: "other" }) });
    const sealedBy = async () =>
      Object.fromEntries((await recordsOf(there.topic)).map(({ name, sealKey }) => [name, sealKey]));
    expect(await sealedBy()).toEqual({ orders: "t1", other: "t1" });
    // New writes are under the new key, also with a kept password.
    const { access_token } = await (await own.token(there.client)).json<any>();
    const updated = await own.fetch(`${there.path}/subscriptions/orders`, {
      method: "PUT",
      headers: { authorization: `Bearer ${access_token}`, "content-type": "application/json" },
      body: JSON.stringify(bodyWith({ endpoint: "https://a.example/hook" }, { password: "********" })),
    });
    expect(updated.status).toBe(200);
    expect(await sealedBy()).toEqual({ orders: "t2", other: "t1" });
    await createDeps(rotated).events.reseal();
    expect(await sealedBy()).toEqual({ orders: "t2", other: "t2" });
    const { push } = createDeps({ ...env, SEAL_KEYS: newKey });
    for (const record of await recordsOf(there.topic)) {
      const opened = await openCredentials(push.sealer, record);
      expect(opened.password).toBe(PASSWORD);
      if (record.name === "orders") expect(opened.signingSecret).toBe(signingSecret);
    }
  });
});
