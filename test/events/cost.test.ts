import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { counting } from "../support/counting.ts";
import { isolate } from "../support/isolate.ts";
import { makeClient } from "../support/platform/clients.ts";
import { put } from "../support/platform/operator.ts";
import { makeTenant } from "../support/platform/tenants.ts";
import { unique } from "../support/platform/unique.ts";
import { eventsApp } from "./support/events-app.ts";
import { makeTopic } from "./support/test-topic.ts";
import { objectsOf } from "./support/topic-objects.ts";

/** The cost of a request in the steady state (ARCHITECTURE.md, "What an operation may cost"). */
it("read, commit and publish call one object and not D1; a read without events in memory calls two objects", async () => {
  const counted = counting(env);
  const app = eventsApp(counted.env);
  const topic = await makeTopic(app);
  await topic.put({ payload: "warms the record of the topic" });
  await topic.commit((await topic.read()).token);
  const { consumer } = await objectsOf(topic);
  // The consumer's own calls go through the bindings of its object.
  await runInDurableObject(consumer, (instance) => void ((instance as unknown as { env: object }).env = counted.env));
  const costOf = async (run: () => Promise<unknown>) => {
    counted.reset();
    await run();
    const { d1Statements, objectCalls } = counted.tally;
    return { d1Statements, objectCalls };
  };

  expect(await costOf(() => topic.put(Array.from({ length: 100 }, () => ({ payload: "x" }))))).toEqual({
    d1Statements: 0,
    objectCalls: { "TOPIC_LOG.append": 1 },
  });
  let token: string | undefined;
  const read = async () => void ({ token } = await topic.read({ numEvents: 2 }));
  const commit = async () => expect((await topic.commit(token)).status).toBe(200);
  expect(await costOf(read)).toEqual({
    d1Statements: 0,
    objectCalls: { "TOPIC_CONSUMER.read": 1, "TOPIC_LOG.read": 1 },
  });
  for (let at = 0; at < 20; at++) {
    expect(await costOf(commit)).toEqual({ d1Statements: 0, objectCalls: { "TOPIC_CONSUMER.commit": 1 } });
    expect(await costOf(read)).toEqual({ d1Statements: 0, objectCalls: { "TOPIC_CONSUMER.read": 1 } });
  }
  expect(
    await costOf(() =>
      topic.put({ payload: "x" }, { headers: { "idempotency-key": "k", "content-type": "application/json" } }),
    ),
  ).toEqual({
    d1Statements: 0,
    objectCalls: { "TOPIC_LOG.append": 1 },
  });
});

it("a consumer keeps at most 1 MiB of events in memory, and reads later events again", async () => {
  const counted = counting(env);
  const app = eventsApp(counted.env);
  const topic = await makeTopic(app);
  const count = 70;
  for (let at = 0; at < count; at += 14)
    await topic.put(Array.from({ length: 14 }, () => ({ payload: "x".repeat(100 * 1024) })));
  const { consumer } = await objectsOf(topic);
  await runInDurableObject(consumer, (instance) => void ((instance as unknown as { env: object }).env = counted.env));
  // All of it comes from the log, and 5 MiB are returned.
  const first = await topic.read({ numEvents: 1000 });
  await topic.commit(first.token);
  expect(first.events.length).toBe(51);
  counted.reset();
  expect((await topic.read({ numEvents: 10, autoCommit: true })).events.length).toBe(10);
  expect(counted.tally.objectCalls["TOPIC_LOG.read"]).toBeUndefined();
  expect((await topic.read({ numEvents: 9 })).events.length).toBe(9);
  expect(counted.tally.objectCalls["TOPIC_LOG.read"]).toBe(1);
});

