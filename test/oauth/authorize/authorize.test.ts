import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { decodeJwt } from "jose";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { authorizeAddress, Browser, landed, toInit, type Visit } from "../../support/browser.ts";
import { counting } from "../../support/counting.ts";
import { isolate } from "../../support/isolate.ts";
import { call, expectJson, ORIGIN } from "../../support/platform/call.ts";
import { OPERATOR, put } from "../../support/platform/operator.ts";
import { makeTenant } from "../../support/platform/tenants.ts";
import { basic, tokenFor } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";
import { APP_URI, errorOf, makeApp, requestFor, signInThrough, visit, type TestApp } from "../../support/sign-in.ts";
import { shardBinding } from "../../../src/platform/storage/shards.ts";
import { makeUser, type TestUser } from "../../support/users.ts";
import { databaseWith, directoryWith } from "../../support/directory.ts";
import { runs } from "../../support/model-runs.ts";
import { everywhere, HELD, shardDb } from "../../support/shards.ts";
import { makeSignedInUser } from "../../support/user-and-app.ts";
import { CHALLENGE, VERIFIER } from "../support/code.ts";
import { anyText, writtenText } from "../../support/any-text.ts";

const ISSUER = `${ORIGIN}/oauth2/v1`;

let user: TestUser;
let app: TestApp;
/** The browser is signed in. */
let browser: Browser;
beforeAll(async () => {
  ({ user, app, browser } = await makeSignedInUser());
});

const redeem = (from: TestApp, code: string | null, more: Record<string, string> = {}) =>
  call("/oauth2/v1/token", {
    form: { grant_type: "authorization_code", code: code ?? "", redirect_uri: from.redirectUri, ...more },
    headers: from.clientSecret === "" ? {} : { authorization: basic(from) },
  });
const tokenInfo = async (token: string | null) =>
  expectJson(await call(`/oauth2/v1/tokeninfo?access_token=${encodeURIComponent(token ?? "")}`), 200);

/** No response may be cached or sent as a referrer. */
function expectClean(answer: Visit): void {
  expect(answer.headers.get("cache-control")).toContain("no-store");
  expect(answer.headers.get("referrer-policy")).toBe("no-referrer");
  expect(answer.headers.get("access-control-allow-origin")).toBeNull();
  expect(answer.headers.get("plat-request-id")).toMatch(/^[0-9a-f]{32}$/);
}

