import { decodeJwt, decodeProtectedHeader, generateKeyPair, SignJWT, UnsecuredJWT } from "jose";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { Browser, landed, toInit, type Visit } from "../../support/browser.ts";
import { isolate } from "../../support/isolate.ts";
import { call, expectJson, ORIGIN } from "../../support/platform/call.ts";
import { OPERATOR, put, putService } from "../../support/platform/operator.ts";
import { makeTenant } from "../../support/platform/tenants.ts";
import { basic, tokenFor } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";
import { everywhere } from "../../support/shards.ts";
import {
  APP_URI,
  errorOf,
  makeApp,
  requestFor,
  signInThrough,
  tokenAt,
  visit,
  type TestApp,
} from "../../support/sign-in.ts";
import { join, makeUser, type TestUser } from "../../support/users.ts";
import { makeUserAndApp } from "../../support/user-and-app.ts";
import { quickPauses } from "../../support/quick-pauses.ts";
import { HOUR_MS } from "../../../src/platform/runtime/clock.ts";
import { letTimePass } from "../../support/frozen-time.ts";

/** Identifying the user, asking for a sign-in, and choosing the tenant of the tokens. */
const ISSUER = `${ORIGIN}/oauth2/v1`;

let user: TestUser;
let app: TestApp;
/** The user's browser, for tests that keep its session. */
let shared: Browser;
beforeAll(async () => {
  ({ user, app } = await makeUserAndApp());
  shared = await signedIn();
});
afterEach(() => void vi.useRealTimers());

/** A browser with a new sign-in. */
async function signedIn(who: TestUser = user, to: TestApp = app): Promise<Browser> {
  const browser = new Browser();
  const answer = await signInThrough(browser, to, who);
  if (answer.location === undefined) throw new Error(`not signed in: ${answer.html}`);
  return browser;
}

const idTokenOf = async (
  browser: Browser,
  to: TestApp = app,
  changes: Record<string, string> = {},
): Promise<string> => {
  const answer = await visit(browser, to, { response_type: "id_token token", nonce: "n", ...changes });
  return landed(answer).fragment.get("id_token") ?? "";
};

const isSignInPage = (answer: Visit): boolean =>
  answer.status === 200 && answer.forms[0]?.action === `${ISSUER}/sign-in` && "password" in answer.forms[0].fields;

/** The reasons in the audit log for this response. */
const reasonOf = async (answer: Visit): Promise<string[]> => {
  const rows = await expectJson<any[]>(await call("/admin/v1/audit", { token: await tokenFor(OPERATOR) }), 200);
  const id = answer.headers.get("plat-request-id");
  return rows.filter((row) => row.requestId === id).map((row) => row.reason as string);
};

describe("The parameter prompt", () => {
  // shows: oauth/authorize/prompt
  it("returns login_required for none if nobody is signed in, without a page or cookie", async () => {
    const nobody = new Browser();
    const answer = await visit(nobody, app, { prompt: "none" });
    expect(errorOf(answer)).toEqual({ error: "login_required", fragment: "login_required", query: "login_required" });
    expect(landed(answer).query.get("state")).toBe("a state");
    expect(nobody.cookies.size).toBe(0);
    expect(errorOf(await visit(nobody, app, { prompt: "none", response_type: "token" })).query).toBeNull();
    // Clients probe often, so this is no audit entry.
    expect(await reasonOf(answer)).toEqual([]);
  });

  it("returns the code for none if somebody is signed in", async () => {
    expect(landed(await visit(shared, app, { prompt: "none" })).query.get("code")).not.toBeNull();
  });

  // shows: oauth/authorize/prompt
  it("asks for login even if the user is signed in, with the address prefilled, and then continues", async () => {
    const browser = await signedIn();
    const before = decodeJwt(await idTokenOf(browser))["auth_time"] as number;
    letTimePass(5_000);
    const page = await visit(browser, app, { prompt: "login", response_type: "id_token token", nonce: "n" });
    expect(isSignInPage(page)).toBe(true);
    expect(page.forms[0]?.fields["email"]).toBe(user.email);
    const done = await browser.submit(page, { password: user.password });
    const claims = decodeJwt(landed(done).fragment.get("id_token") ?? "");
    expect(claims["auth_time"]).toBeGreaterThanOrEqual(before + 5);
  });

  // shows: oauth/authorize/prompt
  it.each(["consent", "select_account", "consent select_account", "login consent"])(
    "%s is accepted",
    async (prompt) => {
      const answer = await visit(shared, app, { prompt });
      if (prompt.includes("login")) expect(isSignInPage(answer)).toBe(true);
      else expect(landed(answer).query.get("code")).not.toBeNull();
    },
  );

  // shows: oauth/authorize/prompt
  it.each<[string, { tenant: "its own" | "the client's" }, Record<string, string>]>([
    ["of another tenant", { tenant: "its own" }, {}],
    ["without the role", { tenant: "the client's" }, { scope: "plat.media_view" }],
  ])(
    "shows the page for select_account and an account %s, and responds once one is chosen",
    async (_, { tenant }, asked) => {
      const cat = await makeUser(tenant === "its own" ? {} : { tenant: user.tenant, scopes: [] });
      const browser = new Browser();
      const choosing = { ...asked, prompt: "select_account" };
      const { error } = errorOf(await signInThrough(browser, app, cat, choosing));
      expect(["access_denied", "invalid_scope"]).toContain(error);
      // Without `select_account`, the response is an error, because nobody requested a page.
      expect(errorOf(await visit(browser, app, asked)).error).toBe(error);
      const page = await visit(browser, app, choosing);
      expect(isSignInPage(page)).toBe(true);
      expect(page.forms[0]?.fields["email"]).toBe(cat.email);
      const again = await browser.submit(page, { email: cat.email, password: cat.password });
      expect(errorOf(again).error).toBe(error);
      const other = { email: user.email, password: user.password };
      const right = await browser.submit(await visit(browser, app, choosing), other);
      expect(landed(right).query.get("code")).not.toBeNull();
    },
  );
});

