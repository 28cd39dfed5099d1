import { env } from "cloudflare:workers";
import { createLocalJWKSet, jwtVerify, type JSONWebKeySet, type JWTPayload } from "jose";
import { beforeEach, describe, expect, it } from "vitest";
import { createDeps } from "../../../src/deps.ts";
import { Browser } from "../../support/browser.ts";
import { answerAt, requestsTo } from "../../support/outside.ts";
import { basic, call, expectJson, OPERATOR, ORIGIN, put, tokenFor, unique } from "../../support/platform.ts";
import { makeApp, signInThrough, visit, type TestApp } from "../../support/sign-in.ts";
import { makeUser, type TestUser } from "../../support/users.ts";

const ISSUER = `${ORIGIN}/oauth2/v1`;
const ACCOUNT = `${ORIGIN}/account`;
const EVENT = "http://schemas.openid.net/event/backchannel-logout";

interface Told {
  readonly app: TestApp;
  readonly address: string;
}

let user: TestUser;
beforeEach(async () => {
  user = await makeUser();
});

/** A client that is told at an address of its own. */
async function makeTold(answer: object | readonly object[] = { status: 204 }): Promise<Told> {
  const app = await makeApp({ tenant: user.tenant, postLogoutRedirectUris: ["https://app.example/"] });
  const address = `https://${unique("rp")}.example.com/logout`;
  await register(app, address);
  await answerAt(address, answer);
  return { app, address };
}

const register = (app: TestApp, backchannelLogoutUri: string) =>
  put(`clients/${app.clientId}`, {
    tenant: app.tenant,
    confidential: true,
    clientSecret: app.clientSecret,
    redirectUris: [app.redirectUri],
    postLogoutRedirectUris: ["https://app.example/"],
    grantTypes: ["authorization_code", "implicit", "refresh_token"],
    scopes: [],
    backchannelLogoutUri,
    backchannelLogoutSessionRequired: true,
  });

const signIn = (browser: Browser, { app }: Told, who = user) => signInThrough(browser, app, who, { scope: "openid" });

async function idTokenOf({ app }: Told, location: string | undefined): Promise<JWTPayload> {
  const code = new URL(location!).searchParams.get("code")!;
  const form = { grant_type: "authorization_code", code, redirect_uri: app.redirectUri };
  const answer = await call("/oauth2/v1/token", { form, headers: { authorization: basic(app) } });
  const { id_token: idToken } = await expectJson(answer, 200);
  return (await jwtVerify(idToken, await keys())).payload;
}

const keys = async () => createLocalJWKSet(await expectJson<JSONWebKeySet>(await call("/oauth2/v1/jwks"), 200));

const came = new Map<string, string[]>();

/** The claims of the logout tokens that came, checked as a client does. Waits for so many, beside the answers. */
async function toldAt({ app, address }: Told, count = 1): Promise<JWTPayload[]> {
  const tokens = came.get(address) ?? [];
  came.set(address, tokens);
  // Nothing comes where nothing should; a while is enough to see what would.
  for (let waitedMs = 0; tokens.length < count ? waitedMs < 3_000 : waitedMs < 60; waitedMs += 20) {
    for (const { method, headers, body } of await requestsTo(address)) {
      expect([method, headers["content-type"]]).toEqual(["POST", "application/x-www-form-urlencoded;charset=UTF-8"]);
      tokens.push(new URLSearchParams(body).get("logout_token")!);
    }
    await scheduler.wait(20);
  }
  const checks = { issuer: ISSUER, audience: app.clientId, typ: "logout+jwt", requiredClaims: ["iat", "exp", "jti"] };
  const known = await keys();
  return Promise.all(tokens.map(async (token) => (await jwtVerify(token, known, checks)).payload));
}

const submitAt = async (browser: Browser, name: string): Promise<void> => {
  const page = await browser.get(ACCOUNT);
  const form = page.forms.find(({ action }) => action.endsWith(`/account/${name}`))!;
  expect((await browser.post(form.action, form.fields)).status).toBe(303);
};