describe("/authorize for a signed-in user", () => {
  // shows: oauth/what-the-service-does/grant-authorization_code
  // shows: oauth/what-the-service-does/operations
  // shows: oauth/get-authorize/response_type
  // shows: oauth/get-authorize/success-code-flow
  // shows: oauth/authorize/302-303-after-a-form
  // shows: oauth/authorize/a-signed-in-browser
  it("returns a code in the query, with state and issuer, which can be used once", async () => {
    const answer = await visit(browser, app);
    expect(answer.status).toBe(302);
    expect(answer.html).toBe("");
    expectClean(answer);
    const { at, query, fragment } = landed(answer);
    expect(at).toBe(APP_URI);
    expect(Object.fromEntries(query)).toEqual({
      code: expect.stringMatching(HELD),
      state: "a state",
      iss: ISSUER,
    });
    expect(fragment.size).toBe(0);
    const tokens = await expectJson(await redeem(app, query.get("code")), 200);
    expect(await tokenInfo(tokens.access_token)).toMatchObject({ user: user.email, tenant: user.tenant });
    expect((await redeem(app, query.get("code"))).status).toBe(400);
  });

  // shows: oauth/get-authorize/post
  // shows: oauth/authorize/302-303-after-a-form
  it("does the same by POST, with 303", async () => {
    const answer = await browser.post(`${ISSUER}/authorize`, requestFor(app));
    expect(answer.status).toBe(303);
    expect(landed(answer).query.get("code")).toMatch(HELD);
  });

  // shows: oauth/get-authorize/post
  it("reads the parameters of a POST from its form only", async () => {
    const address = authorizeAddress(requestFor(app, { state: "of the query" }));
    expect(landed(await browser.post(address, requestFor(app, { state: undefined }))).query.get("state")).toBeNull();
    expect((await browser.post(address, {})).status).toBe(400);
  });

  // shows: oauth/what-the-service-does/grant-implicit
  // shows: oauth/access-token-response/implicit-grant
  // shows: oauth/get-authorize/response_type
  it("returns a token in the fragment", async () => {
    const answer = await visit(browser, app, { response_type: "token" });
    expect(answer.status).toBe(302);
    expectClean(answer);
    const { at, query, fragment } = landed(answer);
    expect(at).toBe(APP_URI);
    expect(query.size).toBe(0);
    expect(Object.fromEntries(fragment)).toEqual({
      access_token: expect.any(String),
      token_type: "bearer",
      expires_in: "3600",
      scope: expect.stringContaining(`plat.tenant=${user.tenant} `),
      state: "a state",
      iss: ISSUER,
    });
    const info = await tokenInfo(fragment.get("access_token"));
    expect(info).toEqual({
      user: user.email,
      tenant: user.tenant,
      clientId: app.clientId,
      scopes: fragment.get("scope")?.split(" "),
    });
    // The client did not authenticate, so revoking the token needs no secret.
    const token = fragment.get("access_token") ?? "";
    expect((await call("/oauth2/v1/revoke", { form: { token } })).status).toBe(200);
    expect((await call(`/oauth2/v1/tokeninfo?access_token=${token}`)).status).toBe(400);
  });

  // shows: oauth/what-the-service-does/id-token
  // shows: oauth/access-token-response/implicit-grant-id_token-token
  // shows: oauth/id-token/nonce
  // shows: oauth/id-token/sub
  // shows: oauth/id-token/email
  // shows: oauth/get-authorize/response_type
  // shows: oauth/authorize/id-tokens
  it.each(["id_token token", "token id_token"])("a token and an ID token: %s", async (responseType) => {
    const startSec = Math.floor(Date.now() / 1000);
    const answer = await visit(browser, app, { response_type: responseType, nonce: "n-1", scope: "openid" });
    const { query, fragment } = landed(answer);
    expect(query.size).toBe(0);
    const token = fragment.get("access_token") ?? "";
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token)));
    expect(decodeJwt(fragment.get("id_token") ?? "")).toMatchObject({
      iss: ISSUER,
      aud: app.clientId,
      sub: user.email,
      email: user.email,
      tenant: user.tenant,
      nonce: "n-1",
      at_hash: Buffer.from(digest.slice(0, 16)).toString("base64url"),
      auth_time: expect.toSatisfy((sec: number) => sec <= startSec && sec > startSec - 600),
    });
    expect(fragment.get("scope")).toBe(`plat.tenant=${user.tenant} openid`);
  });

  it("returns an ID token alone, which is a hint like others", async () => {
    const answer = await visit(browser, app, { response_type: "id_token", nonce: "n-2", scope: "openid profile" });
    const { query, fragment } = landed(answer);
    expect(query.size).toBe(0);
    expect([...fragment.keys()].sort()).toEqual(["id_token", "iss", "state"]);
    const idToken = fragment.get("id_token") ?? "";
    const claims = decodeJwt(idToken);
    expect(claims).toMatchObject({ iss: ISSUER, aud: app.clientId, sub: user.email, name: "Ada", nonce: "n-2" });
    expect(claims).not.toHaveProperty("at_hash");
    const silent = await visit(new Browser(), app, { id_token_hint: idToken, prompt: "none" });
    expect(landed(silent).query.get("code")).not.toBeNull();
  });

  it("returns an ID token because of the response type, and every scope besides, without the scope openid", async () => {
    const { fragment } = landed(await visit(browser, app, { response_type: "id_token token", nonce: "n" }));
    expect(fragment.get("id_token")).not.toBeNull();
    expect(fragment.get("scope")?.split(" ")).toEqual(
      expect.arrayContaining([`plat.tenant=${user.tenant}`, "openid", "plat.media_view"]),
    );
  });

  it("returns no ID token in the plain implicit flow, whatever the scope says", async () => {
    const { fragment } = landed(await visit(browser, app, { response_type: "token", scope: "openid" }));
    expect(fragment.get("id_token")).toBeNull();
    expect(fragment.get("access_token")).not.toBeNull();
  });

  // shows: platform/errors-of-every-service/unknown-fields-and-parameters
  it("returns no state if none was sent, and ignores unknown parameters, even repeated ones", async () => {
    const address = `${authorizeAddress(requestFor(app, { state: undefined }))}&foo=1&foo=2&bar=a&bar=b&state=`;
    const { query } = landed(await browser.get(address));
    expect(query.get("code")).not.toBeNull();
    expect(query.has("state")).toBe(false);
  });

  // shows: oauth/get-authorize/redirect_uri-one-registered
  it("uses the only registered redirect URI if none is named, which /token then must not name either", async () => {
    const { at, query } = landed(await visit(browser, app, { redirect_uri: undefined }));
    expect(at).toBe(APP_URI);
    const form = { grant_type: "authorization_code", code: query.get("code") ?? "" };
    const response = await call("/oauth2/v1/token", { form, headers: { authorization: basic(app) } });
    expect(response.status).toBe(200);
  });

  it("accepts a redirect URI with a query, on a free loopback port, or with another scheme", async () => {
    const redirectUris = ["https://app.example/cb?x=1", "http://127.0.0.1/cb", "com.example.app:/cb"];
    const other = await makeApp({ tenant: user.tenant, redirectUris });
    const at = async (uri: string) => (await visit(browser, other, { redirect_uri: uri })).location;
    expect(await at("https://app.example/cb?x=1")).toMatch(/^https:\/\/app\.example\/cb\?x=1&code=/);
    expect(await at("http://127.0.0.1:49152/cb")).toMatch(/^http:\/\/127\.0\.0\.1:49152\/cb\?code=/);
    expect(await at("com.example.app:/cb")).toMatch(/^com\.example\.app:\/cb\?code=/);
  });
});