describe("The parameter max_age", () => {
  // shows: oauth/authorize/max_age
  it("asks again if the sign-in is older, and accepts a newer one", async () => {
    const browser = await signedIn();
    letTimePass(60_000);
    expect(landed(await visit(browser, app, { max_age: "61" })).query.get("code")).not.toBeNull();
    const page = await visit(browser, app, { max_age: "59" });
    expect(isSignInPage(page)).toBe(true);
    expect(errorOf(await visit(browser, app, { max_age: "59", prompt: "none" })).error).toBe("login_required");
    expect(landed(await browser.submit(page, { password: user.password })).query.get("code")).not.toBeNull();
    expect(landed(await visit(browser, app, { max_age: "59" })).query.get("code")).not.toBeNull();
  });

  // shows: oauth/authorize/max_age
  it("asks always for 0, even in the same moment, and accepts the sign-in that follows", async () => {
    letTimePass(0);
    const browser = await signedIn();
    const page = await visit(browser, app, { max_age: "0" });
    expect(isSignInPage(page)).toBe(true);
    expect(landed(await browser.submit(page, { password: user.password })).query.get("code")).not.toBeNull();
  });

  it("can be any large number", async () => {
    for (const age of ["31536000000", "9".repeat(400), "00"]) {
      const answer = await visit(shared, app, { max_age: age });
      if (age === "00") expect(isSignInPage(answer)).toBe(true);
      else expect(landed(answer).query.get("code")).not.toBeNull();
    }
  });
});

describe("The sign-in page", () => {
  // shows: oauth/authorize/200
  it("carries the request, prefills login_hint and uses the requested language", async () => {
    const hint = `"><script>alert(1)</script>`;
    const page = await visit(new Browser(), app, { login_hint: hint, ui_locales: "de en" });
    expect(page.status).toBe(200);
    expect(page.forms[0]?.fields["email"]).toBe(hint);
    expect(page.html).not.toContain("<script>");
    expect(page.headers.get("content-language")).toBe("de");
    expect(page.headers.get("content-security-policy")).toContain("form-action 'self' https:;");
    expect(page.headers.get("cache-control")).toBe("no-store, no-transform");
    const carried = new URLSearchParams(page.forms[0]?.fields["request"]);
    expect(Object.fromEntries(carried)).toEqual(requestFor(app, { login_hint: hint, ui_locales: "de en" }));
  });

  // shows: oauth/get-authorize/plat_id_provider-default_idp
  // shows: oauth/get-authorize/display-default-provider
  // shows: oauth/get-authorize/display-legacy-provider
  // shows: oauth/versioning/deprecated-display-popup
  // shows: oauth/authorize/legacy-provider
  it.each([
    ["default_idp", "popup", false],
    ["default_idp", "page", false],
    [undefined, "popup", false],
    [undefined, "wap", false],
    ["legacy_idp", "page", false],
    ["legacy_idp", undefined, false],
    ["legacy_idp", "popup", true],
  ])("of %s with display %s has popup layout %s", async (provider, display, popup) => {
    const page = await visit(new Browser(), app, { plat_id_provider: provider, display });
    expect(page.status).toBe(200);
    expect(page.html.includes('<body class="popup">')).toBe(popup);
  });

  // shows: oauth/get-authorize/plat_id_provider-legacy_idp
  // shows: oauth/versioning/deprecated-legacy-provider
  // shows: oauth/authorize/legacy-provider
  it("of the legacy provider knows the same users, and its session serves both", async () => {
    const browser = new Browser();
    await signInThrough(browser, app, user, { plat_id_provider: "legacy_idp" });
    expect(landed(await visit(browser, app)).query.get("code")).not.toBeNull();
    expect(landed(await visit(browser, app, { plat_id_provider: "legacy_idp" })).query.get("code")).not.toBeNull();
  });
});

