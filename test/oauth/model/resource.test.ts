import { decodeJwt } from "jose";
import { beforeAll, describe, expect, it } from "vitest";
import { Browser } from "../../support/browser.ts";
import { answerJson, requestsTo } from "../../support/outside.ts";
import { call, expectJson, ORIGIN } from "../../support/platform/call.ts";
import { OPERATOR, put } from "../../support/platform/operator.ts";
import { makeTenant } from "../../support/platform/tenants.ts";
import { basic, tokenFor } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";
import { makeApp, signInThrough, type TestApp } from "../../support/sign-in.ts";
import { makeUser, type TestUser } from "../../support/users.ts";
import { CHALLENGE, codeFor, VERIFIER } from "../support/code.ts";
import { REDIRECT } from "../support/flow.ts";
import { failureOf, statusAt } from "../support/answers.ts";

const EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
const DEVICE = "urn:ietf:params:oauth:grant-type:device_code";
const GRANTS = ["client_credentials", "authorization_code", "refresh_token", "password", "implicit", EXCHANGE, DEVICE];
const MEDIA = `${ORIGIN}/media/v2`;

interface Service {
  readonly name: string;
  readonly path: string;
  readonly uri: string;
}
type Form = Record<string, string> | readonly (readonly [string, string])[];

let tenant: string;
let ada: TestUser;
let [orders, below, stock]: Service[] = [];
let app: TestApp;
beforeAll(async () => {
  tenant = await makeTenant();
  const base = unique("svc-");
  [orders, below, stock] = [await makeService(base), await makeService(`${base}/v1/inner`), await makeService()];
  const scopes = ["plat.media_view", ...[orders, below, stock].map((one) => `${one.name}.view`)];
  ada = await makeUser({ tenant, scopes });
  app = await makeApp({ tenant, service: orders.name, scopes, grantTypes: GRANTS, redirectUris: [REDIRECT] });
});

async function makeService(place = unique("svc-"), access = "token"): Promise<Service> {
  const name = place.replaceAll("/", "-");
  const path = `/${place}/v1`;
  const sourceUrl = `https://${name}.example.com`;
  await put(`services/${name}`, { sourceUrl, proxyPath: path, scopes: [`${name}.view`], tenant, access });
  await answerJson(`${sourceUrl}/`, {});
  return { name, path, uri: ORIGIN + path };
}

const tokenRequest = (form: Form): Promise<Response> =>
  call("/oauth2/v1/token", {
    form: new URLSearchParams(form),
    headers: { authorization: basic(app) },
  });
const resources = (...uris: readonly string[]) => uris.map((uri) => ["resource", uri] as const);
const OWN = ["grant_type", "client_credentials"] as const;
const tokenOf = async (response: Response): Promise<string> => (await expectJson(response, 200)).access_token as string;