describe("HEAD", () => {
  it("changes nothing that a GET would change: no code, no sign-out, no state used up", async () => {
    const codes = async () => everywhere.prepare("SELECT count(*) AS n FROM authorization_code").first<number>("n");
    const before = await codes();
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const query = new URLSearchParams(requestFor(app)).toString();
    for (const [path, takes] of [
      [`authorize?${query}`, "GET, POST, OPTIONS"],
      [`end_session?client_id=${app.clientId}`, "GET, POST, OPTIONS"],
      ["callback/any?state=x&code=y", "GET, OPTIONS"],
    ]) {
      const answer = await call(`/oauth2/v1/${path}`, { method: "HEAD", headers: { cookie } });
      expect(answer.status, path).toBe(405);
      expect(answer.headers.get("allow"), path).toBe(takes);
      expect(answer.headers.get("location"), path).toBeNull();
      expect(answer.headers.getSetCookie(), path).toEqual([]);
    }
    expect(await codes()).toBe(before);
    expect(landed(await visit(browser, app)).query.get("code")).not.toBeNull();
  });
});

describe("The parameter state", () => {
  // shows: oauth/get-authorize/state
  it("is returned unchanged, and stays within its header and parameter", async () => {
    const text = fc.oneof(
      anyText({ maxLength: 30 }),
      writtenText({ maxLength: 30 }),
      fc.constantFrom(
        "a\r\nSet-Cookie: x=1\r\n\r\n<script>",
        "&code=stolen&iss=https://evil.example#access_token=x",
        "a+b c%20d%2Fe",
        "\0\u007f\u0085\u2028\ufeff",
        "\"'<>`{}|\\^",
        "__proto__",
        "=".repeat(4096),
      ),
    );
    await fc.assert(
      fc.asyncProperty(text, fc.constantFrom("code", "token"), async (state, responseType) => {
        const answer = await visit(browser, app, { state, response_type: responseType });
        const { query, fragment } = landed(answer);
        const place = responseType === "code" ? query : fragment;
        expect(place.getAll("state")).toEqual(state === "" ? [] : [state]);
        expect(place.getAll("iss")).toEqual([ISSUER]);
        expect(answer.headers.getSetCookie()).toEqual([]);
        expect(answer.location).toMatch(/^[\x21-\x7e]*$/);
        const refused = landed(await visit(browser, app, { state, response_type: responseType, prompt: "x" }));
        expect(refused.fragment.getAll("state")).toEqual(state === "" ? [] : [state]);
      }),
      { numRuns: runs(15) },
    );
  });

  it("is refused if it is not UTF-8, or if it is too long: a page, since no client could match the response", async () => {
    const address = authorizeAddress(requestFor(app, { state: undefined }));
    const odd = landed(await browser.get(`${address}&state=%ff%fe`));
    expect(odd.fragment.get("error")).toBe("invalid_request");
    const long = await visit(browser, app, { state: "x".repeat(4097) });
    expect(long.status).toBe(400);
    expect(long.location).toBeUndefined();
    expect(long.html).toContain("state is longer than 4096 characters");
  });
});

