import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { createTopicStore } from "../../../src/events/access/topic-store.ts";
import { consumerOf } from "../../../src/events/consume/stub.ts";
import { logOf } from "../../../src/events/log/client.ts";
import { Browser, landed } from "../../support/browser.ts";
import { call, expectJson } from "../../support/platform/call.ts";
import { makeClient } from "../../support/platform/clients.ts";
import { put, putService } from "../../support/platform/operator.ts";
import { makeTenant } from "../../support/platform/tenants.ts";
import { basic, tokenFor } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";
import { makeApp, signInThrough, type TestApp } from "../../support/sign-in.ts";
import { join, makeUser, type TestUser } from "../../support/users.ts";
import { eventsApp } from "../support/events-app.ts";
import { someClient } from "../support/some-client.ts";
import { makeTopic } from "../support/test-topic.ts";
import { BELOW_A_TOPIC, subscription } from "../support/topic-operations.ts";

/** Access rules with real clients, tokens and registrations. */
async function makeOwner(scopes: readonly string[] = ["plat.pubsub_publish"]) {
  const client = await makeClient({ scopes });
  const token = await tokenFor(client);
  const eventType = unique("order");
  expect((await call("/pubsub/v1/topics", { token, json: { eventType } })).status).toBe(201);
  const path = `/pubsub/v1/topics/${client.clientId}/${eventType}`;
  const publish = (json: unknown) => call(`${path}/publish`, { token, json });
  expect((await publish({ payload: "p" })).status).toBe(201);
  return { client, token, eventType, path, publish };
}

describe("a topic's owner", () => {
  // shows: events/event/sourceclient
  it("creates, publishes, reads and commits with a token of its own", async () => {
    const { path, token, client } = await makeOwner();
    const read = await expectJson(await call(`${path}/read`, { token, method: "POST" }), 200);
    expect(read.events).toMatchObject([{ payload: "p", tenant: client.tenant, sourceClient: client.clientId }]);
    expect((await call(`${path}/commit`, { token, json: { token: read.token } })).status).toBe(200);
  });

  // shows: events/what-the-service-does/consuming-needs-none
  // shows: events/scopes-of-topics/owner
  it("consumes with a token without any pubsub scope", async () => {
    const { client, path } = await makeOwner(["plat.pubsub_publish", "plat.media_view"]);
    const token = await tokenFor(client, "plat.media_view");
    expect((await call(`${path}/read`, { token, method: "POST" })).status).toBe(200);
    expect((await call(`${path}/publish`, { token, json: { payload: "x" } })).status).toBe(403);
  });

  // shows: events/topic/topicownerclient
  // shows: operator/resources/clients-name
  it("is identified by the client's name, not its id", async () => {
    const tenant = await makeTenant();
    const name = `${tenant}.${unique("name")}`;
    const token = await tokenFor(await makeClient({ tenant, name, scopes: ["plat.pubsub_publish"] }));
    const created = await call("/pubsub/v1/topics", { token, json: { eventType: "x" } });
    expect(created.headers.get("location")).toBe(`https://plinth.test/pubsub/v1/topics/${name}/x`);
  });
});

describe("another client", () => {
  const attempt = async (path: string, scopes: readonly string[], asked?: string) => {
    const token = await tokenFor(await makeClient({ scopes }), asked);
    return (await call(`${path}/read`, { token, method: "POST" })).status;
  };

  // shows: oauth/who-gets-which-scope/a-client-s-list
  // shows: events/scopes-of-topics/plat.pubsub.topic
  it("reads with the topic's scope, or one that ends in *", async () => {
    const { client, eventType, path } = await makeOwner();
    expect(await attempt(path, [`plat.pubsub.topic=${client.clientId}.${eventType}`])).toBe(200);
    expect(await attempt(path, [`plat.pubsub.topic=${client.clientId}.*`])).toBe(200);
    expect(await attempt(path, ["plat.pubsub.topic=*"], `plat.pubsub.topic=${client.clientId}.${eventType}`)).toBe(200);
  });

  // shows: events/scopes-of-topics/no-access
  it("gets 403 when it is registered for such a scope and its token lacks it, else 404", async () => {
    const { client, eventType, path } = await makeOwner();
    const matching = [`plat.pubsub.topic=${client.clientId}.${eventType}`, "plat.pubsub.topic=*"];
    for (const scope of matching) expect(await attempt(path, [scope, "plat.media_view"], "plat.media_view")).toBe(403);
    expect(await attempt(path, [`plat.pubsub.topic=${client.clientId}.other`, "plat.media_view"])).toBe(404);
    expect(await attempt(`${path}x`, ["plat.media_view"])).toBe(404);
  });
});

