import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { logsWith } from "../support/broken-log.ts";
import { eventsApp } from "../support/events-app.ts";
import { inShard } from "../support/in-shard.ts";
import { expectProblem, faults } from "../support/problem.ts";
import { someClient } from "../support/some-client.ts";
import { makeTopic, payloads, type TestTopic, type WireEvent } from "../support/test-topic.ts";
import { objectsOf } from "../support/topic-objects.ts";

const app = eventsApp();
afterEach(() => void vi.useRealTimers());

async function peek(topic: TestTopic, query = ""): Promise<{ events: WireEvent[]; next: string | null }> {
  const response = await app.call(`${topic.path}/events${query}`, { as: topic.owner });
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("application/json");
  return response.json();
}

async function lookAtAll(topic: TestTopic, limit: number): Promise<string[]> {
  const seen: string[] = [];
  let after = "";
  for (;;) {
    const { events, next } = await peek(topic, `?limit=${limit}${after}`);
    expect(events.length).toBeLessThanOrEqual(limit);
    seen.push(...events.map((event) => event.payload));
    expect(new Set(seen).size).toBe(seen.length);
    if (next === null) return seen;
    expect(next).toBe(events.at(-1)!.id);
    after = `&after=${next}`;
  }
}

describe("GET …/events", () => {
  // shows: events/publish-subscribe-operations/get-events
  it("returns the oldest sixteen as a read does, and moves no cursor", async () => {
    const topic = await makeTopic(app);
    await topic.put(Array.from({ length: 20 }, (_, at) => ({ payload: `p${at}`, metadata: { at: `${at}` } })));
    const held = await topic.read({ numEvents: 3 });
    const { events, next } = await peek(topic);
    expect(events.length).toBe(16);
    expect(events.slice(0, 3)).toEqual(held.events);
    expect(next).toBe(events[15]!.id);
    expect((await topic.commit(held.token)).status).toBe(200);
    expect(payloads(await topic.read())).toEqual(["p3"]);
  });

  // shows: events/publish-subscribe-operations/get-events
  it.each([1, 4])("returns every event once, page by page and in order, on %i shard(s)", async (shards) => {
    const topic = await makeTopic(app, { shards });
    const tenants = ["tenant1", "tenant2", "tenant3", "tenant5"];
    for (const tenant of tenants) app.actsFor.add(`${topic.owner.clientId} ${tenant}`);
    // The events of a batch have the same time, so events of several shards tie.
    for (let batch = 0; batch < 6; batch++)
      await topic.put(Array.from({ length: 7 }, (_, at) => ({ payload: `p${batch}-${at}`, tenant: tenants[at % 4] })));
    const all = (await peek(topic, "?limit=1000")).events;
    expect(new Set(all.map((event) => event.payload)).size).toBe(42);
    expect(all.map((event) => event.createdAt)).toEqual(all.map((event) => event.createdAt).toSorted((a, b) => a - b));
    for (const limit of [1, 2, 5, 41, 42])
      expect(await lookAtAll(topic, limit)).toEqual(all.map((event) => event.payload));
  });

  it("returns large events a few at a time and skips none", async () => {
    const topic = await makeTopic(app, { shards: 3 });
    for (const tenant of ["tenant2", "tenant3"]) app.actsFor.add(`${topic.owner.clientId} ${tenant}`);
    const filler = "x".repeat(200 * 1024);
    for (let at = 0; at < 6; at++)
      for (const tenant of ["tenant1", "tenant2", "tenant3"])
        await topic.put(
          Array.from({ length: 4 }, (_, part) => ({ payload: `${tenant} ${at} ${part} ${filler}`, tenant })),
        );
    const seen = await lookAtAll(topic, 1000);
    expect(seen.length).toBe(72);
    expect(new Set(seen).size).toBe(72);
  });

  const kilobyte = "x".repeat(1024);
  const sixfold = "\u0001".repeat(256 * 1024);
  // shows: events/publish-subscribe-operations/get-events
  it.each([
    ["a thousand of 1 KiB in one shard", [[kilobyte, 1000]], [1000]],
    ["of 100 KiB in one", [["x".repeat(100 * 1024), 60]], [51, 9]],
    ["8 Mi characters in one", [[sixfold, 7]], [5, 2]],
    [
      "old ones in one, new ones in another",
      [
        [kilobyte, 900],
        [kilobyte, 900],
      ],
      [1000, 800],
    ],
    [
      "a few in one, then many in another, then a few",
      [
        ["x", 5],
        [kilobyte, 900],
        ["x", 5],
      ],
      [910],
    ],
  ] as const)("200: as many as fit on sixteen shards: %s", async (_, spread, expected) => {
    const topic = await makeTopic(app, { shards: 16 });
    const published: string[] = [];
    for (const [at, [payload, count]] of spread.entries()) {
      const tenant = inShard(at * 3, 16, "tenant");
      app.actsFor.add(`${topic.owner.clientId} ${tenant}`);
      const atOnce = Math.floor((512 * 1024) / payload.length);
      for (let left: number = count; left > 0; left -= atOnce)
        published.push(
          ...(await topic.put(Array.from({ length: Math.min(left, atOnce) }, () => ({ payload, tenant })))),
        );
    }
    const seen: string[] = [];
    const sizes: number[] = [];
    for (let after = ""; ;) {
      const { events, next } = await peek(topic, `?limit=1000${after}`);
      seen.push(...events.map((event) => event.id));
      sizes.push(events.length);
      if (next === null) break;
      after = `&after=${next}`;
    }
    expect(sizes).toEqual(expected);
    expect(seen).toEqual(published);
  });

  it("skips no event that is published between two calls of the logs", async () => {
    const topic = await makeTopic(app, { shards: 2 });
    const [tenant0, tenant1] = [0, 1].map((shard) => inShard(shard, 2, "tenant"));
    for (const tenant of [tenant0, tenant1]) app.actsFor.add(`${topic.owner.clientId} ${tenant}`);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    const pass = () => void vi.setSystemTime(Date.now() + 1);
    for (let at = 0; at < 4; at++) await topic.put({ payload: sixfold, tenant: tenant0 });
    pass();
    let asked = 0;
    const logs = logsWith((call) => {
      if (call !== "peek" || ++asked !== 3) return undefined;
      return async (real) => {
        for (const [payload, tenant] of [
          ["late", tenant1],
          ["later", tenant0],
        ]) {
          pass();
          await topic.put({ payload, tenant });
        }
        return real();
      };
    });
    const slow = eventsApp({ ...env, TOPIC_LOG: logs });
    const first = await slow.call(`${topic.path}/events?limit=1000`, { as: topic.owner });
    const { events, next } = await first.json<{ events: WireEvent[]; next: string | null }>();
    expect([events.length, asked]).toEqual([4, 3]);
    const rest = await peek(topic, `?after=${next}`);
    expect(rest.events.map((event) => event.payload)).toEqual(["late", "later"]);
  });

  it("returns nothing after the newest event, and continues from there if more events come", async () => {
    const topic = await makeTopic(app);
    expect(await peek(topic)).toEqual({ events: [], next: null });
    const [id] = await topic.put([{ payload: "a" }]);
    expect(await peek(topic, `?after=${id}`)).toEqual({ events: [], next: null });
    await topic.put([{ payload: "b" }]);
    expect((await peek(topic, `?after=${id}`)).events.map((event) => event.payload)).toEqual(["b"]);
  });

  it("returns everything that is still stored after an event that retention removed", async () => {
    const start = Date.now();
    vi.useFakeTimers({ toFake: ["Date"], now: start });
    const topic = await makeTopic(app, { shards: 2 });
    const [tenant0, tenant1] = [0, 1].map((shard) => inShard(shard, 2, "tenant"));
    for (const tenant of [tenant0, tenant1]) app.actsFor.add(`${topic.owner.clientId} ${tenant}`);
    await topic.put({ payload: "a", tenant: tenant0 });
    vi.setSystemTime(start + 1000);
    await topic.put({ payload: "b", tenant: tenant1 });
    vi.setSystemTime(start + 10_000);
    await topic.put({ payload: "c", tenant: tenant0 });
    const { events, next } = await peek(topic, "?limit=1");
    expect(events.map((event) => event.payload)).toEqual(["a"]);
    vi.setSystemTime(start + 7 * 86_400_000);
    for (const log of (await objectsOf(topic)).logs) await runDurableObjectAlarm(log);
    const rest = await peek(topic, `?after=${next}`);
    expect(rest.events.map((event) => event.payload)).toEqual(["b", "c"]);
  });

  it.each([1, 3])("answers 400 when `after` names no event of the topic, on %i shard(s)", async (shards) => {
    const topic = await makeTopic(app, { shards });
    const other = await makeTopic(app, { shards });
    const [own, next] = await topic.put([{ payload: "a" }, { payload: "b" }]);
    const [foreign] = await other.put([{ payload: "a" }, { payload: "b" }]);
    const place = own!.split("-")[1];
    const beyond = (parseInt(place!, 36) + 5 * 16).toString(36);
    const others = [place, beyond, "zz"].map((at) => `0123456789abcdef-${at}`);
    for (const id of [foreign, `${next!.split("-")[0]}-${place}`, ...others]) {
      const response = await app.call(`${topic.path}/events?after=${id}`, { as: topic.owner });
      expect(faults(await expectProblem(response, 400, "validation_violation"))).toEqual([
        "invalid_query_parameter after",
      ]);
    }
    expect((await peek(topic, `?after=${own}`)).events.map((event) => event.payload)).toEqual(["b"]);
  });

  it.each(["limit=0", "limit=-1", "limit=1001", "limit=x", "limit=", "limit=1.5", "limit=1e2"])(
    "400 for %s",
    async (query) => {
      const topic = await makeTopic(app);
      const response = await app.call(`${topic.path}/events?${query}`, { as: topic.owner });
      expect(faults(await expectProblem(response, 400, "validation_violation"))).toEqual([
        "out_of_range_parameter limit",
      ]);
    },
  );

  it.each(["after=", "after=x", "after=%00", "after=%ff", "after=0123456789abcdef-0"])("400 for %s", async (query) => {
    const topic = await makeTopic(app);
    const response = await app.call(`${topic.path}/events?${query}`, { as: topic.owner });
    expect(faults(await expectProblem(response, 400, "validation_violation"))).toEqual([
      "invalid_query_parameter after",
    ]);
  });

  it("answers 404 without access and for a topic that does not exist", async () => {
    const topic = await makeTopic(app);
    await expectProblem(
      await app.call(`${topic.path}/events`, { as: someClient() }),
      404,
      "element_resource_non_existing",
    );
    await expectProblem(
      await app.call(`${topic.path}x/events`, { as: topic.owner }),
      404,
      "element_resource_non_existing",
    );
  });
});
