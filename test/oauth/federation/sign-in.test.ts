import { env } from "cloudflare:workers";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { createDeps } from "../../../src/deps.ts";
import { isolate } from "../../support/isolate.ts";
import { requestsTo } from "../../support/outside.ts";
import { call, expectJson } from "../../support/platform/call.ts";
import { OPERATOR, put } from "../../support/platform/operator.ts";
import { tokenFor } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";
import { linkAccount } from "../../support/parties/idp/accounts.ts";
import { CALLBACK, makeApplication, toClient, type Application } from "../../support/parties/idp/application.ts";
import { Browser } from "../../support/parties/idp/browser.ts";
import { answerToken, claimsFor, sign } from "../../support/parties/idp/id-token.ts";
import { reasonOf } from "../../support/parties/idp/reason-of.ts";
import {
  at,
  CLIENT_ID,
  CLIENT_SECRET,
  makeProvider,
  tokenRequests,
  type Provider,
} from "../../support/parties/idp/scripted-provider.ts";
import { comeBack } from "../../support/parties/idp/come-back.ts";
import { authorizeAddress, sendOff, sendOffUnlinked, type SentOff } from "../../support/parties/idp/sent-off.ts";
import { MINUTE_MS } from "../../../src/platform/runtime/clock.ts";

let app: Application;
let provider: Provider;

beforeAll(async () => {
  app = await makeApplication();
  provider = await makeProvider();
});
beforeEach(async () => {
  await tokenRequests(provider);
});
afterEach(() => {
  vi.useRealTimers();
});

/** Lets the provider respond correctly to the code. */
async function vouchFor(sent: SentOff, from: Provider = provider): Promise<void> {
  await answerToken(from, await sign(claimsFor(app, from, sent), from.signer));
}

const redeem = async (code: string | undefined): Promise<any> =>
  expectJson(
    await call("/oauth2/v1/token", {
      form: { grant_type: "authorization_code", code: code ?? "", redirect_uri: CALLBACK },
      headers: { authorization: `Basic ${btoa(`${app.clientId}:${app.clientSecret}`)}` },
    }),
    200,
  );

const refreshed = async (token: string): Promise<any> =>
  expectJson(
    await call("/oauth2/v1/token", {
      form: { grant_type: "refresh_token", refresh_token: token },
      headers: { authorization: `Basic ${btoa(`${app.clientId}:${app.clientSecret}`)}` },
    }),
    200,
  );

const jwtClaims = (token: string): any =>
  JSON.parse(atob(token.split(".")[1]!.replaceAll("-", "+").replaceAll("_", "/")));

