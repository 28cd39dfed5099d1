import { withoutChallenges } from "../../support/parties/authenticator.ts";
import { env } from "cloudflare:workers";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { createDeps } from "../../../src/deps.ts";
import { RUN_MS, RUNS_OF_AN_HOUR } from "../../../src/platform/storage/slice.ts";
import { authorizeAddress, Browser, landed, toInit, type Visit } from "../../support/browser.ts";
import { isolate } from "../../support/isolate.ts";
import { call, expectJson, ORIGIN } from "../../support/platform/call.ts";
import { OPERATOR, put } from "../../support/platform/operator.ts";
import { tokenFor } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";
import { everywhere } from "../../support/shards.ts";
import { errorOf, makeApp, requestFor, signInThrough, visit, type TestApp } from "../../support/sign-in.ts";
import { directoryWith } from "../../support/directory.ts";
import { browserAtMoved } from "../../support/moved-platform.ts";
import { cheapHash, makeUser, type TestUser } from "../../support/users.ts";
import { makeUserAndApp } from "../../support/user-and-app.ts";

/** `POST /sign-in`: the form, its token and the session. */
const SIGN_IN = `${ORIGIN}/oauth2/v1/sign-in`;
const BLOCKED = /too many unsuccessful/i;

let user: TestUser;
let app: TestApp;
beforeAll(async () => {
  ({ user, app } = await makeUserAndApp());
});
afterEach(() => void vi.useRealTimers());

const password = () => ({ email: user.email, password: user.password });
const hasSession = (browser: Browser): boolean => browser.cookie("session") !== undefined;
/** Expects the form with its error. */
function expectFormAgain(answer: Visit, email: string): void {
  expect(answer.status).toBe(400);
  expect(answer.location).toBeUndefined();
  expect(answer.forms[0]?.action).toBe(SIGN_IN);
  expect(answer.forms[0]?.fields["email"]).toBe(email);
  expect(answer.forms[0]?.fields["password"]).toBe("");
  expect(answer.html).toContain('role="alert"');
}
const sessionsOf = async (email: string): Promise<number> =>
  (await everywhere.prepare("SELECT count(*) AS n FROM session WHERE email = ?").bind(email).first<number>("n")) ?? 0;