describe("The session id in tokens", () => {
  const sidOf = async (changes: Record<string, string>, headers: Record<string, string> = {}) => {
    const parameters = requestFor(app, { response_type: "token", ...changes });
    const answer = await browser.get(authorizeAddress(parameters), "none", headers);
    return decodeJwt(landed(answer).fragment.get("access_token") ?? "")["sid"];
  };

  // shows: oauth/get-authorize/plat-session-id
  it("is that of the browser session, the same each time, also through a code", async () => {
    const sid = await sidOf({});
    expect(sid).toMatch(/^[0-9a-f]{32}$/);
    expect(await sidOf({})).toBe(sid);
    const code = landed(await visit(browser, app)).query.get("code");
    const { access_token: token } = await expectJson(await redeem(app, code), 200);
    expect(decodeJwt(token)["sid"]).toBe(sid);
  });

  it("is never the one that the request names, which is only logged", async () => {
    const sid = await sidOf({});
    expect(await sidOf({ "plat-session-id": "mine.1" })).toBe(sid);
    expect(await sidOf({ "plat-session-id": "c2Vzc2lv/+==" })).toBe(sid);
    expect(await sidOf({ "plat-session-id": "mine.1" }, { "plat-session-id": "header.1" })).toBe(sid);
  });

  // shows: oauth/get-authorize/plat-session-id
  it("is logged beside the caller's, which is kept while the user signs in", async () => {
    const worker = isolate({ LOG_LEVEL: "info" });
    const fresh = new Browser({ send: (to, init) => worker.fetch(to, toInit(init)) });
    const address = authorizeAddress(requestFor(app, { response_type: "token", "plat-session-id": "form.2" }));
    const page = await fresh.get(address, "none", { "plat-session-id": "header.2" });
    const lines = vi.spyOn(console, "info").mockImplementation(() => {});
    const done = landed(await fresh.submit(page, { email: user.email, password: user.password }));
    const told = lines.mock.calls.map(([line]) => JSON.parse(String(line)) as Record<string, unknown>);
    lines.mockRestore();
    const { sid } = decodeJwt(done.fragment.get("access_token") ?? "");
    expect(told.find(({ event }) => event === "session started")).toMatchObject({ sessionId: sid });
    expect(told.find(({ event }) => event === "token issued")).toMatchObject({
      sessionId: sid,
      callerSessionId: "header.2",
    });
  });
});

/** An unknown client and an unregistered URI get the same text. */
const NOT_REGISTERED = /No client is registered with this client_id and this redirect_uri/;