it("a read at a new position takes about a segment from the log, and later reads take more at a time", async () => {
  const counted = counting(env);
  const topic = await makeTopic(eventsApp(counted.env));
  for (let at = 0; at < 15; at++) await topic.put({ payload: "x".repeat(30 * 1024) });
  const { consumer } = await objectsOf(topic);
  await topic.read({ autoCommit: true });
  await topic.post("seek", { to: "oldest" });
  await runInDurableObject(consumer, (instance) => void ((instance as unknown as { env: object }).env = counted.env));
  const looks: number[] = [];
  for (let at = 0; at < 15; at++) {
    counted.reset();
    expect((await topic.read({ autoCommit: true })).events).toHaveLength(1);
    if (counted.tally.objectCalls["TOPIC_LOG.read"] !== undefined) looks.push(at);
  }
  // 64 KiB are three segments of these, 256 KiB nine.
  expect(looks).toEqual([0, 3, 12]);
});

it("each read, each commit and each batch of small events writes one row", async () => {
  const app = eventsApp();
  const topic = await makeTopic(app);
  await topic.put({ payload: "first" });
  await topic.commit((await topic.read()).token);
  const { consumer, logs } = await objectsOf(topic);
  const rowsWritten = async (stub: DurableObjectStub, run: () => Promise<unknown>) => {
    let rows = 0;
    let mend = () => {};
    await runInDurableObject(stub, (_, state) => {
      const { sql } = state.storage;
      const exec = sql.exec.bind(sql);
      const counted: typeof sql.exec = (query, ...bindings) => {
        const cursor = exec(query, ...bindings);
        if (/^\s*(insert|update|delete|replace)/i.test(query)) rows += cursor.rowsWritten;
        return cursor as never;
      };
      sql.exec = counted;
      mend = () => void (sql.exec = exec);
    });
    await run();
    mend();
    return rows;
  };
  expect(
    await rowsWritten(logs[0]! as unknown as DurableObjectStub, () =>
      topic.put(Array.from({ length: 100 }, () => ({ payload: "x" }))),
    ),
  ).toBe(1);
  let token: string | undefined;
  expect(
    await rowsWritten(
      consumer as unknown as DurableObjectStub,
      async () => void ({ token } = await topic.read({ numEvents: 50 })),
    ),
  ).toBe(1);
  expect(await rowsWritten(consumer as unknown as DurableObjectStub, () => topic.commit(token))).toBe(1);
});

it("publish, read and commit do not call D1, token and rights included", async () => {
  const counted = counting(env);
  const { fetch, token } = isolate(counted.env);
  const serving = await makeTenant();
  const service = unique("svc");
  const registered = { sourceUrl: "https://svc.example/", proxyPath: `/${service}`, scopes: [], essential: false };
  await put(`services/${service}`, { ...registered, tenant: serving, access: "token" });
  await put(`packages/${service}`, { version: "1", organization: `${serving}-org`, services: [service] });
  const other = await makeTenant();
  await put(`tenants/${other}/subscriptions/${service}`, {});
  const client = await makeClient({ tenant: serving, service });
  const { access_token: bearer } = await (await token(client)).json<{ access_token: string }>();
  const post = async (path: string, body: unknown, status: number): Promise<any> => {
    const headers = { authorization: `Bearer ${bearer}`, "content-type": "application/json" };
    const response = await fetch(`/pubsub/v1/topics${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    const text = await response.text();
    expect(`${response.status} ${text.slice(0, 200)}`).toMatch(new RegExp(`^${status} `));
    return text === "" ? undefined : JSON.parse(text);
  };
  await post("", { eventType: "order", shards: 4 }, 201);
  const topic = `/${client.clientId}/order`;
  const events = [{ payload: "own" }, { payload: "for another", tenant: other }];
  const story = async () => {
    await post(`${topic}/publish`, events, 201);
    const read = await post(`${topic}/read`, { numEvents: 10 }, 200);
    await post(`${topic}/commit`, { token: read.token }, 200);
  };
  await story();
  counted.reset();
  for (let round = 0; round < 3; round++) await story();
  expect(counted.tally).toMatchObject({ d1Statements: 0, d1RoundTrips: 0, auditRows: 0 });
  expect(counted.tally.objectCalls["TOPIC_CONSUMER.commit"]).toBe(3);
});