describe("A session", () => {
  // shows: oauth/authorize/a-signed-in-browser
  // shows: asvs/v7-session-management/7.3.2
  it("lasts 12 hours from the sign-in, regardless of use", async () => {
    const browser = await signedIn();
    letTimePass(11.9 * HOUR_MS);
    expect(landed(await visit(browser, app)).query.get("code")).not.toBeNull();
    vi.setSystemTime(Date.now() + 0.2 * HOUR_MS);
    expect(isSignInPage(await visit(browser, app))).toBe(true);
  });

  it.each<[string, (who: TestUser) => Promise<unknown>]>([
    ["is disabled", (who) => put(`users/${who.email}`, { name: "Ada", disabled: true })],
    [
      "was disabled for a moment",
      async (who) => {
        await put(`users/${who.email}`, { name: "Ada", disabled: true });
        await put(`users/${who.email}`, { name: "Ada" });
      },
    ],
    ["has another password", (who) => put(`users/${who.email}`, { name: "Ada", password: "another password" })],
    [
      "is removed",
      async (who) => call(`/admin/v1/users/${who.email}`, { method: "DELETE", token: await tokenFor(OPERATOR) }),
    ],
  ])("ends if the user %s, and so does the ID token as a hint", async (_, change) => {
    const who = await makeUser({ tenant: user.tenant });
    const browser = await signedIn(who);
    const hint = await idTokenOf(browser);
    expect(landed(await visit(new Browser(), app, { id_token_hint: hint })).query.get("code")).not.toBeNull();
    await change(who);
    expect(isSignInPage(await visit(browser, app))).toBe(true);
    expect(isSignInPage(await visit(new Browser(), app, { id_token_hint: hint }))).toBe(true);
  });

  it("stays valid if the same password is set again", async () => {
    const who = await makeUser({ tenant: user.tenant });
    const browser = await signedIn(who);
    await put(`users/${who.email}`, { name: "Ada L.", password: who.password });
    expect(landed(await visit(browser, app)).query.get("code")).not.toBeNull();
  });

  // shows: asvs/v7-session-management/7.2.1
  it("does not exist for an unknown or malformed cookie", async () => {
    for (const cookie of ["A".repeat(43), "x", "", '"quoted"', "A".repeat(4000)]) {
      const browser = new Browser();
      browser.cookies.set("__Host-plat_session", cookie);
      expect(isSignInPage(await visit(browser, app))).toBe(true);
    }
  });

  // shows: oauth/access-tokens/refresh-tokens-codes-sessions
  it("is stored as a hash only", async () => {
    const { results } = await everywhere.prepare("SELECT * FROM session WHERE email = ?").bind(user.email).all();
    expect(results.length).toBeGreaterThan(0);
    expect(JSON.stringify(results)).not.toContain(shared.cookie("session"));
  });
});

