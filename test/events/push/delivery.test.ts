import { describe, expect, it, vi } from "vitest";
import { DELIVERY } from "../../../src/events/model/limits.ts";
import type { OutsideAnswer } from "../../support/runtime/outside-world.ts";
import { requestsTo } from "../../support/outside.ts";
import { pass, stopTheClockBeforeEach } from "../support/push/push-clock.ts";
import { limits } from "../support/push/push-limits.ts";
import { idsOf, verified } from "../support/push/push-requests.ts";
import { makePush, type TestPush } from "../support/push/test-push.ts";
import { until } from "../support/until.ts";
import { DAY_MS } from "../../../src/platform/runtime/clock.ts";

stopTheClockBeforeEach();

/** The outcome of one event's first attempt. */
async function firstAttempt(push: TestPush) {
  const [id] = await push.put(["x"]);
  await push.run();
  const delivery = await push.delivery(id!);
  return { id: id!, delivery, attempt: delivery.attempts[0]! };
}

describe("a delivery", () => {
  // shows: events/subscription/pushconfig.basicauth.username
  // shows: events/events/by-push
  // shows: events/push-subscriptions/delivery
  it("is one POST with the event, its source, and a signature that other libraries accept", async () => {
    const password = "pass:wörd \u0000 😀";
    const push = await makePush({ username: "us.er_1", password });
    const [id] = await push.topic.put({ payload: "x", metadata: { a: "1" } });
    await push.stub.wake();
    await push.run();
    const [request, ...others] = await push.received();
    expect(others).toEqual([]);
    const { events } = await push.topic.read();
    expect(JSON.parse(request!.body)).toEqual(events[0]);
    expect(request!.method).toBe("POST");
    expect(request!.headers).toMatchObject({
      "content-type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": String(Math.floor(Date.now() / 1000)),
      "plat-delivery-attempt": "1",
    });
    const credentials = Uint8Array.from(atob(request!.headers["authorization"]!.slice("Basic ".length)), (char) =>
      char.charCodeAt(0),
    );
    expect(new TextDecoder().decode(credentials)).toBe(`us.er_1:${password}`);
    expect(verified(push, request!)).toEqual(events[0]);
    expect(() => verified(push, { ...request!, body: request!.body.replace("x", "y") })).toThrow();
  });

  it("sends every payload as published, byte for byte", async () => {
    const push = await makePush({ shards: 4 });
    const odd = [
      "",
      "\u0000",
      "a\u0000b\u0001\u001f\u007f",
      "\ud800",
      "x\udc00\ud800y",
      "\ufeff\ufffe\uffff",
      '\u2028\u2029\\"\n\r\t',
      "😀".repeat(1000),
      "é\u0301",
      "\u0000".repeat(262_144),
      "ü".repeat(131_072),
      '{"id":"0000000000000000-0"}',
      "__proto__",
    ];
    for (const [at, payload] of odd.entries()) await push.put([payload], at % 4);
    await push.run();
    const requests = await push.received();
    const payloads = requests.map((request) => verified(push, request).payload as string);
    expect(payloads.toSorted()).toEqual(odd.toSorted());
    // A reader gets the same text, not only the same parsed value.
    const read = await push.topic.read({ numEvents: 100 });
    const texts = await read.response.text();
    for (const { body } of requests) expect(texts).toContain(body);
    expect((await push.status()).lag).toBe(0);
  });
});