describe("a client's own token with a scope that names topics of its own, without pubsub_publish", () => {
  const tokenWith = async (more: { tenant?: string } = {}, listed = (own: string) => `${own}.*`, asked = listed) => {
    const tenant = more.tenant ?? (await makeTenant());
    const clientId = `${tenant}.${unique("app")}`;
    const scopes = [`plat.pubsub.topic=${listed(clientId)}`, "plat.media_view"];
    const client = await makeClient({ tenant, clientId, scopes });
    const token = await tokenFor(client, `plat.pubsub.topic=${asked(clientId)}`);
    return { clientId, token };
  };
  const publish = (clientId: string, token: string, type: string) =>
    call(`/pubsub/v1/topics/${clientId}/${type}/publish`, { token, json: { payload: "p" } });

  it("creates, publishes to and deletes those, and no other", async () => {
    for (const asked of [(own: string) => `${own}.*`, () => "*"]) {
      const { clientId, token } = await tokenWith({}, () => "*", asked);
      expect((await call("/pubsub/v1/topics", { token, json: { eventType: "x" } })).status).toBe(201);
      expect((await publish(clientId, token, "x")).status).toBe(201);
      const gone = await call(`/pubsub/v1/topics/${clientId}/x`, { method: "DELETE", token });
      expect(gone.status).toBe(202);
    }
    const { clientId, token } = await tokenWith({}, (own) => `${own}.x`);
    expect((await call("/pubsub/v1/topics", { token, json: { eventType: "x" } })).status).toBe(201);
    for (const refused of [
      await call("/pubsub/v1/topics", { token, json: { eventType: "y" } }),
      await publish(clientId, token, "y"),
      await call(`/pubsub/v1/topics/${clientId}/y`, { method: "DELETE", token }),
    ])
      expect((await expectJson(refused, 403)).message).toContain("plat.pubsub_publish");
  });

  it("has no access to topics of others, whether they exist or not", async () => {
    const { client, eventType } = await makeOwner();
    const { token } = await tokenWith({}, () => "*");
    for (const type of [eventType, "none"])
      expect((await expectJson(await publish(client.clientId, token, type), 403)).message).toContain("pubsub_publish");
  });

  it("has no effect in a tenant that may not use the service for publishing", async () => {
    const { clientId, token } = await tokenWith({ tenant: await makeTenant({ subscribed: false }) });
    const refused = await expectJson(await call("/pubsub/v1/topics", { token, json: { eventType: "x" } }), 403);
    expect(refused.message).toContain("plat.pubsub_publish");
    expect((await call(`/pubsub/v1/topics/${clientId}/x`, { token })).status).toBe(404);
  });
});

describe("a scope with * within the owner's name", () => {
  it("covers only that owner: by name, in a token, in the list of topics", async () => {
    const tenant = await makeTenant();
    const owner = await makeTopicOf(`${tenant}.shop`, tenant);
    const other = await makeTopicOf(`${tenant}.shopping`, await makeTenant());
    const reader = await makeClient({ scopes: [`plat.pubsub.topic=${tenant}.shop*`] });
    const token = await tokenFor(reader);
    expect((await call(owner, { token })).status).toBe(200);
    expect((await call(other, { token })).status).toBe(404);
    const listed = await expectJson(await call("/pubsub/v1/topics", { token }), 200);
    expect(listed).toMatchObject([{ topicOwnerClient: `${tenant}.shop` }]);
    const asked = { grant_type: "client_credentials", scope: `plat.pubsub.topic=${tenant}.shopping.x` };
    const refused = await call("/oauth2/v1/token", { form: asked, headers: { authorization: basic(reader) } });
    expect(await expectJson(refused, 400)).toMatchObject({ error: "invalid_scope" });
  });

  async function makeTopicOf(clientId: string, tenant: string): Promise<string> {
    const token = await tokenFor(await makeClient({ clientId, tenant }));
    expect((await call("/pubsub/v1/topics", { token, json: { eventType: "x" } })).status).toBe(201);
    return `/pubsub/v1/topics/${clientId}/x`;
  }
});

