import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { frozenTime } from "../../support/frozen-time.ts";
import { eventsApp } from "../support/events-app.ts";
import { expectProblem, faults } from "../support/problem.ts";
import { someClient } from "../support/some-client.ts";
import { makeTopic, payloads } from "../support/test-topic.ts";
import { objectsOf } from "../support/topic-objects.ts";

const app = eventsApp();
const texts = (...payload: string[]) => payload.map((text) => ({ payload: text }));
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const notLocked = async (response: Response) => faults(await expectProblem(response, 409, "topic_not_locked"));

describe.each(["extend", "release"])("POST …/%s", (operation) => {
  const more = { ttlMs: 5000 };

  it("answers 200 without a body", async () => {
    const topic = await makeTopic(app);
    await topic.put(texts("a"));
    const { token } = await topic.read();
    const response = await topic.post(operation, { token, ...more });
    expect(response.status).toBe(200);
    expect(await response.text()).toBe("");
    expect(response.headers.get("content-type")).toBeNull();
  });

  it("answers 400 for a malformed token", async () => {
    const topic = await makeTopic(app);
    for (const [body, expected] of [
      [more, "missing_field token"],
      [{ ...more, token: "" }, "invalid_field token"],
      [{ ...more, token: 1 }, "invalid_field token"],
    ] as const)
      expect(faults(await expectProblem(await topic.post(operation, body), 400, "validation_violation"))).toEqual([
        expected,
      ]);
  });

  it("answers 404 without access and for a topic that does not exist", async () => {
    const topic = await makeTopic(app);
    const body = { token: "t", ...more };
    const stranger = await topic.post(operation, body, { as: someClient() });
    await expectProblem(stranger, 404, "element_resource_non_existing");
    const missing = await app.call(`${topic.path}x/${operation}`, { as: topic.owner, json: body });
    await expectProblem(missing, 404, "element_resource_non_existing");
  });

  it("answers 409 for a token that is committed, expired, or unknown; nothing changes", async () => {
    const pass = frozenTime();
    const topic = await makeTopic(app);
    await topic.put(texts("a", "b"));
    expect(await notLocked(await topic.post(operation, { token: "x", ...more }))).toEqual(["unknown_token token"]);
    const first = await topic.read({ ttlMs: 1000 });
    await topic.commit(first.token);
    expect(await notLocked(await topic.post(operation, { token: first.token, ...more }))).toEqual([
      "already_committed token",
    ]);
    const second = await topic.read({ ttlMs: 1000 });
    pass(1000);
    expect(await notLocked(await topic.post(operation, { token: second.token, ...more }))).toEqual([
      "lock_expired token",
    ]);
    expect(payloads(await topic.read())).toEqual(["b"]);
  });
});

describe("POST …/extend", () => {
  // shows: events/read-and-commit/post-extend
  it("sets the lock to last ttlMs from now, also over eviction; a shorter time shortens it", async () => {
    const pass = frozenTime();
    const topic = await makeTopic(app);
    await topic.put(texts("a"));
    const { token } = await topic.read({ ttlMs: 2000 });
    pass(1500);
    expect((await topic.post("extend", { token, ttlMs: 2000 })).status).toBe(200);
    const { consumer } = await objectsOf(topic);
    await evictDurableObject(consumer);
    pass(1999);
    expect((await topic.read()).status).toBe(409);
    expect((await topic.post("extend", { token, ttlMs: 10_000 })).status).toBe(200);
    expect((await topic.post("extend", { token, ttlMs: 1000 })).status).toBe(200);
    pass(1000);
    expect(await notLocked(await topic.commit(token))).toEqual(["lock_expired token"]);
  });

  it("answers 400 for a time outside the limits, and without one", async () => {
    const topic = await makeTopic(app);
    for (const [ttlMs, expected] of [
      [999, "invalid_field ttlMs"],
      [3_600_001, "invalid_field ttlMs"],
      [undefined, "missing_field ttlMs"],
    ] as const) {
      const body = await expectProblem(await topic.post("extend", { token: "t", ttlMs }), 400, "validation_violation");
      expect(faults(body)).toEqual([expected]);
    }
  });
});

