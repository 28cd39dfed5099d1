import { decodeJwt } from "jose";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { utf8 } from "../../../src/platform/text/encoding.ts";
import { answerJson, requestsTo } from "../../support/outside.ts";
import { call, expectJson, ORIGIN } from "../../support/platform/call.ts";
import { makeClient } from "../../support/platform/clients.ts";
import { OPERATOR, put } from "../../support/platform/operator.ts";
import { makeTenant } from "../../support/platform/tenants.ts";
import { basic, tokenFor } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";
import type { TestClient } from "../../support/platform/clients.ts";
import { makeProver } from "../../support/parties/prover.ts";
import { makeApp } from "../../support/sign-in.ts";
import { forge, prepare } from "../tokens/forged.ts";
import { makeUser, type TestUser } from "../../support/users.ts";
import { failureOf } from "../support/answers.ts";

const GRANT = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token";
const SCOPES = ["plat.media_view", "plat.media_manage"];

interface Service {
  readonly name: string;
  readonly client: TestClient;
}

/** A tenant, its user, and two services that it subscribes to. */
let tenant: string;
let ada: TestUser;
let orders: Service;
let other: Service;
beforeAll(async () => {
  tenant = await makeTenant();
  [orders, other] = [await makeService(), await makeService()];
  ada = await makeUser({ tenant, scopes: ALL() });
});
afterEach(() => {
  vi.useRealTimers();
});

const ALL = (): string[] => [...SCOPES, ...[orders, other].flatMap(({ name }) => [`${name}.view`, `${name}.edit`])];

async function makeService(): Promise<Service> {
  const owner = await makeTenant();
  const name = unique("svc-");
  const scopes = [`${name}.view`, `${name}.edit`];
  await put(`services/${name}`, {
    sourceUrl: `https://${name}.example.com`,
    proxyPath: `/${name}/v1`,
    scopes,
    tenant: owner,
    access: "token",
  });
  await put(`packages/${name}`, { version: "1", organization: `${owner}-org`, services: [name] });
  await put(`tenants/${tenant}/subscriptions/${name}`, {});
  await answerJson(`https://${name}.example.com/`, {});
  const app = await makeApp({ tenant: owner, service: name, grantTypes: [GRANT], scopes });
  return { name, client: app };
}

/** Ada's token of a client of her tenant. */
const personsToken = async (scopes?: string): Promise<string> => (await signedIn(scopes)).token;
async function signedIn(scopes = `${orders.name}.view ${orders.name}.edit ${SCOPES.join(" ")}`) {
  const app = await makeApp({
    tenant,
    grantTypes: ["password", "client_credentials"],
    scopes: ALL(),
  });
  const form = {
    grant_type: "password",
    username: ada.email,
    password: ada.password,
    plat_id_provider: "legacy_idp",
    scope: `plat.tenant=${tenant} ${scopes}`,
  };
  const answer = await call("/oauth2/v1/token", { form, headers: { authorization: basic(app) } });
  return { app, token: (await expectJson(answer, 200)).access_token as string };
}
/** The token that the gateway gives to the service in place of this one. */
async function givenTo({ name }: Service, token: string): Promise<string> {
  expect((await call(`/${name}/v1/`, { token })).status).toBe(200);
  const seen = await requestsTo(`https://${name}.example.com/`);
  return seen.at(-1)!.headers["authorization"]!.replace("Bearer ", "");
}
const exchange = (by: Service, token: string, more: Record<string, string> = {}): Promise<Response> =>
  call("/oauth2/v1/token", {
    form: { grant_type: GRANT, subject_token: token, subject_token_type: ACCESS_TOKEN, ...more },
    headers: { authorization: basic(by.client) },
  });
const infoOf = async (token: string): Promise<number> =>
  (await call(`/oauth2/v1/tokeninfo?access_token=${token}`)).status;