describe("The right password", () => {
  // shows: oauth/what-the-service-does/sign-in-of-the-resource-owner
  // shows: oauth/authentication/authorize
  // shows: oauth/authorize/session-cookie
  it("continues the request with 303, and starts a session in the browser", async () => {
    const browser = new Browser();
    const answer = await signInThrough(browser, app, user);
    expect(answer.status).toBe(303);
    expect(landed(answer).query.get("code")).not.toBeNull();
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.headers.get("referrer-policy")).toBe("no-referrer");
    const [, session] = browser.setCookies;
    expect(session).toMatch(/^__Host-plat_session=[\w~-]{43,}; Path=\/; HttpOnly; SameSite=Lax; Secure$/);
  });

  it("signs in though it is a common one, which nobody can set any more", async () => {
    const old = await makeUser({ tenant: user.tenant });
    const hash = cheapHash("iloveyou");
    await env.DB.prepare("UPDATE user SET password_hash = ?1 WHERE email = ?2").bind(hash, old.email).run();
    const answer = await signInThrough(new Browser(), app, { ...old, password: "iloveyou" });
    expect(landed(answer).query.get("code")).not.toBeNull();
  });

  it("is accepted with any spelling of the address", async () => {
    const browser = new Browser();
    const page = await visit(browser, app);
    const answer = await browser.submit(page, { ...password(), email: ` ${user.email.toUpperCase()} ` });
    expect(landed(answer).query.get("code")).not.toBeNull();
  });

  // shows: asvs/v6-authentication/6.2.8
  // shows: asvs/v6-authentication/6.2.9
  it("is the whole text, with its spaces and capitals, up to the last of a hundred letters", async () => {
    const long = ` A pass phrase ${"of many words ".repeat(6)}x`.padEnd(100, "Yz");
    const { email, tenant } = await makeUser({ tenant: user.tenant });
    await put(`users/${email}`, { name: "Ada", password: long });
    const enter = async (text: string): Promise<boolean> =>
      (await signInThrough(new Browser(), app, { email, tenant, password: text })).status === 303;
    for (const other of [long.trim(), `${long} `, `${long}Y`, long.slice(0, -1), long.slice(0, 72), long.toLowerCase()])
      expect([other, await enter(other)]).toEqual([other, false]);
    expect(await enter(long)).toBe(true);
  });

  // shows: asvs/v6-authentication/6.2.10
  it("is good for as long as nobody changes it", async () => {
    const old = await makeUser({ tenant: user.tenant });
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 5 * 365 * 86_400_000 });
    expect(landed(await signInThrough(new Browser(), app, old)).query.has("code")).toBe(true);
  });

  it("signs in even if the client gets an error: the user did sign in", async () => {
    const browser = new Browser();
    const stranger = await makeUser();
    const answer = await signInThrough(browser, app, stranger);
    expect(errorOf(answer).error).toBe("access_denied");
    expect(hasSession(browser)).toBe(true);
  });

  // shows: oauth/authorize/session-cookie
  it("sets cookies on plain http whose names browsers accept there", async () => {
    const local = "http://127.0.0.1:8787";
    const browser = new Browser();
    const page = await browser.get(authorizeAddress(requestFor(app)).replace(ORIGIN, local));
    const answer = await browser.submit(page, password());
    expect(landed(answer).query.get("iss")).toBe(`${local}/oauth2/v1`);
    expect([...browser.cookies.keys()].sort()).toEqual(["plat_browser", "plat_device", "plat_session"]);
    for (const cookie of browser.setCookies)
      expect(cookie).toMatch(/; Path=\/; HttpOnly; SameSite=Lax(; Max-Age=31536000)?$/);
    expect((await browser.get(authorizeAddress(requestFor(app)).replace(ORIGIN, local))).status).toBe(302);
  });

  // shows: oauth/scopes/another-prefix
  // shows: platform/deployment-variables/platform
  it("follows another platform name and path prefix", async () => {
    const browser = browserAtMoved();
    const parameters = new URLSearchParams(requestFor(app, { acme_id_provider: "legacy_idp" }));
    const page = await browser.get(`https://public.example/base/oauth2/v1/authorize?${parameters.toString()}`);
    expect(page.forms[0]?.action).toBe("https://public.example/base/oauth2/v1/sign-in");
    const answer = await browser.submit(page, password());
    expect(landed(answer).query.get("iss")).toBe("https://public.example/base/oauth2/v1");
    expect([...browser.cookies.keys()].sort()).toEqual([
      "__Host-acme_browser",
      "__Host-acme_device",
      "__Host-acme_session",
    ]);
  });
});