describe("The parameter id_token_hint", () => {
  let tenant: string;
  let browser: Browser;
  let hint: string;
  beforeAll(async () => {
    tenant = await makeTenant();
    browser = shared;
    hint = await idTokenOf(browser);
  });
  const nobody = () => new Browser();
  const jwk = async () => (await expectJson(await call("/oauth2/v1/jwks"), 200)).keys as any[];

  // shows: oauth/get-authorize/id_token_hint-where
  it("returns a code without a page, by query and by form, and starts no session", async () => {
    for (const ask of [
      (from: Browser) => visit(from, app, { id_token_hint: hint }),
      (from: Browser) => from.post(`${ISSUER}/authorize`, requestFor(app, { id_token_hint: hint })),
      (from: Browser) => from.post(`${ISSUER}/authorize`, requestFor(app, { id_token_hint: hint }), "cross-site"),
      (from: Browser) => visit(from, app, { id_token_hint: hint, prompt: "none" }),
    ]) {
      const from = nobody();
      expect(landed(await ask(from)).query.get("code")).not.toBeNull();
      expect(from.cookies.size).toBe(0);
    }
  });

  // shows: oauth/get-authorize/id_token_hint
  it("returns a token for another tenant of the user", async () => {
    await put(`organizations/of-${tenant}`, { name: "Provider" });
    const service = unique("svc");
    await putService(service, { scopes: [`${service}.read`], tenant: user.tenant });
    await put(`packages/${service}`, { version: "1", organization: `of-${tenant}`, services: [service] });
    await put(`tenants/${tenant}/subscriptions/${service}`, {});
    const both = await makeUser({ tenant: user.tenant, scopes: [`${service}.read`] });
    await join(both.email, tenant, [`${service}.read`]);
    const serving = await makeApp({ tenant: user.tenant, service, scopes: [`${service}.read`] });
    const own = await idTokenOf(await signedIn(both, serving), serving, {
      scope: `plat.tenant=${user.tenant} openid ${service}.read`,
    });
    expect(decodeJwt(own)["tenant"]).toBe(user.tenant);
    const answer = await visit(nobody(), serving, {
      response_type: "id_token token",
      nonce: "n2",
      scope: `openid plat.tenant=${tenant} ${service}.read`,
      id_token_hint: own,
    });
    const { fragment } = landed(answer);
    expect(fragment.get("scope")).toBe(`plat.tenant=${tenant} openid ${service}.read`);
    expect(decodeJwt(fragment.get("id_token") ?? "")).toMatchObject({
      tenant,
      sub: both.email,
      nonce: "n2",
      auth_time: decodeJwt(own)["auth_time"],
    });
  });

  it("overrides the browser's session of another user", async () => {
    const other = await makeUser({ tenant: user.tenant });
    const theirs = await signedIn(other);
    const answer = await visit(theirs, app, { response_type: "token", id_token_hint: hint });
    expect(decodeJwt(landed(answer).fragment.get("access_token") ?? "")["sub"]).toBe(user.email);
  });

  it("uses the session of the same user, whose session id is in the tokens", async () => {
    const sid = async (changes: Record<string, string>) =>
      decodeJwt(
        landed(await visit(browser, app, { response_type: "token", ...changes })).fragment.get("access_token") ?? "",
      )["sid"];
    expect(await sid({ id_token_hint: hint })).toBe(await sid({}));
  });

  it("does not override prompt=login and max_age", async () => {
    for (const changes of [{ prompt: "login" }, { max_age: "0" }] as Record<string, string>[]) {
      const page = await visit(nobody(), app, { id_token_hint: hint, ...changes });
      expect(isSignInPage(page)).toBe(true);
      expect(page.forms[0]?.fields["email"]).toBe(user.email);
      // Pages do not carry the token.
      expect(page.html).not.toContain(hint.slice(0, 20));
    }
  });

  // shows: oauth/id-token/exp
  // shows: oauth/authentication/id-token-validation-exp
  // shows: oauth/authorize/id_token_hint
  it("is valid for an hour", async () => {
    letTimePass(0);
    const own = await idTokenOf(shared);
    vi.setSystemTime(Date.now() + 3_599_000);
    expect(landed(await visit(nobody(), app, { id_token_hint: own })).query.get("code")).not.toBeNull();
    vi.setSystemTime(Date.now() + 2_000);
    const answer = await visit(nobody(), app, { id_token_hint: own });
    expect(isSignInPage(answer)).toBe(true);
    vi.useRealTimers();
    expect(await reasonOf(answer)).toEqual([expect.stringContaining("exp")]);
  });

  // shows: oauth/authentication/id-token-validation-signature
  // shows: oauth/authorize/id_token_hint
  it("shows the page or login_required if it is not valid, and the operator sees why", async () => {
    // An unknown key is looked up a second after the last look.
    quickPauses();
    const other = await makeApp({ tenant: user.tenant });
    const claims = decodeJwt(hint);
    const { kid = "" } = decodeProtectedHeader(hint);
    const publicKey = (await jwk()).find((key) => key.kid === kid);
    const foreign = await generateKeyPair("RS256");
    const accessToken =
      landed(await visit(browser, app, { response_type: "token" })).fragment.get("access_token") ?? "";
    const header = { alg: "RS256", typ: "JWT", kid };
    const asSecret = (text: string) => new TextEncoder().encode(text);
    const forged: Record<string, string> = {
      garbage: "x",
      dots: "..",
      "an access token": accessToken,
      "alg none": new UnsecuredJWT(claims).encode(),
      "alg none with our kid": `${btoa(JSON.stringify({ alg: "none", kid })).replaceAll("=", "")}.${hint.split(".")[1]}.`,
      "HS256 with the public modulus": await new SignJWT(claims)
        .setProtectedHeader({ ...header, alg: "HS256" })
        .sign(asSecret(publicKey.n)),
      "HS256 with the public key as JSON": await new SignJWT(claims)
        .setProtectedHeader({ ...header, alg: "HS256" })
        .sign(asSecret(JSON.stringify(publicKey))),
      "a foreign key under our kid": await new SignJWT(claims).setProtectedHeader(header).sign(foreign.privateKey),
      "a foreign key of its own": await new SignJWT(claims)
        .setProtectedHeader({ ...header, kid: "foreign" })
        .sign(foreign.privateKey),
      "no kid": await new SignJWT(claims).setProtectedHeader({ alg: "RS256", typ: "JWT" }).sign(foreign.privateKey),
      "claims that were changed": hint.replace(
        /\.[^.]*\./,
        `.${btoa(JSON.stringify({ ...claims, sub: "eve@x.y" })).replaceAll("=", "")}.`,
      ),
      "another client's": await idTokenOf(browser, other),
    };
    for (const [what, token] of Object.entries(forged)) {
      const answer = await visit(nobody(), app, { id_token_hint: token });
      expect(isSignInPage(answer), what).toBe(true);
      expect(await reasonOf(answer), what).toEqual([expect.any(String)]);
    }
    // These come last, because the audit log keeps a limited number of each kind.
    for (const [what, token] of Object.entries(forged)) {
      const silent = await visit(nobody(), app, { id_token_hint: token, prompt: "none" });
      expect(errorOf(silent).error, what).toBe("login_required");
    }
  });

  // shows: oauth/authorize/id_token_hint
  it.each<[string, (eve: TestUser) => Promise<string>]>([
    [
      "ended by another password",
      async (eve) => {
        const own = await idTokenOf(await signedIn(eve));
        await put(`users/${eve.email}`, { password: "correct horse battery" });
        return own;
      },
    ],
    [
      "expired",
      async (eve) => {
        const own = await idTokenOf(await signedIn(eve));
        letTimePass(HOUR_MS);
        return own;
      },
    ],
    ["another client's", async (eve) => idTokenOf(await signedIn(eve), await makeApp({ tenant: user.tenant }))],
  ])("%s: signs nobody in, and only its user gets a response", async (what, make) => {
    const eve = await makeUser({ tenant: user.tenant });
    const own = await make(eve);
    const theirs = await signedIn(await makeUser({ tenant: user.tenant }));
    for (const changes of [{}, { response_type: "token" }] as Record<string, string>[]) {
      const silent = await visit(theirs, app, { ...changes, id_token_hint: own, prompt: "none" });
      expect(errorOf(silent).error).toBe("login_required");
      expect(silent.location).not.toMatch(/code=|access_token=/);
    }
    const page = await visit(theirs, app, { id_token_hint: own });
    expect(isSignInPage(page)).toBe(true);
    expect(page.forms[0]?.fields["email"]).toBe(eve.email);
    // The response to a form of another site is a redirect to GET, with the expected user instead of the token.
    const led = await theirs.post(`${ISSUER}/authorize`, requestFor(app, { id_token_hint: own }), "cross-site");
    expect(led.location).not.toContain(own.slice(0, 20));
    expect(isSignInPage(await theirs.get(led.location ?? "", "cross-site"))).toBe(true);
    const password = what.startsWith("ended") ? "correct horse battery" : eve.password;
    const hers = await signedIn({ ...eve, password });
    expect(landed(await visit(hers, app, { id_token_hint: own, prompt: "none" })).query.get("code")).not.toBeNull();
  });

  // shows: oauth/authorize/id_token_hint
  it.each<[string, Record<string, string>]>([
    ["prompt=login", { prompt: "login" }],
    ["max_age=0", { max_age: "0" }],
  ])("with %s: the form accepts no other user, and says so", async (_, changes) => {
    const own = await idTokenOf(await signedIn(user));
    const bob = await makeUser({ tenant: user.tenant });
    const her = nobody();
    const page = await visit(her, app, { id_token_hint: own, ...changes });
    const asBob = { email: bob.email, password: bob.password };
    const refused = await her.submit(page, asBob);
    expect(refused.status).toBe(400);
    expect(refused.html).toContain("The application asks for the person whose address is filled in.");
    expect(refused.forms[0]?.fields["email"]).toBe(user.email);
    expect(refused.html).not.toContain(bob.email);
    expect((await her.submit(refused, asBob)).status).toBe(400);
    const done = await her.submit(refused, { email: ` ${user.email.toUpperCase()}`, password: user.password });
    expect(landed(done).query.get("code")).not.toBeNull();
  });

  // shows: oauth/authorize/id_token_hint
  it("does not mean the signed-in user if it is unreadable: the page, or login_required", async () => {
    const theirs = await signedIn(user);
    const silent = await visit(theirs, app, { id_token_hint: "not one", prompt: "none" });
    expect(errorOf(silent).error).toBe("login_required");
    const request = requestFor(app, { id_token_hint: "not one", prompt: "none" });
    const posted = await theirs.post(`${ISSUER}/authorize`, request, "cross-site");
    expect(errorOf(posted).error).toBe("login_required");
    const page = await visit(theirs, app, { id_token_hint: "not one" });
    expect(isSignInPage(page)).toBe(true);
    const done = await theirs.submit(page, { email: user.email, password: user.password });
    expect(landed(done).query.get("code")).not.toBeNull();
  });

  it("has no substitute that a foreign page could write to probe who is signed in", async () => {
    const other = await makeUser({ tenant: user.tenant });
    const theirs = await signedIn(user);
    for (const written of [user.email, other.email, "nobody@nowhere.example", "k1.AAAA.AAAA"]) {
      const page = await visit(theirs, app, { plat_expected_user: written });
      expect(isSignInPage(page)).toBe(true);
      expect(page.forms[0]?.fields["email"]).toBe(user.email);
      const silent = await visit(theirs, app, { plat_expected_user: written, prompt: "none" });
      expect(errorOf(silent).error).toBe("login_required");
      const done = await theirs.submit(page, { email: user.email, password: user.password });
      expect(landed(done).query.get("code")).not.toBeNull();
    }
  });

  // shows: oauth/authentication/id-token-validation-iss
  it("of another issuer is not valid, even if our own key signed it", async () => {
    const parameters = new URLSearchParams(requestFor(app, { id_token_hint: hint }));
    const elsewhere = await call(`https://other.example/oauth2/v1/authorize?${parameters.toString()}`);
    expect(elsewhere.status).toBe(200);
  });
});