describe("Token exchange", () => {
  // shows: oauth/token-exchange/narrowing
  // shows: oauth/token-exchange/subject-token
  it("gives a service's client a token for the person, which says who acts", async () => {
    const given = await givenTo(orders, await personsToken());
    const answer = await expectJson(await exchange(orders, given, { scope: `${orders.name}.view` }), 200);
    expect(answer).toMatchObject({
      token_type: "Bearer",
      issued_token_type: ACCESS_TOKEN,
      expires_in: expect.any(Number),
    });
    expect(answer.expires_in).toBeLessThanOrEqual(300);
    expect(Object.keys(answer)).not.toContain("refresh_token");
    const claims = decodeJwt(answer.access_token as string);
    expect(claims).toMatchObject({ user: ada.email, tenant, client_id: orders.client.clientId });
    expect(claims["act"]).toEqual({ sub: orders.client.clientId });
    expect(claims["scope"]).toBe(`plat.tenant=${tenant} ${orders.name}.view`);
    const shown = await call("/oauth2/v1/introspect", {
      form: { token: answer.access_token as string },
      headers: { authorization: basic(orders.client) },
    });
    expect(await expectJson(shown, 200)).toMatchObject({ active: true, act: { sub: orders.client.clientId } });
    expect((await call("/oauth2/v1/userinfo", { token: answer.access_token as string })).status).toBe(200);
  });

  // shows: oauth/token-exchange/subject-token
  it("names each service that acts, and takes a token of the caller's own", async () => {
    const own = await personsToken(`${orders.name}.view ${other.name}.view`);
    const first = (await expectJson(await exchange(orders, own), 200)).access_token as string;
    expect(decodeJwt(first)["scope"]).toBe(`plat.tenant=${tenant} ${orders.name}.view`);
    const second = (await expectJson(await exchange(orders, first), 200)).access_token as string;
    const { clientId: sub } = orders.client;
    expect(decodeJwt(second)["act"]).toEqual({ sub, act: { sub } });
  });

  // shows: oauth/token-exchange/subject-token
  it("refuses a token of another service, of a client, of nobody, and one that is bound to a key", async () => {
    const token = await personsToken();
    const prover = await makeProver();
    const bound = await expectJson(
      await prover.send("/oauth2/v1/token", {
        form: { grant_type: GRANT, subject_token: await givenTo(orders, token), subject_token_type: ACCESS_TOKEN },
        headers: { authorization: basic(orders.client) },
      }),
      200,
    );
    expect(bound.token_type).toBe("DPoP");
    const wrong = [
      await givenTo(orders, token),
      await tokenFor(await makeClient({ tenant })),
      "made.up.token",
      bound.access_token as string,
    ];
    for (const [index, subject] of wrong.entries())
      expect(await failureOf(await exchange(other, subject)), String(index)).toBe("400 invalid_request");
  });

  // shows: oauth/token-exchange/refused
  it("never widens", async () => {
    const given = await givenTo(orders, await personsToken(`${orders.name}.view plat.media_view`));
    const wrong: [Record<string, string>, string][] = [
      [{ scope: `${orders.name}.edit` }, "invalid_scope"],
      [{ scope: "plat.media_view" }, "invalid_scope"],
      [{ scope: `${other.name}.view` }, "invalid_scope"],
      [{ scope: "openid" }, "invalid_scope"],
      [{ scope: `plat.tenant=${orders.client.tenant}` }, "invalid_scope"],
      [{ scope: "plat.no_tenant" }, "invalid_scope"],
      [{ audience: other.name }, "invalid_target"],
      [{ resource: "https://other.example/" }, "invalid_target"],
      [{ actor_token: given, actor_token_type: ACCESS_TOKEN }, "invalid_request"],
      [{ subject_token_type: "urn:ietf:params:oauth:token-type:id_token" }, "invalid_request"],
      [{ requested_token_type: "urn:ietf:params:oauth:token-type:refresh_token" }, "invalid_request"],
      [{ subject_token: "" }, "invalid_request"],
    ];
    for (const [more, error] of wrong)
      expect(await failureOf(await exchange(orders, given, more)), JSON.stringify(more)).toBe(`400 ${error}`);
  });

  // shows: oauth/token-exchange/forbidden
  it("wants a subject token with its type, each once, from a client that authenticates", async () => {
    const given = await givenTo(orders, await personsToken(`${orders.name}.view`));
    const form = { grant_type: GRANT, subject_token: given, subject_token_type: ACCESS_TOKEN };
    const headers = { authorization: basic(orders.client) };
    const twice = new URLSearchParams(form);
    twice.append("subject_token", given);
    const wrong: [string, Record<string, string> | URLSearchParams][] = [
      ["no subject token", { grant_type: GRANT, subject_token_type: ACCESS_TOKEN }],
      ["no type", { grant_type: GRANT, subject_token: given }],
      ["another type", { ...form, subject_token_type: "urn:ietf:params:oauth:token-type:saml2" }],
      ["the type of an actor without one", { ...form, actor_token_type: ACCESS_TOKEN }],
      ["an actor without its type", { ...form, actor_token: given }],
      ["twice", twice],
    ];
    for (const [what, sent] of wrong)
      expect(await failureOf(await call("/oauth2/v1/token", { form: sent, headers })), what).toBe(
        "400 invalid_request",
      );
    const part = { ...form, resource: `${ORIGIN}/${orders.name}/v1#part` };
    expect(await failureOf(await call("/oauth2/v1/token", { form: part, headers }))).toBe("400 invalid_target");
    const named = { ...form, client_id: orders.client.clientId };
    expect(await failureOf(await call("/oauth2/v1/token", { form: named }))).toBe("401 invalid_client");
    expect(await failureOf(await call("/oauth2/v1/token", { form }))).toBe("401 invalid_client");
    const answer = await expectJson(await call("/oauth2/v1/token", { form, headers }), 200);
    expect(answer).not.toHaveProperty("refresh_token");
  });

  // shows: oauth/token-exchange/by-registration
  it("is of a service's client that is registered for it, while the tenant subscribes", async () => {
    const token = await personsToken();
    const plain = await makeApp({ tenant, grantTypes: [GRANT], scopes: SCOPES });
    expect(await failureOf(await exchange({ name: "", client: plain }, token))).toBe("400 unauthorized_client");
    const unregistered = await makeApp({ tenant, service: orders.name, scopes: SCOPES });
    expect(await failureOf(await exchange({ name: "", client: unregistered }, token))).toBe("400 unauthorized_client");
    const stranger = await makeTenant();
    const beyond = await makeApp({ tenant: stranger, service: other.name, grantTypes: [GRANT], scopes: SCOPES });
    await expectJson(await exchange({ name: other.name, client: beyond }, token), 200);
    await call(`/admin/v1/tenants/${tenant}/subscriptions/${other.name}`, {
      method: "DELETE",
      token: await tokenFor(OPERATOR),
    });
    const fresh = await personsToken(SCOPES.join(" "));
    expect(await failureOf(await exchange({ name: other.name, client: beyond }, fresh))).toBe("400 invalid_scope");
    await put(`tenants/${tenant}/subscriptions/${other.name}`, {});
  });

  it("is refused for a token that was revoked alone, and for the gateway's token for it", async () => {
    const { app, token } = await signedIn();
    const given = await givenTo(orders, token);
    expect((await exchange(orders, given)).status).toBe(200);
    const revoked = await call("/oauth2/v1/revoke", { form: { token }, headers: { authorization: basic(app) } });
    expect([revoked.status, await infoOf(token)]).toEqual([200, 400]);
    for (const subject of [given, token])
      expect(await failureOf(await exchange(orders, subject))).toBe("400 invalid_request");
  });

  // shows: oauth/token-exchange/ends
  it("takes a gateway's token of an older release, without the caller's id, as long as the grant lives", async () => {
    await prepare();
    const { app, token } = await signedIn();
    const { caller_jti: _, ...claims } = decodeJwt(await givenTo(orders, token));
    const old = await forge("access", {
      header: { typ: "service+jwt" },
      payload: utf8(JSON.stringify(claims)),
    });
    expect((await exchange(orders, old)).status).toBe(200);
    expect(await failureOf(await exchange(other, old))).toBe("400 invalid_request");
    await call(`/admin/v1/clients/${app.clientId}/revoke`, { method: "POST", token: await tokenFor(OPERATOR) });
    expect(await failureOf(await exchange(orders, old))).toBe("400 invalid_request");
  });

  it("ends with the person's tokens, and with the token that was handed in", async () => {
    const given = await givenTo(orders, await personsToken());
    const answer = await expectJson(await exchange(orders, given), 200);
    const token = answer.access_token as string;
    expect(decodeJwt(token).exp! * 1000).toBeLessThanOrEqual(Date.now() + 300_000);
    expect(await infoOf(token)).toBe(200);
    await put(`users/${ada.email}`, { name: "Ada", disabled: true });
    expect(await infoOf(token)).toBe(400);
    expect(await failureOf(await exchange(orders, given))).toBe("400 invalid_request");
    await put(`users/${ada.email}`, { name: "Ada", disabled: false });
  });
});
