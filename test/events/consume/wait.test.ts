import { abortAllDurableObjects, evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { noMeter } from "../../../src/platform/ports/metrics.ts";
import { systemClock } from "../../../src/platform/runtime/clock.ts";
import type { Principal } from "../../../src/http/callers/auth.ts";
import { isSearch, itAtNight, modelRuns } from "../../support/model-runs.ts";
import { eventsApp } from "../support/events-app.ts";
import { expectProblem } from "../support/problem.ts";
import { someClient } from "../support/some-client.ts";
import { makeTopic, payloads, type TestTopic } from "../support/test-topic.ts";
import { objectsOf } from "../support/topic-objects.ts";

/** Reads that wait for an event: `Prefer: wait`. */
const app = eventsApp();
afterEach(() => void vi.restoreAllMocks());
const waiting = (seconds: number, more: Record<string, string> = {}) => ({
  headers: { prefer: `wait=${seconds}`, ...more },
});

/** Number of readers that wait at the topic's logs. */
async function readersAt(topic: TestTopic): Promise<number> {
  const { logs } = await objectsOf(topic);
  const counts = await Promise.all(
    logs.map((log) => runInDurableObject(log, (_, state) => state.getWebSockets().filter(isOpen).length)),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}
const isOpen = (socket: WebSocket): boolean => socket.readyState === WebSocket.READY_STATE_OPEN;

async function untilWaiting(topic: TestTopic, readers: number): Promise<void> {
  await expect.poll(() => readersAt(topic), { timeout: 30_000, interval: 5 }).toBe(readers);
}

async function consumers(topic: TestTopic, count: number): Promise<Principal[]> {
  const scopes = [topic.path.replace(/^.*topics\/(.*)\/(.*)$/, "plat.pubsub.topic=$1.$2")];
  return Array.from({ length: count }, () => someClient({ scopes }));
}

describe.each([1, 4])("a read that waits, %i shard(s)", (shards) => {
  it("gets the event that is published meanwhile", async () => {
    const topic = await makeTopic(app, { shards });
    const read = topic.read({}, waiting(30));
    await untilWaiting(topic, shards);
    await topic.put({ payload: "at last" });
    const answer = await read;
    expect(payloads(answer)).toEqual(["at last"]);
    expect(answer.response.headers.get("preference-applied")).toBe("wait=30");
    expect((await topic.commit(answer.token)).status).toBe(200);
  });

  (shards === 4 ? it : itAtNight)("leaves no reader at the logs when it is over", async () => {
    const topic = await makeTopic(app, { shards });
    const answer = await topic.read({}, waiting(1));
    expect(answer.status).toBe(204);
    expect(answer.response.headers.get("preference-applied")).toBe("wait=1");
    await expect.poll(() => readersAt(topic)).toBe(0);
  });

  it("gets an event although the logs are evicted", async () => {
    const topic = await makeTopic(app, { shards });
    const read = topic.read({}, waiting(30));
    await untilWaiting(topic, shards);
    for (const log of (await objectsOf(topic)).logs) await evictDurableObject(log);
    await topic.put({ payload: "after the sleep" });
    expect(payloads(await read)).toEqual(["after the sleep"]);
  });

  it("continues to wait if every object is reset", async () => {
    const topic = await makeTopic(app, { shards });
    const read = topic.read({}, waiting(30));
    await untilWaiting(topic, shards);
    await abortAllDurableObjects();
    await untilWaiting(topic, shards);
    await topic.put({ payload: "after the reset" });
    expect(payloads(await read)).toEqual(["after the reset"]);
  });
});

describe("a read that waits", () => {
  it("answers at once if there are events", async () => {
    const topic = await makeTopic(app);
    await topic.put([{ payload: "a" }, { payload: "b" }]);
    const answer = await topic.read({ numEvents: 5 }, waiting(30));
    expect(payloads(answer)).toEqual(["a", "b"]);
    expect(answer.response.headers.get("preference-applied")).toBe("wait=30");
  });

  it.each([
    ["wait=0", "wait=0"],
    ["wait=1000", "wait=30"],
    ["respond-async, WAIT=1", "wait=1"],
    ['wait="1"; x', "wait=1"],
    ["wait=-1", null],
    ["wait=soon", null],
    ["", null],
  ])("applies %j as %j", async (prefer, applied) => {
    const topic = await makeTopic(app);
    await topic.put({ payload: "here" });
    const answer = await topic.read({}, { headers: { prefer } });
    expect(payloads(answer)).toEqual(["here"]);
    expect(answer.response.headers.get("preference-applied")).toBe(applied);
  });

  it("answers 409 at once while the topic is locked", async () => {
    const topic = await makeTopic(app);
    await topic.put({ payload: "held" });
    await topic.read();
    expect((await topic.read({}, waiting(30))).status).toBe(409);
  });

  it("gives one of two parallel readers of a client the event, and the other one 409", async () => {
    const topic = await makeTopic(app);
    const reads = [topic.read({}, waiting(30)), topic.read({}, waiting(30))];
    await untilWaiting(topic, 2);
    await topic.put({ payload: "one" });
    const answers = await Promise.all(reads);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 409]));
  });

  it("gets the same batch again under its key", async () => {
    const topic = await makeTopic(app);
    const once = waiting(30, { "idempotency-key": "k1" });
    const read = topic.read({}, once);
    await untilWaiting(topic, 1);
    await topic.put({ payload: "kept" });
    const first = await read;
    expect(await topic.read({}, once)).toMatchObject({ events: first.events, token: first.token });
  });

  it("is woken only by events of its own tenant", async () => {
    const topic = await makeTopic(app);
    for (const tenant of ["mine", "theirs"]) app.actsFor.add(`${topic.owner.clientId} ${tenant}`);
    const as = someClient({ scopes: ["plat.pubsub.own_tenant_topic=*"], tenant: "mine" });
    const read = topic.read({}, { as, ...waiting(30) });
    await untilWaiting(topic, 1);
    await topic.put({ tenant: "theirs", payload: "not for you" });
    await untilWaiting(topic, 1);
    await topic.put({ tenant: "mine", payload: "for you" });
    expect(payloads(await read)).toEqual(["for you"]);
  });

  it("answers 404 when the topic is deleted meanwhile", async () => {
    const topic = await makeTopic(app);
    const read = topic.read({}, waiting(30));
    await untilWaiting(topic, 1);
    expect((await app.call(topic.path, { as: topic.owner, method: "DELETE" })).status).toBe(202);
    await expectProblem((await read).response, 404, "element_resource_non_existing");
  });

  it("answers 401, without the event, when its token is revoked meanwhile", async () => {
    const topic = await makeTopic(app);
    const [reader] = await consumers(topic, 1);
    const read = topic.read({}, { as: reader!, ...waiting(30) });
    await untilWaiting(topic, 1);
    app.revoked.add(reader!.clientId);
    await topic.put({ payload: "too late" });
    await expectProblem((await read).response, 401, "insufficient_credentials");
    app.revoked.delete(reader!.clientId);
    expect(payloads(await topic.read({}, { as: reader! }))).toEqual(["too late"]);
  });

  it("wakes every one of many clients", async () => {
    const topic = await makeTopic(app);
    const readers = await consumers(topic, isSearch ? 100 : 15);
    const reads = readers.map((as) => topic.read({}, { as, ...waiting(30) }));
    await untilWaiting(topic, readers.length);
    await topic.put({ payload: "to all" });
    const answers = await Promise.all(reads);
    expect(answers.map(payloads)).toEqual(readers.map(() => ["to all"]));
  });
});