describe("A sign-in at a provider", () => {
  // shows: oauth/get-authorize/plat_id_provider-a-custom-provider-s-id
  // shows: oauth/authorize/custom-provider
  it("requests a code with PKCE, state and nonce, and ends in a code for the client", async () => {
    const sent = await sendOff(app, provider);
    expect(sent.address.href.startsWith(`${provider.issuer}/authorize?tenant=a&`)).toBe(true);
    expect(Object.fromEntries(sent.address.searchParams)).toEqual({
      tenant: "a",
      response_type: "code",
      client_id: CLIENT_ID,
      redirect_uri: `https://plinth.test/oauth2/v1/callback/${provider.id}`,
      scope: "openid email",
      state: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
      nonce: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
      code_challenge: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
      code_challenge_method: "S256",
    });
    await vouchFor(sent);
    const back = await comeBack(provider, sent, { iss: provider.issuer });
    const answer = toClient(back);
    expect(answer).toEqual({
      code: expect.any(String),
      state: "the client's own state",
      iss: "https://plinth.test/oauth2/v1",
    });
    const tokens = await redeem(answer["code"]);
    expect(jwtClaims(tokens.id_token)).toMatchObject({ sub: app.email, email: app.email });

    const [request] = await tokenRequests(provider);
    const form = new URLSearchParams(request?.body);
    expect(Object.fromEntries(form)).toEqual({
      grant_type: "authorization_code",
      code: "the code",
      redirect_uri: `https://plinth.test/oauth2/v1/callback/${provider.id}`,
      code_verifier: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
    });
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(form.get("code_verifier") ?? ""));
    const challenge = btoa(String.fromCharCode(...new Uint8Array(digest)))
      .replaceAll("+", "-")
      .replaceAll("/", "_");
    expect(sent.address.searchParams.get("code_challenge")).toBe(challenge.replace("=", ""));
    const [id = "", secret = ""] = atob(request?.headers["authorization"]?.replace("Basic ", "") ?? "").split(":");
    const decode = (text: string): string => decodeURIComponent(text.replaceAll("+", " "));
    expect([decode(id), decode(secret)]).toEqual([CLIENT_ID, CLIENT_SECRET]);
  });

  it("leaves the browser signed in: no new redirect to this provider, and no form of the platform", async () => {
    const sent = await sendOff(app, provider);
    await vouchFor(sent);
    await comeBack(provider, sent);
    expect(toClient(await sent.browser.get(authorizeAddress(app, provider)))).toHaveProperty("code");
    const here = await sent.browser.get(authorizeAddress(app, provider, { plat_id_provider: "default_idp" }));
    expect(toClient(here)).toHaveProperty("code");
  });

  it("ends its sessions if it is removed or its id gets another issuer; another secret changes nothing", async () => {
    const isAsked = async (browser: Browser): Promise<boolean> => {
      const here = await browser.get(authorizeAddress(app, provider, { plat_id_provider: "default_idp" }));
      return here.status === 200;
    };
    const signedInAt = async (own: Provider): Promise<Browser> => {
      const sent = await sendOff(app, own);
      await vouchFor(sent, own);
      await comeBack(own, sent);
      return sent.browser;
    };
    const own = await makeProvider();
    const registration = { issuer: own.issuer, clientId: CLIENT_ID, clientSecret: CLIENT_SECRET };
    const browser = await signedInAt(own);
    await put(`identity-providers/${own.id}`, { ...registration, clientSecret: "another-secret" });
    expect(await isAsked(browser)).toBe(false);
    await put(`identity-providers/${own.id}`, { ...registration, issuer: (await makeProvider()).issuer });
    expect(await isAsked(browser)).toBe(true);

    const removed = await makeProvider();
    const other = await signedInAt(removed);
    const token = await tokenFor(OPERATOR);
    await call(`/admin/v1/identity-providers/${removed.id}`, { method: "DELETE", token });
    expect(await isAsked(other)).toBe(true);
    await put(`identity-providers/${removed.id}`, { ...registration, issuer: removed.issuer });
    expect(await isAsked(other)).toBe(true);
  });

  it("goes to the other provider even if this one vouched before", async () => {
    const sent = await sendOff(app, provider);
    await vouchFor(sent);
    await comeBack(provider, sent);
    const other = await makeProvider();
    expect((await sendOff(app, other, sent.browser)).address.origin).toBe(other.issuer);
  });

  it("passes on the client's wishes for the sign-in", async () => {
    const wishes = { login_hint: "ada+a&b=c@example.org", ui_locales: "de fr", max_age: "60", prompt: "login consent" };
    const sent = await sendOff(app, provider, new Browser(), wishes);
    expect(Object.fromEntries(sent.address.searchParams)).toMatchObject({ ...wishes, prompt: "login" });
  });

  // shows: oauth/authorize/max_age
  it("is as old as the provider says, for auth_time and max_age; the session lasts as any other", async () => {
    const tokensOf = async (back: Response): Promise<any> => redeem(toClient(back)["code"]);
    const nowSec = Math.floor(Date.now() / 1000);
    for (const [authTime, expected] of [
      [nowSec - 1000, nowSec - 1000],
      [nowSec + 30, expect.toSatisfy((sec: number) => sec >= nowSec && sec < nowSec + 30)],
      [-1e300, 0],
      [undefined, expect.toSatisfy((sec: number) => sec >= nowSec)],
    ]) {
      const sent = await sendOff(app, provider);
      const claims = { ...claimsFor(app, provider, sent), auth_time: authTime };
      await answerToken(provider, await sign(claims, provider.signer));
      const first = await tokensOf(await comeBack(provider, sent));
      expect(jwtClaims(first.id_token).auth_time).toEqual(expected);
      expect(jwtClaims((await refreshed(first.refresh_token)).id_token).auth_time).toEqual(expected);
      const again = await tokensOf(await sent.browser.get(authorizeAddress(app, provider)));
      expect(jwtClaims(again.id_token).auth_time).toEqual(expected);
      const hint = { id_token_hint: again.id_token, plat_id_provider: "default_idp" };
      const byHint = await tokensOf(await new Browser().get(authorizeAddress(app, provider, hint)));
      expect(jwtClaims(byHint.id_token).auth_time).toEqual(expected);
    }
    const sent = await sendOff(app, provider);
    const claims = { ...claimsFor(app, provider, sent), auth_time: nowSec - 1000 };
    await answerToken(provider, await sign(claims, provider.signer));
    await comeBack(provider, sent);
    const atAge = (maxAge: string): Promise<Response> =>
      sent.browser.get(authorizeAddress(app, provider, { max_age: maxAge }));
    expect(new URL((await atAge("60")).headers.get("location") ?? "").origin).toBe(provider.issuer);
    expect(toClient(await atAge("2000"))).toHaveProperty("code");
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(Date.now() + 12 * 60 * MINUTE_MS - MINUTE_MS);
    expect(toClient(await sent.browser.get(authorizeAddress(app, provider)))).toHaveProperty("code");
  });

  // shows: oauth/authorize/id_token_hint
  it("gives tokens only to the user of id_token_hint, and asks the provider for that user", async () => {
    const first = await sendOff(app, provider);
    await vouchFor(first);
    const { id_token: hint } = await redeem(toClient(await comeBack(provider, first))["code"]);
    const bob = await makeApplication();
    await linkAccount(bob, provider);
    const asked = { id_token_hint: hint, prompt: "login", login_hint: "somebody@example.org" };
    const sent = await sendOff(app, provider, new Browser(), asked);
    expect(sent.address.searchParams.get("login_hint")).toBe(app.email);
    expect(sent.address.href).not.toContain(hint.slice(0, 20));
    await answerToken(provider, await sign(claimsFor(bob, provider, sent), provider.signer));
    const back = await comeBack(provider, sent);
    expect(toClient(back)).toMatchObject({ error: "login_required", state: "the client's own state" });
    expect(back.headers.getSetCookie()).toEqual([]);
    const again = await sendOff(app, provider, sent.browser, asked);
    await vouchFor(again);
    expect(toClient(await comeBack(provider, again))).toHaveProperty("code");
    // An unreadable hint names nobody, so a silent sign-in at the provider cannot match it.
    const unreadable = { id_token_hint: "x", prompt: "none" };
    const silent = await new Browser().get(authorizeAddress(app, provider, unreadable));
    expect(toClient(silent)).toMatchObject({ error: "login_required" });
  });

  it("sends id and secret in the form to a provider that only accepts them there", async () => {
    const own = await makeProvider({
      metadata: { token_endpoint_auth_methods_supported: ["private_key_jwt", "client_secret_post"] },
    });
    const sent = await sendOff(app, own);
    await vouchFor(sent, own);
    expect(toClient(await comeBack(own, sent))).toHaveProperty("code");
    const [request] = await tokenRequests(own);
    expect(request?.headers).not.toHaveProperty("authorization");
    const form = Object.fromEntries(new URLSearchParams(request?.body));
    expect(form).toMatchObject({ client_id: CLIENT_ID, client_secret: CLIENT_SECRET });
  });

  it("requests the scopes that the operator chose", async () => {
    const own = await makeProvider({ scopes: ["openid", "email", "urn:x"] });
    const { address } = await sendOff(app, own);
    expect(address.searchParams.get("scope")).toBe("openid email urn:x");
  });

  it("works in the implicit flow, and after a POST", async () => {
    const browser = new Browser();
    const sent = await sendOff(app, provider, browser, { response_type: "id_token token", nonce: "client's nonce" });
    await vouchFor(sent);
    const back = await comeBack(provider, sent);
    const fragment = new URLSearchParams(new URL(back.headers.get("location") ?? "").hash.slice(1));
    expect(jwtClaims(fragment.get("id_token") ?? "")).toMatchObject({ email: app.email, nonce: "client's nonce" });

    const form = new URLSearchParams(authorizeAddress(app, provider).split("?")[1]);
    const posted = await call("/oauth2/v1/authorize", { form, headers: { "sec-fetch-site": "same-origin" } });
    expect([posted.status, new URL(posted.headers.get("location") ?? "").origin]).toEqual([303, provider.issuer]);
  });

  it("is stored sealed: the database shows neither the request nor the secrets", async () => {
    const sent = await sendOff(app, provider, new Browser(), { login_hint: "somebody@example.org" });
    const { results } = await env.DB.prepare("SELECT * FROM federation").all();
    const stored = JSON.stringify(results);
    for (const secret of [sent.state, sent.nonce, app.clientId, "somebody", ...sent.browser.cookies.values()])
      expect(stored).not.toContain(secret);
  });

  it("reads discovery and keys once in ten minutes", async () => {
    const own = await makeProvider();
    const browser = new Browser();

    const asked = async () => [
      (await requestsTo(at(own, ".well-known/openid-configuration"))).length,
      (await requestsTo(at(own, "jwks"))).length,
    ];
    for (let round = 0; round < 3; round++) {
      browser.cookies.clear();
      const sent = await sendOff(app, own, browser);
      await vouchFor(sent, own);
      expect(toClient(await comeBack(own, sent))).toHaveProperty("code");
    }
    expect(await asked()).toEqual([1, 1]);
    vi.setSystemTime(Date.now() + 11 * MINUTE_MS);
    browser.cookies.clear();
    const later = await sendOff(app, own, browser);
    await vouchFor(later, own);
    expect(toClient(await comeBack(own, later))).toHaveProperty("code");
    expect(await asked()).toEqual([1, 1]);
  });
});

