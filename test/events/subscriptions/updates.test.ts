import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createTopicStore } from "../../../src/events/access/topic-store.ts";
import { pushObjectName } from "../../../src/events/model/topic.ts";
import { openCredentials } from "../../../src/events/push/record/credentials.ts";
import { PUSH_SQL } from "../../../src/events/push/record/record-store.ts";
import { ORIGIN } from "../support/events-app.ts";
import { expectProblem, faults } from "../support/problem.ts";
import { faultyDatabase } from "../support/faulty-database.ts";
import { playedApp, playedObjects } from "../support/push/played-objects.ts";
import { recordsOf } from "../support/push/push-records.ts";
import { pushStore } from "../support/push/push-store.ts";
import { body, bodyWith, PASSWORD } from "../support/push/subscription-body.ts";
import { subscriptionsOf, topicWithSubscriptions } from "../support/push/subscriptions-of.ts";
import { CONSUMES, registeredClient } from "../support/registered-client.ts";
import { sealer } from "../../support/sealer.ts";
import { DAY_MS } from "../../../src/platform/runtime/clock.ts";

const objects = playedObjects();
const app = playedApp(objects);
afterEach(() => void vi.restoreAllMocks());

/** A topic with one subscription. */
async function setUp(on = app) {
  const own = await topicWithSubscriptions(on);
  const made = await (await own.create()).json<any>();
  const stored = async () => (await recordsOf(own.record))[0]!;
  return { ...own, made, stored, opened: async () => openCredentials(sealer, await stored()) };
}

