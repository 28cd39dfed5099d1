import { createLocalJWKSet, decodeJwt, jwtVerify, type JSONWebKeySet } from "jose";
import { describe, expect, it, vi } from "vitest";
import { isolate, type Isolate } from "../../support/isolate.ts";
import { call, expectJson, ORIGIN } from "../../support/platform/call.ts";
import { ALL_SCOPES, makeClient } from "../../support/platform/clients.ts";
import { OPERATOR, put } from "../../support/platform/operator.ts";
import { makeTenant } from "../../support/platform/tenants.ts";
import { basic, tokenFor } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";

const TOKEN = "/oauth2/v1/token";
const grant = { grant_type: "client_credentials" };

describe("POST /token: 200", () => {
  // shows: oauth/what-the-service-does/grant-client_credentials
  // shows: oauth/what-the-service-does/operations
  // shows: oauth/access-token-response/token_type
  // shows: oauth/access-token-response/access_token
  // shows: oauth/access-token-response/expires_in
  // shows: oauth/access-token-response/scope
  // shows: oauth/post-token/client-by-authorization-basic
  // shows: oauth/post-token/client_credentials-no-scope
  // shows: oauth/authentication/token
  // shows: oauth/limits/access-token
  // shows: platform/other-origins-caches-headers/tokens
  // shows: oauth/access-tokens/form
  // shows: oauth/who-gets-which-scope/nothing-named
  // shows: oauth/other-endpoints/jwks
  // shows: operator/resources/clients-name
  it("issues a signed token that the published keys verify", async () => {
    const client = await makeClient();
    const response = await call(TOKEN, { form: grant, headers: { authorization: basic(client) } });
    expect(response.headers.get("cache-control")).toBe("no-store");
    // RFC 6749 5.1 requires it, for caches of HTTP/1.0.
    expect(response.headers.get("pragma")).toBe("no-cache");
    const body = await expectJson(response, 200);
    expect(Object.keys(body).sort()).toEqual(["access_token", "expires_in", "scope", "token_type"]);
    expect(body).toMatchObject({ token_type: "Bearer", expires_in: 3600 });
    expect(body.scope.split(" ").sort()).toEqual([`plat.tenant=${client.tenant}`, ...ALL_SCOPES].sort());

    const keys = await expectJson<JSONWebKeySet>(await call("/oauth2/v1/jwks"), 200);
    expect(JSON.stringify(keys)).not.toContain('"d"');
    const issuer = `${ORIGIN}/oauth2/v1`;
    const verified = await jwtVerify(body.access_token, createLocalJWKSet(keys), {
      issuer,
      audience: ORIGIN,
      typ: "at+jwt",
    });
    expect(verified.protectedHeader.alg).toBe("ES256");
    expect(verified.payload).toMatchObject({
      sub: client.clientId,
      client_id: client.clientId,
      client_name: client.clientId,
      tenant: client.tenant,
      tenant_explicit: false,
      org: "",
      user: "",
      scope: body.scope,
    });
    expect(verified.payload.exp! - verified.payload.iat!).toBe(3600);
    expect(verified.payload.jti).toMatch(/^[0-9a-f]{32}$/);
    expect(verified.payload["gid"]).toBeTruthy();
    expect(verified.payload["sid"]).toBeTruthy();
  });

  // shows: oauth/post-token/client-by-body-parameters
  // shows: oauth/authentication/token
  // shows: oauth/token/client-authentication
  it("accepts the credentials in the body too, and a client_id equal to that of the header", async () => {
    const client = await makeClient();
    const { clientId: client_id, clientSecret: client_secret } = client;
    await expectJson(await call(TOKEN, { form: { ...grant, client_id, client_secret } }), 200);
    await expectJson(
      await call(TOKEN, { form: { ...grant, client_id }, headers: { authorization: basic(client) } }),
      200,
    );
  });

  // shows: oauth/post-token/client_credentials-plat-session-id
  it("logs the caller's session id from header or parameter; each token has its own session id", async () => {
    const client = await makeClient();
    const worker = isolate({ LOG_LEVEL: "debug" });
    const issue = async (form: Record<string, string>, headers: Record<string, string> = {}) => {
      const lines = vi.fn();
      const spies = (["debug", "info"] as const).map((level) => vi.spyOn(console, level).mockImplementation(lines));
      const init = { method: "POST", headers: { authorization: basic(client), ...headers } };
      const body = new URLSearchParams({ ...grant, ...form });
      const { access_token: token } = await expectJson(await worker.fetch(TOKEN, { ...init, body }), 200);
      const told = lines.mock.calls.map(([line]) => JSON.parse(String(line)) as Record<string, unknown>);
      for (const spy of spies) spy.mockRestore();
      const { sid } = decodeJwt<{ sid: string }>(token);
      expect(sid).toMatch(/^[0-9a-f]{32}$/);
      return { sid, told: told.find(({ event }) => event === "token issued") };
    };
    const named = "plat-session-id";
    const made = [
      { caller: "s-1", ...(await issue({}, { [named]: "s-1" })) },
      { caller: "s-2", ...(await issue({ [named]: "s-2" })) },
      { caller: "header", ...(await issue({ [named]: "form" }, { [named]: "header" })) },
      { caller: undefined, ...(await issue({})) },
    ];
    for (const { caller, sid, told } of made) {
      expect(told).toMatchObject({ sessionId: sid });
      expect(told?.["callerSessionId"]).toBe(caller);
    }
    expect(new Set(made.map(({ sid }) => sid)).size).toBe(made.length);
  });

  // shows: oauth/access-token-response/scope
  // shows: oauth/scopes/plat.tenant-tenant
  // shows: oauth/post-token/client_credentials-scope
  it("grants only the named scopes and the named tenant", async () => {
    const client = await makeClient();
    const scope = `plat.tenant=${client.tenant} plat.media_view`;
    const body = await expectJson(
      await call(TOKEN, { form: { ...grant, scope }, headers: { authorization: basic(client) } }),
      200,
    );
    expect(body.scope).toBe(scope);
    expect(decodeJwt(body.access_token)["tenant_explicit"]).toBe(true);
  });

  // shows: oauth/post-token/client_credentials-plat.no_tenant
  // shows: oauth/who-gets-which-scope/openid-profile-email
  it("uses the parent tenant for no_tenant, and grants openid alone if only that is requested", async () => {
    const client = await makeClient({ scopes: ["plat.media_view"] });
    const claims = async (scope: string) => decodeJwt(await tokenFor(client, scope));
    expect(await claims("plat.no_tenant")).toMatchObject({ tenant: client.tenant, tenant_explicit: false });
    expect((await claims("plat.no_tenant"))["scope"]).toBe(`plat.tenant=${client.tenant} plat.media_view`);
    expect((await claims("openid"))["scope"]).toBe(`plat.tenant=${client.tenant} openid`);
    const ofOthers = "openid profile email address phone offline_access";
    expect((await claims(ofOthers))["scope"]).toBe(`plat.tenant=${client.tenant} openid`);
  });

  // shows: oauth/what-the-service-does/tenants-apart
  // shows: oauth/what-the-service-does/service-on-behalf-of-a-project
  // shows: oauth/scopes/plat.tenant-tenant
  // shows: oauth/who-gets-which-scope/plat.tenant-of-a-client
  it("lets a service's client act for subscribing tenants only", async () => {
    const { service, client } = await makeServiceClient();
    const subscriber = await makeTenant();
    const stranger = await makeTenant();
    await put(`tenants/${subscriber}/subscriptions/${service}-package`, {});
    const token = await tokenFor(client, `plat.tenant=${subscriber}`);
    expect(decodeJwt(token)).toMatchObject({ tenant: subscriber, tenant_explicit: true, client_id: client.clientId });
    expect((decodeJwt(token)["scope"] as string).split(" ")).toContain(`${service}.read`);
    const refused = await call(TOKEN, {
      form: { ...grant, scope: `plat.tenant=${stranger}` },
      headers: { authorization: basic(client) },
    });
    expect(await expectJson(refused, 400)).toMatchObject({ error: "invalid_scope" });
  });

  // shows: oauth/who-gets-which-scope/plat.admin
  // shows: operator/conventions/scope-plat.admin
  it("grants the operator client the admin scope and nothing of tenants", async () => {
    expect(decodeJwt(await tokenFor(OPERATOR))).toMatchObject({ scope: "plat.tenant=plat plat.admin", tenant: "plat" });
  });

  it("accepts the operator's previous secret while the deployment has one", async () => {
    const renewed = { ...OPERATOR, clientSecret: "a-new-operator-secret-for-tests-only" };
    const bindings = { OPERATOR_CLIENT_SECRET: renewed.clientSecret };
    const statuses = async (one: Isolate) =>
      Promise.all([renewed, OPERATOR].map(async (client) => (await one.token(client)).status));
    const rotating = isolate({ ...bindings, OPERATOR_CLIENT_SECRET_PREVIOUS: OPERATOR.clientSecret });
    expect(await statuses(rotating)).toEqual([200, 200]);
    for (const previous of [{}, { OPERATOR_CLIENT_SECRET_PREVIOUS: "" }])
      expect(await statuses(isolate({ ...bindings, ...previous }))).toEqual([200, 401]);
  });

  // shows: oauth/who-gets-which-scope/plat.admin
  // shows: operator/conventions/scope-plat.admin
  it("grants no other client the admin scope, whatever its patterns match", async () => {
    const client = await makeClient({ scopes: ["plat.*"] });
    expect(decodeJwt(await tokenFor(client))["scope"]).not.toContain("plat.admin");
    const refused = await call(TOKEN, {
      form: { ...grant, scope: "plat.admin" },
      headers: { authorization: basic(client) },
    });
    expect(await expectJson(refused, 400)).toMatchObject({ error: "invalid_scope" });
  });
});