describe("A token for a named service", () => {
  // shows: oauth/resource-indicators/audience
  // shows: oauth/resource-indicators/elsewhere
  it("is taken there and refused by every other service", async () => {
    const token = await tokenOf(await tokenRequest([OWN, ...resources(orders!.uri)]));
    expect(decodeJwt(token).aud).toBe(orders!.uri);
    expect(await statusAt(`${orders!.path}/`, token)).toBe(200);
    // The gateway gives the service a token with the same claims about the caller.
    const seen = (await requestsTo(`https://${orders!.name}.example.com/`)).at(-1)!.headers["authorization"]!;
    expect(decodeJwt(seen.replace("Bearer ", ""))).toMatchObject({ aud: orders!.name, client_id: app.clientId });
    const elsewhere = [
      `${stock!.path}/`,
      // The path of this service begins with the path of the token's service.
      `${below!.path}/`,
      "/media/v2/files",
      "/pubsub/v1/topics",
      "/events/v1/topics",
      "/admin/v1/clients",
      "/oauth2/v1/userinfo",
      "/oauth2/v1/refreshtokens",
    ];
    for (const path of elsewhere) expect([path, await statusAt(path, token)]).toEqual([path, 401]);
    const refused = await call("/pubsub/v1/topics", { token });
    expect(refused.headers.get("www-authenticate")).toContain('error="invalid_token"');
    expect(await refused.text()).toContain("The access token is for another service.");
  });

  it("may be one of the platform's own, and of several", async () => {
    const token = await tokenOf(await tokenRequest([OWN, ...resources(`${MEDIA}/`, stock!.uri, stock!.uri)]));
    expect(decodeJwt(token).aud).toEqual([MEDIA, stock!.uri]);
    expect(await statusAt(`/media/v2/files?tenant=${tenant}`, token)).toBe(200);
    expect(await statusAt(`${stock!.path}/`, token)).toBe(200);
    expect(await statusAt("/pubsub/v1/topics", token)).toBe(401);
  });

  // shows: oauth/resource-indicators/scopes
  it("has the scopes of its services alone", async () => {
    const body = await expectJson(await tokenRequest([OWN, ...resources(orders!.uri)]), 200);
    expect(body.scope).toBe(`plat.tenant=${tenant} ${orders!.name}.view`);
    const named = [["scope", `${orders!.name}.view plat.media_view`] as const, ...resources(orders!.uri)];
    expect((await expectJson(await tokenRequest([OWN, ...named]), 200)).scope).toBe(
      `plat.tenant=${tenant} ${orders!.name}.view`,
    );
  });

  // shows: oauth/resource-indicators/told
  it("is described with its services by introspection and tokeninfo", async () => {
    const token = await tokenOf(await tokenRequest([OWN, ...resources(orders!.uri)]));
    const asked = { form: { token }, headers: { authorization: basic(app) } };
    expect(await expectJson(await call("/oauth2/v1/introspect", asked), 200)).toMatchObject({ aud: orders!.uri });
    const info = await expectJson(await call(`/oauth2/v1/tokeninfo?access_token=${token}`), 200);
    expect(info.resources).toEqual([orders!.uri]);
  });

  it("is the whole platform's if no service is named", async () => {
    const token = await tokenOf(await tokenRequest([OWN]));
    expect(decodeJwt(token).aud).toBe(ORIGIN);
    expect(await statusAt(`/media/v2/files?tenant=${tenant}`, token)).toBe(200);
    const info = await expectJson(await call(`/oauth2/v1/tokeninfo?access_token=${token}`), 200);
    expect(Object.keys(info)).not.toContain("resources");
  });
});

describe("A resource that is none", () => {
  // shows: oauth/resource-indicators/invalid_target
  it("is refused", async () => {
    const open = await makeService(unique("svc-"), "public");
    const wrong = [
      open.uri,
      `${ORIGIN}/nobody/v1`,
      ORIGIN,
      `https://other.example${orders!.path}`,
      `${orders!.uri}#part`,
      orders!.path,
      orders!.name,
      `https://ada@plinth.test${orders!.path}`,
      `${orders!.uri}/${"a".repeat(2000)}`,
    ];
    for (const uri of wrong)
      expect([uri, await failureOf(await tokenRequest([OWN, ...resources(uri)]))]).toEqual([uri, "400 invalid_target"]);
    const many = Array.from({ length: 9 }, () => orders!.uri);
    expect(await failureOf(await tokenRequest([OWN, ...resources(...many)]))).toBe("400 invalid_target");
  });
});

