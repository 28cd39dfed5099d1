import { decodeJwt, decodeProtectedHeader, generateKeyPair, SignJWT, UnsecuredJWT } from "jose";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { authorizeAddress, Browser, landed, type Visit } from "../../support/browser.ts";
import { call, ORIGIN } from "../../support/platform/call.ts";
import { makeApp, requestFor, signInThrough, visit, type TestApp } from "../../support/sign-in.ts";
import { type TestUser } from "../../support/users.ts";
import { makeUserAndApp } from "../../support/user-and-app.ts";

/** `GET` and `POST /end_session` (OIDC RP-Initiated Logout). */
const END = `${ORIGIN}/oauth2/v1/end_session`;
const BYE = "https://app.example/bye?x=1";
const LOCAL_BYE = "http://127.0.0.1:8000/bye";

let user: TestUser;
let app: TestApp;
let other: TestApp;
beforeAll(async () => {
  ({ user, app } = await makeUserAndApp({ postLogoutRedirectUris: [BYE, LOCAL_BYE] }));
  other = await makeApp({ tenant: user.tenant });
});

/** The browser is signed in before each test. */
let browser = new Browser();
let idToken: string;
let accessToken: string;
beforeEach(async () => {
  if (browser.cookies.size > 0 && (await isSignedIn())) return;
  browser = new Browser();
  const request = { response_type: "id_token token", nonce: "n" };
  const { fragment } = landed(await signInThrough(browser, app, user, request));
  idToken = fragment.get("id_token") ?? "";
  accessToken = fragment.get("access_token") ?? "";
});
afterEach(() => void vi.useRealTimers());

type Way = "GET" | "POST";
const end = (way: Way, parameters: Record<string, string>, from = browser): Promise<Visit> =>
  way === "GET" ? from.get(`${END}?${new URLSearchParams(parameters).toString()}`) : from.post(END, parameters);
const isSignedIn = async (from = browser): Promise<boolean> => (await visit(from, app)).status === 302;

it.each(["prefetch", "prefetch;prerender", "prefetch;anonymous-client-ip"])(
  "signs nobody out by a page that is loaded before it is visited: %s",
  async (purpose) => {
    const headers = { "sec-fetch-dest": "document", "sec-purpose": purpose };
    const answer = await browser.get(`${END}?client_id=${app.clientId}`, "none", headers);
    expect(answer.status).toBe(400);
    expect(await isSignedIn()).toBe(true);
    const ahead = await browser.get(authorizeAddress(requestFor(app)), "none", headers);
    expect([ahead.status, ahead.headers.get("location")]).toEqual([400, null]);
  },
);

