import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createTopicStore } from "../../../src/events/access/topic-store.ts";
import { pushObjectName } from "../../../src/events/model/topic.ts";
import { openCredentials } from "../../../src/events/push/record/credentials.ts";
import { PUSH_SQL } from "../../../src/events/push/record/record-store.ts";
import { counting } from "../../support/counting.ts";
import { eventsApp, ORIGIN } from "../support/events-app.ts";
import { expectProblem, faults } from "../support/problem.ts";
import { someClient } from "../support/some-client.ts";
import { makeTopic } from "../support/test-topic.ts";
import { faultyDatabase } from "../support/faulty-database.ts";
import { playedApp, playedObjects } from "../support/push/played-objects.ts";
import { fill, objectNamesOf, recordsOf } from "../support/push/push-records.ts";
import { pushStore } from "../support/push/push-store.ts";
import { body, bodyWith, PASSWORD } from "../support/push/subscription-body.ts";
import { subscriptionsOf, topicWithSubscriptions } from "../support/push/subscriptions-of.ts";
import { CONSUMES, registeredClient } from "../support/registered-client.ts";
import { sealer } from "../../support/sealer.ts";
import { runs } from "../../support/model-runs.ts";
import { anyText, webAddress } from "../../support/any-text.ts";

const objects = playedObjects();
const app = playedApp(objects);
afterEach(() => void vi.restoreAllMocks());

const setUp = (on = app) => topicWithSubscriptions(on);

