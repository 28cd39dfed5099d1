import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { HANDSHAKE } from "../../../src/events/model/limits.ts";
import type { PushSubscriptionObject } from "../../../src/events/push/push-subscription.do.ts";
import { answerAt, requestsTo } from "../../support/outside.ts";
import { call, expectJson } from "../../support/platform/call.ts";
import { makeClient } from "../../support/platform/clients.ts";
import { tokenFor } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";
import { pass, stopTheClock } from "../support/push/push-clock.ts";
import { idsOf, verified } from "../support/push/push-requests.ts";
import { makePush, type TestPush } from "../support/push/test-push.ts";
import { pushStore } from "../support/push/push-store.ts";
import { bodyWith } from "../support/push/subscription-body.ts";
import { DAY_MS } from "../../../src/platform/runtime/clock.ts";

/** Endpoints that are asked whether they want the events, before they get one (push/handshake.ts). */
const statusOf = async (push: TestPush) => (await push.status()).handshake;
const isPing = ({ body }: { body: string }) => JSON.parse(body).type === "endpoint_verification";
describe("an endpoint that must confirm first", () => {
  beforeEach(stopTheClock);
  afterEach(() => void vi.useRealTimers());

  it.each(["text", "json"] as const)(
    "gets a signed challenge, returns it as %s, and then gets all waiting events",
    async (how) => {
      const push = await makePush({ handshake: true, shards: 2 });
      await push.answer({ challenge: how }, {});
      const ids = [...(await push.publish(["a"], 0)), ...(await push.publish(["b"], 1))];
      expect(await push.stored()).toMatchObject({ state: "unverified" });
      await push.stub.changed();
      await push.run();
      const [ping, ...events] = await push.received();
      expect(verified(push, ping!)).toEqual({ type: "endpoint_verification", challenge: expect.any(String) });
      expect(ping!.headers).toMatchObject({
        authorization: `Basic ${btoa("user:pw")}`,
        "webhook-id": expect.stringMatching(/^verify-/),
        "plat-delivery-attempt": "1",
      });
      expect(idsOf(events).toSorted()).toEqual(ids.toSorted());
      expect(await push.stored()).toMatchObject({ state: "active", verification: "done", version: 2 });
      await push.put(["c"]);
      await push.run();
      expect((await push.received()).some(isPing)).toBe(false);
    },
  );

  it.each<[string, object, string]>([
    ["2xx without the challenge", { body: "fine" }, "no_challenge"],
    ["2xx with another's", { body: '{"challenge":"0123456789abcdef0123456789abcdef"}' }, "no_challenge"],
    ["2xx with null", { body: "null" }, "no_challenge"],
    ["the challenge far behind", { bodyBytes: HANDSHAKE.maxAnswerBytes * 4 }, "no_challenge"],
    ["a body without an end", { endless: true }, "no_challenge"],
    ["the challenge in a 500", { status: 500, challenge: "json" }, "status"],
    ["the challenge in a redirect", { status: 302, challenge: "json" }, "redirect"],
  ])("%s: is asked again after 5 s, and gets nothing", async (_, answer, lastError) => {
    const push = await makePush({ handshake: true });
    await push.answer(answer);
    await push.put(["a"]);
    await push.run();
    expect((await push.received()).map(isPing)).toEqual([true]);
    expect(await statusOf(push)).toEqual({ attempts: 1, lastError, nextAttemptAtMs: Date.now() + 5_000 });
    expect(await push.alarmInMs()).toBe(5_000);
    await push.put(["b"]);
    expect(await push.alarmInMs()).toBe(5_000);
    // The stored state survives the instance.
    await push.evict();
    await push.answer({ challenge: "json" }, {});
    await push.drive(5_000);
    expect((await push.received()).map(isPing)).toEqual([true, false, false]);
  });

  it("fails after seven pings without proof; an update asks again, and nothing was lost", async () => {
    const push = await makePush({ handshake: true });
    const ids = await push.put(["a"]);
    const startMs = Date.now();
    await push.drive(9 * 3_600_000);
    const pings = await push.received();
    expect(pings).toHaveLength(HANDSHAKE.retryMs.length + 1);
    expect(new Set(pings.map(({ body }) => JSON.parse(body).challenge)).size).toBe(pings.length);
    expect(await push.stored()).toMatchObject({ state: "failed", verification: "failed", version: 2 });
    expect(await statusOf(push)).toEqual({ attempts: 7, lastError: "no_challenge", nextAttemptAtMs: undefined });
    await push.drive(DAY_MS);
    expect(await push.received()).toEqual([]);
    expect(Date.now() - startMs).toBeLessThan(6 * DAY_MS);
    await push.answer({ challenge: "text" }, {});
    const { version, endpoint, username, credentials, sealKey } = (await push.stored())!;
    const change = { endpoint, username, credentials, sealKey, verification: "pending" } as const;
    await pushStore.update(push.id, version, change, Date.now());
    await push.stub.changed();
    await push.run();
    expect(idsOf((await push.received()).slice(1))).toEqual(ids);
  });

  it("fails at once after a 410; a Retry-After delays the next ping", async () => {
    const gone = await makePush({ handshake: true });
    await gone.answer({ status: 410 });
    await gone.put(["a"]);
    await gone.run();
    expect(await gone.stored()).toMatchObject({ state: "failed" });
    const busy = await makePush({ handshake: true });
    await busy.answer({ status: 503, headers: { "retry-after": "600" } });
    await busy.put(["a"]);
    await busy.run();
    expect(await busy.alarmInMs()).toBe(600_000);
  });

  it("is not asked again if its answer was not stored in D1", async () => {
    const push = await makePush({ handshake: true });
    await push.answer({ challenge: "json" }, {});
    const ids = await push.put(["a"]);
    vi.spyOn(console, "error").mockReturnValue();
    let restore = (): void => {};
    await runInDurableObject(push.stub, ({ ports }: PushSubscriptionObject) => {
      const { store } = ports;
      restore = () => void Object.assign(ports, { store });
      Object.assign(ports, { store: { ...store, verify: () => Promise.reject(new Error("D1 is down")) } });
    });
    await push.run();
    restore();
    expect((await push.received()).map(isPing)).toEqual([true]);
    await push.evict();
    await push.drive(60_000);
    expect(idsOf(await push.received())).toEqual(ids);
    vi.restoreAllMocks();
  });

  it("is not asked while the right is gone", async () => {
    const push = await makePush({ handshake: true, client: (await makeClient({ scopes: [] })).clientId });
    await push.put(["a"]);
    await push.run();
    pass(1);
    expect(await push.received()).toEqual([]);
  });
});