describe("The tenant of the tokens", () => {
  // shows: oauth/get-authorize/scope-with-plat.tenant
  // shows: oauth/get-authorize/no-tenant-scope-code-flow
  // shows: oauth/who-gets-which-scope/plat.tenant-of-a-user
  it("is the client's in the code flow if the user is a member, else access_denied", async () => {
    const stranger = await makeUser();
    const answer = await signInThrough(new Browser(), app, stranger);
    expect(answer.status).toBe(303);
    expect(errorOf(answer).query).toBe("access_denied");
    const named = await signInThrough(new Browser(), app, stranger, { scope: `plat.tenant=${user.tenant}` });
    expect(errorOf(named).query).toBe("invalid_scope");
    expect(landed(named).query.get("error_description")).toBe(
      `The scope plat.tenant=${user.tenant} cannot be granted.`,
    );
  });

  // shows: oauth/get-authorize/no-tenant-scope-code-flow
  it("is the client's in the code flow even if the user has others", async () => {
    const member = await makeUser({ tenant: user.tenant });
    await join(member.email, await makeTenant());
    const code = landed(await signInThrough(new Browser(), app, member)).query.get("code") ?? "";
    const form = { grant_type: "authorization_code", code, redirect_uri: APP_URI };
    const { scope } = await expectJson(
      await call("/oauth2/v1/token", { form, headers: { authorization: basic(app) } }),
      200,
    );
    expect(scope).toContain(`plat.tenant=${user.tenant}`);
  });

  // shows: oauth/scopes/plat.no_tenant
  // shows: oauth/scopes/plat.org-organization_id
  // shows: oauth/who-gets-which-scope/plat.org
  // shows: oauth/who-gets-which-scope/plat.no_tenant
  it("can be none for anybody, and an organization for its members", async () => {
    const stranger = await makeUser();
    const asked = { response_type: "token", scope: "plat.no_tenant" };
    const away = new Browser();
    // A client of another tenant needs consent first.
    const none = await away.submit(await signInThrough(away, app, stranger, asked), { decision: "allow" });
    expect(landed(none).fragment.get("scope")).toBe("plat.no_tenant");
    const org = `${user.tenant}-org`;
    const outside = await visit(shared, app, { response_type: "token", scope: `plat.org=${org}` });
    expect(errorOf(outside).error).toBe("invalid_scope");
    const role = unique("role");
    await put(`roles/${role}`, { scopes: ["plat.pubsub.topic=*"] });
    await put(`organizations/${org}/members/${user.email}`, { roles: [role] });
    const inside = await visit(shared, app, { response_type: "token", scope: `plat.org=${org}` });
    expect(landed(inside).fragment.get("scope")).toBe(`plat.org=${org} plat.pubsub.topic=*`);
  });

  // shows: oauth/what-the-service-does/scopes-by-role
  it("has no scope outside the user's roles: invalid_scope after the sign-in", async () => {
    const reader = await makeUser({ tenant: user.tenant, scopes: ["plat.media_view"] });
    const answer = await signInThrough(new Browser(), app, reader, { scope: "plat.media_manage" });
    expect(errorOf(answer).query).toBe("invalid_scope");
    expect(await reasonOf(answer)).toEqual([`no role of ${reader.email} there holds plat.media_manage`]);
  });

  it("is useless to a client that was disabled a moment ago", async () => {
    const fallen = await makeApp({ tenant: user.tenant });
    expect(landed(await visit(shared, fallen, { response_type: "token" })).fragment.has("access_token")).toBe(true);
    await put(`clients/${fallen.clientId}`, {
      tenant: user.tenant,
      confidential: true,
      redirectUris: [APP_URI],
      grantTypes: ["implicit"],
      scopes: [],
      disabled: true,
    });
    expect((await visit(shared, fallen, { response_type: "token" })).status).toBe(400);
  });
});