describe("POST …/subscriptions", () => {
  describe("201", () => {
    // shows: events/subscription/pushconfig.basicauth.password
    // shows: events/endpoints/post-subscriptions
    // shows: events/endpoints/get-subscriptions-name
    // shows: events/push-subscriptions/password
    // shows: events/push-subscriptions/signingsecret
    it("returns its address and, this once, its signing secret", async () => {
      const { create, collection, get, send, record } = await setUp();
      const before = Date.now();
      const response = await create();
      expect(response.status).toBe(201);
      expect(response.headers.get("location")).toBe(`${ORIGIN}${collection}/orders`);
      expect(response.headers.get("cache-control")).toBe("no-store");
      const made = await response.json<any>();
      expect(made).toEqual({
        name: "orders",
        pushConfig: { endpoint: "https://shop.example/events", basicAuth: { username: "shop", password: "********" } },
        state: "active",
        halt: null,
        createdAt: expect.any(Number),
        updatedAt: made.createdAt,
        signingSecret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{32}$/),
      });
      expect(made.createdAt).toBeGreaterThanOrEqual(before);
      const { signingSecret, ...view } = made;
      const shown = await send(response.headers.get("location")!);
      expect(await shown.json()).toEqual({ ...view, lag: 1, deadLetters: 2, eventsLost: 3, pausedUntil: null });
      expect((await get()).status).toBe(200);
      const [stored] = await recordsOf(record);
      expect(await openCredentials(sealer, stored!)).toEqual({ password: PASSWORD, signingSecret });
    });

    it("opens the object before the record exists, with the topic's current state", async () => {
      const seen: unknown[] = [];
      const played = playedObjects({
        open: async (object, opening) => {
          seen.push(object, opening, (await recordsOf(opening.topic)).length);
          return { kind: "open" };
        },
      });
      const { create, record } = await setUp(playedApp(played));
      expect((await create()).status).toBe(201);
      const [stored] = await recordsOf(record);
      const { owner, eventType, incarnation, shards } = record;
      const topic = { owner, eventType, incarnation, shards };
      expect(seen).toEqual([pushObjectName(record, stored!.id), { id: stored!.id, topic }, 0]);
      expect(stored).toMatchObject({
        topic: `${owner}.${eventType}`,
        incarnation,
        client: owner,
        asOwner: true,
        sealKey: "t1",
        state: "active",
        version: 1,
      });
    });

    it("accepts every client that may consume the topic; each client has its own names", async () => {
      const { topic, record, create } = await setUp();
      const other = await registeredClient({ scopes: CONSUMES });
      expect((await create()).status).toBe(201);
      expect((await subscriptionsOf(app, topic, other).create()).status).toBe(201);
      expect((await recordsOf(record)).map(({ client, asOwner }) => [client, asOwner])).toEqual(
        expect.arrayContaining([
          [topic.owner.clientId, true],
          [other.clientId, false],
        ]),
      );
    });

    // shows: events/what-the-service-does/the-same-under-pubsub
    // shows: events/what-the-service-does/topics-and-subscriptions-stay
    it("works on both bases, which show the same; /events is marked as deprecated", async () => {
      const { topic, collection } = await setUp();
      const old = collection.replace("/pubsub/", "/events/");
      const response = await app.call(old, { as: topic.owner, json: body() });
      expect(response.status).toBe(201);
      expect(response.headers.get("location")).toBe(`${ORIGIN}${old}/orders`);
      expect(response.headers.get("deprecation")).toBe("@1735689600");
      expect(response.headers.get("link")).toBe(`<${ORIGIN}${collection}>; rel="successor-version"`);
      const [one, two] = await Promise.all(
        [`${old}/orders`, `${collection}/orders`].map((path) => app.call(path, { as: topic.owner })),
      );
      expect(await one!.json()).toEqual(await two!.json());
      expect([one!.headers.has("deprecation"), two!.headers.has("deprecation")]).toEqual([true, false]);
      const listed = await app.call(old, { as: topic.owner });
      expect(await listed.json()).toEqual([{ name: "orders", href: `${ORIGIN}${old}/orders` }]);
    });

    // shows: events/subscription/pushconfig.basicauth.password
    it.each(["", "********", "\u0000\n", "pä:ss🙂", "x".repeat(1024), '"}{\\', "\ufeff"])(
      "a password of any characters is kept as it is: %j",
      async (password) => {
        const { create, record } = await setUp();
        expect((await create(bodyWith({}, { password }))).status).toBe(201);
        const [stored] = await recordsOf(record);
        expect((await openCredentials(sealer, stored!)).password).toBe(password);
      },
    );

    // shows: events/subscription/name
    // shows: events/subscription/pushconfig.endpoint
    // shows: events/limits/subscription-name
    // shows: events/limits/push-endpoint
    // shows: platform/errors-of-every-service/unknown-fields-and-parameters
    it("accepts fields of the maximum length and ignores unknown ones, whatever their names", async () => {
      const { send, collection } = await setUp();
      const name = "n".repeat(256);
      const endpoint = `https://shop.example/${"p".repeat(512 - 21)}`;
      const username = "u".repeat(256);
      const odd = `"__proto__":{"name":7},"constructor":{},"state":"disabled","createdAt":7,"signingSecret":"mine","id":"x"`;
      const basicAuth = `{"username":"${username}","password":"p","__proto__":{"password":7},"realm":"r"}`;
      const response = await send(collection, {
        body: `{"name":"${name}","pushConfig":{"endpoint":"${endpoint}","basicAuth":${basicAuth},"retries":9},${odd}}`,
        headers: { "content-type": "application/json" },
      });
      expect(response.status).toBe(201);
      const made = await response.json<any>();
      const pushConfig = { endpoint, basicAuth: { username, password: "********" } };
      expect(made).toEqual({
        name,
        pushConfig,
        state: "active",
        halt: null,
        createdAt: made.updatedAt,
        updatedAt: expect.any(Number),
        signingSecret: expect.stringMatching(/^whsec_/),
      });
      expect(made.createdAt).toBeGreaterThan(7);
      expect((await send(`${collection}/${name}`)).status).toBe(200);
    });
  });

  describe("answers 400", () => {
    const MISSING = ["missing_field name", "missing_field pushConfig"];
    const withName = (name: unknown) => body({ name });
    const withEndpoint = (endpoint: unknown) => bodyWith({ endpoint });
    const withAuth = (auth: Record<string, unknown>) => bodyWith({}, auth);
    const NAME = ["invalid_field name"];
    const ENDPOINT = ["invalid_field pushConfig.endpoint"];
    const AUTH = "pushConfig.basicAuth";
    // shows: events/subscription/name
    // shows: events/subscription/pushconfig
    // shows: events/subscription/pushconfig.endpoint
    // shows: events/subscription/pushconfig.basicauth
    // shows: events/subscription/pushconfig.basicauth.username
    // shows: events/error-object/details-.type
    // shows: events/error-object/details-.field
    // shows: events/error-object/details-.message
    // shows: events/limits/subscription-name
    // shows: events/limits/push-endpoint
    // shows: platform/errors-of-every-service/400-validation_violation
    // shows: platform/errors-of-every-service/details-missing_field-invalid_field
    it.each<[string, unknown, string[]]>([
      ["an empty object", {}, MISSING],
      ["an array", [], ["invalid_field"]],
      ["a number", 7, ["invalid_field"]],
      ["null", null, ["invalid_field"]],
      ["no name", body({ name: undefined }), ["missing_field name"]],
      ["name null", withName(null), NAME],
      ["name a number", withName(7), NAME],
      ["name an array", withName(["orders"]), NAME],
      ["name empty", withName(""), NAME],
      ["name too short", withName("ab"), NAME],
      ["name too long", withName("n".repeat(257)), NAME],
      ["name with a space", withName("my orders"), NAME],
      ["name with a dot", withName("my.orders"), NAME],
      ["name with a slash", withName("my/orders"), NAME],
      ["name with a line break at its end", withName("orders\n"), NAME],
      ["name with letters of another script", withName("bestellung-ö"), NAME],
      ["name with full-width digits", withName("orders１２"), NAME],
      ["name with NUL", withName("ord\u0000ers"), NAME],
      ["name with half of a pair", withName("orders\ud83d"), NAME],
      ["no pushConfig", body({ pushConfig: undefined }), ["missing_field pushConfig"]],
      ["pushConfig null", body({ pushConfig: null }), ["invalid_field pushConfig"]],
      ["pushConfig a text", body({ pushConfig: "https://a.example" }), ["invalid_field pushConfig"]],
      ["pushConfig an array", body({ pushConfig: [] }), ["invalid_field pushConfig"]],
      [
        "pushConfig empty",
        body({ pushConfig: {} }),
        ["missing_field pushConfig.endpoint", "missing_field pushConfig.basicAuth"],
      ],
      ["no endpoint", withEndpoint(undefined), ["missing_field pushConfig.endpoint"]],
      ["endpoint null", withEndpoint(null), ENDPOINT],
      ["endpoint a number", withEndpoint(7), ENDPOINT],
      ["endpoint an object", withEndpoint({ href: "https://a.example" }), ENDPOINT],
      ["endpoint empty", withEndpoint(""), ENDPOINT],
      ["endpoint of plain http", withEndpoint("http://shop.example/"), ENDPOINT],
      ["endpoint relative", withEndpoint("//shop.example/"), ENDPOINT],
      ["endpoint with a user", withEndpoint("https://a:b@shop.example/"), ENDPOINT],
      ["endpoint with a fragment", withEndpoint("https://shop.example/#x"), ENDPOINT],
      ["endpoint on a private address", withEndpoint("https://10.0.0.1/"), ENDPOINT],
      ["endpoint on this machine", withEndpoint("https://localhost/"), ENDPOINT],
      ["endpoint of metadata", withEndpoint("https://169.254.169.254/latest"), ENDPOINT],
      ["endpoint with a line break", withEndpoint("https://shop.example/\r\nx: y"), ENDPOINT],
      ["endpoint too long", withEndpoint(`https://shop.example/${"p".repeat(512)}`), ENDPOINT],
      ["endpoint too long and wrong", withEndpoint("x".repeat(513)), ENDPOINT],
      ["no basicAuth", bodyWith({ basicAuth: undefined }), [`missing_field ${AUTH}`]],
      ["basicAuth null", bodyWith({ basicAuth: null }), [`invalid_field ${AUTH}`]],
      ["basicAuth a text", bodyWith({ basicAuth: "shop:secret" }), [`invalid_field ${AUTH}`]],
      ["basicAuth an array", bodyWith({ basicAuth: ["shop", "x"] }), [`invalid_field ${AUTH}`]],
      [
        "basicAuth empty",
        bodyWith({ basicAuth: {} }),
        [`missing_field ${AUTH}.username`, `missing_field ${AUTH}.password`],
      ],
      ["no username", withAuth({ username: undefined }), [`missing_field ${AUTH}.username`]],
      ["username null", withAuth({ username: null }), [`invalid_field ${AUTH}.username`]],
      ["username empty", withAuth({ username: "" }), [`invalid_field ${AUTH}.username`]],
      ["username with a colon", withAuth({ username: "a:b" }), [`invalid_field ${AUTH}.username`]],
      ["username with a space", withAuth({ username: "a b" }), [`invalid_field ${AUTH}.username`]],
      ["username with a line break", withAuth({ username: "ab\n" }), [`invalid_field ${AUTH}.username`]],
      ["username too long", withAuth({ username: "u".repeat(257) }), [`invalid_field ${AUTH}.username`]],
      ["no password", withAuth({ password: undefined }), [`missing_field ${AUTH}.password`]],
      ["password null", withAuth({ password: null }), [`invalid_field ${AUTH}.password`]],
      ["password a number", withAuth({ password: 7 }), [`invalid_field ${AUTH}.password`]],
      ["password an array", withAuth({ password: ["p"] }), [`invalid_field ${AUTH}.password`]],
      ["password too long", withAuth({ password: "x".repeat(1025) }), [`invalid_field ${AUTH}.password`]],
      ["password with half of a pair", withAuth({ password: "\ud83d" }), [`invalid_field ${AUTH}.password`]],
      [
        "several at once",
        body({ name: "a", pushConfig: { endpoint: "x", basicAuth: { username: "", password: 1 } } }),
        ["name", "pushConfig.endpoint", `${AUTH}.username`, `${AUTH}.password`].map((at) => `invalid_field ${at}`),
      ],
    ])("refuses %s", async (_, json, expected) => {
      const as = someClient({ scopes: CONSUMES });
      const response = await app.call("/pubsub/v1/topics/acme.shop/orders/subscriptions", { as, json });
      expect(faults(await expectProblem(response, 400, "validation_violation"))).toEqual(expected);
    });

    it("says in words what form a name has", async () => {
      const as = someClient({ scopes: CONSUMES });
      const json = body({
        name: "ab",
        pushConfig: { endpoint: "https://shop.example/", basicAuth: { username: "a:b", password: "x" } },
      });
      const response = await app.call("/pubsub/v1/topics/acme.shop/orders/subscriptions", { as, json });
      const { message } = await expectProblem(response, 400, "validation_violation");
      expect(message).toBe(
        "name must be 3 to 256 letters, digits, dashes and underscores. " +
          "pushConfig.basicAuth.username must be 1 to 256 letters, digits, dots, dashes and underscores.",
      );
    });

    it("refuses a body whose __proto__ has the missing fields", async () => {
      const text = `{"name":"orders","__proto__":${JSON.stringify({ pushConfig: body().pushConfig })}}`;
      const response = await app.call("/pubsub/v1/topics/acme.shop/orders/subscriptions", {
        as: someClient({ scopes: CONSUMES }),
        body: text,
        headers: { "content-type": "application/json" },
      });
      expect(faults(await expectProblem(response, 400, "validation_violation"))).toEqual(["missing_field pushConfig"]);
    });

    // shows: events/errors/400
    it("refuses a body that is missing or not JSON; one that is too large is 413", async () => {
      const { send, collection } = await setUp();
      const headers = { "content-type": "application/json" };
      await expectProblem(await send(collection, { body: "{", headers }), 400, "bad_payload_syntax");
      await expectProblem(await send(collection, { method: "POST" }), 400, "bad_payload_syntax");
      const large = bodyWith({}, { password: "x".repeat(70_000) });
      await expectProblem(await send(collection, { json: large }), 413, "bad_payload_size");
    });
  });

  it("answers 401 without a token", async () => {
    const { collection } = await setUp();
    await expectProblem(await app.call(collection, { json: body() }), 401, "insufficient_credentials");
  });

  describe("answers 403", () => {
    // shows: events/authentication/scopes-insufficient
    it("refuses a token without the topic's scope if the client is registered for it", async () => {
      const { topic } = await setUp();
      const other = await registeredClient({ scopes: [] });
      app.registered.add(`${other.clientId} plat.pubsub.topic=${topic.path.split("/").slice(-2).join(".")}`);
      const problem = await expectProblem(
        await subscriptionsOf(app, topic, other).create(),
        403,
        "insufficient_permissions",
      );
      expect(problem.message).toContain("plat.pubsub.topic=");
    });

    it("refuses a token without a client, or of a client removed a moment ago, and leaves nothing behind", async () => {
      const { topic, record } = await setUp();
      const nobody = someClient({ clientId: "", clientName: "", user: "ada@demo.example", scopes: CONSUMES });
      const removed = someClient({ scopes: CONSUMES });
      for (const as of [nobody, removed])
        await expectProblem(await subscriptionsOf(app, topic, as).create(), 403, "insufficient_permissions");
      expect(await recordsOf(record)).toEqual([]);
    });
  });

  describe("answers 404", () => {
    // shows: events/errors/404
    it("does not tell a missing topic from one that the caller may not use", async () => {
      const { topic, record } = await setUp();
      const stranger = await registeredClient({ scopes: [] });
      const there = await subscriptionsOf(app, topic, stranger).create();
      const absent = await subscriptionsOf(app, { ...topic, path: `${topic.path}x` }, stranger).create();
      const owners = await subscriptionsOf(app, { ...topic, path: `${topic.path}x` }).create();
      const answers = await Promise.all(
        [there, absent, owners].map((response) => expectProblem(response, 404, "element_resource_non_existing")),
      );
      expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
      expect(await recordsOf(record)).toEqual([]);
    });
  });

  describe("answers 409", () => {
    // shows: events/errors/409-create-subscription-exists
    it("refuses a second subscription of the same name and keeps the first unchanged", async () => {
      const { create, record, get } = await setUp();
      await create();
      const before = await (await get()).json();
      const opened = objects.asked("open").length;
      const again = await create(bodyWith({ endpoint: "https://other.example/" }));
      expect(faults(await expectProblem(again, 409, "conflict_resource"))).toEqual(["subscription_exists name"]);
      expect(await (await get()).json()).toEqual(before);
      expect(await recordsOf(record)).toHaveLength(1);
      expect(objects.asked("open")).toHaveLength(opened);
    });

    // shows: events/lock-on-a-topic/deletion-in-progress
    // shows: events/errors/409-create-topic-being-deleted
    // shows: events/publish-subscribe-operations/a-topic-that-is-deleting
    it("refuses a topic that is being deleted, also in an isolate that knows it as active", async () => {
      const { create, record, list, get } = await setUp();
      await create();
      await createTopicStore(env.DB).markDeleting(record);
      const problem = await expectProblem(await create(body({ name: "other" })), 409, "conflict_resource");
      expect(faults(problem)).toEqual(["topic_deletion_in_progress eventType"]);
      await expectProblem(await list(), 404, "element_resource_non_existing");
      await expectProblem(await get(), 404, "element_resource_non_existing");
    });

    it("refuses the client's 101st subscription of a topic, and the topic's 1001st", async () => {
      const { topic, record, create, list } = await setUp();
      await fill(record, topic.owner.clientId, 99);
      expect((await create()).status).toBe(201);
      const opened = objects.asked("open").length;
      const full = await expectProblem(await create(body({ name: "one-more" })), 409, "conflict_resource");
      expect(faults(full)).toEqual(["too_many_subscriptions"]);
      expect((await list().then((response) => response.json<any[]>())).length).toBe(100);
      const other = await registeredClient({ scopes: CONSUMES });
      for (let client = 0; client < 9; client++) await fill(record, `filler${client}`, client === 0 ? 99 : 100);
      expect((await subscriptionsOf(app, topic, other).create()).status).toBe(201);
      const last = await subscriptionsOf(app, topic, other).create(body({ name: "one-more" }));
      expect(faults(await expectProblem(last, 409, "conflict_resource"))).toEqual(["too_many_subscriptions"]);
      expect(objects.asked("open")).toHaveLength(opened + 1);
    });
  });

  describe("races", () => {
    it("lets one of many creations of a name win and removes the others' objects", async () => {
      const played = playedObjects({ open: () => scheduler.wait(20).then(() => ({ kind: "open" })) });
      const racing = playedApp(played);
      const { create, record, list } = await setUp(racing);
      const answers = await Promise.all(Array.from({ length: 10 }, () => create()));
      expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, ...Array(9).fill(409)]);
      const removed = new Set(played.asked("destroy"));
      const left = played.asked("open").filter((name) => !removed.has(name));
      expect(left).toEqual(await objectNamesOf(record));
      expect(played.asked("open").length).toBeGreaterThan(1);
      expect(await (await list()).json()).toHaveLength(1);
    });

    it("lets no creation pass the limit", async () => {
      const played = playedObjects({ open: () => scheduler.wait(20).then(() => ({ kind: "open" })) });
      const { topic, record, create } = await setUp(playedApp(played));
      await fill(record, topic.owner.clientId, 97);
      const answers = await Promise.all(Array.from({ length: 8 }, (_, at) => create(body({ name: `name${at}` }))));
      expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
        ...Array(3).fill(201),
        ...Array(5).fill(409),
      ]);
      expect(await recordsOf(record)).toHaveLength(100);
      expect(played.asked("destroy")).toHaveLength(5);
    });

    it("answers 409 and removes the object when the topic's deletion starts meanwhile", async () => {
      const topics = createTopicStore(env.DB);
      const played = playedObjects({
        open: async (_, { topic }) => {
          await topics.markDeleting(topic);
          return { kind: "open" };
        },
      });
      const { create, record } = await setUp(playedApp(played));
      const problem = await expectProblem(await create(), 409, "conflict_resource");
      expect(faults(problem)).toEqual(["topic_deletion_in_progress eventType"]);
      expect(played.asked("destroy")).toEqual(played.asked("open"));
      expect(await recordsOf(record)).toEqual([]);
    });

    it.each([
      ["the object says so", { kind: "gone" }],
      ["the record says so", { kind: "open" }],
    ])(
      "creates the subscription on the new topic when it was deleted and created again meanwhile, and %s",
      async (_, first) => {
        let incarnation = "";
        const played = playedObjects({
          open: async (__, { topic }) => {
            if (incarnation !== "") return { kind: "open" };
            incarnation = `${topic.incarnation}x`;
            await env.DB.prepare(`UPDATE topic SET incarnation = ?2 WHERE incarnation = ?1`)
              .bind(topic.incarnation, incarnation)
              .run();
            return first;
          },
        });
        const { create, record, list } = await setUp(playedApp(played));
        expect((await create()).status).toBe(201);
        expect(await recordsOf(record)).toEqual([]);
        const [stored] = await recordsOf({ ...record, incarnation });
        const [old, made] = played.asked("open");
        expect(made).toBe(pushObjectName({ ...record, incarnation }, stored!.id));
        expect(played.asked("destroy")).toEqual(first.kind === "gone" ? [] : [old]);
        expect(await (await list()).json()).toHaveLength(1);
      },
    );

    it("answers 404 when the topic is deleted meanwhile", async () => {
      const played = playedObjects({
        open: async (_, { topic }) => {
          await env.DB.prepare(`DELETE FROM topic WHERE incarnation = ?`).bind(topic.incarnation).run();
          return { kind: "gone" };
        },
      });
      const { create } = await setUp(playedApp(played));
      await expectProblem(await create(), 404, "element_resource_non_existing");
    });

    it("leaves nothing when the client is removed meanwhile", async () => {
      const played = playedObjects({
        open: async () => {
          await env.DB.prepare(`DELETE FROM client WHERE id = ?`).bind(owner.clientId).run();
          return { kind: "open" };
        },
      });
      const { create, record, topic } = await setUp(playedApp(played));
      const { owner } = topic;
      await expectProblem(await create(), 403, "insufficient_permissions");
      expect(played.asked("destroy")).toEqual(played.asked("open"));
      expect(await recordsOf(record)).toEqual([]);
    });
  });

  describe("when something fails", () => {
    const quiet = () => vi.spyOn(console, "error").mockReturnValue();

    it.each(["before", "after"] as const)("D1 fails once %s it inserted: 201, one record", async (fails) => {
      const played = playedObjects();
      const faulty = playedApp(played, { DB: faultyDatabase(PUSH_SQL.insert, { fails }) });
      const { create, record, get } = await setUp(faulty);
      const made = await (await create()).json<any>();
      const [stored, ...more] = await recordsOf(record);
      expect(more).toEqual([]);
      expect((await openCredentials(sealer, stored!)).signingSecret).toBe(made.signingSecret);
      expect(played.asked("destroy")).toEqual([]);
      expect((await get()).status).toBe(200);
    });

    it.each(["before", "after"] as const)("D1 fails twice %s it inserted: 503", async (fails) => {
      quiet();
      const played = playedObjects();
      const faulty = playedApp(played, { DB: faultyDatabase(PUSH_SQL.insert, { fails, times: 2 }) });
      const { create, record, remove } = await setUp(faulty);
      const problem = await create();
      await expectProblem(problem, 503, "service_temporarily_unavailable");
      expect(Number(problem.headers.get("retry-after"))).toBeOneOf([5, 6, 7, 8, 9, 10]);
      // It is not known whether the record exists, so its object stays until that is known.
      expect(played.asked("destroy")).toEqual([]);
      expect((await recordsOf(record)).length).toBe(fails === "after" ? 1 : 0);
      // A client that lost the signing secret creates the subscription again.
      expect((await remove()).status).toBe(fails === "after" ? 204 : 404);
      expect((await create()).status).toBe(201);
    });

    it("answers 503 and leaves no object if D1 fails first", async () => {
      quiet();
      const played = playedObjects();
      const { create } = await setUp(
        playedApp(played, { DB: faultyDatabase(PUSH_SQL.admission, { fails: "before" }) }),
      );
      await expectProblem(await create(), 503, "service_temporarily_unavailable");
      expect(played.calls).toEqual([]);
    });

    it("answers 503 and leaves no record if the object cannot be reached", async () => {
      vi.spyOn(console, "warn").mockReturnValue();
      const open = () => Promise.reject(Object.assign(new Error("restarting"), { retryable: true }));
      const { create, record } = await setUp(playedApp(playedObjects({ open })));
      await expectProblem(await create(), 503, "service_temporarily_unavailable");
      expect(await recordsOf(record)).toEqual([]);
    });

    it("answers 409 even if the losing creation's object cannot be removed", async () => {
      const errors = quiet();
      const destroy = () => Promise.reject(new Error("out of reach"));
      const played = playedObjects({ open: () => scheduler.wait(20).then(() => ({ kind: "open" })), destroy });
      const { create } = await setUp(playedApp(played));
      const answers = await Promise.all([create(), create()]);
      expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409]);
      expect(errors.mock.calls.join()).toContain("work after the answer failed");
    });
  });
});

