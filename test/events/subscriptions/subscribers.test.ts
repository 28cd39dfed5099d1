import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createDeps } from "../../../src/deps.ts";
import { scopeMatches } from "../../../src/platform/model/scope-pattern.ts";
import { answerAt, requestsTo } from "../../support/outside.ts";
import { call, expectJson } from "../../support/platform/call.ts";
import { makeClient, type TestClient } from "../../support/platform/clients.ts";
import { operate, OPERATOR, put } from "../../support/platform/operator.ts";
import { makeTenant } from "../../support/platform/tenants.ts";
import { tokenFor } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";
import { bodyWith } from "../support/push/subscription-body.ts";
import { everywhere } from "../../support/shards.ts";

/** A topic's subscribers as its owner and the operator see them, and their audit rows. */
const { events, push } = createDeps(env);

const operated = async (query: string) => expectJson(await operate(`push-subscriptions?${query}`), 200);

/** A topic, its owner, and another tenant's client with a subscription on it. */
async function setUp() {
  const owner = await makeClient();
  const ownerToken = await tokenFor(owner);
  const eventType = unique("order");
  expect((await call("/pubsub/v1/topics", { token: ownerToken, json: { eventType } })).status).toBe(201);
  const path = `/pubsub/v1/topics/${owner.clientId}/${eventType}`;
  const topic = `${owner.clientId}.${eventType}`;
  const client = await makeClient({ scopes: [`plat.pubsub.topic=${owner.clientId}.*`] });
  const endpoint = `https://${unique("push")}.example/secret-path?key=1`;
  const address = endpoint.split("?")[0]!;
  await answerAt(address, {});
  const subscribe = async (as: TestClient, name = "orders") => {
    const json = { ...bodyWith({ endpoint }), name };
    const made = await call(`${path}/subscriptions`, { token: await tokenFor(as), json });
    expect(made.status).toBe(201);
    return made;
  };
  const made = await subscribe(client);
  const asOwner = (below: string, init = {}) => call(`${path}${below}`, { token: ownerToken, ...init });
  const asClient = async (below: string, init = {}) =>
    call(`${path}${below}`, { token: await tokenFor(client), ...init });
  const subscribers = async () => expectJson(await asOwner("/subscribers"), 200);
  /** The newest last. */
  const told = async () => {
    const rows = await expectJson(await operate(`audit?subject=push-subscriptions/${topic}/&pageSize=100`), 200);
    return rows.toReversed().map(({ actor, action, subject, reason, changes }: any) => ({
      actor,
      action: action.split(" ")[0],
      about: subject.split("/").slice(2).join(" "),
      reason: reason ?? "",
      ...(changes === undefined ? {} : { changed: changes.map(({ field }: any) => field) }),
    }));
  };
  const requestId = made.headers.get("plat-request-id");
  return { owner, client, path, topic, address, subscribe, asOwner, asClient, subscribers, told, requestId };
}

const setClient = ({ clientId, tenant }: TestClient, changes: object) =>
  put(`clients/${clientId}`, {
    tenant,
    confidential: true,
    redirectUris: [],
    postLogoutRedirectUris: [],
    grantTypes: ["client_credentials"],
    scopes: ["plat.pubsub.topic=*", "plat.pubsub_publish"],
    ...changes,
  });