describe("POST …/release", () => {
  // shows: events/read-and-commit/post-release
  it("frees the whole batch", async () => {
    const topic = await makeTopic(app);
    await topic.put(texts("a", "b"));
    const { token } = await topic.read({ numEvents: 2 });
    expect((await topic.post("release", { token })).status).toBe(200);
    expect(await notLocked(await topic.commit(token))).toEqual(["lock_expired token"]);
    const again = await topic.read({ numEvents: 2 });
    expect(payloads(again)).toEqual(["a", "b"]);
    expect(again.response.headers.get("plat-delivery-attempt")).toBe("2");
  });

  // shows: events/read-and-commit/post-release
  it("commits the events up to commitThrough and frees the rest; a repeat gets already_committed", async () => {
    const topic = await makeTopic(app);
    await topic.put(texts("a", "b", "poison", "d"));
    const { token, events } = await topic.read({ numEvents: 4 });
    const { consumer } = await objectsOf(topic);
    await evictDurableObject(consumer);
    const body = { token, commitThrough: events[1]!.id };
    expect((await topic.post("release", body)).status).toBe(200);
    expect(await notLocked(await topic.post("release", body))).toEqual(["already_committed token"]);
    const { message } = await expectProblem(await topic.commit(token), 409, "topic_not_locked");
    expect(message).toContain("Uncommitted events of its batch will be read again");
    // A call that wants to commit or hold the whole batch gets lock_expired: the rest is free.
    expect(await notLocked(await topic.commit(token))).toEqual(["lock_expired token"]);
    expect(await notLocked(await topic.post("extend", { token, ttlMs: 5000 }))).toEqual(["lock_expired token"]);
    const rest = await topic.read({ numEvents: 4 });
    expect(payloads(rest)).toEqual(["poison", "d"]);
    expect(rest.response.headers.get("plat-delivery-attempt")).toBe("2");
  });

  it("commits the delivered events up to that event on all shards", async () => {
    const topic = await makeTopic(app, { shards: 4 });
    const tenants = ["tenant1", "tenant2", "tenant3", "tenant5"];
    for (const tenant of tenants) app.actsFor.add(`${topic.owner.clientId} ${tenant}`);
    for (let at = 0; at < 12; at++) await topic.put({ payload: `p${at}`, tenant: tenants[(at * 7) % 4] });
    const first = await topic.read({ numEvents: 9 });
    await topic.post("release", { token: first.token, commitThrough: first.events[4]!.id });
    const second = await topic.read({ numEvents: 20 });
    const all = [...payloads(first).slice(0, 5), ...payloads(second)];
    expect(all.toSorted()).toEqual(Array.from({ length: 12 }, (_, at) => `p${at}`).toSorted());
  });

  it("answers 400 for an event that is not in the batch; the lock stays", async () => {
    const topic = await makeTopic(app);
    const ids = await topic.put(texts("a", "b", "c", "d"));
    await topic.commit((await topic.read()).token);
    const { token } = await topic.read({ numEvents: 2 });
    for (const commitThrough of [ids[0], ids[3], "", "x", "\u0000"]) {
      const response = await topic.post("release", { token, commitThrough });
      const body = await expectProblem(response, 400, "validation_violation");
      expect(faults(body)).toEqual(["invalid_field commitThrough"]);
    }
    expect((await topic.commit(token)).status).toBe(200);
    expect(payloads(await topic.read())).toEqual(["d"]);
  });
});