describe("publishing for another tenant", () => {
  // shows: events/publish-subscribe-operations/tenant
  it("is refused to a client that cannot act for it; a token that names its own tenant publishes for it", async () => {
    const { publish, client, path } = await makeOwner();
    const other = await makeTenant();
    const refused = await expectJson(await publish([{ payload: "x" }, { payload: "y", tenant: other }]), 403);
    expect(refused).toMatchObject({ type: "insufficient_permissions", details: [{ field: "[1].tenant" }] });
    const explicit = await tokenFor(client, `plat.pubsub_publish plat.tenant=${client.tenant}`);
    const own = await call(`${path}/publish`, { token: explicit, json: { payload: "x", tenant: client.tenant } });
    expect(own.status).toBe(201);
  });

  // shows: events/publish-subscribe-operations/tenant
  it("works for a service's client and a tenant that subscribes to the service", async () => {
    const owner = await makeTenant();
    const service = unique("svc");
    await putService(service, { tenant: owner });
    await put(`packages/${service}pack`, { version: "1", organization: `${owner}-org`, services: [service] });
    const subscriber = await makeTenant();
    await put(`tenants/${subscriber}/subscriptions/${service}pack`, {});
    const stranger = await makeTenant();
    const client = await makeClient({ tenant: owner, service, scopes: ["plat.pubsub_publish"] });
    const token = await tokenFor(client);
    await call("/pubsub/v1/topics", { token, json: { eventType: "x" } });
    const publish = (tenant: string) =>
      call(`/pubsub/v1/topics/${client.clientId}/x/publish`, { token, json: { payload: "p", tenant } });
    expect((await publish(subscriber)).status).toBe(201);
    expect((await publish(stranger)).status).toBe(403);
  });
});

/** The status of each of the operations, by its method and path. */
async function attemptAll(path: string, token: string): Promise<Record<string, number>> {
  const statuses: Record<string, number> = {};
  for (const [method, below, json] of BELOW_A_TOPIC)
    statuses[`${method} ${below}`] = (
      await call(`${path}${below}`, { method, token, ...(json === undefined ? {} : { json }) })
    ).status;
  return statuses;
}

const NEEDS_A_SCOPE = ["POST /publish", "DELETE "];
const READING = ["GET ", "GET /events", "POST /read", "POST /commit", "POST /extend", "POST /release"];

/** Status of each operation whose status is not 404. */
const but404 = (statuses: Record<string, number>): Record<string, number> =>
  Object.fromEntries(Object.entries(statuses).filter(([, status]) => status !== 404));

/** A topic with an event and a push subscription, owned by a client with these ways to get a token. */
async function makeVictim(...grantTypes: readonly string[]) {
  const app = await makeApp({ grantTypes: ["client_credentials", ...grantTypes] });
  const token = await tokenFor(app);
  const path = `/pubsub/v1/topics/${app.clientId}/orders`;
  expect((await call("/pubsub/v1/topics", { token, json: { eventType: "orders" } })).status).toBe(201);
  expect((await call(`${path}/publish`, { token, json: { payload: "secret" } })).status).toBe(201);
  expect((await call(`${path}/subscriptions`, { token, json: subscription("warehouse") })).status).toBe(201);
  return { app, ownerToken: token, path };
}

const passwordForm = (user: TestUser, more: Record<string, string>) => ({
  grant_type: "password",
  plat_id_provider: "legacy_idp",
  username: user.email,
  password: user.password,
  ...more,
});

const tokenBy = async (form: Record<string, string>, headers?: Record<string, string>): Promise<string> =>
  (await expectJson(await call("/oauth2/v1/token", { form, ...(headers && { headers }) }), 200)).access_token;

