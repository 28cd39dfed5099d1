import { describe, expect, it } from "vitest";
import { call, expectJson, makeClient, makeTenant, put, tokenFor, unique } from "../support/platform.ts";

/** Who may do what, with real clients, tokens and registrations (contract 3.3). */
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
  it("creates, publishes, reads and commits with a token of its own", async () => {
    const { path, token, client } = await makeOwner();
    const read = await expectJson(await call(`${path}/read`, { token, method: "POST" }), 200);
    expect(read.events).toMatchObject([{ payload: "p", tenant: client.tenant, sourceClient: client.clientId }]);
    expect((await call(`${path}/commit`, { token, json: { token: read.token } })).status).toBe(200);
  });

  it("consumes with a token that carries no scope of pubsub", async () => {
    const { client, path } = await makeOwner(["plat.pubsub_publish", "plat.media_view"]);
    const token = await tokenFor(client, "plat.media_view");
    expect((await call(`${path}/read`, { token, method: "POST" })).status).toBe(200);
    expect((await call(`${path}/publish`, { token, json: { payload: "x" } })).status).toBe(403);
  });

  it("is the client's name, whatever its id", async () => {
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

  it("reads with the topic's scope, or one that ends in *", async () => {
    const { client, eventType, path } = await makeOwner();
    expect(await attempt(path, [`plat.pubsub.topic=${client.clientId}.${eventType}`])).toBe(200);
    expect(await attempt(path, [`plat.pubsub.topic=${client.clientId}.*`])).toBe(200);
    expect(await attempt(path, ["plat.pubsub.topic=*"], `plat.pubsub.topic=${client.clientId}.${eventType}`)).toBe(200);
  });

  it("gets 403 when it is registered for such a scope and its token lacks it, else 404", async () => {
    const { client, eventType, path } = await makeOwner();
    const matching = [`plat.pubsub.topic=${client.clientId}.${eventType}`, "plat.pubsub.topic=*"];
    for (const scope of matching) expect(await attempt(path, [scope, "plat.media_view"], "plat.media_view")).toBe(403);
    expect(await attempt(path, [`plat.pubsub.topic=${client.clientId}.other`, "plat.media_view"])).toBe(404);
    expect(await attempt(`${path}x`, ["plat.media_view"])).toBe(404);
  });
});

describe("publishing for another tenant", () => {
  it("is refused to a client that could not name it; a token that names its own tenant publishes for that", async () => {
    const { publish, client, path } = await makeOwner();
    const other = await makeTenant();
    const refused = await expectJson(await publish([{ payload: "x" }, { payload: "y", tenant: other }]), 403);
    expect(refused).toMatchObject({ type: "insufficient_permissions", details: [{ field: "[1].tenant" }] });
    const explicit = await tokenFor(client, `plat.pubsub_publish plat.tenant=${client.tenant}`);
    const own = await call(`${path}/publish`, { token: explicit, json: { payload: "x", tenant: client.tenant } });
    expect(own.status).toBe(201);
  });

  it("works for a service's client and a tenant that subscribes to the service", async () => {
    const owner = await makeTenant();
    const service = unique("svc");
    await put(`services/${service}`, {
      sourceUrl: `https://${service}.example`,
      proxyPath: `/${service}`,
      scopes: [],
      essential: false,
      tenant: owner,
      access: "token",
    });
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