describe("any body", () => {
  const odd = fc.oneof(
    anyText({ maxLength: 30 }),
    fc.constantFrom<unknown>(
      null,
      true,
      0,
      -1,
      1e300,
      [],
      {},
      "\ud800",
      "\u0000",
      "__proto__",
      "********",
      "x".repeat(600),
    ),
    fc.jsonValue(),
  );
  const good = (value: string) => fc.oneof({ weight: 4, arbitrary: fc.constant<unknown>(value) }, odd);
  const config = fc.record(
    {
      endpoint: fc.oneof(good("https://shop.example/"), webAddress()),
      basicAuth: fc.oneof(
        { weight: 5, arbitrary: fc.record({ username: good("shop"), password: good("p") }, { requiredKeys: [] }) },
        odd,
      ),
    },
    { requiredKeys: [] },
  );
  const anyBody = fc.record(
    {
      name: fc.oneof(good("orders"), fc.stringMatching(/^[A-Za-z0-9_-]{3,9}$/)),
      pushConfig: fc.oneof({ weight: 5, arbitrary: config }, odd),
    },
    { requiredKeys: [] },
  );

  it("is created, changes, conflicts or is refused by its own fields alone, and is shown as it was stored", async () => {
    const { create, put, get } = await setUp();
    await create();
    const seen = { 201: 0, 200: 0, 409: 0, 400: 0 };
    await fc.assert(
      fc.asyncProperty(anyBody, async (json: any) => {
        for (const [response, done] of [
          [await create(json), 201],
          [await put({ ...json, name: undefined }), 200],
        ] as const) {
          const view = await response.json<any>();
          seen[response.status as keyof typeof seen] += 1;
          if (response.status === done) {
            const { endpoint, basicAuth } = json.pushConfig;
            const shown = { endpoint, basicAuth: { username: basicAuth.username, password: "********" } };
            expect(view.pushConfig).toEqual(shown);
            expect(await (await get(view.name)).json()).toMatchObject({ pushConfig: shown });
          } else if (response.status === 409)
            expect(["subscription_exists", "too_many_subscriptions"]).toContain(view.details[0].type);
          else {
            expect(response.status).toBe(400);
            for (const { field } of view.details)
              expect(field).toMatch(/^(name|pushConfig(\.endpoint|\.basicAuth(\.username|\.password)?)?)$/);
          }
        }
      }),
      { numRuns: runs(50) },
    );
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(0);
  });
});