describe("an answer of", () => {
  // shows: events/push-subscriptions/2xx-within-15-s
  it.each([200, 201, 202, 204, 299])("%i: delivered, nothing is left to do", async (status) => {
    const push = await makePush();
    await push.answer({ status });
    const { delivery } = await firstAttempt(push);
    expect(delivery).toMatchObject({ state: "delivered", nextAttemptAtMs: undefined, attemptCount: 1 });
    expect(delivery.attempts).toEqual([{ atMs: Date.now(), durationMs: 0, status, error: undefined }]);
    expect(await push.alarmInMs()).toBe(DELIVERY.restMs);
  });

  it.each([400, 401, 404, 422, 500, 502])(
    "%i: tried again after 5 s, with the number of the attempt",
    async (status) => {
      const push = await makePush();
      await push.answer({ status }, { status: 200 });
      const { id, delivery, attempt } = await firstAttempt(push);
      expect(attempt).toMatchObject({ status, error: "status" });
      expect(delivery.state).toBe("pending");
      await push.drive(6000);
      expect(await push.delivery(id)).toMatchObject({ state: "delivered", attemptCount: 2 });
      const requests = await push.received();
      expect(requests.map(({ headers }) => headers["plat-delivery-attempt"])).toEqual(["1", "2"]);
      const [first, second] = requests.map(({ headers }) => Number(headers["webhook-timestamp"]));
      expect(second! - first!).toBeGreaterThanOrEqual(5);
      for (const request of requests) expect(verified(push, request).id).toBe(id);
    },
  );

  // shows: events/push-subscriptions/endpoint
  it.each([301, 302, 303, 307, 308, 304])("%i: a failure, and the redirect is not followed", async (status) => {
    const push = await makePush();
    const elsewhere = await makePush();
    await push.answer({ status, headers: { location: elsewhere.endpoint } });
    const { attempt, delivery } = await firstAttempt(push);
    expect(attempt).toMatchObject({ status, error: "redirect" });
    expect(delivery.state).toBe("pending");
    expect(await elsewhere.received()).toEqual([]);
  });

  // shows: events/push-subscriptions/429-503
  it.each([
    [429, "120", 120_000],
    [503, "120", 120_000],
    [429, "date", 600_000],
    [503, "date", 600_000],
    [429, "0", 1000],
    [429, "9999999999", DAY_MS],
  ])(
    "%i with Retry-After %j is followed by an attempt then, and not a moment earlier",
    async (status, text, waitMs) => {
      const push = await makePush();
      const retryAfter = text === "date" ? new Date(Date.now() + waitMs).toUTCString() : text;
      const expectedMs = text === "date" ? Date.parse(retryAfter) : Date.now() + waitMs;
      await push.answer({ status, headers: { "retry-after": retryAfter } }, { status: 200 });
      const { id, delivery } = await firstAttempt(push);
      expect(delivery.nextAttemptAtMs).toBe(expectedMs);
      await push.drive(expectedMs - Date.now() - 1);
      expect(await push.delivery(id)).toMatchObject({ state: "pending", attemptCount: 1 });
      await push.drive(1);
      expect(await push.delivery(id)).toMatchObject({ state: "delivered", attemptCount: 2 });
    },
  );

  it.each([429, 503])("%i without a valid Retry-After: tried again by the schedule", async (status) => {
    const push = await makePush();
    await push.answer({ status, headers: { "retry-after": "soon" } });
    const { delivery } = await firstAttempt(push);
    const waitMs = delivery.nextAttemptAtMs! - Date.now();
    expect(waitMs).toBeGreaterThanOrEqual(5000);
    expect(waitMs).toBeLessThanOrEqual(6000);
  });

  it("429 with Retry-After delays everything, for an hour at most, and ten of them cost no attempt", async () => {
    const push = await makePush();
    await push.answer({ status: 429, headers: { "retry-after": "7200" } });
    const { id } = await firstAttempt(push);
    const [other] = await push.put(["y"]);
    await push.run();
    expect((await push.received()).length).toBe(1);
    expect(await push.alarmInMs()).toBe(3_600_000);
    await push.drive(3_600_000);
    expect(idsOf(await push.received())).toEqual([other]);
    await push.answer({ status: 429, headers: { "retry-after": "1" } });
    await push.drive(3 * 3_600_000);
    const both = async () => [await push.delivery(id), await push.delivery(other!)];
    for (const delivery of await both()) expect(delivery.state).toBe("pending");
    await push.drive(2 * DAY_MS);
    for (const delivery of await both()) {
      expect(delivery).toMatchObject({ state: "dead", attemptCount: 19 });
      const [first, last] = [delivery.attempts.at(0)!, delivery.attempts.at(-1)!];
      expect(last.atMs - first.atMs).toBeGreaterThan(27 * 3_600_000);
    }
  });

  // shows: events/push-subscriptions/410
  it("410 disables the subscription; the event waits and continues after it is enabled", async () => {
    const push = await makePush();
    await push.answer({ status: 410 });
    const { id, delivery } = await firstAttempt(push);
    expect(delivery).toMatchObject({ state: "pending", attemptCount: 1 });
    expect(await push.stored()).toMatchObject({ state: "disabled", version: 2 });
    const [later] = await push.put(["y"]);
    await push.drive(DAY_MS);
    expect((await push.received()).length).toBe(1);
    await push.answer({ status: 200 });
    await push.change({});
    await push.stub.changed();
    await push.drive(10);
    expect(idsOf(await push.received())).toEqual([id, later]);
    expect((await push.deliveries("delivered")).length).toBe(2);
  });

  // shows: events/push-subscriptions/2xx-within-15-s
  it("nothing: a timeout without a status", async () => {
    limits({ attemptMs: 60 });
    const push = await makePush();
    await push.answer({ hangs: "at once" });
    const { attempt, delivery } = await firstAttempt(push);
    expect(attempt).toMatchObject({ status: undefined, error: "timeout" });
    expect(delivery.state).toBe("pending");
  });

  it("a refused connection is unreachable", async () => {
    const push = await makePush();
    vi.spyOn(globalThis, "fetch").mockRejectedValue(new TypeError("Network connection lost."));
    const { attempt } = await firstAttempt(push);
    expect(attempt).toMatchObject({ status: undefined, error: "unreachable" });
  });

  it("200 whose body does not end or stops: delivered, and the connection is closed", async () => {
    const push = await makePush();
    const given = vi.spyOn(ReadableStream.prototype, "cancel");
    await push.answer({ status: 200, endless: true });
    await push.put(Array.from({ length: 30 }, (_, at) => `${at}`));
    await push.run();
    expect(given).toHaveBeenCalledTimes(30);
    await push.answer({ status: 200, hangs: "in the body" });
    await push.put(Array.from({ length: 30 }, (_, at) => `${at}`));
    await push.run();
    expect((await push.deliveries("delivered")).length).toBe(60);
  });

  it("an address that may not be called is refused without a call", async () => {
    const push = await makePush();
    await push.change({ endpoint: "https://10.0.0.1/hook" });
    const { attempt } = await firstAttempt(push);
    expect(attempt).toMatchObject({ status: undefined, error: "refused" });
    expect(await requestsTo("https://10.0.0.1/hook")).toEqual([]);
    await push.change({ endpoint: push.endpoint });
    await push.stub.changed();
    await push.drive(6000);
    expect((await push.deliveries("delivered")).length).toBe(1);
  });
});