describe("An isolate with an old record of a client that was disabled", () => {
  it.each(["", "plat.no_tenant"])("issues nothing that counts: scope %j", async (scope) => {
    const fallen = await makeApp({ tenant: user.tenant });
    const late = new Browser({
      send: (address, init) => lateIsolate.fetch(address.slice(ORIGIN.length), toInit(init)),
    });
    const lateIsolate = isolate();
    for (const [name, value] of shared.cookies) late.cookies.set(name, value);
    const ask = async () => {
      const answer = await visit(late, fallen, { response_type: "token", scope });
      return landed(answer).fragment.get("access_token") ?? "";
    };
    const before = await ask();
    expect((await call(`/oauth2/v1/tokeninfo?access_token=${before}`)).status).toBe(200);
    const registered = { tenant: user.tenant, confidential: true, redirectUris: [APP_URI], grantTypes: ["implicit"] };
    await put(`clients/${fallen.clientId}`, { ...registered, scopes: [], disabled: true });
    for (const token of [before, await ask()])
      expect((await call(`/oauth2/v1/tokeninfo?access_token=${token}`)).status).toBe(400);
  });
});

describe("An isolate with an old record of a client that was removed", () => {
  /** Returns the response of this isolate to a client that another isolate removed. */
  async function afterRemoval(person: TestUser): Promise<{ gone: TestApp; answer: Visit }> {
    const gone = await makeApp({ tenant: person.tenant });
    const late = new Browser({
      send: (address, init) => lateIsolate.fetch(address.slice(ORIGIN.length), toInit(init)),
    });
    const lateIsolate = isolate();
    const { cookies } = await signedIn(person, await makeApp({ tenant: person.tenant }));
    for (const [name, value] of cookies) late.cookies.set(name, value);
    expect(landed(await visit(late, gone)).query.get("code")).toBeTruthy();
    const token = await tokenFor(OPERATOR);
    expect((await call(`/admin/v1/clients/${gone.clientId}`, { method: "DELETE", token })).status).toBe(204);
    return { gone, answer: await visit(late, gone) };
  }

  it("issues no code, and redirects to the client with an error", async () => {
    const { answer } = await afterRemoval(await makeUser({ home: 0 }));
    expect(errorOf(answer).query).toBe("access_denied");
    expect(landed(answer).query.get("code")).toBeNull();
  });

  it("issues a code that is worth nothing to somebody whose sign-ins lie in another database", async () => {
    const { gone, answer } = await afterRemoval(await makeUser({ home: 1 }));
    const code = landed(answer).query.get("code") ?? "";
    expect(code).not.toBe("");
    const form = { grant_type: "authorization_code", code, redirect_uri: APP_URI };
    const refused = await tokenAt(gone, form);
    expect([refused.status, await refused.json()]).toMatchObject([401, { error: "invalid_client" }]);
  });
});

