import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from "jose";
import { afterEach, describe, expect, it, vi } from "vitest";
import { everyRoute, fill } from "../support/route-table.ts";
import { answerJson, requestsTo } from "../support/outside.ts";
import { isolate } from "../support/isolate.ts";
import { call, expectJson, ORIGIN } from "../support/platform/call.ts";
import { makeClient, type TestClient } from "../support/platform/clients.ts";
import { OPERATOR, put } from "../support/platform/operator.ts";
import { makeTenant } from "../support/platform/tenants.ts";
import { basic, tokenFor } from "../support/platform/tokens.ts";
import { unique } from "../support/platform/unique.ts";
import { makeUser, type TestUser } from "../support/users.ts";

interface Made {
  readonly name: string;
  readonly path: string;
  readonly source: string;
  readonly tenant: string;
}

/** A service with two scopes that a package includes. */
async function makeService(more: object = {}, tenant?: string): Promise<Made> {
  const owner = tenant ?? (await makeTenant({ subscribed: false }));
  const name = unique("svc-");
  const source = `https://${name}.example.com`;
  const path = `/${name}/v1`;
  const scopes = [`${name}.view`, `${name}.own.*`];
  const registered = { sourceUrl: source, proxyPath: path, scopes, tenant: owner, access: "token", ...more };
  await put(`services/${name}`, registered);
  await put(`packages/${name}`, { version: "1", organization: `${owner}-org`, services: [name] });
  await answerJson(`${source}/`, {});
  return { name, path, source, tenant: owner };
}

/** A client of a customer with these services and those of the platform. */
async function makeCustomer(services: readonly Made[]): Promise<TestClient> {
  const tenant = await makeTenant();
  for (const { name } of services) await put(`tenants/${tenant}/subscriptions/${name}`, {});
  const own = services.flatMap(({ name }) => [`${name}.view`, `${name}.own.*`]);
  const scopes = [...own, "plat.media_view", "plat.media_manage", "plat.pubsub_publish", "plat.pubsub.topic=*"];
  return makeClient({ tenant, scopes });
}

/** The headers of this request as the service got them. */
async function seenBy(service: Made, token: string, headers: Record<string, string> = {}) {
  expect((await call(`${service.path}/`, { token, headers })).status).toBe(200);
  const [seen] = await requestsTo(`${service.source}/`);
  return seen!.headers;
}

const tokenSeenBy = async (service: Made, token: string): Promise<string> =>
  (await seenBy(service, token))["authorization"]!.replace("Bearer ", "");

const keySet = async () => createLocalJWKSet(await expectJson(await call("/oauth2/v1/jwks"), 200));

async function tokenOf({ email, password }: TestUser, scope: string): Promise<string> {
  const form = { grant_type: "password", username: email, password, plat_id_provider: "legacy_idp", scope };
  return (await expectJson(await call("/oauth2/v1/token", { form }), 200)).access_token;
}

afterEach(() => void vi.useRealTimers());

