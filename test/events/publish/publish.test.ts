import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { eventsApp, KEPT } from "../support/events-app.ts";
import { inShard } from "../support/in-shard.ts";
import { expectProblem, faults } from "../support/problem.ts";
import { someClient } from "../support/some-client.ts";
import { makeTopic, payloads } from "../support/test-topic.ts";
import { objectsOf } from "../support/topic-objects.ts";
import { runs } from "../../support/model-runs.ts";
import { anyText } from "../../support/any-text.ts";

const app = eventsApp();
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe("POST …/publish", () => {
  describe("201", () => {
    // shows: events/topic/eventtype
    // shows: events/event/createdat
    // shows: events/event/tenant
    // shows: events/event/sourceclient
    // shows: events/event/eventtype
    // shows: events/events/by-read
    // shows: events/publish-subscribe-operations/post-publish
    // shows: events/publish-subscribe-operations/createdat
    it("returns the id of one event, and stores the event as documented", async () => {
      const topic = await makeTopic(app);
      const before = Date.now();
      const response = await topic.publish({ payload: "hello", metadata: { schema: "v1" } });
      expect(response.status).toBe(201);
      const body: any = await response.json();
      expect(Object.keys(body)).toEqual(["ids"]);
      const { events } = await topic.read();
      expect(events).toEqual([
        {
          id: body.ids[0],
          createdAt: expect.any(Number),
          tenant: "tenant1",
          sourceClient: topic.owner.clientName,
          eventType: topic.path.split("/").at(-1),
          payload: "hello",
          metadata: { schema: "v1" },
        },
      ]);
      expect(events[0]!.createdAt).toBeGreaterThanOrEqual(before);
      expect(events[0]!.createdAt).toBeLessThanOrEqual(Date.now());
    });

    // shows: events/event/id
    // shows: events/event/metadata
    // shows: events/publish-subscribe-operations/post-publish
    it("returns unique ids in the order of an array", async () => {
      const topic = await makeTopic(app);
      const given = Array.from({ length: 1000 }, (_, at) => ({ payload: `p${at}` }));
      const ids = await topic.put(given);
      expect(new Set(ids).size).toBe(1000);
      const { events } = await topic.read({ numEvents: 1000 });
      expect(events.map((event) => event.id)).toEqual(ids);
      expect(events.map((event) => event.payload)).toEqual(given.map((event) => event.payload));
      expect("metadata" in events[0]!).toBe(false);
    });

    it("stores the same in an object of the previous release, which has only another method", async () => {
      const calls: string[] = [];
      const logs = {
        getByName: (name: string) =>
          new Proxy(env.TOPIC_LOG.getByName(name), {
            get(stub, method) {
              calls.push(String(method));
              if (method !== "append") return Reflect.get(stub, method) as unknown;
              // The runtime's error; that of a test's runtime lacks `the method`.
              return () => Promise.reject(new TypeError('The RPC receiver does not implement the method "append".'));
            },
          }),
      };
      const own = eventsApp({ ...env, TOPIC_LOG: logs as unknown as typeof env.TOPIC_LOG });
      const topic = await makeTopic(own);
      const ids = await topic.put([{ payload: "a" }, { payload: "b" }]);
      expect(calls.slice(-2)).toEqual(["append", "publish"]);
      expect(payloads(await topic.read({ numEvents: 10 }))).toEqual(["a", "b"]);
      expect(new Set(ids).size).toBe(2);
    });

    // shows: events/event/tenant
    it("returns ids in the order of the request when its events fall on several shards", async () => {
      const topic = await makeTopic(app, { shards: 16 });
      const tenants = Array.from({ length: 8 }, (_, at) => `tenant${at}`);
      for (const tenant of tenants) app.actsFor.add(`${topic.owner.clientId} ${tenant}`);
      const given = Array.from({ length: 40 }, (_, at) => ({ payload: `p${at}`, tenant: tenants[(at * 5) % 8] }));
      const ids = await topic.put(given);
      const { events } = await topic.read({ numEvents: 100 });
      const byId = new Map(events.map((event) => [event.id, event]));
      expect(ids.map((id) => byId.get(id)?.payload)).toEqual(given.map((event) => event.payload));
      expect(ids.map((id) => byId.get(id)?.tenant)).toEqual(given.map((event) => event.tenant));
    });

    // shows: events/event/payload
    // shows: events/event/metadata
    it("returns any payload and metadata unchanged", async () => {
      const topic = await makeTopic(app);
      const payload = fc.oneof(
        anyText({ maxLength: 60 }),
        fc.string({ unit: fc.nat(0xffff).map((code) => String.fromCharCode(code)), maxLength: 60 }),
        fc.constantFrom(
          "",
          "\u0000",
          "\ud800",
          "\udc00\ud800",
          "\n",
          "\u2028",
          "\ufeff",
          "__proto__",
          '","',
          "\\u0000",
          "😀",
        ),
      );
      const anyKey = fc.oneof(payload, fc.constantFrom("__proto__", "constructor", "toString", ""));
      const event = fc.record({
        payload,
        metadata: fc.array(fc.tuple(anyKey, payload), { maxLength: 4 }).map((pairs) => Object.fromEntries(pairs)),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(event, { minLength: 1, maxLength: 20 }), async (given) => {
          const ids = await topic.put(given);
          const read = await topic.read({ numEvents: 100, autoCommit: true });
          expect(read.events.map((one) => one.id)).toEqual(ids);
          for (const [at, one] of read.events.entries()) {
            // Compare as booleans, since ill-formed text cannot be printed.
            expect(one.payload === given[at]!.payload).toBe(true);
            expect(JSON.stringify(one.metadata) === JSON.stringify(given[at]!.metadata)).toBe(true);
          }
        }),
        { numRuns: runs(40) },
      );
      const own = await topic.publish(undefined, {
        body: '{"payload":"p","metadata":{"__proto__":"kept"}}',
        headers: { "content-type": "application/json" },
      });
      expect(own.status).toBe(201);
      expect(Object.entries((await topic.read()).events[0]!.metadata!)).toEqual([["__proto__", "kept"]]);
    });

    // shows: events/publish-subscribe-operations/payload
    it("stores a payload of exactly 256 KiB of UTF-8, whatever its characters, and keeps it over eviction", async () => {
      const topic = await makeTopic(app);
      const kib256 = 256 * 1024;
      const given = ["x".repeat(kib256), "\u0000".repeat(kib256), "ä".repeat(kib256 / 2), "😀".repeat(kib256 / 4)];
      for (const payload of given) await topic.put({ payload });
      const { logs } = await objectsOf(topic);
      await evictDurableObject(logs[0]!);
      const read = await topic.read({ numEvents: 10 });
      expect(payloads(read).every((payload, at) => payload === given[at])).toBe(true);
      expect(read.events.length).toBe(4);
    });

    // shows: events/publish-subscribe-operations/tenant
    it("publishes for another tenant that the client may act for", async () => {
      const topic = await makeTopic(app);
      app.actsFor.add(`${topic.owner.clientId} other`);
      await topic.put({ payload: "x", tenant: "other" });
      expect((await topic.read()).events[0]!.tenant).toBe("other");
    });

    // shows: events/event/createdat
    it("never decreases times within a shard, even when the clock is set back", async () => {
      const topic = await makeTopic(app);
      const start = Date.now();
      vi.useFakeTimers({ toFake: ["Date"], now: start + 5000 });
      await topic.put({ payload: "first" });
      vi.setSystemTime(start);
      const { logs } = await objectsOf(topic);
      await evictDurableObject(logs[0]!);
      await topic.put({ payload: "second" });
      const { events } = await topic.read({ numEvents: 2 });
      expect(events.map((event) => event.createdAt)).toEqual([start + 5000, start + 5000]);
    });

    it("packs a batch of 100 small events into one row", async () => {
      const topic = await makeTopic(app);
      await topic.put(Array.from({ length: 100 }, () => ({ payload: "x".repeat(400) })));
      const { logs } = await objectsOf(topic);
      const rows = await runInDurableObject(logs[0]!, (_, state) =>
        state.storage.sql.exec(`SELECT first_seq, last_seq FROM segment`).toArray(),
      );
      expect(rows).toEqual([{ first_seq: 1, last_seq: 100 }]);
    });
  });

  describe("201, Idempotency-Key", () => {
    const once = (key: string) => ({ headers: { "idempotency-key": key, "content-type": "application/json" } });

    // shows: events/publish-subscribe-operations/idempotency-key
    it("returns the same ids to a repeat and stores nothing", async () => {
      const topic = await makeTopic(app);
      const first = await topic.put([{ payload: "a" }, { payload: "b" }], once("k1"));
      const { logs } = await objectsOf(topic);
      await evictDurableObject(logs[0]!);
      expect(await topic.put([{ payload: "a" }, { payload: "b" }], once("k1"))).toEqual(first);
      expect(await topic.put([{ payload: "a" }, { payload: "b" }], once("k2"))).not.toEqual(first);
      expect((await topic.read({ numEvents: 100 })).events.length).toBe(4);
    });

    it("stores one batch for many in parallel", async () => {
      const topic = await makeTopic(app);
      const answers = await Promise.all(Array.from({ length: 10 }, () => topic.put({ payload: "a" }, once("same"))));
      expect(new Set(answers.flat()).size).toBe(1);
      expect((await topic.read({ numEvents: 100 })).events.length).toBe(1);
    });

    // shows: events/publish-subscribe-operations/idempotency-key
    it("answers 409 with another body, wherever its events fall", async () => {
      const topic = await makeTopic(app, { shards: 16 });
      for (const tenant of ["ten1", "ten2", "ten3"]) app.actsFor.add(`${topic.owner.clientId} ${tenant}`);
      await topic.put({ payload: "a", tenant: "ten1" }, once("k"));
      for (const other of [
        { payload: "b", tenant: "ten1" },
        { payload: "a", tenant: "ten2" },
        [{ payload: "a", tenant: "ten3" }],
      ]) {
        const body = await expectProblem(await topic.publish(other, once("k")), 409, "conflict_resource");
        expect(faults(body)).toEqual(["idempotency_key_used Idempotency-Key"]);
      }
      expect((await topic.read({ numEvents: 100 })).events.length).toBe(1);
    });

    // shows: events/publish-subscribe-operations/idempotency-key
    it("frees a key after 24 hours", async () => {
      const topic = await makeTopic(app);
      const start = Date.now();
      vi.useFakeTimers({ toFake: ["Date"], now: start });
      const [first] = await topic.put({ payload: "a" }, once("k"));
      vi.setSystemTime(start + 86_399_999);
      expect(await topic.put({ payload: "a" }, once("k"))).toEqual([first]);
      vi.setSystemTime(start + 86_400_000);
      expect(await topic.put({ payload: "b" }, once("k"))).not.toEqual([first]);
    });

    it("frees a key on all shards together, although one stored its part later", async () => {
      let down = false;
      const logs = {
        getByName: (name: string) =>
          down && name.endsWith("/1")
            ? { append: () => Promise.reject(Object.assign(new Error("out of reach"), { retryable: true })) }
            : env.TOPIC_LOG.getByName(name),
      };
      vi.spyOn(console, "warn").mockReturnValue();
      const own = eventsApp({ ...env, TOPIC_LOG: logs as unknown as typeof env.TOPIC_LOG });
      const topic = await makeTopic(own, { shards: 2 });
      const tenants = [0, 1].map((shard) => inShard(shard, 2, "tenant"));
      for (const tenant of tenants) own.actsFor.add(`${topic.owner.clientId} ${tenant}`);
      const key = inShard(0, 2, "key");
      const [x, y] = ["x", "y"].map((name) => tenants.map((tenant) => ({ payload: name, tenant })));
      const start = Date.now();
      vi.useFakeTimers({ toFake: ["Date"], now: start });
      down = true;
      expect((await topic.publish(x, once(key))).status).toBe(503);
      vi.setSystemTime(start + 43_200_000);
      down = false;
      const stored = await topic.put(x, once(key));
      vi.setSystemTime(start + 86_399_999);
      expect(await topic.put(x, once(key))).toEqual(stored);
      await expectProblem(await topic.publish(y, once(key)), 409, "conflict_resource");
      vi.setSystemTime(start + 86_401_000);
      const next = await topic.put(y, once(key));
      expect(await topic.put(y, once(key))).toEqual(next);
      const { events } = await topic.read({ numEvents: 100 });
      expect(payloads({ events } as never).toSorted()).toEqual(["x", "x", "y", "y"]);
    });

    it("finds an expired key for a while, since its home may have found it just before, and then removes it", async () => {
      const topic = await makeTopic(app);
      const log = (await objectsOf(topic)).logs[0]!;
      const start = Date.now();
      vi.useFakeTimers({ toFake: ["Date"], now: start });
      const publish = (key: string, expiresAtMs?: number) =>
        log.publish([{ text: `"payload":"p"}`, payloadBytes: 1 }], { key, digest: "d", expiresAtMs }, KEPT);
      const keys = () =>
        runInDurableObject(log, (_, state) =>
          state.storage.sql
            .exec<{ key: string }>(`SELECT key FROM publish_key ORDER BY key`)
            .toArray()
            .map((row) => row.key),
        );
      const first = await publish("k", start + 1000);
      vi.setSystemTime(start + 2000);
      await publish("other");
      expect(await publish("k", start + 1000)).toEqual({ ...first, isRepeat: true });
      expect(await publish("k", start + 90_000)).not.toEqual(first);
      vi.setSystemTime(start + 90_000 + 60_000);
      await publish("third");
      expect(await keys()).toEqual(["other", "third"]);
    });

    // shows: platform/errors-of-every-service/details-invalid_header
    it("answers 400 for a malformed key", async () => {
      const topic = await makeTopic(app);
      for (const key of ["", "a b", "x".repeat(256)]) {
        const headers = { "idempotency-key": key, "content-type": "application/json" };
        const body = await expectProblem(
          await topic.publish({ payload: "a" }, { headers }),
          400,
          "validation_violation",
        );
        expect(faults(body)).toEqual(["invalid_header Idempotency-Key"]);
      }
    });
  });

  describe("answers 400", () => {
    // shows: events/event/metadata
    // shows: events/publish-subscribe-operations/post-publish
    it.each([
      [{}, ["missing_field payload"]],
      [{ payload: 1 }, ["invalid_field payload"]],
      [{ payload: null }, ["invalid_field payload"]],
      [{ payload: "x", metadata: "m" }, ["invalid_field metadata"]],
      [{ payload: "x", metadata: ["m"] }, ["invalid_field metadata"]],
      [{ payload: "x", metadata: null }, ["invalid_field metadata"]],
      [{ payload: "x", metadata: { a: "1", b: 2 } }, ["invalid_field metadata.b"]],
      [{ payload: "x", tenant: "NO" }, ["invalid_field tenant"]],
      [{ payload: "x", tenant: "" }, ["invalid_field tenant"]],
      [[{ payload: "x" }, {}], ["missing_field [1].payload"]],
      [[{ payload: "x" }, { payload: "y", metadata: { k: {} } }], ["invalid_field [1].metadata.k"]],
      [[], ["invalid_field"]],
      [Array.from({ length: 1001 }, () => ({ payload: "x" })), ["invalid_field"]],
      [[[]], ["invalid_field [0]"]],
      ["text", ["invalid_field"]],
      [null, ["invalid_field"]],
      [7, ["invalid_field"]],
    ])("answers 400 for %j", async (body, expected) => {
      const topic = await makeTopic(app);
      expect(faults(await expectProblem(await topic.publish(body), 400, "validation_violation"))).toEqual(expected);
      expect((await topic.read()).status).toBe(204);
    });

    it("says how JSON becomes a payload", async () => {
      const topic = await makeTopic(app);
      const answer = await topic.publish({ payload: { order: 1 } });
      const body = await expectProblem(answer, 400, "validation_violation");
      expect(body.message).toBe("payload must be a string; send JSON as text, as JSON.stringify makes it.");
    });

    it("rejects a body that ends early or is not UTF-8", async () => {
      const topic = await makeTopic(app);
      const headers = { "content-type": "application/json" };
      await expectProblem(await topic.publish(undefined, { body: '{"payload":"', headers }), 400, "bad_payload_syntax");
      const bytes = new Uint8Array([0x22, 0xff, 0x22]);
      await expectProblem(await topic.publish(undefined, { body: bytes, headers }), 400, "bad_payload_syntax");
    });
  });

  describe("answers 403", () => {
    // shows: events/scopes-of-topics/plat.pubsub_publish
    it("refuses a token without the scope", async () => {
      const topic = await makeTopic(app);
      const as = { ...topic.owner, scopes: [] };
      await expectProblem(await topic.publish({ payload: "x" }, { as }), 403, "insufficient_permissions");
    });

    it("refuses a token for no tenant, whatever tenant the event names", async () => {
      const topic = await makeTopic(app);
      const as = { ...topic.owner, tenant: "" };
      const answer = await topic.publish([{ payload: "x", tenant: topic.owner.tenant }], { as });
      await expectProblem(answer, 404, "element_resource_non_existing");
    });

    it("refuses a tenant that the client may not act for; nothing of the request is stored", async () => {
      const topic = await makeTopic(app);
      const body = await topic.publish([{ payload: "x" }, { payload: "y", tenant: "foreign" }]);
      expect(faults(await expectProblem(body, 403, "insufficient_permissions"))).toEqual(["tenant_refused [1].tenant"]);
      expect((await topic.read()).status).toBe(204);
    });

    it("accepts a tenant that the client may act for, also when the token names its tenant explicitly", async () => {
      const owner = someClient({ tenantExplicit: true });
      const topic = await makeTopic(app, { owner });
      app.actsFor.add(`${owner.clientId} other`);
      await topic.put({ payload: "x", tenant: "other" });
      await topic.put({ payload: "x", tenant: "tenant1" });
      const refused = await topic.publish({ payload: "x", tenant: "foreign" });
      await expectProblem(refused, 403, "insufficient_permissions");
    });
  });

  describe("answers 404", () => {
    // shows: events/publish-subscribe-operations/post-publish
    it("does not tell a topic that does not exist from somebody else's", async () => {
      const topic = await makeTopic(app);
      const stranger = someClient({ scopes: ["plat.pubsub_publish", "plat.pubsub.topic=*"] });
      const foreign = await expectProblem(
        await topic.publish({ payload: "x" }, { as: stranger }),
        404,
        "element_resource_non_existing",
      );
      const missing = await app.call(`${topic.path}x/publish`, { as: topic.owner, json: { payload: "x" } });
      expect(await expectProblem(missing, 404, "element_resource_non_existing")).toEqual(foreign);
    });
  });

  describe("answers 413", () => {
    // shows: events/publish-subscribe-operations/payload
    it("refuses a payload over 256 KiB of UTF-8; nothing of the request is stored", async () => {
      const topic = await makeTopic(app);
      for (const payload of ["x".repeat(256 * 1024 + 1), "ä".repeat(128 * 1024 + 1)]) {
        const body = await expectProblem(
          await topic.publish([{ payload: "ok" }, { payload }]),
          413,
          "bad_payload_size",
        );
        expect(faults(body)).toEqual(["invalid_field [1].payload"]);
      }
      expect((await topic.read()).status).toBe(204);
    });

    it("refuses metadata over 16 KiB", async () => {
      const topic = await makeTopic(app);
      const body = await topic.publish({ payload: "x", metadata: { k: "x".repeat(16 * 1024) } });
      expect(faults(await expectProblem(body, 413, "bad_payload_size"))).toEqual(["invalid_field metadata"]);
    });

    // shows: platform/errors-of-every-service/413-bad_payload_size
    // shows: events/publish-subscribe-operations/payload
    it("refuses a request over 5 MiB", async () => {
      const topic = await makeTopic(app);
      const given = Array.from({ length: 21 }, () => ({ payload: "x".repeat(256 * 1024) }));
      await expectProblem(await topic.publish(given), 413, "bad_payload_size");
    });
  });

  // shows: platform/errors-of-every-service/415-unsupported_request_content_type
  it("answers 415 for a form", async () => {
    const topic = await makeTopic(app);
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const response = await topic.publish(undefined, { body: "payload=x", headers });
    await expectProblem(response, 415, "unsupported_request_content_type");
  });
});

describe("Large requests at the same time", () => {
  it("are refused with 503 beyond the memory of an isolate, and small ones are not", async () => {
    const topicOf = (tenant: string) => makeTopic(app, { owner: someClient({ tenant }) });
    const [topic, another, third] = [await topicOf("ann"), await topicOf("bob"), await topicOf("eve")];
    const large = Array.from({ length: 18 }, () => ({ payload: "x".repeat(256 * 1024) }));
    const all = await Promise.all([
      ...[topic, topic, another, another, third].map((one) => one.publish(large)),
      topic.publish({ payload: "y" }),
    ]);
    const statuses = all.map(({ status }) => status);
    // One of each tenant at most, and two in all.
    expect(statuses.filter((status) => status === 503)).toHaveLength(3);
    expect(statuses.filter((status) => status === 201)).toHaveLength(3);
    for (const ofTenant of [statuses.slice(0, 2), statuses.slice(2, 4)]) expect(ofTenant).toContain(503);
    expect(statuses[5]).toBe(201);
    const refused = all.find(({ status }) => status === 503)!;
    expect(refused.headers.get("retry-after")).toMatch(/^[12]$/);
    expect((await topic.publish(large)).status).toBe(201);
  });
});