describe("GET …/subscriptions", () => {
  // shows: events/subscription-list-entry/name
  // shows: events/subscription-list-entry/href
  // shows: events/endpoints/get-subscriptions
  // shows: events/authentication/subscriptions-listed
  it("answers 200 with the calling client's own subscriptions on this topic by name, or an empty array", async () => {
    const { topic, create, list, collection } = await setUp();
    const other = subscriptionsOf(app, topic, await registeredClient({ scopes: CONSUMES }));
    expect(await (await list()).json()).toEqual([]);
    for (const name of ["beta", "alpha", "Gamma"]) await create(body({ name }));
    await other.create(body({ name: "theirs" }));
    const response = await list();
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual(
      ["Gamma", "alpha", "beta"].map((name) => ({ name, href: `${ORIGIN}${collection}/${name}` })),
    );
    expect((await (await other.list()).json<any[]>()).map(({ name }) => name)).toEqual(["theirs"]);
    const elsewhere = await makeTopic(app, { owner: topic.owner });
    expect(await (await subscriptionsOf(app, elsewhere).list()).json()).toEqual([]);
  });

  it("answers 404 without access, and for a topic that does not exist", async () => {
    const { topic, create } = await setUp();
    await create();
    const stranger = someClient({ scopes: [] });
    await expectProblem(await subscriptionsOf(app, topic, stranger).list(), 404, "element_resource_non_existing");
    const absent = { ...topic, path: `${topic.path}x` };
    await expectProblem(await subscriptionsOf(app, absent).list(), 404, "element_resource_non_existing");
  });

  // shows: platform/errors-of-every-service/405-unsupported_method
  // shows: platform/errors-of-every-service/406-unsupported_response_content_type
  it("answers 405 with the methods, HEAD without a body, and 406 if JSON is not accepted", async () => {
    const { create, send, collection } = await setUp();
    await create();
    for (const [path, allow] of [
      [collection, "GET, POST, HEAD, OPTIONS"],
      [`${collection}/orders`, "GET, PUT, DELETE, HEAD, OPTIONS"],
      [`${collection}/orders/deliveries`, "GET, HEAD, OPTIONS"],
      [`${collection}/orders/test`, "POST, OPTIONS"],
    ] as const) {
      const wrong = await send(path, { method: "PATCH" });
      expect(wrong.headers.get("allow")).toBe(allow);
      await expectProblem(wrong, 405, "unsupported_method");
    }
    for (const path of [collection, `${collection}/orders`]) {
      const head = await send(path, { method: "HEAD" });
      expect([head.status, await head.text()]).toEqual([200, ""]);
      const html = await send(path, { headers: { accept: "text/html" } });
      await expectProblem(html, 406, "unsupported_response_content_type");
    }
  });
});