/** The events that the metric counts from now on. */
function eventsRead(): () => number {
  const add = vi.spyOn(noMeter, "add");
  return () => add.mock.calls.reduce((sum, [name, , count]) => sum + (name === "events_read" ? (count ?? 1) : 0), 0);
}

describe("a read whose client leaves", () => {
  const attempt = ({ response }: { response: Response }) => response.headers.get("plat-delivery-attempt");

  it("ends at once, and takes no event", async () => {
    const topic = await makeTopic(app);
    const leaving = new AbortController();
    const read = topic.read({}, { ...waiting(30), signal: leaving.signal });
    await untilWaiting(topic, 1);
    leaving.abort();
    expect((await read).status).toBe(204);
    await expect.poll(() => readersAt(topic)).toBe(0);
    await topic.put({ payload: "for the next" });
    const next = await topic.read();
    expect([payloads(next), attempt(next)]).toEqual([["for the next"], "1"]);
  });

  it("ends at once if the client leaves at any step before the wait begins", async () => {
    const topic = await makeTopic(app);
    for (let at = 1; ; at++) {
      const leaving = new AbortController();
      let asked = 0;
      vi.spyOn(systemClock, "nowMs").mockImplementation(() => {
        if (++asked === at) leaving.abort();
        return Date.now();
      });
      let hasEnded = false;
      const read = topic
        .read({}, { ...waiting(30), signal: leaving.signal })
        .catch(() => undefined)
        .finally(() => (hasEnded = true));
      const startMs = performance.now();
      // A poll that went on after the test would move the frozen clocks of later ones.
      const isDecided = async () => hasEnded || (asked < at && (await readersAt(topic)) > 0);
      await expect.poll(isDecided, { timeout: 10_000, interval: 20 }).toBe(true);
      vi.restoreAllMocks();
      const isEarlier = leaving.signal.aborted;
      leaving.abort();
      await read;
      expect([at, performance.now() - startMs < 20_000]).toEqual([at, true]);
      if (!isEarlier) break;
    }
  });

  it.each([{}, waiting(30)])("releases the events that it took meanwhile, %j", async (how) => {
    const counted = eventsRead();
    const topic = await makeTopic(app);
    await topic.put({ payload: "for the next" });
    const leaving = new AbortController();
    const read = topic.read({}, { ...how, signal: leaving.signal });
    leaving.abort();
    await read;
    expect(payloads(await topic.read())).toEqual(["for the next"]);
    expect(counted()).toBe(1);
  });

  it("releases the batch if its connection breaks at the answer, and it counts for the one who gets it", async () => {
    const counted = eventsRead();
    const topic = await makeTopic(app);
    const read = app.call(`${topic.path}/read`, { as: topic.owner, method: "POST", ...waiting(30), isDead: true });
    await untilWaiting(topic, 1);
    await topic.put({ payload: "for the next" });
    await read;
    const next = await topic.read();
    expect([payloads(next), attempt(next)]).toEqual([["for the next"], "2"]);
    expect(counted()).toBe(1);
  });

  it("keeps the lock if the client came again under its key", async () => {
    const counted = eventsRead();
    const topic = await makeTopic(app);
    const once = waiting(30, { "idempotency-key": "again" });
    const dead = app.call(`${topic.path}/read`, { as: topic.owner, method: "POST", ...once, isDead: true });
    await untilWaiting(topic, 1);
    const again = topic.read({}, once);
    await untilWaiting(topic, 2);
    await topic.put({ payload: "kept" });
    const [answer] = await Promise.all([again, dead]);
    expect(payloads(answer)).toEqual(["kept"]);
    expect((await topic.commit(answer.token)).status).toBe(200);
    expect(counted()).toBe(1);
  });
});