describe("PUT …/subscriptions/{name}", () => {
  describe("200", () => {
    // shows: events/endpoints/put-subscriptions-name
    // shows: events/push-subscriptions/put
    // shows: events/push-subscriptions/signingsecret
    it("changes endpoint, username and password, and nothing else; the signing secret is not shown again", async () => {
      const { put, get, made, stored, opened, record } = await setUp();
      const before = await stored();
      await scheduler.wait(2);
      objects.calls.length = 0;
      const response = await put(
        bodyWith({ endpoint: "https://new.example/?a=b" }, { username: "n", password: "new" }),
      );
      expect(response.status).toBe(200);
      const view = await response.json<any>();
      expect(view).toEqual({
        name: "orders",
        pushConfig: { endpoint: "https://new.example/?a=b", basicAuth: { username: "n", password: "********" } },
        state: "active",
        halt: null,
        createdAt: made.createdAt,
        updatedAt: expect.any(Number),
        lag: 1,
        pausedUntil: null,
        deadLetters: 2,
        eventsLost: 3,
      });
      expect(view.updatedAt).toBeGreaterThan(made.updatedAt);
      expect(await (await get()).json()).toEqual(view);
      expect(await opened()).toEqual({ password: "new", signingSecret: made.signingSecret });
      const after = await stored();
      expect(after).toMatchObject({ id: before.id, version: before.version + 1, client: before.client });
      const name = pushObjectName(record, before.id);
      expect(objects.calls.slice(0, 2).map(({ object, method }) => [object, method])).toEqual([
        [name, "changed"],
        [name, "status"],
      ]);
    });

    it("answers after its object knows the change", async () => {
      const order: string[] = [];
      const changed = () => scheduler.wait(50).then(() => order.push("changed"));
      const { put } = await setUp(playedApp(playedObjects({ changed, status: () => ({ lag: order.push("status") }) })));
      await put(body());
      expect(order).toEqual(["changed", "status"]);
    });

    // shows: events/push-subscriptions/put
    it("leaves the password when its placeholder comes back; an empty one is a password", async () => {
      const { put, get, opened, made } = await setUp();
      const { name: _, ...shown } = await (await get()).json<any>();
      expect((await put(shown)).status).toBe(200);
      expect(await opened()).toEqual({ password: PASSWORD, signingSecret: made.signingSecret });
      const elsewhere = bodyWith({ endpoint: "https://shop.example:443/other?path=1" }, { password: "********" });
      expect((await put(elsewhere)).status).toBe(200);
      expect((await opened()).password).toBe(PASSWORD);
      expect((await put(bodyWith({}, { password: "" }))).status).toBe(200);
      expect((await opened()).password).toBe("");
    });

    it("keeps a password that was the placeholder's text from the start", async () => {
      const { create, put, record } = await setUp();
      const starred = { ...bodyWith({}, { password: "********" }), name: "starred" };
      await create(starred);
      expect((await put(starred, "starred")).status).toBe(200);
      const stored = (await recordsOf(record)).find(({ name }) => name === "starred");
      expect((await openCredentials(sealer, stored!)).password).toBe("********");
    });

    // shows: events/what-the-service-does/topics-and-subscriptions-stay
    // shows: events/push-subscriptions/put
    it("accepts a body with the name, without it, and on the deprecated base", async () => {
      const { put, send, collection } = await setUp();
      expect((await put(body())).status).toBe(200);
      expect((await put(body({ name: undefined }))).status).toBe(200);
      const old = `${collection.replace("/pubsub/", "/events/")}/orders`;
      const response = await send(old, { method: "PUT", json: body() });
      expect(response.status).toBe(200);
      expect(response.headers.get("link")).toBe(`<${ORIGIN}${collection}/orders>; rel="successor-version"`);
    });

    it("enables one that its endpoint disabled", async () => {
      const { put, get, stored } = await setUp();
      await pushStore.disable((await stored()).id, 1, Date.now());
      expect(await (await get()).json()).toMatchObject({ state: "disabled" });
      expect(await (await put(body())).json()).toMatchObject({ state: "active" });
      expect(await stored()).toMatchObject({ state: "active", version: 3 });
    });
  });

  describe("answers 400", () => {
    // shows: events/endpoints/put-subscriptions-name
    it.each<[string, object, string[]]>([
      ["another name", body({ name: "other" }), ["invalid_field name"]],
      ["the name in other letters", body({ name: "Orders" }), ["invalid_field name"]],
      ["name null", body({ name: null }), ["invalid_field name"]],
      ["name of wrong characters", body({ name: "or ders" }), ["invalid_field name"]],
      ["nothing", {}, ["missing_field pushConfig"]],
      ["no endpoint", bodyWith({ endpoint: undefined }), ["missing_field pushConfig.endpoint"]],
      ["a private endpoint", bodyWith({ endpoint: "https://192.168.1.1/" }), ["invalid_field pushConfig.endpoint"]],
      ["no password", bodyWith({}, { password: undefined }), ["missing_field pushConfig.basicAuth.password"]],
      ["username null", bodyWith({}, { username: null }), ["invalid_field pushConfig.basicAuth.username"]],
      ...["https://evil.example/events", "https://shop.example:8443/events", "https://shop.example./events"].map(
        (endpoint): [string, object, string[]] => [
          `the placeholder for another origin, ${endpoint}`,
          bodyWith({ endpoint }, { password: "********" }),
          ["missing_field pushConfig.basicAuth.password"],
        ],
      ),
    ])("refuses %s and changes nothing", async (_, json, expected) => {
      const { put, stored } = await setUp();
      const before = await stored();
      expect(faults(await expectProblem(await put(json), 400, "validation_violation"))).toEqual(expected);
      expect(await stored()).toEqual(before);
    });
  });

  describe("answers 404", () => {
    it("does not tell an unknown name from another client's, whose subscription stays unchanged", async () => {
      const { topic, put, stored } = await setUp();
      const other = subscriptionsOf(app, topic, await registeredClient({ scopes: CONSUMES }));
      const before = await stored();
      const answers = await Promise.all(
        [await other.put(body()), await put(body({ name: undefined }), "nothing")].map((response) =>
          expectProblem(response, 404, "element_resource_non_existing"),
        ),
      );
      expect(answers[0]).toEqual(answers[1]);
      expect(await stored()).toEqual(before);
    });

    it("refuses a topic that is being deleted", async () => {
      const { put, record } = await setUp();
      await createTopicStore(env.DB).markDeleting(record);
      await expectProblem(await put(body()), 404, "element_resource_non_existing");
    });
  });

  describe("races", () => {
    it("applies each of many updates, one after the other", async () => {
      const { put, stored, opened } = await setUp();
      const answers = await Promise.all(
        Array.from({ length: 6 }, (_, at) =>
          put(bodyWith({ endpoint: `https://e${at}.example/` }, { username: `u${at}`, password: `p${at}` })),
        ),
      );
      expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(200));
      const last = await stored();
      expect(last.version).toBe(7);
      // Nothing of one update is mixed with another's.
      const at = last.username.slice(1);
      expect(last.endpoint).toBe(`https://e${at}.example/`);
      expect((await opened()).password).toBe(`p${at}`);
    });

    it("never sends a kept password to an origin that another update set meanwhile", async () => {
      let between = async (): Promise<unknown> => undefined;
      const slow = playedApp(objects, { DB: faultyDatabase(PUSH_SQL.update, { run: () => between() }) });
      const { topic, put, opened } = await setUp(slow);
      between = () =>
        subscriptionsOf(app, topic).put(bodyWith({ endpoint: "https://between.example/" }, { password: "between" }));
      const problem = await expectProblem(
        await put(bodyWith({}, { password: "********" })),
        400,
        "validation_violation",
      );
      expect(faults(problem)).toEqual(["missing_field pushConfig.basicAuth.password"]);
      expect((await opened()).password).toBe("between");
    });

    it("keeps a password that another update set meanwhile", async () => {
      let between = async (): Promise<unknown> => undefined;
      const slow = playedApp(objects, { DB: faultyDatabase(PUSH_SQL.update, { run: () => between() }) });
      const { topic, put, opened, stored, made } = await setUp(slow);
      between = () => subscriptionsOf(app, topic).put(bodyWith({}, { password: "between" }));
      const left = bodyWith({ endpoint: "https://shop.example/later" }, { password: "********" });
      expect(await (await put(left)).json()).toMatchObject({ pushConfig: { endpoint: "https://shop.example/later" } });
      expect(await opened()).toEqual({ password: "between", signingSecret: made.signingSecret });
      expect(await stored()).toMatchObject({ endpoint: "https://shop.example/later", version: 3 });
    });

    it("enables a subscription that its endpoint disables meanwhile", async () => {
      let id = "";
      const run = () => pushStore.disable(id, 1, Date.now());
      const slow = playedApp(objects, { DB: faultyDatabase(PUSH_SQL.update, { run }) });
      const { put, stored } = await setUp(slow);
      ({ id } = await stored());
      expect(await (await put(body())).json()).toMatchObject({ state: "active" });
      expect(await stored()).toMatchObject({ state: "active", version: 3 });
    });

    it("answers 404 for a subscription deleted meanwhile, and does not touch a new one of the same name", async () => {
      let between = async (): Promise<unknown> => undefined;
      const slow = playedApp(objects, { DB: faultyDatabase(PUSH_SQL.update, { run: () => between() }) });
      const { topic, put, stored } = await setUp(slow);
      const beside = subscriptionsOf(app, topic);
      between = async () => {
        await beside.remove();
        await beside.create(bodyWith({ endpoint: "https://new.example/" }));
      };
      await expectProblem(await put(body()), 404, "element_resource_non_existing");
      expect(await stored()).toMatchObject({ endpoint: "https://new.example/", version: 1 });
    });

    it("answers 503 after it lost ten times", async () => {
      let id = "";
      const bump = () =>
        env.DB.prepare(`UPDATE push_subscription SET version = version + 1 WHERE id = ?`).bind(id).run();
      const slow = playedApp(objects, { DB: faultyDatabase(PUSH_SQL.update, { run: bump, times: 100 }) });
      const { put, stored } = await setUp(slow);
      ({ id } = await stored());
      const response = await put(body());
      expect(response.headers.get("retry-after")).toMatch(/^[12]$/);
      await expectProblem(response, 503, "service_temporarily_unavailable");
      expect((await stored()).version).toBe(11);
    });
  });

  describe("when something fails", () => {
    it.each(["before", "after"] as const)("D1 fails %s it wrote: 503, and a repeat does it", async (fails) => {
      vi.spyOn(console, "error").mockReturnValue();
      const faulty = playedApp(objects, { DB: faultyDatabase(PUSH_SQL.update, { fails }) });
      const { put, opened, stored } = await setUp(faulty);
      await expectProblem(await put(bodyWith({}, { password: "new" })), 503, "service_temporarily_unavailable");
      expect((await stored()).version).toBe(fails === "after" ? 2 : 1);
      expect((await put(bodyWith({}, { password: "new" }))).status).toBe(200);
      expect((await opened()).password).toBe("new");
    });

    it("answers 200 and logs a warning if the object cannot be told", async () => {
      const errors = vi.spyOn(console, "error").mockReturnValue();
      const changed = () => Promise.reject(new Error("out of reach"));
      const { put } = await setUp(playedApp(playedObjects({ changed })));
      expect(await (await put(body())).json()).toMatchObject({ lag: 1 });
      expect(errors.mock.calls.join()).toContain("work after the answer failed");
    });

    it("answers 200 if the object does not answer for 5 s", async () => {
      const told = Promise.withResolvers<void>();
      const played = playedObjects({ changed: () => told.promise });
      const { put } = await setUp(playedApp(played));
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
      try {
        const response = put(body());
        for (let waitedMs = 0; waitedMs <= 5_000; waitedMs += 500) {
          await scheduler.wait(5);
          await vi.advanceTimersByTimeAsync(500);
        }
        // It continued with the next call. The test's own call also waits for work after the response.
        expect(played.calls.map(({ method }) => method)).toEqual(["open", "changed", "status"]);
        told.resolve();
        expect((await response).status).toBe(200);
      } finally {
        vi.useRealTimers();
      }
    });
  });
});