describe("a delivery that always fails", () => {
  // shows: events/push-subscriptions/schedule
  it("is tried nine times on its schedule, each wait at most a fifth longer, and is dead then", async () => {
    const push = await makePush();
    await push.answer({ status: 500 });
    const { id } = await firstAttempt(push);
    await push.drive(2 * DAY_MS);
    const delivery = await push.delivery(id);
    expect(delivery).toMatchObject({ state: "dead", attemptCount: 9, nextAttemptAtMs: undefined });
    const times = delivery.attempts.map(({ atMs }) => atMs);
    for (const [at, scheduledMs] of DELIVERY.retryMs.entries()) {
      const waitMs = times[at + 1]! - times[at]!;
      expect(waitMs).toBeGreaterThanOrEqual(scheduledMs);
      expect(waitMs).toBeLessThanOrEqual(scheduledMs * 1.2);
    }
    expect((await push.received()).length).toBe(9);
    expect(await push.status()).toEqual({ lag: 0, deadLetters: 1, eventsLost: 0 });
  });

  it("does not retry in step with others that failed with it", async () => {
    const push = await makePush();
    await push.answer({ status: 500 });
    const ids = await push.put(Array.from({ length: 6 }, (_, at) => `${at}`));
    await push.run();
    const times = await Promise.all(ids.map(async (id) => (await push.delivery(id)).nextAttemptAtMs));
    expect(new Set(times).size).toBeGreaterThan(1);
  });
});