describe("The form-action of a page", () => {
  it("allows any host by a registered scheme, because browsers apply it to redirects of a callback too", async () => {
    const leadsOn = await makeApp({ redirectUris: [APP_URI, "com.example.app:/callback"] });
    const policy = (await visit(new Browser(), leadsOn)).headers.get("content-security-policy") ?? "";
    expect(/form-action ([^;]*)/.exec(policy)?.[1]).toBe("'self' https: com.example.app:");
  });
});

describe("The tenant chooser of the implicit flow", () => {
  let both: TestUser;
  let serving: TestApp;
  let second: string;
  let service: string;
  let browser: Browser;
  beforeAll(async () => {
    both = await makeUser();
    second = await makeTenant();
    service = unique("svc");
    await put(`organizations/of-${second}`, { name: "Provider" });
    await putService(service, { scopes: [`${service}.read`], tenant: both.tenant });
    await put(`packages/${service}`, { version: "1", organization: `of-${second}`, services: [service] });
    await put(`tenants/${second}/subscriptions/${service}`, {});
    await put(`roles/${service}`, { scopes: [`${service}.read`] });
    for (const tenant of [both.tenant, second])
      await put(`tenants/${tenant}/members/${both.email}`, { roles: [service] });
    serving = await makeApp({ tenant: both.tenant, service, scopes: [`${service}.read`] });
    browser = await signedIn(both, serving);
  });

  const choose = (from: Browser, page: Visit, tenant: string): Promise<Visit> => {
    const button = page.forms[0]?.buttons.find(({ value }) => value.endsWith(`plat.tenant=${tenant}`));
    if (button === undefined) throw new Error(`no button for ${tenant}: ${page.html}`);
    return from.submit(page, { [button.name]: button.value });
  };

  // shows: oauth/authorize/200
  it("lists the tenants that the client may act for, and continues with the chosen one without asking again", async () => {
    await join(both.email, await makeTenant());
    const fresh = new Browser();
    const request = { response_type: "id_token token", nonce: "n", prompt: "login", max_age: "60", scope: "openid" };
    const page = await signInThrough(fresh, serving, both, {
      ...request,
      "plat-session-id": "s-1",
      state: "a&b=\"c'<d>",
    });
    expect(page.status).toBe(200);
    expect(page.forms[0]?.action).toBe(`${ISSUER}/authorize`);
    expect(page.forms[0]?.buttons.map(({ value }) => value).sort()).toEqual(
      [both.tenant, second].map((tenant) => `openid plat.tenant=${tenant}`).sort(),
    );
    expect(page.headers.get("content-security-policy")).toContain("form-action 'self' https:;");
    letTimePass(120_000);
    const { fragment } = landed(await choose(fresh, page, second));
    expect(fragment.get("state")).toBe("a&b=\"c'<d>");
    expect(fragment.get("scope")).toBe(`plat.tenant=${second} openid`);
    expect(decodeJwt(fragment.get("access_token") ?? "")["tenant"]).toBe(second);
    expect(decodeJwt(fragment.get("id_token") ?? "")).toMatchObject({ tenant: second, nonce: "n" });
  });

  it("works for a hint without a session", async () => {
    const hint = await idTokenOf(browser, serving, { scope: `openid plat.tenant=${second}` });
    const nobody = new Browser();
    const page = await visit(nobody, serving, { response_type: "token", id_token_hint: hint });
    expect(landed(await choose(nobody, page, both.tenant)).fragment.get("scope")).toContain(both.tenant);
  });

  // shows: oauth/authorize/id_token_hint
  it("gives tokens to the hint's user only, even if others sign in meanwhile in another tab", async () => {
    const hint = await idTokenOf(browser, serving, { scope: `openid plat.tenant=${second}` });
    const tab = new Browser();
    const asked = { response_type: "token", id_token_hint: hint, prompt: "login" };
    const page = await signInThrough(tab, serving, both, asked);
    const bob = await makeUser({ tenant: both.tenant });
    await signInThrough(tab, serving, bob, { prompt: "login" });
    const answer = await choose(tab, page, both.tenant);
    expect(isSignInPage(answer)).toBe(true);
    const done = await tab.submit(answer, { email: both.email, password: both.password });
    expect(landed(done).fragment.get("scope")).toContain(both.tenant);
  });

  it("is shown in the code flow if the client asks for it, and a named tenant needs no choice", async () => {
    const page = await visit(browser, serving, { tenant_choice: "true" });
    const code = landed(await choose(browser, page, second)).query.get("code") ?? "";
    const form = { grant_type: "authorization_code", code, redirect_uri: serving.redirectUri };
    const headers = { authorization: basic(serving) };
    const tokens = await expectJson<{ scope: string }>(await call("/oauth2/v1/token", { form, headers }), 200);
    expect(tokens.scope.split(" ")[0]).toBe(`plat.tenant=${second}`);
    const named = await visit(browser, serving, { tenant_choice: "true", scope: `plat.tenant=${both.tenant}` });
    expect(landed(named).query.get("code")).not.toBeNull();
    expect(landed(await visit(browser, serving, { tenant_choice: "false" })).query.get("code")).not.toBeNull();
    expect(errorOf(await visit(browser, serving, { tenant_choice: "yes" })).error).toBe("invalid_request");
  });

  it("is not shown with prompt=none: interaction_required", async () => {
    const answer = await visit(browser, serving, { response_type: "token", prompt: "none" });
    expect(errorOf(answer)).toEqual({ error: "interaction_required", fragment: "interaction_required", query: null });
  });

  it("is not shown for the code flow, nor if a tenant is named", async () => {
    expect(landed(await visit(browser, serving)).query.get("code")).not.toBeNull();
    const named = await visit(browser, serving, { response_type: "token", scope: `plat.tenant=${second}` });
    expect(landed(named).fragment.get("scope")).toBe(`plat.tenant=${second} ${service}.read`);
  });

  it("is refused if a form could not carry the parameters", async () => {
    for (const state of ["a\nb", "a\rb", "a\0b"]) {
      const { fragment } = landed(await visit(browser, serving, { response_type: "token", state }));
      expect(Object.fromEntries(fragment)).toMatchObject({ error: "invalid_request", state });
    }
  });

  // shows: oauth/get-authorize/no-tenant-scope-implicit-flow
  it("is not needed for one tenant; without any, the error is access_denied", async () => {
    const answer = await signInThrough(new Browser(), serving, await makeUser({ tenant: second, scopes: [] }), {
      response_type: "token",
    });
    expect(landed(answer).fragment.get("scope")).toBe(`plat.tenant=${second}`);
    const none = await signInThrough(new Browser(), serving, await makeUser(), { response_type: "token" });
    expect(errorOf(none)).toEqual({ error: "access_denied", fragment: "access_denied", query: null });
  });
});