describe("GET …/subscribers", () => {
  it("shows the owner the subscriptions of all clients, without secrets, page by page", async () => {
    const { owner, client, subscribe, asOwner, subscribers, address } = await setUp();
    await subscribe(owner, "mine");
    await subscribe(client, "also");
    const all = await subscribers();
    const origin = new URL(address).origin;
    const shown = { id: expect.any(String), endpointOrigin: origin, state: "active", halt: null };
    const times = { createdAt: expect.any(Number), updatedAt: expect.any(Number) };
    const expected = [
      { client: client.clientId, name: "also", right: "scope" },
      { client: client.clientId, name: "orders", right: "scope" },
      { client: owner.clientId, name: "mine", right: "owner" },
    ].toSorted((a, b) => (`${a.client} ${a.name}` < `${b.client} ${b.name}` ? -1 : 1));
    expect(all).toEqual(expected.map((one) => ({ ...shown, ...one, ...times })));
    const paged = [];
    let next: string | undefined = "/subscribers?pageSize=1";
    while (next !== undefined) {
      const page: Response = await asOwner(next);
      next = /<[^>]*(\/subscribers[^>]*)>; rel="next"/.exec(page.headers.get("link") ?? "")?.[1];
      paged.push(...(await expectJson(page, 200)));
    }
    expect(paged).toEqual(all);
    expect((await asOwner(`/subscribers?cursor=${btoa('["x"]').replaceAll("=", "")}`)).status).toBe(400);
  });

  it("answers 404 to everybody but the owner, even with the topic's scope or the operator's", async () => {
    const { asClient, path } = await setUp();
    expect((await asClient("/subscribers")).status).toBe(404);
    expect((await asClient("/subscribers/8f14e45fceea167a", { method: "DELETE" })).status).toBe(404);
    expect((await call(`${path}/subscribers`, { token: await tokenFor(OPERATOR) })).status).toBe(404);
  });
});

describe("DELETE …/subscribers/{id}", () => {
  it("ends the subscription for its client and its endpoint, and does not find one of another topic", async () => {
    const [here, there] = [await setUp(), await setUp()];
    const [{ id }] = await here.subscribers();
    expect((await there.asOwner(`/subscribers/${id}`, { method: "DELETE" })).status).toBe(404);
    expect((await here.asOwner(`/subscribers/${id}`, { method: "DELETE" })).status).toBe(204);
    expect((await here.asOwner(`/subscribers/${id}`, { method: "DELETE" })).status).toBe(404);
    expect((await here.asClient("/subscriptions/orders")).status).toBe(404);
    await here.asOwner("/publish", { json: { payload: "x" } });
    await events.wakeSubscriptions(Date.now());
    await scheduler.wait(100);
    expect(await requestsTo(here.address)).toEqual([]);
    expect((await here.told()).at(-1)).toEqual({
      actor: here.owner.clientId,
      action: "delete",
      about: `${here.client.clientId} orders`,
      reason: "",
    });
  });
});

describe("/admin/v1/push-subscriptions", () => {
  it("finds subscriptions by client and topic, shows who made them, and removes them", async () => {
    const { client, topic, address, requestId, asClient, told } = await setUp();
    const [found, ...others] = await operated(`client=${client.clientId}&topic=${topic}`);
    expect(others).toEqual([]);
    expect(found).toEqual({
      id: expect.any(String),
      topic,
      client: client.clientId,
      name: "orders",
      endpointOrigin: new URL(address).origin,
      state: "active",
      halt: null,
      right: "scope",
      made: {
        tenant: client.tenant,
        requestId,
        scope: `plat.pubsub.topic=${topic.split(".").slice(0, 2).join(".")}.*`,
      },
      createdAt: expect.any(Number),
      updatedAt: expect.any(Number),
    });
    for (const query of [`client=${client.clientId}`, `topic=${topic}`]) expect(await operated(query)).toEqual([found]);
    expect(await operated(`topic=${topic}x`)).toEqual([]);
    expect(await expectJson(await operate(`push-subscriptions/${found.id}`), 200)).toEqual(found);
    const byClient = await call(`/admin/v1/push-subscriptions`, { token: await tokenFor(client) });
    expect(byClient.status).toBe(403);
    expect((await operate(`push-subscriptions/${found.id}`, "DELETE")).status).toBe(204);
    expect((await operate(`push-subscriptions/${found.id}`, "DELETE")).status).toBe(404);
    expect((await operate(`push-subscriptions/${found.id}`)).status).toBe(404);
    expect((await asClient("/subscriptions/orders")).status).toBe(404);
    expect((await told()).at(-1)).toMatchObject({ actor: "plat.operator", action: "delete" });
  });

  it("finds subscriptions of unknown makers as such, until their client updates them by its own token", async () => {
    const { client, topic, address, asClient, told } = await setUp();
    const unknown = `client=${client.clientId}&maker=unknown`;
    expect(await operated(unknown)).toEqual([]);
    await everywhere
      .prepare(
        `UPDATE push_subscription SET made_in_tenant = NULL, made_by_request = NULL, made_by_scope = NULL WHERE topic = ?`,
      )
      .bind(topic)
      .run();
    expect(await operated(unknown)).toMatchObject([{ made: null, halt: null }]);
    const json = bodyWith({ endpoint: `${address}?key=1` }, { password: "********" });
    expect((await asClient("/subscriptions/orders", { method: "PUT", json })).status).toBe(200);
    expect(await operated(unknown)).toEqual([]);
    expect(await operated(`client=${client.clientId}`)).toMatchObject([{ made: { tenant: client.tenant } }]);
    expect((await told()).at(-1)).toMatchObject({ action: "change", changed: ["made"] });
  });
});