describe("a person's token at the topic's owner", () => {
  it("gives no owner's rights: without a role or a tenant, it finds nothing (Zoe of orgb)", async () => {
    const { app, ownerToken, path } = await makeVictim("password");
    const zoe = await makeUser({ scopes: [] });
    const form = (user: TestUser) => passwordForm(user, { client_id: app.clientId, scope: "plat.no_tenant" });
    // A stranger gets no token without a page; a member without a role gets it.
    expect((await call("/oauth2/v1/token", { form: form(zoe) })).status).toBe(400);
    await join(zoe.email, app.tenant, []);
    const token = await tokenBy(form(zoe));
    const statuses = await attemptAll(path, token);
    for (const operation of NEEDS_A_SCOPE) {
      expect([403, 404], operation).toContain(statuses[operation]);
      delete statuses[operation];
    }
    expect(but404(statuses)).toEqual({});
    expect(await attemptAll(`${path}x`, token)).toMatchObject(statuses);
    // Nothing was consumed, nothing was subscribed, nothing was removed.
    const read = await expectJson(await call(`${path}/read`, { token: ownerToken, method: "POST" }), 200);
    expect(read.events).toMatchObject([{ payload: "secret" }]);
    const left = await expectJson(await call(`${path}/subscriptions`, { token: ownerToken }), 200);
    expect(left).toMatchObject([{ name: "warehouse" }]);
  });

  it("gives no owner's rights by the implicit flow or the code flow", async () => {
    const zoe = await makeUser({ scopes: [] });
    const scope = "plat.no_tenant";
    const implicit = await makeVictim("implicit");
    // A stranger must give consent on a page, and does.
    const signIn = async (app: TestApp, changes: Record<string, string>) => {
      const browser = new Browser();
      return browser.submit(await signInThrough(browser, app, zoe, changes), { decision: "allow" });
    };
    const shown = await signIn(implicit.app, { response_type: "token", scope });
    const code = await makeVictim("authorization_code");
    const sent = await signIn(code.app, { scope });
    const redeemed = await tokenBy(
      { grant_type: "authorization_code", redirect_uri: code.app.redirectUri, code: landed(sent).query.get("code")! },
      { authorization: basic(code.app) },
    );
    for (const [path, token] of [
      [implicit.path, landed(shown).fragment.get("access_token")!],
      [code.path, redeemed],
    ] as const) {
      const statuses = await attemptAll(path, token);
      for (const operation of NEEDS_A_SCOPE) delete statuses[operation];
      expect(but404(statuses)).toEqual({});
      expect(await expectJson(await call("/pubsub/v1/topics", { token }), 200)).toEqual([]);
    }
  });

  it("publishes, creates and deletes nothing with every scope of its role and only the client's id", async () => {
    const { app, ownerToken, path } = await makeVictim("password");
    const eve = await makeUser({ tenant: app.tenant, scopes: ["plat.pubsub_publish"] });
    const asked = { scope: "plat.pubsub_publish" };
    for (const token of [
      await tokenBy(passwordForm(eve, { ...asked, client_id: app.clientId })),
      await tokenBy(passwordForm(eve, asked), { authorization: basic(app) }),
    ]) {
      const statuses = await attemptAll(path, token);
      // The client lists `plat.pubsub.topic=*`, so operations that read name the missing scope.
      expect(but404(statuses)).toEqual(Object.fromEntries(READING.map((operation) => [operation, 403])));
      const made = await call("/pubsub/v1/topics", { token, json: { eventType: "of-eve" } });
      expect(await expectJson(made, 403)).toMatchObject({ type: "insufficient_permissions" });
      expect(await expectJson(await call("/pubsub/v1/topics", { token }), 200)).toEqual([]);
    }
    const read = await expectJson(await call(`${path}/read`, { token: ownerToken, json: { numEvents: 10 } }), 200);
    expect(read.events).toHaveLength(1);
  });
});