describe("GET …/subscriptions/{name}", () => {
  // shows: platform/errors-of-every-service/404-element_resource_non_existing
  it("answers 404 alike for an unknown name, another client's name, and without access", async () => {
    const { topic, create, get } = await setUp();
    await create();
    const other = subscriptionsOf(app, topic, await registeredClient({ scopes: CONSUMES }));
    await other.create(body({ name: "theirs" }));
    const [unknown, theirs] = await Promise.all(
      ["nothing", "theirs"].map(async (name) => expectProblem(await get(name), 404, "element_resource_non_existing")),
    );
    expect(unknown).toEqual(theirs);
    const stranger = subscriptionsOf(app, topic, someClient({ scopes: [] }));
    const absent = subscriptionsOf(app, { ...topic, path: `${topic.path}x` }, someClient({ scopes: [] }));
    const refusals = await Promise.all([stranger.get(), stranger.get("nothing"), absent.get()]);
    const bodies = await Promise.all(
      refusals.map((response) => expectProblem(response, 404, "element_resource_non_existing")),
    );
    expect(new Set(bodies.map((one) => JSON.stringify(one))).size).toBe(1);
  });

  // shows: events/endpoints/path-parameters
  // shows: platform/errors-of-every-service/details-invalid_uri_parameter
  it.each(["ab", "a%20b", "%00%00%00", "%F0%9F%99%82abc", "%ED%A0%BDabc", "%ff%ff%ff", "a".repeat(257), "a.b.c"])(
    "400 for an invalid name: %s",
    async (name) => {
      const { get, put, remove, post } = await setUp();
      for (const response of [await get(name), await put(body(), name), await remove(name), await post("test", name)]) {
        const problem = await expectProblem(response, 400, "validation_violation");
        expect(faults(problem)).toEqual(["invalid_uri_parameter name"]);
      }
    },
  );

  it("answers 200 with null for the fields of the object if it fails", async () => {
    vi.spyOn(console, "warn").mockReturnValue();
    const status = () => Promise.reject(new Error("broken"));
    const { create, get } = await setUp(playedApp(playedObjects({ status })));
    await create();
    const response = await get();
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ name: "orders", lag: null, deadLetters: null, eventsLost: null });
  });

  it("answers 200 with null for the fields of the object if it does not answer within 5 s", async () => {
    const status = () => new Promise(() => {});
    const { create, get } = await setUp(playedApp(playedObjects({ status })));
    await create();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const response = get();
      // Between the steps, since D1 answers in its own time.
      for (let waitedMs = 0; waitedMs <= 5_000; waitedMs += 500) {
        await scheduler.wait(5);
        await vi.advanceTimersByTimeAsync(500);
      }
      expect(await (await response).json()).toMatchObject({ lag: null, deadLetters: null, eventsLost: null });
    } finally {
      vi.useRealTimers();
    }
  });

  it("calls D1 twice and one object", async () => {
    const counted = counting(env);
    const own = eventsApp({ ...counted.env, PUSH_SUBSCRIPTION: objects.binding });
    const { create, get } = await setUp(own);
    await create();
    counted.reset();
    objects.calls.length = 0;
    await get();
    expect(counted.tally.d1Statements).toBe(2);
    expect(objects.calls.map(({ method }) => method)).toEqual(["status"]);
  });
});

