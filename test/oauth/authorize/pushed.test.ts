import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { Browser, landed, toInit, type Visit } from "../../support/browser.ts";
import { isolate } from "../../support/isolate.ts";
import { call, expectJson, ORIGIN } from "../../support/platform/call.ts";
import { makeTenant } from "../../support/platform/tenants.ts";
import { basic } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";
import { appOf, setUpApp } from "../../support/parties/totp.ts";
import { assertionOf, provenBy } from "../../support/parties/signing-client.ts";
import { makeProvider, makeSigner } from "../../support/parties/idp/scripted-provider.ts";
import { everywhere } from "../../support/shards.ts";
import { APP_URI, errorOf, makeApp, signInThrough, type TestApp } from "../../support/sign-in.ts";
import { join, makeUser, type TestUser } from "../../support/users.ts";
import { failureOf } from "../support/answers.ts";

const OAUTH = `${ORIGIN}/oauth2/v1`;

let tenant: string;
let ada: TestUser;
let browser: Browser;
let web: TestApp;
let other: TestApp;
beforeAll(async () => {
  tenant = await makeTenant();
  ada = await makeUser({ tenant });
  web = await makeApp({ tenant, requirePushedAuthorizationRequests: true });
  other = await makeApp({ tenant });
  browser = new Browser();
  await signInThrough(browser, other, ada);
});
afterEach(() => {
  vi.useRealTimers();
});

const REQUEST = { response_type: "code", redirect_uri: APP_URI, state: "a state", scope: "openid" };
const push = (app: TestApp, form: Record<string, string> = REQUEST): Promise<Response> =>
  call("/oauth2/v1/par", { form, headers: { authorization: basic(app) } });
async function referenceOf(app: TestApp, form: Record<string, string> = REQUEST): Promise<string> {
  return (await expectJson<{ request_uri: string }>(await push(app, form), 201)).request_uri;
}
const bring = (app: TestApp, requestUri: string, more: Record<string, string> = {}, from = browser): Promise<Visit> =>
  from.get(
    `${OAUTH}/authorize?${new URLSearchParams({ client_id: app.clientId, request_uri: requestUri, ...more }).toString()}`,
  );
const codeOf = (answer: Visit): string => landed(answer).query.get("code") ?? "";