describe("a token without a user whose client was not authenticated", () => {
  it("has no rights with any scopes", async () => {
    const app = eventsApp();
    const owner = someClient({ scopes: ["plat.pubsub_publish", "plat.pubsub.topic=*"] });
    const topic = await makeTopic(app, { owner });
    for (const changes of [{ clientAuthenticated: false }, { tenant: "" }]) {
      const as = { ...owner, ...changes };
      for (const [method, below, json] of BELOW_A_TOPIC) {
        const answer = await app.call(`${topic.path}${below}`, { as, method, json });
        expect([method, below, answer.status]).toEqual([method, below, 404]);
      }
      expect(await (await app.call("/pubsub/v1/topics", { as })).json()).toEqual([]);
      expect((await app.call("/pubsub/v1/topics", { as, json: { eventType: "x" } })).status).toBe(403);
    }
  });
});

describe("a person with a role that names the topic", () => {
  const makeReaders = async () => {
    const { app, ownerToken, path } = await makeVictim("password");
    const scopes = [`plat.pubsub.topic=${app.clientId}.orders`];
    const readerToken = async () => {
      const user = await makeUser({ tenant: app.tenant, scopes });
      return tokenBy(passwordForm(user, { client_id: app.clientId }));
    };
    return { app, ownerToken, path, readerToken };
  };

  it("peeks, reads and commits; never seeks, publishes, deletes or subscribes", async () => {
    const { app, path, readerToken } = await makeReaders();
    const token = await readerToken();
    const read = await expectJson(await call(`${path}/read`, { token, method: "POST" }), 200);
    const held = { token: read.token };
    expect((await call(`${path}/extend`, { token, json: { ...held, ttlMs: 9000 } })).status).toBe(200);
    expect((await call(`${path}/release`, { token, json: held })).status).toBe(200);
    const again = await expectJson(await call(`${path}/read`, { token, method: "POST" }), 200);
    expect((await call(`${path}/commit`, { token, json: { token: again.token } })).status).toBe(200);
    expect(await expectJson(await call(path, { token }), 200)).toMatchObject({ storedEvents: 1, lag: 0 });
    expect(await expectJson(await call("/pubsub/v1/topics", { token }), 200)).toMatchObject([
      { topicOwnerClient: app.clientId, eventType: "orders" },
    ]);
    const statuses = await attemptAll(path, token);
    for (const operation of READING) delete statuses[operation];
    for (const operation of NEEDS_A_SCOPE) {
      expect([403, 404], operation).toContain(statuses[operation]);
      delete statuses[operation];
    }
    expect(but404(statuses)).toEqual({});
  });

  it("has a cursor and a lock of its own: the client's and other people's stay where they are", async () => {
    const { path, ownerToken, readerToken } = await makeReaders();
    const tokens = [await readerToken(), ownerToken, await readerToken()];
    const locks: string[] = [];
    for (const token of tokens) {
      const read = await expectJson(await call(`${path}/read`, { token, json: { ttlMs: 60_000 } }), 200);
      expect(read.events).toMatchObject([{ payload: "secret" }]);
      locks.push(read.token);
    }
    // Nobody ends the lock of another.
    for (const [index, token] of tokens.entries()) {
      const foreign = await call(`${path}/commit`, { token, json: { token: locks[(index + 1) % 3] } });
      expect(await expectJson(foreign, 409)).toMatchObject({ type: "topic_not_locked" });
      expect((await call(`${path}/read`, { token, method: "POST" })).status).toBe(409);
    }
    for (const [index, token] of tokens.entries())
      expect((await call(`${path}/commit`, { token, json: { token: locks[index] } })).status).toBe(200);
  });

  it("leaves a consumer that is deleted with the topic", async () => {
    const { app, path, ownerToken, readerToken } = await makeReaders();
    await call(`${path}/read`, { token: await readerToken(), json: { autoCommit: true } });
    const record = (await createTopicStore(env.DB).find({ owner: app.clientId, eventType: "orders" }))!;
    const names: string[] = await logOf(env.TOPIC_LOG, record, 0).consumers(10);
    expect(names).toHaveLength(1);
    const consumer = consumerOf(env.TOPIC_CONSUMER, record, names[0]!);
    expect(await consumer.position()).toEqual([1]);
    expect((await call(path, { method: "DELETE", token: ownerToken })).status).toBe(202);
    await vi.waitFor(async () => {
      expect((await call(path, { token: ownerToken })).status).toBe(404);
      expect(await consumer.position()).toBe(undefined);
    });
  });
});