describe("the window", () => {
  // shows: events/push-subscriptions/six-in-flight
  it("holds six, never more, and fills up as each one ends", async () => {
    const push = await makePush({ shards: 2 });
    await push.answer({ held: true });
    for (const shard of [0, 1])
      await push.put(
        Array.from({ length: 10 }, (_, at) => `${at}`),
        shard,
      );
    const running = push.run();
    for (const done of [0, 1, 4, 10, 14]) {
      await until(async () => (await push.deliveries("delivered")).length >= done && (await push.held()) === 6);
      await push.release(done === 0 ? 1 : done === 1 ? 3 : done === 4 ? 6 : 4);
    }
    await until(async () => (await push.deliveries("delivered")).length >= 18);
    expect(await push.held()).toBe(2);
    await push.release();
    await running;
    const requests = await push.received();
    expect(requests.length).toBe(20);
    expect(Math.max(...requests.map(({ parallel }) => parallel))).toBe(6);
    expect((await push.deliveries("delivered")).length).toBe(20);
  });

  /** Holds the attempt of one event, while later ones get these answers. */
  async function withSlowOne(...answers: OutsideAnswer[]) {
    const push = await makePush();
    await push.answer({ held: true });
    const [slow] = await push.put(["slow"]);
    const running = push.run();
    await until(async () => (await push.held()) === 1);
    await push.answer(...answers);
    return { push, slow: slow!, running };
  }

  // shows: events/push-subscriptions/six-in-flight
  it("is not closed by one slow event: others that come meanwhile pass it", async () => {
    const { push, slow, running } = await withSlowOne({});
    for (let done = 10; done <= 30; done += 10) {
      await push.put(Array.from({ length: 10 }, (_, at) => `${at}`));
      await until(async () => (await push.deliveries("delivered")).length === done);
    }
    expect(await push.delivery(slow)).toMatchObject({ state: "pending", attemptCount: 0 });
    await push.release();
    await running;
    expect((await push.deliveries("delivered")).length).toBe(31);
  });

  it("is not closed by a slow event at the end of a run: the next run sends other events meanwhile", async () => {
    const restore = limits({ callsARun: 14 });
    const { push, slow, running } = await withSlowOne({});
    await push.put(Array.from({ length: 60 }, (_, at) => `${at}`));
    await running;
    for (let runs = 0; runs < 3; runs++) {
      expect(await push.alarmInMs()).toBe(0);
      await push.run();
    }
    restore();
    const last = push.run();
    await until(async () => (await push.deliveries("delivered")).length === 60);
    await push.release();
    await last;
    expect(await push.delivery(slow)).toMatchObject({ state: "delivered", attemptCount: 1 });
    expect((await push.received()).length).toBe(61);
  });

  it("is bounded by all calls of a run, including those to the logs", async () => {
    const push = await makePush({ shards: 4 });
    const [id] = await push.put(["x"]);
    const restore = limits({ callsARun: 4 });
    // This run may only look at the four logs.
    await push.run();
    expect(await push.alarmInMs()).toBe(0);
    expect(await push.delivery(id!)).toMatchObject({ state: "pending", attemptCount: 0 });
    await push.run();
    restore();
    await until(async () => (await push.delivery(id!)).state === "delivered");
  });

  it("sends retries that become due while a slow one is in flight", async () => {
    limits({ retryMs: [20, 30] });
    const { push, slow, running } = await withSlowOne({ status: 500 }, { status: 500 }, {});
    const [failing] = await push.put(["fails twice"]);
    await until(async () => (await push.deliveries()).some(({ attemptCount }) => attemptCount === 1));
    const ticking = setInterval(() => pass(5), 5);
    await until(async () => (await push.delivery(failing!)).state === "delivered");
    clearInterval(ticking);
    expect(await push.delivery(slow)).toMatchObject({ state: "pending", attemptCount: 0 });
    await push.release();
    await running;
  });
});