describe("a service of another tenant", () => {
  // shows: gateway/towards-the-service/authorization-another-tenant
  it("gets a token only for itself: the same caller, its own scopes, a minute, its own type", async () => {
    const service = await makeService();
    const customer = await makeCustomer([service, await makeService()]);
    const token = await tokenFor(customer);
    const given = await tokenSeenBy(service, token);
    expect(given).not.toBe(token);
    const whole = decodeJwt(token);
    const { payload, protectedHeader } = await jwtVerify(given, await keySet(), {
      issuer: `${ORIGIN}/oauth2/v1`,
      audience: service.name,
      typ: "service+jwt",
      algorithms: ["ES256"],
    });
    expect(protectedHeader.kid).toEqual(expect.any(String));
    const { sub, client_id, client_name, client_auth, tenant, tenant_explicit, org, user, sid } = whole;
    const { plan, gid, asof, user_asof, jti: caller_jti } = whole;
    const person = { sub, client_id, client_name, client_auth, tenant, tenant_explicit, org, user, sid };
    const identity = { ...person, plan, gid, asof, user_asof, caller_jti };
    expect(payload).toEqual({
      ...identity,
      jti: expect.stringMatching(/^[0-9a-f]{32}$/),
      iss: whole.iss,
      aud: service.name,
      iat: expect.any(Number),
      exp: expect.any(Number),
      scope: `${service.name}.own.* ${service.name}.view`,
    });
    expect(payload.jti).not.toBe(whole.jti);
    expect(payload.exp! - payload.iat!).toBeLessThanOrEqual(60);
    expect([payload["client_id"], payload["tenant"]]).toEqual([customer.clientId, customer.tenant]);
  });

  // shows: gateway/towards-the-service/authorization-another-tenant
  it("gets a token that no operation, service or token endpoint of the platform accepts", async () => {
    const [service, other] = [await makeService(), await makeService()];
    const customer = await makeCustomer([service, other]);
    const stolen = await tokenSeenBy(service, await tokenFor(customer));
    const refused: string[] = [];
    for (const { base, route } of everyRoute) {
      if (route.access.kind === "public") continue;
      const { status } = await call(`${base}${fill(route.path)}`, { method: route.method, token: stolen });
      refused.push(`${route.method} ${base}${route.path} ${status}`);
    }
    expect(refused.length).toBeGreaterThan(60);
    expect(refused.filter((line) => !line.endsWith(" 401"))).toEqual([]);
    for (const { path, source } of [service, other]) {
      expect((await call(`${path}/`, { token: stolen })).status, path).toBe(401);
      expect(await requestsTo(`${source}/`)).toEqual([]);
    }
    expect((await call("/oauth2/v1/userinfo", { token: stolen })).status).toBe(401);
    expect((await call(`/oauth2/v1/tokeninfo?access_token=${stolen}`)).status).toBe(400);
    const headers = { authorization: basic(customer) };
    const described = await call("/oauth2/v1/introspect", { form: { token: stolen }, headers });
    expect(await expectJson(described, 200)).toEqual({ active: false });
    await expectJson(await call("/oauth2/v1/revoke", { form: { token: stolen }, headers }), 200);
  });

  // shows: gateway/towards-the-service/authorization-another-tenant
  it("gets a token that expires no later than the caller's, and the same one for half a minute", async () => {
    const service = await makeService();
    const [one, two] = [await makeCustomer([service]), await makeCustomer([service])];
    const [mine, yours] = [await tokenFor(one), await tokenFor(two)];
    const startMs = Date.now();
    const at = async (afterMs: number, token: string): Promise<string> => {
      vi.useFakeTimers({ toFake: ["Date"], now: startMs + afterMs });
      return tokenSeenBy(service, token);
    };
    const first = await at(0, mine);
    expect(await at(29_000, mine)).toBe(first);
    const another = await at(29_000, yours);
    expect([decodeJwt(another)["client_id"], decodeJwt(first)["client_id"]]).toEqual([two.clientId, one.clientId]);
    const second = await at(31_000, mine);
    expect(second).not.toBe(first);
    expect(decodeJwt(second).jti).not.toBe(decodeJwt(first).jti);
    expect(decodeJwt(await at(3_590_000, mine)).exp).toBe(decodeJwt(mine).exp);
  });

  // shows: gateway/towards-the-service/plat-client-authenticated
  it("gets a token of a person, with or without a tenant, and learns if the client authenticated", async () => {
    const service = await makeService({ essential: true });
    const user = await makeUser({ scopes: [`${service.name}.view`, "plat.media_view"] });
    const seen = await seenBy(service, await tokenOf(user, `${service.name}.view plat.media_view`));
    expect(decodeJwt(seen["authorization"]!)).toMatchObject({
      user: user.email,
      tenant: user.tenant,
      client_id: "",
      client_auth: false,
      scope: `${service.name}.view`,
    });
    expect(seen["plat-client-authenticated"]).toBe("false");
    const nowhere = await seenBy(service, await tokenOf(user, "plat.no_tenant"));
    expect(decodeJwt(nowhere["authorization"]!)).toMatchObject({ aud: service.name, tenant: "", scope: "" });
  });

  // shows: gateway/towards-the-service/forwardauthorization
  it("gets the caller's token if the operator allows it, until a PUT that leaves this out", async () => {
    const service = await makeService({ forwardAuthorization: true });
    const token = await tokenFor(await makeCustomer([service]));
    expect(await tokenSeenBy(service, token)).toBe(token);
    const { name, source, path, tenant } = service;
    const body = { sourceUrl: source, proxyPath: path, scopes: [], tenant, access: "token" };
    expect(await put(`services/${name}`, body)).toMatchObject({ forwardAuthorization: false, trusted: false });
    expect(await tokenSeenBy(service, token)).not.toBe(token);
  });

  it("never gets a token with operator scopes", async () => {
    const service = await makeService({ forwardAuthorization: true, essential: true });
    const token = await tokenFor(OPERATOR);
    expect(decodeJwt(await tokenSeenBy(service, token))).toMatchObject({ aud: service.name, scope: "" });
  });

  it("gets a token for itself if the caller is another service that acts for its tenant", async () => {
    const provider = await makeService();
    const clientOf = (tenant: string, more: object) => makeClient({ tenant, scopes: [], ...more });
    const acting = await clientOf(provider.tenant, { service: provider.name });
    const customer = await makeTenant();
    await put(`tenants/${customer}/subscriptions/${provider.name}`, {});
    const theirs = await makeService({}, customer);
    const token = await tokenFor(acting, `plat.tenant=${customer}`);
    expect(decodeJwt(await tokenSeenBy(theirs, token))).toMatchObject({ aud: theirs.name, client_id: acting.clientId });
    const own = await tokenFor(await clientOf(customer, {}), `plat.tenant=${customer}`);
    expect(await tokenSeenBy(theirs, own)).toBe(own);
  });

  it("gets a token of the public issuer in every isolate", async () => {
    const service = await makeService();
    const customer = await makeCustomer([service]);
    const elsewhere = isolate({ PUBLIC_URL: "https://api.example.com", PATH_PREFIX: "/hybris" });
    const issued = await elsewhere.fetch("https://api.example.com/hybris/oauth2/v1/token", {
      method: "POST",
      headers: { authorization: basic(customer), "content-type": "application/x-www-form-urlencoded" },
      body: "grant_type=client_credentials",
    });
    const { access_token: token } = await issued.json<{ access_token: string }>();
    const headers = { authorization: `Bearer ${token}` };
    expect((await elsewhere.fetch(`https://api.example.com/hybris${service.path}/`, { headers })).status).toBe(200);
    const [seen] = await requestsTo(`${service.source}/`);
    const given = seen!.headers["authorization"]!.replace("Bearer ", "");
    expect(decodeJwt(given)).toMatchObject({ iss: "https://api.example.com/hybris/oauth2/v1", aud: service.name });
    expect(decodeProtectedHeader(given).typ).toBe("service+jwt");
  });
});