describe("A 400 page, if redirecting to the client is not safe", () => {
  const several = ["https://app.example/1", "https://app.example/2"];
  let many: TestApp;
  let none: TestApp;
  let disabled: TestApp;
  beforeAll(async () => {
    many = await makeApp({ tenant: user.tenant, redirectUris: several });
    none = await makeApp({ tenant: user.tenant, redirectUris: [] });
    disabled = await makeApp({ tenant: user.tenant });
    const registered = { tenant: user.tenant, confidential: true, redirectUris: [APP_URI] };
    await put(`clients/${disabled.clientId}`, {
      ...registered,
      grantTypes: ["authorization_code"],
      scopes: [],
      disabled: true,
    });
  });

  async function expectPage(answer: Visit, detail: RegExp): Promise<void> {
    expect(answer.status).toBe(400);
    expect(answer.location).toBeUndefined();
    expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(answer.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect(answer.html).toMatch(detail);
    expect(answer.forms).toEqual([]);
    expectClean(answer);
  }

  // shows: oauth/get-authorize/client_id
  // shows: oauth/get-authorize/failure
  // shows: oauth/errors/400-or-redirect-authorize
  // shows: oauth/authorize/400-page
  it.each<[string, Record<string, string | undefined>, RegExp]>([
    ["no client", { client_id: undefined }, /client_id is missing/],
    ["an empty client", { client_id: "" }, /client_id is missing/],
    ["an unknown client", { client_id: "no.body" }, NOT_REGISTERED],
    ["a client id that is markup", { client_id: "<script>alert(1)</script>" }, NOT_REGISTERED],
    ["a client id that is huge", { client_id: "x".repeat(9000) }, NOT_REGISTERED],
    ["an address that is not registered", { redirect_uri: "https://evil.example/" }, NOT_REGISTERED],
    ["an address below", { redirect_uri: `${APP_URI}/x` }, NOT_REGISTERED],
    ["an address that is a script", { redirect_uri: "javascript:alert(1)" }, NOT_REGISTERED],
  ])("%s", async (_, changes, detail) => {
    await expectPage(await visit(browser, app, changes), detail);
    await expectPage(await browser.post(`${ISSUER}/authorize`, requestFor(app, changes)), detail);
    expect((await visit(browser, app, changes)).html).not.toContain("<script>");
  });

  // shows: oauth/get-authorize/redirect_uri-several-registered
  // shows: oauth/authorize/400-page
  it("is shown for a disabled client, and for no redirect URI if several or none are registered", async () => {
    await expectPage(await visit(browser, disabled), NOT_REGISTERED);
    await expectPage(await visit(browser, many, { redirect_uri: undefined }), NOT_REGISTERED);
    await expectPage(await visit(browser, none, { redirect_uri: undefined }), NOT_REGISTERED);
    await expectPage(await visit(browser, none), NOT_REGISTERED);
    expect(landed(await visit(browser, many, { redirect_uri: several[1] })).at).toBe(several[1]);
  });

  // shows: oauth/authorize/400-page
  it.each(["client_id", "redirect_uri"])("%s twice, though with the same value", async (name) => {
    const parameters = requestFor(app);
    const twice = `${authorizeAddress(parameters)}&${name}=${encodeURIComponent(parameters[name] ?? "")}`;
    await expectPage(await browser.get(twice), new RegExp(`${name} is given more than once`));
    await expectPage(await browser.get(`${authorizeAddress(parameters)}&${name}=`), /more than once/);
  });

  it("is the same for an unknown client, a disabled client and an unregistered redirect URI", async () => {
    const without = (answer: Visit) => answer.html.replaceAll(/[0-9a-f]{32}/g, "");
    const unknown = without(await visit(browser, app, { client_id: `${unique("x")}.app` }));
    expect(without(await visit(browser, disabled))).toBe(unknown);
    expect(without(await visit(browser, app, { redirect_uri: "https://evil.example/" }))).toBe(unknown);
    expect(without(await visit(browser, many, { redirect_uri: undefined }))).toBe(unknown);
  });

  it("leaves the exact reason in the audit log", async () => {
    // The test has its own client, because the audit log keeps only some refusals of a client.
    const own = await makeApp();
    const answer = await visit(browser, own, { redirect_uri: "https://evil.example/" });
    const rows = await expectJson<any[]>(await call("/admin/v1/audit", { token: await tokenFor(OPERATOR) }), 200);
    expect(rows.find((row) => row.requestId === answer.headers.get("plat-request-id"))).toMatchObject({
      action: "authorize",
      actor: own.clientId,
      outcome: "refused",
      reason: "redirect_uri https://evil.example/ is not registered",
    });
  });
});

describe("Failures of the HTTP layer are pages too", () => {
  it.each<[number, () => Promise<Visit>]>([
    [405, () => browser.get(`${ISSUER}/sign-in`)],
    [413, () => browser.post(`${ISSUER}/authorize`, { ...requestFor(app), x: "y".repeat(70_000) })],
    [413, () => browser.post(`${ISSUER}/sign-in`, { x: "y".repeat(300_000) })],
    [414, () => visit(browser, app, { state: "x".repeat(17_000) })],
  ])("%i", async (status, ask) => {
    const answer = await ask();
    expect(answer.status).toBe(status);
    expect(answer.html).toMatch(/^<!doctype html>/);
    expectClean(answer);
    if (status === 405) expect(answer.headers.get("allow")).toBe("POST, OPTIONS");
  });

  it("for 415, and 400 for a body that is not a form", async () => {
    const send = async (contentType: string, body: BodyInit) =>
      call("/oauth2/v1/authorize", { method: "POST", headers: { "content-type": contentType }, body });
    for (const [status, response] of [
      [415, await send("application/json", "{}")],
      [400, await send("application/x-www-form-urlencoded", new Uint8Array([0x61, 0x3d, 0xff]))],
    ] as const) {
      expect(response.status).toBe(status);
      expect(await response.text()).toMatch(/^<!doctype html>/);
    }
  });

  // shows: platform/errors-of-every-service/503-service_temporarily_unavailable
  it.each([
    [503, "batch"],
    [500, "prepare"],
  ])("%i if D1 fails in %s, without naming the cause", async (status, method) => {
    const errors = vi.spyOn(console, "error").mockImplementation(() => {});
    const fail = () => {
      throw new Error("a secret");
    };
    const db = directoryWith({ [method]: fail });
    const response = await isolate({ DB: db }).fetch(authorizeAddress(requestFor(app)).slice(ORIGIN.length));
    expect(response.status).toBe(status);
    expect(response.headers.get("retry-after") ?? "none").toMatch(status === 503 ? /^([5-9]|10)$/ : /^none$/);
    const html = await response.text();
    expect(html).toMatch(/^<!doctype html>/);
    expect(html).not.toContain("a secret");
    expect(errors).toHaveBeenCalled();
    errors.mockRestore();
  });
});

describe("A refusal redirects to the client, with state and issuer", () => {
  const flows = { code: "code", token: "token", id_token: "id_token", "id_token token": "id_token token" } as const;
  let confidential: TestApp;
  let open: TestApp;
  let strict: TestApp;
  let codeOnly: TestApp;
  let implicitOnly: TestApp;
  let elsewhere: string;
  beforeAll(async () => {
    confidential = await makeApp({ tenant: user.tenant, scopes: ["plat.media_view"] });
    open = await makeApp({ tenant: user.tenant, confidential: false });
    strict = await makeApp({ tenant: user.tenant, requirePkce: true });
    codeOnly = await makeApp({ tenant: user.tenant, grantTypes: ["authorization_code"] });
    implicitOnly = await makeApp({ tenant: user.tenant, grantTypes: ["implicit"] });
    elsewhere = await makeTenant();
  });

  function expectRefusal(answer: Visit, error: string, flow: string | undefined): void {
    expect(answer.status).toBe(302);
    expectClean(answer);
    const { at, query, fragment } = landed(answer);
    expect(at).toBe(APP_URI);
    expect(Object.fromEntries(fragment)).toEqual({
      error,
      error_description: expect.stringMatching(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/),
      state: "a state",
      iss: ISSUER,
    });
    expect(Object.fromEntries(query)).toEqual(flow === "code" ? Object.fromEntries(fragment) : {});
  }

  const cases: [string, string, Record<string, string | undefined>][] = [
    ["a request object", "request_not_supported", { request: "eyJhbGciOiJub25lIn0.e30." }],
    ["a request by reference", "request_uri_not_supported", { request_uri: "https://app.example/request" }],
    ["a registration on the fly", "registration_not_supported", { registration: "{}" }],
    ["response_mode web_message", "invalid_request", { response_mode: "web_message" }],
    ["a nonce that is too long", "invalid_request", { nonce: "x".repeat(513) }],
    ["prompt none and login", "invalid_request", { prompt: "none login" }],
    ["an unknown prompt", "invalid_request", { prompt: "create" }],
    ["max_age that is no number", "invalid_request", { max_age: "soon" }],
    ["max_age below zero", "invalid_request", { max_age: "-1" }],
    ["max_age with a fraction", "invalid_request", { max_age: "1.5" }],
    ["an unknown identity provider", "invalid_request", { plat_id_provider: "nobody" }],
    ["an identity provider that is markup", "invalid_request", { plat_id_provider: "<b>\"'" }],
    ["a session id of odd characters", "invalid_request", { "plat-session-id": "a b" }],
    ["a scope of odd characters", "invalid_scope", { scope: 'media "view"' }],
    ["two tenants", "invalid_scope", { scope: "plat.tenant=aaa plat.tenant=bbb" }],
    ["a tenant and an organization", "invalid_scope", { scope: "plat.tenant=aaa plat.org=bbb" }],
    ["a tenant and none", "invalid_scope", { scope: "plat.tenant=aaa plat.no_tenant" }],
    ["an unknown tenant", "invalid_scope", { scope: "plat.tenant=nobody0" }],
    ["an unknown organization", "invalid_scope", { scope: "plat.org=nobody" }],
    ["a scope that nobody has", "invalid_scope", { scope: "x.y" }],
    ["more scopes than are read", "invalid_scope", { scope: Array.from({ length: 201 }, (_, n) => `s${n}`).join(" ") }],
  ];

  // shows: oauth/scopes/plat.org-is-alone
  // shows: oauth/get-authorize/failure
  // shows: oauth/errors/400-or-redirect-authorize
  // shows: oauth/authorize/other-failures
  it.each(
    cases.flatMap(([what, error, changes]) => Object.keys(flows).map((flow) => [flow, what, error, changes] as const)),
  )("%s: %s: %s", async (flow, _, error, changes) => {
    const nonce = flow.startsWith("id_token") ? { nonce: "n" } : {};
    expectRefusal(await visit(browser, app, { response_type: flow, ...nonce, ...changes }), error, flow);
  });

  // shows: oauth/get-authorize/response_type
  // shows: oauth/get-authorize/nonce
  // shows: oauth/get-authorize/failure
  it.each<[string, string, Record<string, string | undefined>]>([
    ["no response type", "invalid_request", { response_type: undefined }],
    ["an empty response type", "invalid_request", { response_type: "" }],
    ["an unknown response type", "unsupported_response_type", { response_type: "cookie" }],
    ["a member of every object", "unsupported_response_type", { response_type: "constructor" }],
  ])("%s: %s, in the query too", async (_, error, changes) => {
    expectRefusal(await visit(browser, app, changes), error, "code");
  });

  it.each<[string, string, Record<string, string | undefined>]>([
    ["a hybrid response type", "unsupported_response_type", { response_type: "code id_token" }],
    ["a repeated word", "unsupported_response_type", { response_type: "token token" }],
    ["a token in the query", "invalid_request", { response_type: "token", response_mode: "query" }],
    ["no nonce", "invalid_request", { response_type: "id_token token" }],
    ["no nonce for an ID token alone", "invalid_request", { response_type: "id_token" }],
  ])("%s: %s, in the fragment only", async (_, error, changes) => {
    expectRefusal(await visit(browser, app, changes), error, undefined);
  });

  it("with 303 after a form", async () => {
    const answer = await browser.post(`${ISSUER}/authorize`, requestFor(app, { prompt: "x" }));
    expect(answer.status).toBe(303);
    expect(errorOf(answer)).toEqual({
      error: "invalid_request",
      fragment: "invalid_request",
      query: "invalid_request",
    });
  });

  // shows: platform/errors-of-every-service/repeated-oauth-parameter
  it.each([
    "response_type",
    "scope",
    "state",
    "response_mode",
    "nonce",
    "display",
    "prompt",
    "max_age",
    "ui_locales",
    "id_token_hint",
    "login_hint",
    "code_challenge",
    "code_challenge_method",
    "request",
    "request_uri",
    "registration",
    "plat-session-id",
    "plat_id_provider",
  ])("%s twice: invalid_request", async (name) => {
    const address = authorizeAddress(requestFor(app, { [name]: "a" }));
    const answer = await browser.get(`${address}&${encodeURIComponent(name)}=a`);
    const { fragment } = landed(answer);
    expect(fragment.get("error")).toBe("invalid_request");
    expect(fragment.get("error_description")).toBe(`${name} is given more than once.`);
    expect(fragment.getAll("state")).toEqual(name === "state" ? [] : ["a state"]);
    expect(errorOf(await browser.get(`${address}&${encodeURIComponent(name)}=`)).error).toBe("invalid_request");
  });

  it.each<[string, () => TestApp, string]>([
    ["code", () => implicitOnly, "unauthorized_client"],
    ["token", () => codeOnly, "unauthorized_client"],
    ["id_token token", () => codeOnly, "unauthorized_client"],
  ])("%s by a client without that grant: %s", async (flow, client, error) => {
    expectRefusal(await visit(browser, client(), { response_type: flow, nonce: "n" }), error, flow);
  });

  it("for a scope that the client does not list, or a tenant that it may not act for, before the sign-in", async () => {
    const nobody = new Browser();
    for (const scope of ["plat.media_manage", `plat.tenant=${elsewhere}`, "plat.admin", "openid plat.media_admin"]) {
      const answer = await visit(nobody, confidential, { scope });
      expectRefusal(answer, "invalid_scope", "code");
      expect(nobody.cookies.size).toBe(0);
    }
    expect((await visit(nobody, confidential, { scope: "openid profile plat.media_view" })).status).toBe(200);
  });

  it("and names the scope but not the reason", async () => {
    const { fragment } = landed(await visit(browser, confidential, { scope: `plat.tenant=${elsewhere}` }));
    const unknown = landed(await visit(browser, confidential, { scope: "plat.tenant=nobody0" })).fragment;
    const without = (text: string | null) => text?.replace(/plat\.tenant=\w+/, "");
    expect(fragment.get("error_description")).toBe(`The scope plat.tenant=${elsewhere} cannot be granted.`);
    expect(without(fragment.get("error_description"))).toBe(without(unknown.get("error_description")));
  });

  describe("PKCE", () => {
    // shows: oauth/get-authorize/code_challenge_method
    it.each<[string, Record<string, string>]>([
      ["a method without a challenge", { code_challenge_method: "S256" }],
      ["an unknown method", { code_challenge: CHALLENGE, code_challenge_method: "S512" }],
      ["a method in small letters", { code_challenge: CHALLENGE, code_challenge_method: "s256" }],
      ["an S256 challenge that is too short", { code_challenge: CHALLENGE.slice(1), code_challenge_method: "S256" }],
      ["an S256 challenge that is too long", { code_challenge: `${CHALLENGE}A`, code_challenge_method: "S256" }],
      ["an S256 challenge with padding", { code_challenge: `${CHALLENGE.slice(1)}=`, code_challenge_method: "S256" }],
      ["a plain challenge that is too short", { code_challenge: "x".repeat(42) }],
      ["a plain challenge that is too long", { code_challenge: "x".repeat(129), code_challenge_method: "plain" }],
      ["a plain challenge of odd characters", { code_challenge: `${"x".repeat(43)}!` }],
    ])("%s: invalid_request", async (_, changes) => {
      expectRefusal(await visit(browser, app, changes), "invalid_request", "code");
    });

    // shows: oauth/token/pkce
    it("is required for a client without a secret, and for one registered with it", async () => {
      expectRefusal(await visit(browser, open), "invalid_request", "code");
      expectRefusal(await visit(browser, strict), "invalid_request", "code");
      const implicit = landed(await visit(browser, open, { response_type: "token" }));
      expect(implicit.fragment.get("access_token")).not.toBeNull();
    });

    // shows: oauth/post-token/authorization_code-code_verifier
    // shows: oauth/get-authorize/code_challenge
    // shows: oauth/get-authorize/code_challenge_method
    // shows: oauth/authentication/pkce
    it.each<[string, Record<string, string>, string]>([
      ["S256", { code_challenge: CHALLENGE, code_challenge_method: "S256" }, VERIFIER],
      ["plain, said so", { code_challenge: VERIFIER, code_challenge_method: "plain" }, VERIFIER],
      ["plain, by default", { code_challenge: VERIFIER }, VERIFIER],
    ])("accepts only the matching verifier at /token: %s", async (_, challenge, verifier) => {
      const code = landed(await visit(browser, open, challenge)).query.get("code");
      const clientId = { client_id: open.clientId };
      expect((await redeem(open, code, clientId)).status).toBe(400);
      expect((await redeem(open, code, { ...clientId, code_verifier: `${verifier}x` })).status).toBe(400);
      expect((await redeem(open, code, { ...clientId, code_verifier: verifier })).status).toBe(200);
    });
  });
});

describe("A session that is revoked while a code is made", () => {
  it.each([0, 1])("gets no code: shard %i", async (home) => {
    const person = await makeUser({ tenant: app.tenant, home });
    let [isEnding, isMaking] = [false, false];
    const own = new Browser({ send: (address, init) => racing.fetch(address, toInit(init)) });
    const sidOf = () =>
      everywhere.prepare("SELECT sid FROM session WHERE email = ?1").bind(person.email).first<string>("sid");
    const revoke = async () =>
      isEnding &&
      call(`/admin/v1/sessions/${await sidOf()}/revoke`, { method: "POST", token: await tokenFor(OPERATOR) });
    const real = shardDb(home);
    const db = databaseWith(real, {
      prepare(sql) {
        isMaking ||= sql.includes("INSERT INTO authorization_code");
        return real.prepare(sql);
      },
      async batch(statements) {
        if (isMaking) await revoke();
        return real.batch(statements);
      },
    });
    const racing = isolate({ [shardBinding(home)]: db });
    await signInThrough(own, app, person);
    [isEnding, isMaking] = [true, false];
    const answer = landed(await visit(own, app)).query;
    expect([answer.get("error"), answer.get("code")]).toEqual(["access_denied", null]);
  });
});

describe("The D1 cost of /authorize", () => {
  it.each([
    { home: 0, trips: 2 },
    { home: 1, trips: 3 },
  ])("is $trips for a signed-in browser, once the client is cached: shard $home", async ({ home, trips }) => {
    const own = new Browser();
    await signInThrough(own, app, await makeUser({ tenant: app.tenant, home }));
    const counted = counting(env);
    const worker = isolate(counted.env);
    const cookie = [...own.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const ask = () => worker.fetch(authorizeAddress(requestFor(app)).slice(ORIGIN.length), { headers: { cookie } });
    expect((await ask()).status).toBe(302);
    expect(counted.tally.d1RoundTrips).toBe(trips + 1);
    counted.reset();
    expect((await ask()).status).toBe(302);
    expect(counted.tally.d1RoundTrips).toBe(trips);
    expect(counted.tally.objectCalls).toEqual({});
  });

  it("is nothing for a browser that is not signed in, once client and providers are cached", async () => {
    const counted = counting(env);
    const worker = isolate(counted.env);
    const ask = () => worker.fetch(authorizeAddress(requestFor(app)).slice(ORIGIN.length));
    expect((await ask()).status).toBe(200);
    // The page reads the client, and the identity providers for its buttons.
    expect(counted.tally.d1RoundTrips).toBe(2);
    counted.reset();
    expect((await ask()).status).toBe(200);
    expect(counted.tally.d1RoundTrips).toBe(0);
  });
});