describe("an endpoint that only times out", () => {
  // shows: events/push-subscriptions/an-endpoint-that-only-times-out
  it("is tried ever more rarely as a whole, one event at a time, and no event loses attempts by it", async () => {
    const restore = limits({ attemptMs: 15 });
    const push = await makePush();
    await push.answer({ hangs: "at once" });
    await push.put(Array.from({ length: 30 }, (_, at) => `${at}`));
    const startMs = Date.now();
    await push.drive(3 * 3_600_000);
    const attempts = (await push.deliveries())
      .flatMap((delivery) => delivery.attempts)
      .map(({ atMs }) => atMs - startMs);
    attempts.sort((a, b) => a - b);
    expect(attempts.slice(0, 6)).toEqual([0, 0, 0, 0, 0, 0]);
    const waits = attempts.slice(5).map((atMs, at, all) => (all[at + 1] ?? NaN) - atMs);
    const expected = [5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600];
    expect(waits.slice(0, -1)).toEqual(expected.slice(0, waits.length - 1).map((sec) => sec * 1000));
    expect(waits.length).toBeGreaterThanOrEqual(11);
    // Every attempt is counted, and more than ten events were not tried at all.
    const counts = (await push.deliveries()).map(({ attemptCount }) => attemptCount);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(attempts.length);
    expect(counts.filter((count) => count === 0).length).toBeGreaterThan(10);
    // It answers again, with any status: the rest follows at once.
    restore();
    await push.answer({ status: 500 }, {});
    await push.drive(3_600_000);
    expect((await push.deliveries("pending")).length).toBe(0);
    expect((await push.deliveries("delivered")).length).toBe(30);
  });

  it("is silent too when Cloudflare answers in its place", async () => {
    const push = await makePush();
    await push.answer({ status: 522 });
    await push.put(Array.from({ length: 30 }, (_, at) => `${at}`));
    await push.drive(100);
    const attempts = (await push.deliveries()).flatMap((delivery) => delivery.attempts);
    expect(attempts.length).toBe(6);
    for (const attempt of attempts) expect(attempt).toMatchObject({ status: 522, error: "timeout" });
    expect(await push.alarmInMs()).toBe(4900);
  });

  it("is tried at once after a change", async () => {
    const restore = limits({ attemptMs: 15 });
    const push = await makePush();
    const other = await makePush();
    await push.answer({ hangs: "at once" });
    await push.put(Array.from({ length: 30 }, (_, at) => `${at}`));
    await push.drive(60_000);
    expect(await push.alarmInMs()).toBeGreaterThan(5000);
    restore();
    await push.change({ endpoint: other.endpoint });
    await push.stub.changed();
    await push.run();
    expect((await other.received()).length).toBeGreaterThan(20);
  });
});

describe("several shards", () => {
  it("sends each event once, whatever its shard", async () => {
    const push = await makePush({ shards: 16 });
    await push.answer({});
    const ids: string[] = [];
    for (let shard = 0; shard < 16; shard++) ids.push(...(await push.put(["a", "b", "c"], shard)));
    await push.run();
    const got = idsOf(await push.received());
    expect(got.toSorted()).toEqual(ids.toSorted());
    expect(await push.status()).toEqual({ lag: 0, deadLetters: 0, eventsLost: 0 });
  });
});