describe("a subscription ends with the right by which it was made", () => {
  it.each(["scope_lost", "client_disabled", "tenant_disabled", "owner_changed"] as const)("%s", async (halt) => {
    const { owner, client, path, topic, address, subscribers, subscribe, asOwner } = await setUp();
    const byOwner = halt === "owner_changed";
    const publisher = byOwner ? await makeClient() : owner;
    if (byOwner) {
      const [other] = await operated(`topic=${topic}`);
      await operate(`push-subscriptions/${other.id}`, "DELETE");
      await subscribe(owner, "owners");
    }
    if (halt === "scope_lost") await setClient(client, { scopes: [`plat.pubsub.topic=${topic}.more`] });
    if (halt === "client_disabled") await setClient(client, { scopes: ["plat.pubsub.topic=*"], disabled: true });
    if (halt === "tenant_disabled")
      await put(`tenants/${client.tenant}`, { organization: `${client.tenant}-org`, name: "x", disabled: true });
    let viewer: (below: string, init?: object) => Promise<Response> = asOwner;
    if (byOwner) {
      // The operator service renames no client that has topics; a topic created in between is left behind.
      const rename = env.DB.prepare(`UPDATE client SET name = ?2 WHERE id = ?1`);
      await env.DB.batch([
        rename.bind(owner.clientId, `${owner.clientId}x`),
        rename.bind(publisher.clientId, owner.clientId),
      ]);
      const token = await tokenFor(publisher);
      viewer = (below, init) => call(`${path}${below}`, { token, ...init });
    }
    const listed = byOwner ? await expectJson(await viewer("/subscribers"), 200) : await subscribers();
    expect(listed).toMatchObject([{ halt, state: "active" }]);
    expect((await viewer("/publish", { json: { payload: "x" } })).status).toBe(201);
    const record = (await push.store.listAll({ topic }, FIRST_PAGE))!.items[0]!;
    expect(record.halt).toBe(halt);
    await events.wakeSubscriptions(Date.now());
    await scheduler.wait(150);
    expect(await requestsTo(address)).toEqual([]);
  });

  it("treats a registered scope like any other scope", async () => {
    const { client, topic } = await setUp();
    const [{ id }] = await operated(`topic=${topic}`);
    const scope = `plat.pubsub.topic=${topic}`;
    const [project, app] = topic.split(".");
    const beginnings = [`${project}*`, `${project}.*`, `${project!.slice(0, -1)}*`, `${project}.${app}*`];
    beginnings.push(`${project}.${app!.slice(0, -1)}*`, "*", "%");
    const patterns = [scope, `${scope}*`, `${scope}x`, `${scope}.*`, scope.slice(0, -1), `${scope.slice(0, -1)}*`]
      .concat(["plat.*", "*", "plat_pubsub.topic=*", `other${scope}`, "", "**"])
      .concat(beginnings.map((beginning) => `plat.pubsub.topic=${beginning}`));
    for (const pattern of patterns) {
      await env.DB.prepare(`UPDATE client SET scopes = ?2 WHERE id = ?1`)
        .bind(client.clientId, JSON.stringify(["a.b", pattern]))
        .run();
      const { halt } = (await push.store.findById(id))!;
      expect([pattern, halt === undefined]).toEqual([pattern, scopeMatches(pattern, scope)]);
    }
  });
});