/**
 * Random schedules of publishing, eviction and reset, with readers that wait for an event that always comes. A wait has
 * lost its wake-up if it times out. The logs learn late of readers, so that events are published in between.
 */
describe("readers that wait beside publishers and evictions", () => {
  const late = eventsApp({ ...env, TOPIC_LOG: hearingLate() });
  const step = fc.oneof(
    { weight: 5, arbitrary: fc.record({ kind: fc.constant("publish"), count: fc.integer({ min: 1, max: 3 }) }) },
    { weight: 2, arbitrary: fc.constant({ kind: "evict", count: 0 }) },
    { weight: 1, arbitrary: fc.constant({ kind: "reset", count: 0 }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("pause"), count: fc.integer({ min: 0, max: 30 }) }) },
  );
  const steps = fc.array(step, { minLength: 2, maxLength: 10 });

  it("lose no wake-up and no event", { timeout: 3_600_000 }, async () => {
    const overtime = countOvertime();
    const schedule = fc.asyncProperty(steps, fc.constantFrom(1, 3), async (planned, shards) => {
      const topic = await makeTopic(late, { shards });
      const readers = await consumers(topic, 2);
      const total = planned.reduce((sum, { kind, count }) => sum + (kind === "publish" ? count : 0), 0);
      const reading = readers.map((as) => readAll(topic, as, total));
      const sent: string[] = [];
      for (const { kind, count } of planned) {
        if (kind === "pause") await scheduler.wait(count);
        else if (kind === "reset") await resetLogs(topic);
        else if (kind === "evict") await evictLogs(topic);
        else
          for (let at = 0; at < count; at++) {
            sent.push(`event-${sent.length}`);
            await publishSurely(topic, sent.at(-1)!);
          }
      }
      expect(await Promise.all(reading)).toEqual(readers.map(() => sent.toSorted()));
      expect(overtime()).toBe(0);
    });
    await fc.assert(schedule, modelRuns("WAIT_SCHEDULES", 5));
  });

  async function readAll(topic: TestTopic, as: Principal, total: number): Promise<string[]> {
    const seen = new Set<string>();
    while (seen.size < total) {
      const answer = await topic.read({ numEvents: 2, ttlMs: 1_000 }, { as, ...waiting(10) });
      // An object that was reset does not answer for a moment, or has lost its answer.
      if ([409, 503].includes(answer.status) || answer.response.headers.has("link")) {
        await scheduler.wait(20);
        continue;
      }
      expect(answer.status).toBe(200);
      for (const payload of payloads(answer)) seen.add(payload);
      await topic.commit(answer.token, { as });
    }
    return [...seen].toSorted();
  }

  async function publishSurely(topic: TestTopic, payload: string): Promise<void> {
    for (;;) {
      const answer = await topic.publish({ payload }, { headers: { "idempotency-key": payload } });
      if (answer.status === 201) return;
      expect(answer.status).toBe(503);
    }
  }

  /** Evicts the logs. A log that sleeps already cannot be evicted. */
  async function evictLogs(topic: TestTopic): Promise<void> {
    for (const log of (await objectsOf(topic)).logs) await evictDurableObject(log).catch(() => undefined);
  }

  async function resetLogs(topic: TestTopic): Promise<void> {
    for (const log of (await objectsOf(topic)).logs)
      await runInDurableObject(log, (_, state) => state.abort("reset")).catch(() => undefined);
  }

  /** Counts the waits for news that timed out. They are the only timers of more than 8 s here. */
  function countOvertime(): () => number {
    const real = setTimeout;
    let count = 0;
    vi.spyOn(globalThis, "setTimeout").mockImplementation(((run: () => void, ms: number) =>
      real(() => {
        if (ms > 8_000) count += 1;
        run();
      }, ms)) as unknown as typeof setTimeout);
    return () => count;
  }
});

/** The logs, which learn of a waiting reader some milliseconds late. */
function hearingLate(): typeof env.TOPIC_LOG {
  const getByName = (name: string) => {
    const log = env.TOPIC_LOG.getByName(name);
    return new Proxy(log, {
      get: (target, method) =>
        method === "fetch"
          ? async (address: string, init: RequestInit) => {
              await scheduler.wait(5);
              return target.fetch(address, init);
            }
          : Reflect.get(target, method),
    });
  };
  return { getByName } as unknown as typeof env.TOPIC_LOG;
}