describe("POST …/seek", () => {
  // shows: events/read-and-commit/post-seek
  it("moves to the newest, the oldest, and to a time", async () => {
    const pass = frozenTime();
    const topic = await makeTopic(app, { shards: 3 });
    for (const tenant of ["tenant2", "tenant3"]) app.actsFor.add(`${topic.owner.clientId} ${tenant}`);
    const times: number[] = [];
    for (let at = 0; at < 20; at++) {
      times.push(Date.now());
      await topic.put({ payload: `p${at}`, tenant: ["tenant1", "tenant2", "tenant3"][at % 3] });
      pass(10);
    }
    const all = Array.from({ length: 20 }, (_, at) => `p${at}`);
    const after = async (to: unknown) => {
      const response = await topic.post("seek", { to });
      expect([response.status, await response.text()]).toEqual([200, ""]);
      return payloads(await topic.read({ numEvents: 100, autoCommit: true }));
    };
    expect(await after("newest")).toEqual([]);
    expect(await after("oldest")).toEqual(all);
    for (const at of [0, 1, 7, 19]) {
      expect(await after(times[at])).toEqual(all.slice(at));
      expect(await after(times[at]! - 9)).toEqual(all.slice(at));
      expect(await after(times[at]! + 1)).toEqual(all.slice(at + 1));
    }
    expect(await after(0)).toEqual(all);
    expect(await after(Number.MAX_SAFE_INTEGER)).toEqual([]);
    await topic.put({ payload: "new" });
    expect(payloads(await topic.read())).toEqual(["new"]);
  });

  it("works for a client that never read, and counts no delivery for the skipped events", async () => {
    const topic = await makeTopic(app);
    await topic.put(texts("a"));
    expect((await topic.post("seek", { to: "newest" })).status).toBe(200);
    const { consumer } = await objectsOf(topic);
    await evictDurableObject(consumer);
    expect((await topic.read()).status).toBe(204);
    await topic.post("seek", { to: "oldest" });
    expect((await topic.read()).response.headers.get("plat-delivery-attempt")).toBe("1");
  });

  it("restarts the count of deliveries", async () => {
    const topic = await makeTopic(app);
    await topic.put(texts("a"));
    await topic.post("release", { token: (await topic.read()).token });
    await topic.post("seek", { to: "oldest" });
    expect((await topic.read()).response.headers.get("plat-delivery-attempt")).toBe("1");
  });

  it("counts nothing as lost when it moves to the oldest after retention", async () => {
    const topic = await makeTopic(app);
    await topic.put(texts("a", "b"));
    await topic.put(texts("c"));
    const { logs } = await objectsOf(topic);
    await runInDurableObject(
      logs[0]!,
      (_, state) => void state.storage.sql.exec(`DELETE FROM segment WHERE first_seq = 1`),
    );
    await topic.post("seek", { to: "oldest" });
    const read = await topic.read({ numEvents: 5 });
    expect(payloads(read)).toEqual(["c"]);
    expect(read.response.headers.get("plat-events-lost")).toBeNull();
  });

  it("works when the lock has expired; its token commits nothing any more", async () => {
    const pass = frozenTime();
    const topic = await makeTopic(app);
    await topic.put(texts("a", "b"));
    const { token } = await topic.read({ ttlMs: 1000 });
    pass(1000);
    expect((await topic.post("seek", { to: "newest" })).status).toBe(200);
    expect(await notLocked(await topic.commit(token))).toEqual(["lock_expired token"]);
    expect((await topic.read()).status).toBe(204);
  });

  it.each([
    [{}, "missing_field to"],
    [{ to: "latest" }, "invalid_field to"],
    [{ to: -1 }, "invalid_field to"],
    [{ to: 1.5 }, "invalid_field to"],
    [{ to: null }, "invalid_field to"],
    [{ to: 1e300 }, "invalid_field to"],
  ])("answers 400 for %j", async (body, expected) => {
    const topic = await makeTopic(app);
    const refused = await expectProblem(await topic.post("seek", body), 400, "validation_violation");
    expect(faults(refused)).toEqual([expected]);
  });

  it("names its fields in a 400", async () => {
    const topic = await makeTopic(app);
    for (const to of ["latest", null, {}, true]) {
      const { message } = await expectProblem(await topic.post("seek", { to }), 400, "validation_violation");
      expect(message).toBe("to must be oldest, newest or a time in milliseconds.");
    }
  });

  it("answers 404 without access and for a topic that does not exist", async () => {
    const topic = await makeTopic(app);
    const stranger = await topic.post("seek", { to: "oldest" }, { as: someClient() });
    await expectProblem(stranger, 404, "element_resource_non_existing");
    const missing = await app.call(`${topic.path}x/seek`, { as: topic.owner, json: { to: "oldest" } });
    await expectProblem(missing, 404, "element_resource_non_existing");
  });

  // shows: events/read-and-commit/post-seek
  it("answers 409 while the topic is locked; the batch stays as it is", async () => {
    const topic = await makeTopic(app);
    await topic.put(texts("a", "b"));
    const { token } = await topic.read({ ttlMs: 10_000 });
    const response = await topic.post("seek", { to: "newest" });
    expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
    await expectProblem(response, 409, "topic_locked");
    expect((await topic.commit(token)).status).toBe(200);
    expect(payloads(await topic.read())).toEqual(["b"]);
  });

  it("answers 503 when a log does not answer; the cursor stays", async () => {
    vi.spyOn(console, "warn").mockReturnValue();
    const topic = await makeTopic(app);
    await topic.put(texts("a"));
    const { consumer } = await objectsOf(topic);
    const use = (logs: unknown) =>
      runInDurableObject(consumer, (instance) => {
        const own = instance as unknown as { env: object };
        own.env = { ...own.env, TOPIC_LOG: logs };
      });
    await use({ getByName: () => ({ positionBefore: () => Promise.reject(new Error("out of reach")) }) });
    const response = await topic.post("seek", { to: "newest" });
    expect(response.headers.get("retry-after")).toMatch(/^[12]$/);
    await expectProblem(response, 503, "service_temporarily_unavailable");
    await use(env.TOPIC_LOG);
    expect(payloads(await topic.read())).toEqual(["a"]);
  });
});