describe("a subscription with a handshake", () => {
  it("delivers after the endpoint confirmed, and asks a new endpoint first", async () => {
    const [first, second] = [0, 1].map(() => `https://${unique("hand")}.example/hook`) as [string, string];
    await answerAt(first, { body: "no" });
    await answerAt(second, { challenge: "json" });
    const token = await tokenFor(await makeClient());
    const eventType = unique("order");
    const created = await call("/pubsub/v1/topics", { token, json: { eventType } });
    const path = created.headers.get("location")!;
    const basicAuth = { username: "shop", password: "p" };
    const json = { name: "orders", pushConfig: { endpoint: first, handshake: true, basicAuth } };
    const made = await expectJson(await call(`${path}/subscriptions`, { token, json }), 201);
    expect(made).toMatchObject({ state: "unverified", pushConfig: { handshake: true } });
    const one = async () => expectJson(await call(`${path}/subscriptions/orders`, { token }), 200);
    // The attempt counts from its beginning, its result follows.
    await expect.poll(async () => (await one()).verification.lastError, { timeout: 5_000 }).toBe("no_challenge");
    expect(await one()).toMatchObject({ state: "unverified", verification: { attempts: 1 } });
    expect((await requestsTo(first)).map(isPing)).toEqual([true]);
    const { ids } = await expectJson(await call(`${path}/publish`, { token, json: { payload: "x" } }), 201);
    for (const below of ["test", `deliveries/${ids[0]}/redeliver`]) {
      const refused = await call(`${path}/subscriptions/orders/${below}`, { token, method: "POST" });
      expect((await expectJson(refused, 409)).details[0].type).toBe("subscription_unverified");
    }
    // An update without the field keeps the handshake.
    const update = bodyWith({ endpoint: second });
    await expectJson(await call(`${path}/subscriptions/orders`, { token, method: "PUT", json: update }), 200);
    await expect.poll(async () => (await one()).state, { timeout: 5_000 }).toBe("active");
    const got: { body: string }[] = [];
    await expect.poll(async () => got.push(...(await requestsTo(second))), { timeout: 5_000 }).toBe(2);
    expect(got.map(isPing)).toEqual([true, false]);
    expect(JSON.parse(got[1]!.body).id).toBe(ids[0]);
    expect(await requestsTo(first)).toEqual([]);
    const same = await call(`${path}/subscriptions/orders`, { token, method: "PUT", json: update });
    expect(await expectJson(same, 200)).toMatchObject({ state: "active", pushConfig: { handshake: true } });
    const without = bodyWith({ endpoint: first, handshake: false });
    const off = await expectJson(
      await call(`${path}/subscriptions/orders`, { token, method: "PUT", json: without }),
      200,
    );
    expect(off.state).toBe("active");
    expect(off.pushConfig).not.toHaveProperty("handshake");
    // The answer is about the subscription as it is after the update.
    const on = bodyWith({ endpoint: second, handshake: true });
    const again = await call(`${path}/subscriptions/orders`, { token, method: "PUT", json: on });
    expect(await expectJson(again, 200)).toMatchObject({ state: "unverified", verification: expect.any(Object) });
  });
});