describe("A page is shown, and nothing goes to the client", () => {
  const expectPage = async (response: Response, reason: string): Promise<void> => {
    expect(response.status).toBe(400);
    expect(response.headers.get("content-type")).toContain("text/html");
    expect(response.headers.get("location")).toBeNull();
    expect(response.headers.get("access-control-allow-origin")).toBeNull();
    expect(await reasonOf(response)).toContain(reason);
  };

  it("if the state is missing, unknown, or repeated", async () => {
    const sent = await sendOff(app, provider);
    const to = (query: string) => sent.browser.get(`/oauth2/v1/callback/${provider.id}?${query}`);
    await expectPage(await to("code=c"), "the state is missing");
    await expectPage(await to("code=c&state="), "the state is missing");
    await expectPage(await to("code=c&state=unknown"), "unknown");
    await expectPage(await to(`code=c&state=${sent.state}&state=${sent.state}`), "repeated parameter state");
    await expectPage(await to(`code=c&state=%00%ff${"x".repeat(5000)}`), "unknown");
  });

  it("if the state was used before", async () => {
    const sent = await sendOff(app, provider);
    await vouchFor(sent);
    expect(toClient(await comeBack(provider, sent))).toHaveProperty("code");
    await expectPage(await comeBack(provider, sent), "used before");
  });

  it("to all but one of those who send one state at once", async () => {
    const sent = await sendOff(app, provider);
    await vouchFor(sent);
    const answers = await Promise.all(Array.from({ length: 8 }, () => comeBack(provider, sent)));
    expect(answers.filter(({ status }) => status === 302)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 400)).toHaveLength(7);
  });

  it("in another browser, with its own cookie or none; and the state is used up", async () => {
    for (const prepare of [(other: Browser) => sendOff(app, provider, other), async () => undefined]) {
      const sent = await sendOff(app, provider);
      await vouchFor(sent);
      const other = new Browser();
      await prepare(other);
      await expectPage(await comeBack(provider, { ...sent, browser: other }), "another browser's");
      await expectPage(await comeBack(provider, sent), "used before");
    }
    expect(await tokenRequests(provider)).toEqual([]);
  });

  it("after ten minutes, swept or not", async () => {
    const sent = await sendOff(app, provider);
    const swept = await sendOff(app, provider);
    vi.setSystemTime(Date.now() + 10 * MINUTE_MS + 1);
    await expectPage(await comeBack(provider, sent), "has expired");
    await createDeps(env).oauth.sweep(Date.now());
    await expectPage(await comeBack(provider, swept), "unknown");
  });

  it("if the provider has just been removed", async () => {
    const own = await makeProvider();
    const sent = await sendOff(app, own);
    await call(`/admin/v1/identity-providers/${own.id}`, { method: "DELETE", token: await tokenFor(OPERATOR) });
    await expectPage(await comeBack(own, sent), "unknown");
  });

  it("if the key that sealed the sign-in is gone", async () => {
    const sent = await sendOff(app, provider);
    const SEAL_KEYS = `t2:${btoa("\x05".repeat(32))}`;
    const browser = new Browser(isolate({ SEAL_KEYS }));
    for (const [name, value] of sent.browser.cookies) browser.cookies.set(name, value);
    await expectPage(await comeBack(provider, { ...sent, browser }), "cannot be opened");
  });
});