describe("A grant of a person", () => {
  const authorization = { scopes: () => [`${orders!.name}.view`, `${stock!.name}.view`] };
  const flow = () => ({
    client: app,
    email: ada.email,
    tenant,
    role: "",
  });
  const code = (paths: readonly string[] | undefined) =>
    codeFor(flow(), { authorization: { scopes: authorization.scopes(), resources: paths } });
  const redeem = (text: string, ...uris: readonly string[]) =>
    tokenRequest([
      ["grant_type", "authorization_code"],
      ["code", text],
      ["redirect_uri", REDIRECT],
      ["code_verifier", VERIFIER],
      ...resources(...uris),
    ]);

  // shows: oauth/resource-indicators/narrowing
  it("gives tokens for some of its services or all, and for no others", async () => {
    const both = [orders!.path, stock!.path];
    const text = await code(both);
    // The refusal does not use the code up.
    expect(await failureOf(await redeem(text, MEDIA))).toBe("400 invalid_target");
    const first = await expectJson(await redeem(text, orders!.uri), 200);
    expect(decodeJwt(first.access_token as string).aud).toBe(orders!.uri);
    const refresh = (...uris: readonly string[]) =>
      tokenRequest([
        ["grant_type", "refresh_token"],
        ["refresh_token", first.refresh_token as string],
        ...resources(...uris),
      ]);
    expect(decodeJwt(await tokenOf(await refresh(stock!.uri))).aud).toBe(stock!.uri);
    expect(decodeJwt(await tokenOf(await refresh())).aud).toEqual([orders!.uri, stock!.uri]);
    expect(await failureOf(await refresh(MEDIA))).toBe("400 invalid_target");
  });

  it("for the whole platform gives tokens for one service too", async () => {
    const narrowed = await expectJson(await redeem(await code(undefined), orders!.uri), 200);
    expect(decodeJwt(narrowed.access_token as string).aud).toBe(orders!.uri);
    const form = { grant_type: "refresh_token", refresh_token: narrowed.refresh_token as string };
    const later = await tokenRequest(Object.entries(form));
    expect(decodeJwt(await tokenOf(later)).aud).toBe(ORIGIN);
  });

  it("ends with its only service", async () => {
    const gone = await makeService();
    const text = await code([gone.path]);
    await call(`/admin/v1/services/${gone.name}`, { method: "DELETE", token: await tokenFor(OPERATOR) });
    expect(await failureOf(await redeem(text))).toBe("400 invalid_target");
  });
});

describe("An authorization request", () => {
  const query = (more: readonly (readonly [string, string])[]) =>
    new URLSearchParams([
      ["client_id", app.clientId],
      ["response_type", "code"],
      ["redirect_uri", REDIRECT],
      ["code_challenge", CHALLENGE],
      ["code_challenge_method", "S256"],
      ...more,
    ] as string[][]);

  // shows: oauth/resource-indicators/authorize
  it("carries its resources through the pages to the token", async () => {
    const browser = new Browser();
    const page = await browser.get(`/oauth2/v1/authorize?${query(resources(orders!.uri, stock!.uri)).toString()}`);
    const back = await browser.submit(page, { email: ada.email, password: ada.password });
    const location = new URL(back.location ?? "");
    const text = location.searchParams.get("code") ?? "";
    const answer = await tokenRequest([
      ["grant_type", "authorization_code"],
      ["code", text],
      ["redirect_uri", REDIRECT],
      ["code_verifier", VERIFIER],
    ]);
    expect(decodeJwt(await tokenOf(answer)).aud).toEqual([orders!.uri, stock!.uri]);
  });

  it("for a service that is none goes back with invalid_target and iss", async () => {
    const browser = new Browser();
    const back = await browser.get(`/oauth2/v1/authorize?${query(resources(`${ORIGIN}/nobody/v1`)).toString()}`);
    const answer = new URL(back.location ?? "").searchParams;
    expect([answer.get("error"), answer.get("iss")]).toEqual(["invalid_target", `${ORIGIN}/oauth2/v1`]);
  });

  // shows: oauth/resource-indicators/pushed
  it("is pushed with its resources, which are checked then", async () => {
    const push = (uri: string) =>
      call("/oauth2/v1/par", { form: query(resources(uri)), headers: { authorization: basic(app) } });
    expect(await failureOf(await push(`${ORIGIN}/nobody/v1`))).toBe("400 invalid_target");
    const { request_uri } = await expectJson(await push(orders!.uri), 201);
    const browser = new Browser();
    await signInThrough(browser, app, ada);
    const reference = new URLSearchParams({ client_id: app.clientId, request_uri: request_uri as string });
    // Parameters that the browser adds have no effect.
    reference.append("resource", stock!.uri);
    const back = await browser.get(`/oauth2/v1/authorize?${reference.toString()}`);
    const text = new URL(back.location ?? "").searchParams.get("code") ?? "";
    const form = { grant_type: "authorization_code", code: text, redirect_uri: REDIRECT, code_verifier: VERIFIER };
    expect(decodeJwt(await tokenOf(await tokenRequest(Object.entries(form)))).aud).toBe(orders!.uri);
  });

  it("in the implicit flow gives a token for the service", async () => {
    const browser = new Browser();
    await signInThrough(browser, app, ada);
    const asked = new URLSearchParams({
      client_id: app.clientId,
      response_type: "token",
      redirect_uri: REDIRECT,
      resource: orders!.uri,
    });
    const back = await browser.get(`/oauth2/v1/authorize?${asked.toString()}`);
    const token = new URLSearchParams(new URL(back.location ?? "").hash.slice(1)).get("access_token") ?? "";
    expect(decodeJwt(token).aud).toBe(orders!.uri);
  });

  // shows: oauth/resource-indicators/devices
  it("of a device keeps its resources until the person decides", async () => {
    const begun = await expectJson(
      await call("/oauth2/v1/device_authorization", {
        form: new URLSearchParams(resources(orders!.uri, stock!.uri)),
        headers: { authorization: basic(app) },
      }),
      200,
    );
    const browser = new Browser();
    await signInThrough(browser, app, ada);
    let page = await browser.submit(await browser.get(begun.verification_uri as string), {
      user_code: begun.user_code as string,
    });
    while (page.location !== null && page.location !== undefined) page = await browser.get(page.location);
    await browser.submit(page, { decision: "allow" });
    const answer = await tokenRequest([
      ["grant_type", DEVICE],
      ["device_code", begun.device_code as string],
    ]);
    expect(decodeJwt(await tokenOf(answer)).aud).toEqual([orders!.uri, stock!.uri]);
    const refused = await call("/oauth2/v1/device_authorization", {
      form: { resource: `${ORIGIN}/nobody/v1` },
      headers: { authorization: basic(app) },
    });
    expect(await failureOf(refused)).toBe("400 invalid_target");
  });
});