describe.each<Way>(["GET", "POST"])("%s ends the browser's session", (way) => {
  // shows: oauth/what-the-service-does/operations
  // shows: oauth/end_session/client_id
  // shows: oauth/other-endpoints/end_session-who
  // shows: oauth/other-endpoints/end_session-where-to
  it.each<[string, () => Record<string, string>]>([
    ["client_id", () => ({ client_id: app.clientId })],
    ["id_token_hint", () => ({ id_token_hint: idToken })],
    ["both", () => ({ client_id: app.clientId, id_token_hint: idToken })],
    ["nothing", () => ({})],
    ["state alone", () => ({ client_id: "", state: "s" })],
    ["another client, which may do so too", () => ({ client_id: other.clientId })],
    ["what means nothing here besides", () => ({ client_id: app.clientId, logout_hint: "x", state: "s", foo: "1" })],
  ])("signs the browser out with %s, and a page says so", async (_, parameters) => {
    expect(await isSignedIn()).toBe(true);
    const answer = await end(way, parameters());
    expect(answer.status).toBe(200);
    expect(answer.html).toMatch(/signed out/i);
    expect(answer.headers.get("cache-control")).toBe("no-store, no-transform");
    expect(answer.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect(browser.setCookies.at(-1)).toBe("__Host-plat_session=; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=0");
    expect(browser.cookie("session")).toBeUndefined();
    expect(await isSignedIn()).toBe(false);
  });

  // shows: oauth/end_session/client_id
  it("ends the session on the server, not in the browser alone", async () => {
    const copy = new Browser();
    for (const [name, value] of browser.cookies) copy.cookies.set(name, value);
    await end(way, { client_id: app.clientId });
    expect(await isSignedIn(copy)).toBe(false);
  });

  // shows: oauth/other-endpoints/end_session-where-to
  it("redirects to a registered address, with state unchanged", async () => {
    const state = "a b&c=d#\r\nSet-Cookie: x=1 ü";
    const answer = await end(way, { client_id: app.clientId, post_logout_redirect_uri: BYE, state });
    expect(answer.status).toBe(302);
    const { at, query } = landed(answer);
    expect(at).toBe("https://app.example/bye");
    expect([...query]).toEqual([
      ["x", "1"],
      ["state", state],
    ]);
    expect(answer.headers.getSetCookie().length).toBe(1);
    expect(await isSignedIn()).toBe(false);
    expect((await end(way, { client_id: app.clientId, post_logout_redirect_uri: BYE })).location).toBe(BYE);
  });

  it("redirects to any port of a registered loopback address, as at a sign-in", async () => {
    for (const address of [LOCAL_BYE, "http://127.0.0.1:5173/bye"])
      expect((await end(way, { client_id: app.clientId, post_logout_redirect_uri: address })).location).toBe(address);
    expect(await isSignedIn()).toBe(false);
  });

  // shows: oauth/other-endpoints/end_session-who
  it("accepts an expired ID token", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(Date.now() + 3_700_000);
    const answer = await end(way, { id_token_hint: idToken, post_logout_redirect_uri: BYE });
    expect(answer.location).toBe(BYE);
    expect(await isSignedIn()).toBe(false);
  });

  it("works the same if nobody is signed in, and repeatedly", async () => {
    const nobody = new Browser();
    expect((await end(way, { client_id: app.clientId }, nobody)).status).toBe(200);
    expect((await end(way, { client_id: app.clientId }, nobody)).status).toBe(200);
  });

  // shows: oauth/end_session/id-token-afterwards
  it("revokes no token: access token and ID token stay valid, but the ID token is no hint any more", async () => {
    const silent = async () => visit(new Browser(), app, { id_token_hint: idToken, prompt: "none" });
    expect(landed(await silent()).query.get("code")).not.toBeNull();
    await end(way, { client_id: app.clientId });
    expect((await call(`/oauth2/v1/tokeninfo?access_token=${accessToken}`)).status).toBe(200);
    expect(landed(await silent()).query.get("error")).toBe("login_required");
    expect((await end(way, { id_token_hint: idToken }, new Browser())).status).toBe(200);
  });

  // shows: oauth/other-endpoints/end_session-where-to
  it.each<[string, () => Record<string, string> | Promise<Record<string, string>>]>([
    ["an unknown client", () => ({ client_id: "no.body" })],
    ["a hint of another client", () => ({ client_id: other.clientId, id_token_hint: idToken })],
    ["a hint that is none", () => ({ client_id: app.clientId, id_token_hint: "x" })],
    ["an access token for a hint", () => ({ id_token_hint: accessToken })],
    ["a hint without a signature", () => ({ id_token_hint: new UnsecuredJWT(decodeJwt(idToken)).encode() })],
    [
      "a hint of a foreign key",
      async () => {
        const { privateKey } = await generateKeyPair("RS256");
        const { kid } = decodeProtectedHeader(idToken);
        const header = { alg: "RS256", typ: "JWT", kid };
        return { id_token_hint: await new SignJWT(decodeJwt(idToken)).setProtectedHeader(header).sign(privateKey) };
      },
    ],
    ["an address without a client", () => ({ post_logout_redirect_uri: BYE })],
    [
      "an address that is not registered",
      () => ({ client_id: app.clientId, post_logout_redirect_uri: "https://evil.example/" }),
    ],
    ["an address with more", () => ({ client_id: app.clientId, post_logout_redirect_uri: `${BYE}&y=2` })],
    [
      "another path of a loopback address",
      () => ({ client_id: app.clientId, post_logout_redirect_uri: "http://127.0.0.1:8001/byebye" }),
    ],
    ["an address for signing in", () => ({ client_id: app.clientId, post_logout_redirect_uri: app.redirectUri })],
    [
      "another client's address",
      () => ({ client_id: other.clientId, post_logout_redirect_uri: BYE, state: "<script>" }),
    ],
  ])("%s: 400 page, and the session goes on", async (_, parameters) => {
    const answer = await end(way, await parameters());
    expect(answer.status).toBe(400);
    expect(answer.location).toBeUndefined();
    expect(answer.html).toMatch(/^<!doctype html>/);
    expect(answer.headers.getSetCookie()).toEqual([]);
    expect(await isSignedIn()).toBe(true);
  });

  // shows: platform/errors-of-every-service/repeated-oauth-parameter
  it("refuses a repeated parameter and a state that is not UTF-8 with a 400 page", async () => {
    for (const text of [
      `client_id=${app.clientId}&client_id=${app.clientId}`,
      `client_id=${app.clientId}&state=a&state=b`,
      `client_id=${app.clientId}&state=%ff`,
    ]) {
      const headers = { "content-type": "application/x-www-form-urlencoded" };
      const response =
        way === "GET" ? await call(`${END}?${text}`) : await call(END, { method: "POST", body: text, headers });
      expect(response.status, text).toBe(400);
      await response.text();
    }
  });
});

describe("A sign-out by POST from another site", () => {
  it("is redirected to GET without the ID token, so that the browser sends its cookie", async () => {
    const parameters = { id_token_hint: idToken, post_logout_redirect_uri: BYE, state: "s &+", ui_locales: "de" };
    const answer = await browser.post(END, parameters, "cross-site");
    expect(answer.status).toBe(303);
    expect(answer.location).not.toContain(idToken.slice(0, 10));
    expect(answer.headers.getSetCookie()).toEqual([]);
    expect(await isSignedIn()).toBe(true);
    const done = await browser.get(answer.location ?? "", "cross-site");
    expect(landed(done).query.get("state")).toBe("s &+");
    expect(await isSignedIn()).toBe(false);
  });

  it("is refused at once if its input is invalid", async () => {
    expect((await browser.post(END, { client_id: "no.body" }, "cross-site")).status).toBe(400);
  });
});