describe("POST …/subscriptions/{name}/signing-secret", () => {
  // shows: events/push-subscriptions/post-signing-secret
  it("shows another secret once, and keeps the last one for a day; password, endpoint and state stay", async () => {
    const { rotate, get, stored, opened, made } = await setUp();
    const disabled = await stored();
    await pushStore.disable(disabled.id, disabled.version, Date.now());
    const beforeMs = Date.now();
    const response = await rotate();
    expect([response.status, response.headers.get("cache-control")]).toEqual([200, "no-store"]);
    const { signingSecret, previousValidUntil } = await response.json<any>();
    expect(signingSecret).toMatch(/^whsec_[A-Za-z0-9+/]{32}$/);
    expect(signingSecret).not.toBe(made.signingSecret);
    expect(previousValidUntil).toBeGreaterThanOrEqual(beforeMs + DAY_MS);
    const previous = [{ signingSecret: made.signingSecret, untilMs: previousValidUntil }];
    expect(await opened()).toEqual({ password: PASSWORD, signingSecret, previous });
    expect(await (await get()).text()).not.toContain("whsec_");
    expect((await stored()).state).toBe("disabled");
  });

  it("keeps the secrets of earlier rotations for their time, and none after a leak", async () => {
    const { rotate, opened, made } = await setUp();
    const given = [made.signingSecret];
    for (const previousValidMs of [1, 60_000, 60_000]) {
      given.push((await (await rotate({ previousValidMs })).json<any>()).signingSecret);
      await scheduler.wait(5);
    }
    const { signingSecret, previous } = await opened();
    expect([signingSecret, ...previous!.map((one) => one.signingSecret)]).toEqual(given.slice(1).toReversed());
    expect(await (await rotate({ previousValidMs: 0 })).json()).toMatchObject({ previousValidUntil: null });
    expect((await opened()).previous).toEqual([]);
  });

  it("keeps a password that is changed at the same time", async () => {
    const { rotate, put, opened } = await setUp();
    const [rotated] = await Promise.all([rotate(), put(bodyWith({}, { password: "meanwhile" }))]);
    expect(await opened()).toMatchObject({
      password: "meanwhile",
      signingSecret: (await rotated.json<any>()).signingSecret,
    });
  });

  it("answers 400 for more than seven days, and 404 for a subscription of others or none", async () => {
    const { rotate, send, collection } = await setUp();
    for (const previousValidMs of [-1, 7 * DAY_MS + 1, 1.5, "1"])
      expect((await rotate({ previousValidMs })).status).toBe(400);
    expect((await send(`${collection}/nobody/signing-secret`, { method: "POST" })).status).toBe(404);
  });
});