describe("An exchanged token", () => {
  const exchange = (token: string, ...uris: readonly string[]) =>
    tokenRequest([
      ["grant_type", EXCHANGE],
      ["subject_token", token],
      ["subject_token_type", "urn:ietf:params:oauth:token-type:access_token"],
      ...resources(...uris),
    ]);
  const personal = (...uris: readonly string[]) =>
    tokenRequest([
      ["grant_type", "password"],
      ["username", ada.email],
      ["password", ada.password],
      ["plat_id_provider", "legacy_idp"],
      ["scope", `plat.tenant=${tenant} ${orders!.name}.view ${stock!.name}.view`],
      ...resources(...uris),
    ]);

  // shows: oauth/resource-indicators/exchange
  it("is for the services of the one that was handed in, or fewer", async () => {
    const whole = await tokenOf(await personal());
    expect(decodeJwt(await tokenOf(await exchange(whole, stock!.uri))).aud).toBe(stock!.uri);
    const narrow = await tokenOf(await personal(orders!.uri));
    expect(await failureOf(await exchange(narrow, stock!.uri))).toBe("400 invalid_target");
    expect(decodeJwt(await tokenOf(await exchange(narrow))).aud).toBe(orders!.uri);
  });

  it("widens nothing by the way of the gateway's token", async () => {
    const other = await makeTenant();
    const name = unique("svc-");
    const sourceUrl = `https://${name}.example.com`;
    const own = { sourceUrl, proxyPath: `/${name}/v1`, scopes: [`${name}.view`], tenant: other, access: "token" };
    await put(`services/${name}`, { ...own, essential: true });
    await answerJson(`${sourceUrl}/`, {});
    const worker = await makeApp({ tenant: other, service: name, grantTypes: [EXCHANGE], scopes: [`${name}.view`] });
    await put(`packages/${name}`, { version: "1", organization: `${other}-org`, services: [name] });
    await put(`tenants/${tenant}/subscriptions/${name}`, {});
    const token = await tokenOf(await personal(`${ORIGIN}/${name}/v1`));
    expect(await statusAt(`/${name}/v1/`, token)).toBe(200);
    const given = (await requestsTo(`${sourceUrl}/`)).at(-1)!.headers["authorization"]!.replace("Bearer ", "");
    expect(decodeJwt(given)).toMatchObject({ aud: name, res: [`/${name}/v1`] });
    const answer = await call("/oauth2/v1/token", {
      form: {
        grant_type: EXCHANGE,
        subject_token: given,
        subject_token_type: "urn:ietf:params:oauth:token-type:access_token",
      },
      headers: { authorization: basic(worker) },
    });
    expect(decodeJwt(await tokenOf(answer)).aud).toBe(`${ORIGIN}/${name}/v1`);
  });
});