describe("A POST from another site", () => {
  it("is redirected to GET, so that the browser sends its cookies", async () => {
    const foreign = await idTokenOf(shared, await makeApp({ tenant: user.tenant }));
    const parameters = requestFor(app, { state: "ä &+", id_token_hint: foreign });
    const answer = await shared.post(`${ISSUER}/authorize`, parameters, "cross-site");
    expect(answer.status).toBe(303);
    const { id_token_hint: _hint, ...others } = parameters;
    const { at, query } = landed(answer);
    expect(at).toBe(`${ISSUER}/authorize`);
    expect(Object.fromEntries(query)).toEqual({ ...others, plat_expected_user: expect.any(String) });
    expect(answer.location).not.toContain(user.email.split("@")[0]);
    expect(answer.headers.getSetCookie()).toEqual([]);
    const done = await shared.get(answer.location ?? "", "cross-site");
    expect(landed(done).query.get("code")).not.toBeNull();
    expect(landed(done).query.get("state")).toBe("ä &+");
  });

  it("is handled directly if the URL would be too long, and refused before it is stored", async () => {
    const long = await new Browser().post(
      `${ISSUER}/authorize`,
      requestFor(app, { login_hint: "x".repeat(20_000) }),
      "cross-site",
    );
    expect(isSignInPage(long)).toBe(true);
    const wrong = await new Browser().post(`${ISSUER}/authorize`, requestFor(app, { prompt: "x" }), "cross-site");
    expect(errorOf(wrong).error).toBe("invalid_request");
    const evil = await new Browser().post(
      `${ISSUER}/authorize`,
      requestFor(app, { redirect_uri: "https://evil.example" }),
      "cross-site",
    );
    expect(evil.status).toBe(400);
  });
});

describe("A user without a password", () => {
  it("cannot sign in by password", async () => {
    const email = `${unique("eve")}@example.org`;
    await put(`users/${email}`, { name: "Eve" });
    await join(email, user.tenant);
    const answer = await signInThrough(new Browser(), app, { email, password: "", tenant: user.tenant });
    expect(answer.status).toBe(400);
  });
});

describe("A named tenant in the implicit flow", () => {
  // shows: oauth/get-authorize/scope-with-plat.tenant
  it("that the user is not a member of is invalid_scope with its name, without a token", async () => {
    const stranger = await makeUser();
    for (const request of [{ response_type: "token" }, { response_type: "id_token token", nonce: "n" }]) {
      const answer = await signInThrough(new Browser(), app, stranger, {
        ...request,
        scope: `openid plat.tenant=${user.tenant}`,
      });
      expect(errorOf(answer)).toEqual({ error: "invalid_scope", fragment: "invalid_scope", query: null });
      const { fragment } = landed(answer);
      expect(fragment.get("error_description")).toBe(`The scope plat.tenant=${user.tenant} cannot be granted.`);
      expect([fragment.has("access_token"), fragment.has("id_token")]).toEqual([false, false]);
    }
  });
});