describe("POST /token: 400", () => {
  const cases: [string, Record<string, string>, string][] = [
    ["no grant_type", { scope: "openid" }, "invalid_request"],
    ["an unknown grant_type", { grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer" }, "unsupported_grant_type"],
    ["a scope that the client does not list", { ...grant, scope: "plat.media_view" }, "invalid_scope"],
    ["an unknown scope", { ...grant, scope: "nothing.like_this" }, "invalid_scope"],
    ["a scope with characters outside the pattern", { ...grant, scope: "a\u0000b é" }, "invalid_scope"],
    ["a tenant that is not the client's", { ...grant, scope: "plat.tenant=somebodyelse" }, "invalid_scope"],
    ["an organization", { ...grant, scope: "plat.org=acme" }, "invalid_scope"],
    ["two tenants", { ...grant, scope: "plat.tenant=aaa plat.tenant=bbb" }, "invalid_scope"],
    ["a tenant and no tenant", { ...grant, scope: "plat.tenant=aaa plat.no_tenant" }, "invalid_scope"],
    ["a session id with a line break", { ...grant, "plat-session-id": "a\r\nb" }, "invalid_request"],
  ];
  // shows: oauth/post-token/client_credentials-plat.org
  // shows: platform/patterns/scope
  // shows: oauth/who-gets-which-scope/a-scope-that-cannot-be-granted
  // shows: oauth/who-gets-which-scope/two-places
  // shows: oauth/errors-of-token-revoke-introspect/shape
  it.each(cases)("refuses %s", async (_, form, error) => {
    const client = await makeClient({ scopes: ["plat.pubsub_publish"] });
    const response = await call(TOKEN, { form, headers: { authorization: basic(client) } });
    const body = await expectJson(response, 400);
    expect(body.error).toBe(error);
    expect(Object.keys(body).sort()).toEqual(["error", "error_description", "error_uri"]);
    expect(body.error_uri).toContain(`?error=${body.error}&`);
    expect(body.error_uri.endsWith(response.headers.get("plat-request-id")!)).toBe(true);
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(body.error_description).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
  });

  // shows: platform/errors-of-every-service/repeated-oauth-parameter
  // shows: oauth/token/client-authentication
  it("refuses a repeated parameter and two ways of authentication", async () => {
    const client = await makeClient();
    const headers = { authorization: basic(client) };
    const twice = new URLSearchParams([
      ["grant_type", "client_credentials"],
      ["scope", "openid"],
      ["scope", "openid"],
    ]);
    expect(await expectJson(await call(TOKEN, { form: twice, headers }), 400)).toMatchObject({
      error: "invalid_request",
    });
    const both = { ...grant, client_id: client.clientId, client_secret: client.clientSecret };
    expect(await expectJson(await call(TOKEN, { form: both, headers }), 400)).toMatchObject({
      error: "invalid_request",
    });
    const other = { ...grant, client_id: "another.client" };
    expect(await expectJson(await call(TOKEN, { form: other, headers }), 400)).toMatchObject({
      error: "invalid_request",
    });
  });

  // shows: platform/errors-of-every-service/unknown-fields-and-parameters
  it("ignores unknown parameters, even repeated ones", async () => {
    const form = new URLSearchParams({ grant_type: "client_credentials" });
    for (const [name, value] of Object.entries({ sources: "https://a.example", __proto__x: "1" })) {
      form.append(name, value);
      form.append(name, `${value}2`);
    }
    const headers = { authorization: basic(await makeClient()) };
    await expectJson(await call(TOKEN, { form, headers }), 200);
  });

  // shows: oauth/what-the-service-does/scopes-by-subscription
  // shows: events/what-the-service-does/publishing-needs-a-package
  // shows: events/what-the-service-does/consuming-needs-none
  // shows: oauth/who-gets-which-scope/a-scope-that-cannot-be-granted
  // shows: oauth/who-gets-which-scope/plat.pubsub.topic-plat.pubsub_publish
  it("refuses a scope of a service that the tenant has no package for", async () => {
    const tenant = await makeTenant({ subscribed: false });
    const client = await makeClient({ tenant });
    const headers = { authorization: basic(client) };
    const refused = await expectJson(await call(TOKEN, { form: { ...grant, scope: "plat.media_view" }, headers }), 400);
    expect(refused.error_description).toContain("plat.media_view");
    const body = await expectJson(await call(TOKEN, { form: grant, headers }), 200);
    expect(body.scope).toBe(`plat.tenant=${tenant} plat.pubsub.topic=*`);
  });

  // shows: oauth/token/registered-for-the-grant
  it("refuses a client that is not registered for the grant", async () => {
    const tenant = await makeTenant();
    const clientId = `${tenant}.${unique("web")}`;
    const clientSecret = "s".repeat(40);
    await put(`clients/${clientId}`, {
      tenant,
      confidential: true,
      clientSecret,
      grantTypes: ["authorization_code"],
      scopes: [],
    });
    const response = await call(TOKEN, { form: grant, headers: { authorization: basic({ clientId, clientSecret }) } });
    expect(await expectJson(response, 400)).toMatchObject({ error: "unauthorized_client" });
  });
});

describe("POST /token with more scopes than fit into a token", () => {
  it("is refused; fewer scopes are granted", async () => {
    const tenant = await makeTenant();
    const service = unique("svc");
    const scopes = Array.from({ length: 150 }, (_, n) => `${service}.${"x".repeat(60)}${n}`);
    const fields = { sourceUrl: "https://s.example", proxyPath: `/${service}`, access: "token" };
    await put(`services/${service}`, { ...fields, scopes, essential: false, tenant });
    const client = await makeClient({ tenant, scopes });
    const headers = { authorization: basic(client) };
    expect(await expectJson(await call(TOKEN, { form: grant, headers }), 400)).toMatchObject({
      error: "invalid_scope",
    });
    const token = await tokenFor(client, scopes.slice(0, 50).join(" "));
    expect((await call("/admin/v1/roles", { token })).status).toBe(403);
  });
});

describe("POST /token: 401", () => {
  // shows: oauth/authentication/token
  // shows: oauth/token/failure
  it("gives an unknown client, a wrong secret, no secret and a broken header the same response", async () => {
    const client = await makeClient();
    const attempts: (string | undefined)[] = [
      basic({ clientId: "no.body", clientSecret: client.clientSecret }),
      basic({ clientId: client.clientId, clientSecret: "wrong" }),
      basic({ clientId: client.clientId, clientSecret: "" }),
      "Basic !!!",
      "Basic",
      `Basic ${btoa("%zz:%zz")}`,
    ];
    for (const authorization of attempts) {
      const response = await call(TOKEN, { form: grant, headers: { authorization: authorization! } });
      const body = await expectJson(response, 401);
      expect(body).toMatchObject({ error: "invalid_client", error_description: "Client authentication failed." });
      expect(response.headers.get("www-authenticate")).toBe(`Basic realm="plat", charset="UTF-8"`);
    }
    expect(await expectJson(await call(TOKEN, { form: grant }), 401)).toMatchObject({ error: "invalid_client" });
    const idAlone = await call(TOKEN, { form: { ...grant, client_id: client.clientId } });
    expect(await expectJson(idAlone, 401)).toMatchObject({ error: "invalid_client" });
  });

  it("refuses a public client, which has no secret", async () => {
    const tenant = await makeTenant();
    const clientId = `${tenant}.${unique("spa")}`;
    await put(`clients/${clientId}`, { tenant, confidential: false, grantTypes: ["client_credentials"], scopes: [] });
    const response = await call(TOKEN, { form: { ...grant, client_id: clientId } });
    expect(await expectJson(response, 401)).toMatchObject({ error: "invalid_client" });
  });
});

describe("POST /token: other statuses", () => {
  // shows: oauth/post-token/form-body
  it("responds to a wrong method, format or size in the protocol's format", async () => {
    const wrongMethod = await call(TOKEN, { method: "PUT" });
    expect(wrongMethod.status).toBe(405);
    expect(wrongMethod.headers.get("allow")).toContain("POST");
    expect(await call(TOKEN, { json: grant }).then((response) => response.status)).toBe(415);
    const large = await call(TOKEN, { form: { ...grant, scope: "x".repeat(70_000) } });
    expect(await expectJson(large, 413)).toMatchObject({ error: "invalid_request" });
  });

  it("refuses a disabled client at once, and its tokens too", async () => {
    const client = await makeClient();
    const token = await tokenFor(client);
    const stored = await expectJson(
      await call(`/admin/v1/clients/${client.clientId}`, { token: await tokenFor(OPERATOR) }),
      200,
    );
    await put(`clients/${client.clientId}`, { ...stored, disabled: true });
    const refused = await call(TOKEN, { form: grant, headers: { authorization: basic(client) } });
    expect(refused.status).toBe(401);
    expect((await call("/pubsub/v1/topics", { token })).status).toBe(401);
  });
});

/** A client of a registered service, and a package of the same name that includes the service. */
async function makeServiceClient() {
  const owner = await makeTenant();
  const service = unique("svc");
  const scopes = [`${service}.read`, `${service}.write`];
  await put(`services/${service}`, {
    sourceUrl: "https://private.example/v1",
    proxyPath: `/${service}/v1`,
    scopes,
    essential: false,
    tenant: owner,
    access: "token",
  });
  await put(`packages/${service}-package`, { version: "1", organization: `${owner}-org`, services: [service] });
  const client = await makeClient({ tenant: owner, scopes, service });
  return { owner, service, client };
}