describe("The client gets an error", () => {
  it("for a request that is longer than a URL: it would be stored, and anybody can send one", async () => {
    const rows = (): Promise<number | null> => env.DB.prepare("SELECT count(*) AS n FROM federation").first("n");
    const before = await rows();
    const form = new URLSearchParams(authorizeAddress(app, provider).split("?")[1]);
    form.set("login_hint", "a".repeat(16 * 1024));
    const posted = await call("/oauth2/v1/authorize", { form, headers: { "sec-fetch-site": "same-origin" } });
    expect(posted.status).toBe(303);
    expect(new URL(posted.headers.get("location") ?? "").searchParams.get("error")).toBe("invalid_request");
    expect(await rows()).toBe(before);
  });

  const expectError = async (response: Response, error: string, reason: string): Promise<void> => {
    expect(toClient(response)).toEqual({
      error,
      error_description: expect.any(String),
      state: "the client's own state",
      iss: "https://plinth.test/oauth2/v1",
    });
    expect(response.headers.getSetCookie().filter((cookie) => cookie.includes("session"))).toEqual([]);
    expect(await reasonOf(response)).toContain(reason);
  };

  it.each([
    ["access_denied", "access_denied"],
    ["login_required", "access_denied"],
    ["something the provider made up", "access_denied"],
    ["temporarily_unavailable", "temporarily_unavailable"],
    ["server_error", "server_error"],
    ["invalid_scope", "server_error"],
  ])("if the provider's %s is %s", async (said, told) => {
    const sent = await sendOff(app, provider);
    const back = await comeBack(provider, sent, { error: said, error_description: "because\u0000 of \u202e this" });
    await expectError(back, told, `"${said}": "because\ufffd of \ufffd this"`);
  });

  it("for a silent request: the provider is asked silently, and the client gets the provider's reason", async () => {
    for (const error of ["login_required", "interaction_required", "consent_required", "account_selection_required"]) {
      const sent = await sendOff(app, provider, new Browser(), { prompt: "none" });
      expect(sent.address.searchParams.get("prompt")).toBe("none");
      expect(toClient(await comeBack(provider, sent, { error }))).toMatchObject({ error });
    }
  });

  it("for the response of one provider at the address of another, and nobody gets the code", async () => {
    const other = await makeProvider();
    const sent = await sendOff(app, provider);
    await vouchFor(sent);
    await vouchFor(sent, other);
    await expectError(await comeBack(other, sent, { iss: other.issuer }), "access_denied", "came to the address of");
    expect([...(await tokenRequests(provider)), ...(await tokenRequests(other))]).toEqual([]);
  });

  it("for a response or an error that names another issuer", async () => {
    for (const more of [{}, { error: "access_denied" }] as Record<string, string>[]) {
      const sent = await sendOff(app, provider);
      await vouchFor(sent);
      const back = await comeBack(provider, sent, { iss: "https://other.test", ...more });
      await expectError(back, "access_denied", 'of the issuer "https://other.test"');
    }
    expect(await tokenRequests(provider)).toEqual([]);
  });

  it("for a response without issuer from a provider that always names it", async () => {
    const own = await makeProvider({ metadata: { authorization_response_iss_parameter_supported: true } });
    const sent = await sendOff(app, own);
    await vouchFor(sent, own);
    await expectError(await comeBack(own, sent), "access_denied", "does not name its issuer");
    const again = await sendOff(app, own);
    await vouchFor(again, own);
    expect(toClient(await comeBack(own, again, { iss: own.issuer }))).toHaveProperty("code");
  });

  it("for a response without code and error", async () => {
    const sent = await sendOff(app, provider);
    await expectError(await comeBack(provider, sent, { code: "" }), "access_denied", "neither a code nor an error");
  });

  it("if the provider's registration changed meanwhile, and the new one gets no code", async () => {
    const own = await makeProvider();
    const other = await makeProvider();
    const sent = await sendOff(app, own);
    const registration = { issuer: other.issuer, clientId: CLIENT_ID, clientSecret: CLIENT_SECRET };
    await put(`identity-providers/${own.id}`, registration);
    const browser = new Browser();
    for (const [name, value] of sent.browser.cookies) browser.cookies.set(name, value);
    await expectError(await comeBack(own, { ...sent, browser }), "access_denied", "just been changed");
    expect(await tokenRequests(other)).toEqual([]);
  });

  it.each(["unknown", "disabled", "disabled meanwhile"])("a user who is %s", async (who) => {
    const email = `${unique("eve")}@example.org`;
    if (who !== "unknown") await put(`users/${email}`, { disabled: who === "disabled" });
    const sent = await sendOffUnlinked(app, provider);
    if (who === "disabled meanwhile") await put(`users/${email}`, { disabled: true });
    await answerToken(provider, await sign({ ...claimsFor({ ...app, email }, provider, sent) }, provider.signer));
    await expectError(await comeBack(provider, sent), "access_denied", `${email} is unknown or disabled`);
  });

  it("unless the client was removed meanwhile: its user sees a page", async () => {
    const own = await makeApplication();
    const sent = await sendOff(own, provider);
    await put(`clients/${own.clientId}`, {
      tenant: own.clientId.split(".")[0],
      confidential: true,
      disabled: true,
      redirectUris: [CALLBACK],
      grantTypes: ["authorization_code"],
      scopes: [],
    });
    await answerToken(provider, await sign(claimsFor(own, provider, sent), provider.signer));
    const browser = new Browser();
    for (const [name, value] of sent.browser.cookies) browser.cookies.set(name, value);
    const back = await comeBack(provider, { ...sent, browser });
    expect([back.status, back.headers.get("location")]).toEqual([400, null]);
  });

  it("if a secret was sealed under a key that is gone", async () => {
    const [oldKey, newKey] = [`t1:${btoa("\x07".repeat(32))}`, `t2:${btoa("\x05".repeat(32))}`];
    const own = await makeProvider();
    const rotated = await sendOff(app, own, new Browser(isolate({ SEAL_KEYS: `${newKey},${oldKey}` })));
    await vouchFor(rotated, own);
    expect(toClient(await comeBack(own, rotated))).toHaveProperty("code");
    const gone = await sendOff(app, own, new Browser(isolate({ SEAL_KEYS: newKey })));
    await vouchFor(gone, own);
    await expectError(await comeBack(own, gone), "server_error", "client secret does not open");
  });

  it("if a secret was sealed for another provider", async () => {
    const own = await makeProvider();
    const copy = `
      UPDATE identity_provider SET sealed_client_secret = other.sealed_client_secret
      FROM identity_provider AS other WHERE identity_provider.id = ?1 AND other.id = ?2`;
    await env.DB.prepare(copy).bind(own.id, provider.id).run();
    const sent = await sendOff(app, own);
    await vouchFor(sent, own);
    await expectError(await comeBack(own, sent), "server_error", "client secret does not open");
    expect(await tokenRequests(own)).toEqual([]);
  });
});