/** Time passes, and the cron comes. */
const cronAfter = async (ms: number): Promise<void> => {
  await env.DB.prepare(`UPDATE logout_notice SET next_at = next_at - ?`).bind(ms).run();
  await createDeps(env).oauth.tellClients();
};
const waiting = (app: TestApp) =>
  env.DB.prepare(`SELECT attempts FROM logout_notice WHERE client = ?`).bind(app.clientId).all();
const operated = async (path: string, method = "POST") =>
  call(`/admin/v1/${path}`, { method, token: await tokenFor(OPERATOR) });

describe("a client with a back-channel logout address", () => {
  // shows: oauth/back-channel-logout/logout-token
  it("is told that the session ended, with the person and the session of its ID token", async () => {
    const told = await makeTold();
    const browser = new Browser();
    const idToken = await idTokenOf(told, (await signIn(browser, told)).location);
    expect(await toldAt(told, 0)).toEqual([]);
    await browser.get(`${ISSUER}/end_session?client_id=${told.app.clientId}`);
    const [claims, ...more] = await toldAt(told);
    expect(more).toEqual([]);
    expect(claims).toMatchObject({ sub: idToken.sub, sid: idToken["sid"], events: { [EVENT]: {} } });
    expect(claims!.exp! - claims!.iat!).toBe(120);
    // It must never pass for an ID token or an access token.
    expect(claims).not.toHaveProperty("nonce");
    expect(claims).not.toHaveProperty("email");
    await expect.poll(async () => (await waiting(told.app)).results).toEqual([]);
  });

  // shows: oauth/back-channel-logout/which-clients
  it("is told once, beside every other client of the session, and nobody else is", async () => {
    const [one, other, stranger] = [await makeTold(), await makeTold(), await makeTold()];
    const browser = new Browser();
    await signIn(browser, one);
    await visit(browser, one.app, { scope: "openid" });
    await visit(browser, other.app, { scope: "openid", response_type: "id_token", nonce: "n" });
    await signIn(new Browser(), stranger);
    await browser.get(`${ISSUER}/end_session`);
    expect((await toldAt(one)).length).toBe(1);
    expect((await toldAt(other)).length).toBe(1);
    expect(await toldAt(stranger, 0)).toEqual([]);
  });

  // shows: oauth/back-channel-logout/every-end
  it.each([
    ["signs out at the account page", (browser: Browser) => submitAt(browser, "sign-out")],
    ["ends all sessions there", (browser: Browser) => submitAt(browser, "end-all")],
    ["is signed out by the operator", async () => operated(`users/${user.email}/revoke`)],
    [
      "gets another password from the operator",
      async () => put(`users/${user.email}`, { password: "another one of hers" }),
    ],
    ["is disabled", async () => put(`users/${user.email}`, { disabled: true })],
    ["is removed", async () => operated(`users/${user.email}`, "DELETE")],
  ] as const)("is told if the person %s", async (_, end) => {
    const told = await makeTold();
    const browser = new Browser();
    const { sid } = await idTokenOf(told, (await signIn(browser, told)).location);
    await end(browser);
    expect(await toldAt(told)).toMatchObject([{ sid }]);
  });

  it("is told if the operator ends the one session", async () => {
    const told = await makeTold();
    const { sid } = await idTokenOf(told, (await signIn(new Browser(), told)).location);
    await signIn(new Browser(), told);
    await operated(`sessions/${String(sid)}/revoke`);
    expect(await toldAt(told)).toMatchObject([{ sid }]);
  });

  it("is not told while its person signs in again in the browser, but at the end, by the id that it knows", async () => {
    const told = await makeTold();
    const browser = new Browser();
    const { sid } = await idTokenOf(told, (await signIn(browser, told)).location);
    await signInThrough(browser, told.app, user, { scope: "openid", prompt: "login" });
    expect(await toldAt(told, 0)).toEqual([]);
    await browser.get(`${ISSUER}/end_session`);
    const ended = (await toldAt(told, 2)).map((claims) => claims["sid"]);
    expect(ended).toHaveLength(2);
    expect(ended).toContain(sid);
  });

  it("is told if another person signs in in the browser", async () => {
    const told = await makeTold();
    const browser = new Browser();
    const { sid } = await idTokenOf(told, (await signIn(browser, told)).location);
    const other = await makeUser({ tenant: user.tenant });
    await signInThrough(browser, told.app, other, { scope: "openid", prompt: "login" });
    expect(await toldAt(told)).toMatchObject([{ sid }]);
  });

  it("is not told of a session that ended by its time", async () => {
    const told = await makeTold();
    await signIn(new Browser(), told);
    await env.DB.prepare(`UPDATE session SET expires_at = 1 WHERE email = ?`).bind(user.email).run();
    const { oauth } = createDeps(env);
    await oauth.sweep(Date.now());
    await oauth.tellClients();
    expect(await toldAt(told, 0)).toEqual([]);
    await expect.poll(async () => (await waiting(told.app)).results).toEqual([]);
  });
});