describe("a service of the caller's own tenant", () => {
  // shows: gateway/towards-the-service/authorization-the-caller-s-own-tenant
  // shows: gateway/towards-the-service/plat-client-authenticated
  it("gets the caller's token as it is, and learns if the client authenticated", async () => {
    const tenant = await makeTenant();
    const service = await makeService({}, tenant);
    const token = await tokenFor(await makeClient({ tenant }));
    for (const spelling of ["plat-client-authenticated", "Plat_Client.Authenticated"]) {
      const seen = await seenBy(service, token, { [spelling]: "forged" });
      expect(seen).toMatchObject({ authorization: `Bearer ${token}`, "plat-client-authenticated": "true" });
      expect(JSON.stringify(seen)).not.toContain("forged");
    }
  });

  it("gets no header about a client if the caller is anonymous", async () => {
    const service = await makeService({ access: "public" });
    for (const headers of [{}, { authorization: "Basic YTpi", "plat-client-authenticated": "true" }]) {
      expect((await call(`${service.path}/`, { headers: headers as Record<string, string> })).status).toBe(200);
      const [seen] = await requestsTo(`${service.source}/`);
      expect(seen!.headers).not.toHaveProperty("plat-client-authenticated");
      expect(seen!.headers["authorization"]).toBe((headers as Record<string, string>)["authorization"]);
    }
  });
});