const FIRST_PAGE = { pageNumber: 1, pageSize: 10, skip: 0, cursor: undefined, filters: [] };

describe("the audit log", () => {
  it("has a row with author and fields for each change, without secrets, and none if nothing changed", async () => {
    const { client, topic, address, asOwner, asClient, told } = await setUp();
    const { clientId } = client;
    const origin = new URL(address).origin;
    const putBody = async (endpoint: string, auth: Record<string, unknown> = {}) => {
      const json = bodyWith({ endpoint }, auth);
      expect((await asClient("/subscriptions/orders", { method: "PUT", json })).status).toBe(200);
    };
    await putBody(`${address}?key=1`, { password: "********" });
    await putBody(`${address}?key=1`);
    await putBody(`${address}?key=2`, { username: "new", password: "a-new-secret" });
    const gone = `https://${unique("gone")}.example/`;
    await answerAt(gone, { status: 410 });
    await putBody(gone, { username: "new", password: "a-new-secret" });
    const owner = topic.split(".").slice(0, 2).join(".");
    const prefix = { about: `${clientId} orders` };
    const byClient = { actor: clientId, ...prefix };
    const scope = `plat.pubsub.topic=${owner}.*`;
    const expected = [
      {
        ...byClient,
        action: "create",
        reason: `endpoint at ${origin}, by the scope ${scope}, for the tenant ${client.tenant}`,
      },
      {
        ...byClient,
        action: "change",
        reason: "",
        changed: ["pushConfig.endpoint", "pushConfig.basicAuth.username", "pushConfig.basicAuth.password"],
      },
      {
        ...byClient,
        action: "change",
        reason: `endpoint from ${origin} to ${gone.slice(0, -1)}`,
        changed: ["pushConfig.endpoint"],
      },
    ];
    expect(await told()).toEqual(expected);
    await asOwner("/publish", { json: { payload: "x" } });
    await events.wakeSubscriptions(Date.now());
    await expect.poll(async () => (await told()).length, { timeout: 5_000 }).toBe(4);
    await putBody(gone, { username: "new", password: "a-new-secret" });
    expect((await asClient("/subscriptions/orders", { method: "DELETE" })).status).toBe(204);
    expect((await told()).slice(3)).toEqual([
      { ...prefix, actor: "", action: "disable", reason: "the endpoint answered 410" },
      { ...byClient, action: "change", reason: "", changed: ["state"] },
      { ...byClient, action: "delete", reason: "" },
    ]);
  });

  it("records that subscriptions ended with their topic or their client", async () => {
    const { owner, client, subscribe, asOwner, told } = await setUp();
    const other = await makeClient({ tenant: await makeTenant() });
    await subscribe(other);
    expect((await operate(`clients/${other.clientId}`, "DELETE")).status).toBe(204);
    expect((await told()).at(-1)).toEqual({
      actor: "plat.operator",
      action: "end",
      about: `${other.clientId} orders`,
      reason: "ended with its client",
    });
    expect((await asOwner("", { method: "DELETE" })).status).toBe(202);
    await expect
      .poll(async () => (await told()).at(-1), { timeout: 5_000 })
      .toEqual({
        actor: owner.clientId,
        action: "end",
        about: `${client.clientId} orders`,
        reason: "ended with its topic",
      });
  });
});