describe("a client that does not answer 200 or 204", () => {
  // shows: oauth/back-channel-logout/again
  it("is told again later, with the same jti, until it does", async () => {
    const told = await makeTold([{ status: 500 }, { status: 302 }, { status: 200 }]);
    const browser = new Browser();
    await signIn(browser, told);
    await browser.get(`${ISSUER}/end_session`);
    // Not before its time.
    await cronAfter(0);
    expect(await toldAt(told, 1)).toHaveLength(1);
    for (const ms of [60_000, 300_000]) await cronAfter(ms);
    const claims = await toldAt(told, 3);
    expect(claims).toHaveLength(3);
    expect(new Set(claims.map(({ jti }) => jti)).size).toBe(1);
    await cronAfter(86_400_000);
    expect(await toldAt(told, 3)).toHaveLength(3);
  });

  it("is given up after eight attempts", async () => {
    const told = await makeTold({ status: 400 });
    const browser = new Browser();
    await signIn(browser, told);
    await browser.get(`${ISSUER}/end_session`);
    for (let times = 0; times < 10; times++) await cronAfter(86_400_000);
    expect(await toldAt(told, 8)).toHaveLength(8);
    await expect.poll(async () => (await waiting(told.app)).results).toEqual([]);
  });

  it("is told once by two drains at a time", async () => {
    const told = await makeTold([{ status: 500 }, { status: 204 }]);
    const browser = new Browser();
    await signIn(browser, told);
    await browser.get(`${ISSUER}/end_session`);
    expect(await toldAt(told, 1)).toHaveLength(1);
    await env.DB.prepare(`UPDATE logout_notice SET next_at = 0`).run();
    await Promise.all([1, 2, 3].map(() => createDeps(env).oauth.tellClients()));
    expect(await toldAt(told, 2)).toHaveLength(2);
  });

  it("is not told any more once its registration has no address", async () => {
    const told = await makeTold({ status: 500 });
    const browser = new Browser();
    await signIn(browser, told);
    await browser.get(`${ISSUER}/end_session`);
    await register(told.app, "");
    await cronAfter(86_400_000);
    expect(await toldAt(told, 1)).toHaveLength(1);
    await expect.poll(async () => (await waiting(told.app)).results).toEqual([]);
  });
});

describe("a registration", () => {
  // shows: oauth/back-channel-logout/address
  it.each(["http://rp.example/logout", "https://10.0.0.1/logout", "https://user:pw@rp.example/", "logout"])(
    "is refused with the address %s",
    async (backchannelLogoutUri) => {
      const app = await makeApp({ tenant: user.tenant });
      await expect(register(app, backchannelLogoutUri)).rejects.toThrow(/400.*backchannelLogoutUri/);
    },
  );

  it("without an address costs nothing and remembers nobody", async () => {
    const app = await makeApp({ tenant: user.tenant });
    await signInThrough(new Browser(), app, user, { scope: "openid" });
    const { results } = await env.DB.prepare(`SELECT 1 FROM session_client WHERE client = ?`).bind(app.clientId).all();
    expect(results).toEqual([]);
  });
});