describe("the store", () => {
  it("finds subscriptions by keys and indexes only", async () => {
    // A shard's count of all its rows walks them, for an operator alone. The index has only what is in trouble.
    for (const sql of Object.values(PUSH_SQL).filter((text) => text !== PUSH_SQL.count)) {
      const count = Math.max(...(sql.match(/\?\d*/g) ?? []).map((name, index) => Number(name.slice(1)) || index + 1));
      const plan = await env.DB.prepare(`EXPLAIN QUERY PLAN ${sql}`)
        .bind(...Array.from({ length: count }, () => null))
        .all<{ detail: string }>();
      const walks = plan.results.filter(({ detail }) =>
        /^SCAN (?!CONSTANT|listed VIRTUAL TABLE|\(subquery-\d+\)|push_subscription USING INDEX push_subscription_disabled$)/.test(
          detail,
        ),
      );
      expect(walks, sql).toEqual([]);
    }
  });

  it("disables an unchanged one, and none that was changed meanwhile", async () => {
    const { create, record } = await setUp();
    await create();
    const [before] = await recordsOf(record);
    const { id, credentials, sealKey } = before!;
    const change = { endpoint: "https://new.example/", username: "new", credentials, sealKey };
    expect(await pushStore.update(id, 1, change, 7)).toBe(true);
    await pushStore.disable(id, 1, 8);
    expect(await pushStore.findById(id)).toMatchObject({ state: "active", version: 2, endpoint: change.endpoint });
    await pushStore.disable(id, 2, 9);
    await pushStore.disable(id, 2, 10);
    expect(await pushStore.findById(id)).toMatchObject({ state: "disabled", version: 3, updatedAtMs: 9 });
    expect(await pushStore.update(id, 2, change, 11)).toBe(false);
  });
});