describe("Any other sign-in", () => {
  // shows: oauth/authentication/authorize
  // shows: asvs/v6-authentication/6.3.8
  it("shows the form again, alike for a wrong password, an unknown or disabled user and no address", async () => {
    const disabled = await makeUser({ tenant: user.tenant });
    await put(`users/${disabled.email}`, { name: "x", disabled: true });
    const browser = new Browser();
    let page = await visit(browser, app);
    const pages: string[] = [];
    for (const [email, given] of [
      [user.email, "not the password"],
      [`${unique("nobody")}@example.org`, user.password],
      [disabled.email, disabled.password],
      ["no address", "x"],
      ["", ""],
      ["\u0000\ud800<script>", "x".repeat(10_000)],
    ] as const) {
      const shown = email.toWellFormed().slice(0, 254);
      page = await browser.submit(page, { email, password: given });
      expectFormAgain(page, shown);
      expect(page.html).not.toContain("x".repeat(1000));
      const others = withoutChallenges(page.html).replace(/(id="email"[^]*?value=")[^"]*"/, `$1"`);
      pages.push(others.replaceAll("autofocus", "").replaceAll(/\s+/g, " "));
    }
    expect(new Set(pages).size).toBe(1);
    expect(hasSession(browser)).toBe(false);
    expect(landed(await browser.submit(page, password())).query.get("code")).not.toBeNull();
  });

  // shows: oauth/states-of-a-user-account/active-15-invalid-attempts-within-15-minutes
  // shows: oauth/states-of-a-user-account/blocked-attempt
  // shows: oauth/errors/400-blocked-account
  it("blocks the account after 15 failures, with the same words here and at /token", async () => {
    const victim = await makeUser({ tenant: user.tenant });
    const browser = new Browser();
    let page = await visit(browser, app);
    for (let n = 0; n < 15; n++) {
      page = await browser.submit(page, { email: victim.email, password: `guess ${n}` });
      expectFormAgain(page, victim.email);
      expect(page.html).not.toMatch(BLOCKED);
    }
    page = await browser.submit(page, { email: victim.email, password: victim.password });
    expectFormAgain(page, victim.email);
    expect(page.html).toMatch(BLOCKED);
    const form = {
      grant_type: "password",
      plat_id_provider: "legacy_idp",
      username: victim.email,
      password: victim.password,
    };
    const atToken = await expectJson(await call("/oauth2/v1/token", { form }), 400);
    expect(atToken.error_description).toMatch(BLOCKED);
    expect(hasSession(browser)).toBe(false);
  });
});

describe("The token of the form", () => {
  const asBrowser = (cookies: Browser): Browser => {
    const other = new Browser();
    for (const [name, value] of cookies.cookies) other.cookies.set(name, value);
    return other;
  };

  // shows: oauth/authorize/csrf
  it("prevents login CSRF: a form of another browser signs nobody in", async () => {
    const attacker = new Browser();
    const prepared = await visit(attacker, app);
    const victim = new Browser();
    await visit(victim, app);
    const answer = await victim.submit(prepared, password());
    expectFormAgain(answer, user.email);
    expect(hasSession(victim)).toBe(false);
    // The page that follows is the victim's own, and works.
    expect(landed(await victim.submit(answer, password())).query.get("code")).not.toBeNull();
  });

  // shows: oauth/authorize/csrf
  it.each<[string, (fields: Record<string, string>) => void]>([
    ["no token", (fields) => delete fields["csrf"]],
    ["an empty token", (fields) => (fields["csrf"] = "")],
    ["a token that is no base64url", (fields) => (fields["csrf"] = "%%%")],
    ["a token with a changed end", (fields) => (fields["csrf"] = `${fields["csrf"]?.slice(0, -2)}AA`)],
    ["a token with padding", (fields) => (fields["csrf"] += "=")],
    ["the cookie's own value", (fields) => (fields["csrf"] = "A".repeat(43))],
  ])("%s: the page again", async (_, change) => {
    const browser = new Browser();
    const page = await visit(browser, app);
    const fields = { ...page.forms[0]?.fields, ...password() };
    change(fields);
    const answer = await browser.post(SIGN_IN, fields);
    expectFormAgain(answer, user.email);
    expect(hasSession(browser)).toBe(false);
  });

  it("is renewed with the page for a browser that lost its cookie", async () => {
    const browser = new Browser();
    const page = await visit(browser, app);
    browser.cookies.clear();
    const answer = await browser.submit(page, password());
    expectFormAgain(answer, user.email);
    expect(browser.cookie("browser")).toMatch(/^[\w-]{43}$/);
    expect(landed(await browser.submit(answer, password())).query.get("code")).not.toBeNull();
  });

  it("leaves the browser's cookie unchanged, so that several pages can be open", async () => {
    const browser = new Browser();
    const first = await visit(browser, app);
    const second = await visit(browser, app, { state: "another" });
    expect(browser.setCookies.length).toBe(1);
    expect(landed(await browser.submit(second, password())).query.get("state")).toBe("another");
    expect(landed(await browser.submit(first, password())).query.get("state")).toBe("a state");
  });

  it.each(["cross-site", "same-site"] as const)(
    "one sent from a page of another site (%s) is not looked at",
    async (site) => {
      const browser = new Browser();
      const page = await visit(browser, app);
      const before = await sessionsOf(user.email);
      const form = page.forms[0]?.fields ?? {};
      const all = { cookie: [...browser.cookies].map((pair) => pair.join("=")).join("; ") };
      const answer = await browser.post(SIGN_IN, { ...form, ...password() }, undefined, {
        ...all,
        "sec-fetch-site": site,
      });
      expect(answer.status).toBe(400);
      expect(answer.forms).toEqual([]);
      expect(answer.headers.getSetCookie()).toEqual([]);
      expect(await sessionsOf(user.email)).toBe(before);
    },
  );

  it.each(["same-origin", "none", undefined] as const)("one with Sec-Fetch-Site %s is", async (site) => {
    const browser = new Browser();
    const page = await visit(browser, app);
    expect((await browser.submit(page, password(), site)).status).toBe(303);
  });

  it("costs no attempt of the account if it is wrong", async () => {
    const victim = await makeUser({ tenant: user.tenant });
    const browser = new Browser();
    const page = await visit(browser, app);
    const fields = { ...page.forms[0]?.fields, email: victim.email, password: "guess", csrf: "x" };
    for (let n = 0; n < 16; n++) await browser.post(SIGN_IN, fields);
    const answer = await browser.submit(page, { email: victim.email, password: victim.password });
    expect(landed(answer).query.get("code")).not.toBeNull();
  });

  // shows: asvs/v7-session-management/7.2.2
  // shows: asvs/v7-session-management/7.2.4
  it("prevents session fixation: each sign-in starts its own session and ends the one before", async () => {
    const attacker = new Browser();
    await signInThrough(attacker, app, await makeUser({ tenant: user.tenant }));
    const victim = asBrowser(attacker);
    const planted = victim.cookie("session");
    const page = await visit(victim, app, { prompt: "login" });
    await victim.submit(page, password());
    expect(victim.cookie("session")).not.toBe(planted);
    // The session id that the attacker knows belongs to nobody any more.
    expect((await visit(attacker, app)).status).toBe(200);
    expect((await visit(victim, app)).status).toBe(302);

    const chosen = "B".repeat(42) + "A";
    const naive = new Browser();
    naive.cookies.set("__Host-plat_session", chosen);
    await naive.submit(await visit(naive, app), password());
    expect(naive.cookie("session")).not.toBe(chosen);
  });

  // shows: asvs/v7-session-management/7.6.2
  it("comes with a page that cannot be framed, and whose form has one target", async () => {
    const { headers } = await visit(new Browser(), app);
    expect(headers.get("x-frame-options")).toBe("DENY");
    expect(headers.get("content-security-policy")).toMatch(
      /default-src 'none'.*form-action 'self' https:; script-src https:\/\/plinth\.test\/docs\/assets\/pages-[0-9a-f]{16}\.js; frame-ancestors 'none'; base-uri 'none'/,
    );
    expect(headers.get("x-content-type-options")).toBe("nosniff");
  });
});

describe("The request in the form", () => {
  async function send(request: string | undefined): Promise<[Browser, Visit]> {
    const browser = new Browser();
    const page = await visit(browser, app);
    const { request: _request, ...fields } = page.forms[0]?.fields ?? {};
    const form = { ...fields, ...password(), ...(request === undefined ? {} : { request }) };
    return [browser, await browser.post(SIGN_IN, form)];
  }

  it.each<[string, string | undefined]>([
    ["is missing", undefined],
    ["is empty", ""],
    ["is no form", "%%%&&&==="],
    ["names an unknown client", "client_id=no.body"],
    ["names another address", "changed"],
  ])("gets a 400 page when it %s, and nobody is signed in", async (_, request) => {
    const evil = new URLSearchParams({ ...requestFor(app), redirect_uri: "https://evil.example" }).toString();
    const [browser, answer] = await send(request === "changed" ? evil : request);
    expect(answer.status).toBe(400);
    expect(answer.forms).toEqual([]);
    expect(hasSession(browser)).toBe(false);
  });

  it("is checked again from scratch: a refusal goes to the client, and nobody is signed in", async () => {
    const [browser, answer] = await send(new URLSearchParams(requestFor(app, { scope: "x.y" })).toString());
    expect(answer.status).toBe(303);
    expect(errorOf(answer).error).toBe("invalid_scope");
    expect(hasSession(browser)).toBe(false);
  });

  it("belongs to the client only while the client exists", async () => {
    const gone = await makeApp({ tenant: user.tenant });
    const browser = new Browser();
    const page = await visit(browser, gone);
    await call(`/admin/v1/clients/${gone.clientId}`, { method: "DELETE", token: await tokenFor(OPERATOR) });
    expect((await browser.submit(page, password())).status).toBe(400);
    expect(hasSession(browser)).toBe(false);
  });

  it("is refused if it is for another identity provider: our password is no answer to it", async () => {
    const id = unique("idp");
    await put(`identity-providers/${id}`, {
      issuer: "https://idp.example",
      clientId: "x",
      clientSecret: "y".repeat(32),
    });
    const [browser, answer] = await send(new URLSearchParams(requestFor(app, { plat_id_provider: id })).toString());
    expect(answer.status).toBe(400);
    expect(answer.forms).toEqual([]);
    expect(hasSession(browser)).toBe(false);
    // A session of ours does not count as one of that provider.
    const own = new Browser();
    await signInThrough(own, app, user);
    expect(errorOf(await visit(own, app, { plat_id_provider: id })).error).not.toBeNull();
  });

  it("gets a 400 page for repeated fields", async () => {
    const browser = new Browser();
    const page = await visit(browser, app);
    const form = new URLSearchParams({ ...page.forms[0]?.fields, ...password() });
    form.append("email", "eve@example.org");
    const answer = await browser.post(SIGN_IN, form);
    expect(answer.status).toBe(400);
    expect(answer.forms).toEqual([]);
  });
});

describe("A user who is disabled while signing in", () => {
  it("gets no session: the row is written on condition", async () => {
    const fallen = await makeUser({ tenant: user.tenant });
    let armed = false;
    const db = directoryWith({
      async batch(statements) {
        if (armed) await env.DB.prepare("UPDATE user SET disabled = 1 WHERE email = ?").bind(fallen.email).run();
        return env.DB.batch(statements);
      },
    });
    const worker = isolate({ DB: db });
    const browser = new Browser({ send: (address, init) => worker.fetch(address.slice(ORIGIN.length), toInit(init)) });
    const page = await visit(browser, app);
    armed = true;
    expectFormAgain(await browser.submit(page, { email: fallen.email, password: fallen.password }), fallen.email);
    expect(hasSession(browser)).toBe(false);
    expect(await sessionsOf(fallen.email)).toBe(0);
  });
});

describe("The sweep of sessions", () => {
  it("deletes sessions that have expired, and no others", async () => {
    const one = await makeUser({ tenant: user.tenant });
    const another = await makeUser({ tenant: user.tenant });
    await signInThrough(new Browser(), app, one);
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(Date.now() + 11 * 3_600_000);
    await signInThrough(new Browser(), app, another);
    vi.setSystemTime(Date.now() + 2 * 3_600_000);
    const nowMs = Date.now();
    for (let run = 0; run < RUNS_OF_AN_HOUR; run++) await createDeps(env).oauth.sweep(nowMs + run * RUN_MS);
    expect(await sessionsOf(one.email)).toBe(0);
    expect(await sessionsOf(another.email)).toBe(1);
  });
});