describe("POST /par", () => {
  // shows: oauth/pushed-authorization-requests/par
  it("gives a reference, and the browser that brings it comes back with a code", async () => {
    const pushed = await push(web);
    expect(pushed.headers.get("cache-control")).toBe("no-store");
    const { request_uri: requestUri, expires_in: lives } = await expectJson(pushed, 201);
    expect(requestUri).toMatch(/^urn:ietf:params:oauth:request_uri:[A-Za-z0-9_-]{43}$/);
    expect(lives).toBe(90);
    const { query } = landed(await bring(web, requestUri));
    expect(query.get("state")).toBe("a state");
    const form = { grant_type: "authorization_code", code: query.get("code") ?? "", redirect_uri: APP_URI };
    const tokens = await call("/oauth2/v1/token", { form, headers: { authorization: basic(web) } });
    expect(await expectJson(tokens, 200)).toHaveProperty("id_token");
  });

  it("takes a client without a secret, and one that signs", async () => {
    const spa = await makeApp({ tenant, confidential: false });
    const challenge = { code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", code_challenge_method: "S256" };
    const named = await call("/oauth2/v1/par", { form: { ...REQUEST, ...challenge, client_id: spa.clientId } });
    expect(codeOf(await bring(spa, (await expectJson(named, 201)).request_uri as string))).not.toBe("");
    const signer = await makeSigner();
    const jwks = JSON.stringify({ keys: [signer.publicJwk] });
    const bank = await makeApp({ tenant, authMethod: "private_key_jwt", jwks });
    const assertion = await assertionOf({ ...bank, signer }, { aud: `${OAUTH}/par` });
    const signed = await call("/oauth2/v1/par", { form: { ...REQUEST, ...provenBy(assertion) } });
    expect(codeOf(await bring(bank, (await expectJson(signed, 201)).request_uri as string))).not.toBe("");
  });

  // shows: oauth/pushed-authorization-requests/errors
  it("refuses what /authorize would refuse, and a request_uri within", async () => {
    expect(await failureOf(await push({ ...web, clientSecret: "x".repeat(40) }))).toBe("401 invalid_client");
    expect(await failureOf(await call("/oauth2/v1/par", { form: REQUEST }))).toBe("401 invalid_client");
    const wrong: [Record<string, string>, string][] = [
      [{ request_uri: await referenceOf(web) }, "invalid_request"],
      [{ redirect_uri: "https://evil.example/" }, "invalid_request"],
      [{ client_id: other.clientId }, "invalid_request"],
      [{ response_type: "none" }, "unsupported_response_type"],
      [{ scope: "plat.tenant=nobody" }, "invalid_scope"],
      [{ request: "a.b.c" }, "request_not_supported"],
      [{ prompt: "none login" }, "invalid_request"],
    ];
    for (const [changes, error] of wrong)
      expect(await failureOf(await push(web, { ...REQUEST, ...changes })), JSON.stringify(changes)).toBe(
        `400 ${error}`,
      );
  });
});

describe("A pushed request", () => {
  // shows: oauth/pushed-authorization-requests/once
  it.each([0, 1])("gives one code, to one of many browsers at once, of people in shard %i", async (home) => {
    const requestUri = await referenceOf(web);
    const people = await Promise.all([1, 2, 3].map(() => makeUser({ tenant, home })));
    const ready = await Promise.all(
      people.map(async (person) => {
        const from = new Browser();
        const page = await bring(web, requestUri, {}, from);
        return () => from.submit(page, { email: person.email, password: person.password });
      }),
    );
    const answers = await Promise.all(ready.map((send) => send()));
    expect(answers.filter((answer) => answer.location !== undefined && codeOf(answer) !== "")).toHaveLength(1);
    const codes = "SELECT count(*) AS n FROM authorization_code WHERE email IN (SELECT value FROM json_each(?))";
    const emails = JSON.stringify(people.map(({ email }) => email));
    expect(await everywhere.prepare(codes).bind(emails).first("n")).toBe(1);
    expect((await bring(web, requestUri)).status).toBe(400);
  });

  // shows: oauth/pushed-authorization-requests/once
  it("survives a page that is loaded again, and the sign-in on it", async () => {
    const requestUri = await referenceOf(web, { ...REQUEST, login_hint: ada.email });
    const stranger = new Browser();
    await bring(web, requestUri, {}, stranger);
    const page = await bring(web, requestUri, {}, stranger);
    expect(page.html).not.toContain("redirect_uri");
    expect(page.html).toContain(ada.email);
    const answer = await stranger.submit(page, { email: ada.email, password: ada.password });
    expect(codeOf(answer)).not.toBe("");
  });

  it("shows the e-mail that it expects in no address", async () => {
    const corporate = await makeTenant();
    await makeProvider({ tenants: [corporate], button: "Corporate", domains: [`${unique("corp")}.example`] });
    const app = await makeApp({ tenant: corporate });
    const requestUri = await referenceOf(app, { ...REQUEST, login_hint: ada.email });
    const own = isolate({});
    const stranger = new Browser({ send: (address, init) => own.fetch(address.slice(ORIGIN.length), toInit(init)) });
    const form = { client_id: app.clientId, request_uri: requestUri };
    const led = await stranger.post(`${OAUTH}/authorize`, form, "cross-site");
    expect([led.status, new URL(led.location!).pathname]).toEqual([303, "/oauth2/v1/authorize"]);
    const page = await stranger.get(led.location!, "cross-site");
    expect(page.html).toContain(`value="${ada.email}"`);
    const links = [...page.html.matchAll(/href="([^"]*request_uri[^"]*)"/g)].map(([, link]) => link!);
    expect(links).toHaveLength(2);
    for (const address of [led.location!, ...links]) expect(decodeURIComponent(address)).not.toContain(ada.email);
  });

  it("tells whoever sends the last form again to begin at the application", async () => {
    const stranger = new Browser();
    const page = await bring(web, await referenceOf(web), {}, stranger);
    const credentials = { email: ada.email, password: ada.password };
    expect(codeOf(await stranger.submit(page, credentials))).not.toBe("");
    const again = await stranger.submit(page, credentials);
    expect([again.status, again.html]).toEqual([400, expect.stringContaining("<h1>This sign-in is over</h1>")]);
  });

  // shows: oauth/pushed-authorization-requests/bound
  it("is of its client, and lives for 90 s until a browser comes, then for a quarter of an hour", async () => {
    const requestUri = await referenceOf(web);
    expect((await bring(other, requestUri)).status).toBe(400);
    expect((await bring(web, `${requestUri.slice(0, -1)}_`)).status).toBe(400);
    const [late, begun] = [await referenceOf(web), await referenceOf(web)];
    const stranger = new Browser();
    const page = await bring(web, begun, {}, stranger);
    vi.useFakeTimers({ now: Date.now() + 91_000, toFake: ["Date"] });
    expect((await bring(web, late)).status).toBe(400);
    expect(codeOf(await stranger.submit(page, { email: ada.email, password: ada.password }))).not.toBe("");
    vi.useRealTimers();
    const slow = await bring(web, await referenceOf(web), {}, new Browser());
    vi.useFakeTimers({ now: Date.now() + 16 * 60_000, toFake: ["Date"] });
    const over = await new Browser().submit(slow, { email: ada.email, password: ada.password });
    expect([over.status, over.html]).toEqual([400, expect.stringContaining("<h1>This sign-in is over</h1>")]);
  });

  // shows: oauth/pushed-authorization-requests/parameters
  it("is what was pushed, whatever the browser's address says", async () => {
    const requestUri = await referenceOf(web);
    const changes = { state: "another", redirect_uri: "https://evil.example/", scope: "plat.media_manage" };
    const answer = landed(await bring(web, requestUri, { ...changes, response_type: "token", prompt: "none" }));
    expect(answer.at).toBe(APP_URI);
    expect(answer.query.get("state")).toBe("a state");
    const form = { grant_type: "authorization_code", code: answer.query.get("code") ?? "", redirect_uri: APP_URI };
    const tokens = await call("/oauth2/v1/token", { form, headers: { authorization: basic(web) } });
    expect(((await expectJson(tokens, 200)).scope as string).split(" ")).not.toContain("plat.media_manage");
  });

  // shows: oauth/pushed-authorization-requests/required-by-registration
  it("is the only way for a client that is registered for it", async () => {
    const query = new URLSearchParams({ ...REQUEST, client_id: web.clientId }).toString();
    expect(errorOf(await browser.get(`${OAUTH}/authorize?${query}`)).error).toBe("invalid_request");
    const page = await bring(web, await referenceOf(web), {}, new Browser());
    const [form] = page.forms;
    const request = new URLSearchParams(form?.fields["request"]);
    request.delete("request_uri");
    const bypass = {
      ...page,
      forms: [{ ...form!, fields: { ...form!.fields, request: `${request.toString()}&${query}` } }],
    };
    expect((await new Browser().submit(bypass, { email: ada.email, password: ada.password })).status).not.toBe(200);
  });

  it("asks for a sign-in once with prompt=login, and for the tenant where several fit", async () => {
    const second = await makeTenant();
    const bob = await makeUser({ tenant });
    await join(bob.email, second);
    const stranger = new Browser();
    const spa = await makeApp({ tenant, grantTypes: ["implicit"], requirePushedAuthorizationRequests: true });
    const wish = { response_type: "token", redirect_uri: APP_URI, prompt: "login" };
    const page = await bring(spa, await referenceOf(spa, wish), {}, stranger);
    const next = await stranger.submit(page, { email: bob.email, password: bob.password });
    const answer = next.location === undefined ? await stranger.submit(next, {}) : next;
    expect(landed(answer).fragment.get("access_token")).not.toBe(null);
  });

  const wishes: [string, Record<string, string>][] = [
    ["prompt=login", { prompt: "login" }],
    ["prompt=select_account", { prompt: "select_account" }],
    ["max_age=0", { max_age: "0" }],
  ];
  for (const [name, wish] of wishes) {
    it(`asks for a sign-in once with ${name}, and for the second factor`, async () => {
      vi.useFakeTimers({ now: Date.now(), toFake: ["Date"] });
      const eve = await makeUser({ tenant });
      const credentials = { email: eve.email, password: eve.password };
      const account = new Browser();
      await account.submit(await account.get(`${ORIGIN}/account`), credentials);
      const { app } = await setUpApp(account, ORIGIN, eve.password);
      vi.setSystemTime(Date.now() + 60_000);
      const stranger = new Browser();
      const page = await bring(web, await referenceOf(web, { ...REQUEST, ...wish }), {}, stranger);
      const asks = await stranger.submit(page, credentials);
      expect(codeOf(await stranger.submit(asks, { code: app.code() }))).not.toBe("");
    });

    it(`asks for a sign-in once with ${name}, and for the first set-up of an app`, async () => {
      vi.useFakeTimers({ now: Date.now(), toFake: ["Date"] });
      const eve = await makeUser({ tenant });
      const stranger = new Browser();
      const asked = { ...REQUEST, ...wish, acr_values: "urn:plinth:acr:two-factors" };
      const page = await bring(web, await referenceOf(web, asked), {}, stranger);
      const offer = await stranger.submit(page, { email: eve.email, password: eve.password });
      const codes = await stranger.submit(offer, { code: appOf(offer).code() });
      expect(codeOf(await stranger.submit(codes, {}))).not.toBe("");
    });
  }

  it("asks each person for the sign-in: the form of one spares it nobody else", async () => {
    vi.useFakeTimers({ now: Date.now(), toFake: ["Date"] });
    const shop = await makeApp({ tenant, thirdParty: true });
    const victim = new Browser();
    await signInThrough(victim, other, ada);
    vi.setSystemTime(Date.now() + 60_000);
    for (const wish of [{ prompt: "login" }, { max_age: "30" }] as Record<string, string>[]) {
      const requestUri = await referenceOf(shop, { ...REQUEST, ...wish });
      const mallory = await makeUser({ tenant });
      const thief = new Browser();
      const page = await bring(shop, requestUri, {}, thief);
      const consent = await thief.submit(page, { email: mallory.email, password: mallory.password });
      const marker = new URLSearchParams(consent.forms[0]?.fields["request"]).get("plat_continued") ?? "";
      expect(marker).not.toBe("");
      expect((await bring(shop, requestUri, { plat_continued: marker }, victim)).html).toContain('name="password"');
      expect((await bring(shop, requestUri, { plat_continued: marker }, thief)).html).toContain('value="allow"');
      // A browser without a session has nobody who signed in.
      const stranger = await bring(shop, requestUri, { plat_continued: marker }, new Browser());
      expect(stranger.html).toContain('name="password"');
      expect(codeOf(await thief.submit(consent, { decision: "allow" }))).not.toBe("");
    }
  });

  for (const isPushed of [true, false])
    it(`asks for consent again after the second factor, as one that is ${isPushed ? "" : "not "}pushed does`, async () => {
      vi.useFakeTimers({ now: Date.now(), toFake: ["Date"] });
      const shop = await makeApp({ tenant, thirdParty: true });
      const eve = await makeUser({ tenant });
      const credentials = { email: eve.email, password: eve.password };
      const known = new Browser();
      const allow = (from: Browser, page: Visit) => from.submit(page, { decision: "allow" });
      expect(codeOf(await allow(known, await signInThrough(known, shop, eve, { scope: "openid" })))).not.toBe("");
      const { app } = await setUpApp(known, ORIGIN, eve.password);
      vi.setSystemTime(Date.now() + 60_000);
      const wish = { ...REQUEST, prompt: "login consent" };
      const asked = isPushed ? { request_uri: await referenceOf(shop, wish) } : wish;
      const query = new URLSearchParams({ client_id: shop.clientId, ...asked });
      const stranger = new Browser();
      const asks = await stranger.submit(await stranger.get(`${OAUTH}/authorize?${query.toString()}`), credentials);
      const page = await stranger.submit(asks, { code: app.code() });
      expect(page.html).toContain('value="allow"');
      expect(codeOf(await allow(stranger, page))).not.toBe("");
    });
});
