import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { createApp } from "../../../src/app.ts";
import { createDeps } from "../../../src/deps.ts";
import type { Mail } from "../../../src/platform/ports/mail.ts";
import { authorizeAddress, Browser, landed, toInit, type Visit } from "../../support/browser.ts";
import { isolate, type Isolate } from "../../support/isolate.ts";
import { call, expectJson, ORIGIN } from "../../support/platform/call.ts";
import { OPERATOR, put } from "../../support/platform/operator.ts";
import { tokenFor } from "../../support/platform/tokens.ts";
import { requestFor, type TestApp } from "../../support/sign-in.ts";
import { setUpApp } from "../../support/parties/totp.ts";
import { directoryWith } from "../../support/directory.ts";
import { makeUser, type TestUser } from "../../support/users.ts";
import { makeUserAndApp } from "../../support/user-and-app.ts";
import { browserAt, linkIn, untilDone } from "./mail-platform.ts";

/** `/forgot` and `/reset`: a forgotten password, from the sign-in page to the new sign-in. */
const NEW = "a quite different password";
const BASE = `${ORIGIN}/oauth2/v1`;

let user: TestUser;
let app: TestApp;
let mails: (Mail & { from: unknown })[];
let platform: Isolate;
const MAIL = { send: async (mail: Mail & { from: unknown }) => ({ messageId: String(mails.push(mail)) }) };
const WITH_MAIL = { MAIL: MAIL as unknown as SendEmail, MAIL_FROM: "Acme <no-reply@acme.example>", PUBLIC_URL: ORIGIN };

beforeEach(async () => {
  mails = [];
  ({ user, app } = await makeUserAndApp());
  platform = isolate(WITH_MAIL);
});

const browserOf = (at: Isolate = platform, headers: Record<string, string> = {}) =>
  new Browser({ send: (address, init) => at.fetch(address, toInit(init)), headers });
const signInPage = (browser: Browser, more: Record<string, string> = {}) =>
  browser.get(authorizeAddress(requestFor(app, more)));

/** Presses "Forgot your password?" on the sign-in page, and sends the form that follows. */
async function ask(browser: Browser, email = user.email, more: Record<string, string> = {}): Promise<Visit> {
  const page = await signInPage(browser, more);
  const asked = await browser.follow(await browser.post(`${BASE}/forgot`, { ...page.forms[0]!.fields, email }));
  return browser.follow(await browser.submit(asked, { email }));
}

const choose = (browser: Browser, page: Visit, password = NEW, repeated = password): Promise<Visit> =>
  browser.submit(page, { new_password: password, repeated_password: repeated });

async function signsIn(password: string): Promise<boolean> {
  const browser = browserOf();
  const sent = await browser.submit(await signInPage(browser), { email: user.email, password });
  return sent.location !== undefined;
}

describe("a forgotten password", () => {
  it("is replaced by a link in a mail, and the application goes on", async () => {
    const browser = browserOf();
    const sent = await ask(browser);
    expect(sent.status).toBe(200);
    expect(mails).toMatchObject([
      { to: user.email, from: { email: "no-reply@acme.example", name: "Acme" }, subject: expect.any(String) },
    ]);
    expect(mails[0]!.html).toContain(linkIn(mails[0]).replaceAll("&", "&amp;"));
    const page = await browser.get(linkIn(mails[0]), "cross-site");
    expect(page.html).toContain(user.email);
    const done = await choose(browser, page);
    expect(done.status).toBe(200);
    const next = /href="([^"]*authorize[^"]*)"/.exec(done.html)![1]!.replaceAll("&amp;", "&");
    const again = await browser.submit(await browser.get(next), { email: user.email, password: NEW });
    expect(landed(again).at).toBe(app.redirectUri);
    expect(landed(again).query.get("state")).toBe("a state");
    expect(await signsIn(user.password)).toBe(false);
  });

  it("is replaced if the page says so, and only then, whenever the database fails", async () => {
    const browser = browserOf();
    await ask(browser);
    const page = await browser.get(linkIn(mails[0]));
    await untilDone(
      (there) => choose(browserAt(there, browser), page),
      async () => !(await signsIn(user.password)),
    );
  });

  it("ends every session, grant and token of the person", async () => {
    const before = browserOf();
    const signedIn = await before.submit(await signInPage(before), { email: user.email, password: user.password });
    expect(landed(signedIn).query.has("code")).toBe(true);
    const form = { grant_type: "password", plat_id_provider: "legacy_idp", username: user.email };
    const { access_token: token } = await (
      await call("/oauth2/v1/token", { form: { ...form, password: user.password } })
    ).json<{ access_token: string }>();
    expect((await call("/oauth2/v1/userinfo", { token })).status).toBe(200);
    const browser = browserOf();
    await ask(browser);
    await choose(browser, await browser.get(linkIn(mails[0])));
    expect(
      (await platform.fetch("/oauth2/v1/userinfo", { headers: { authorization: `Bearer ${token}` } })).status,
    ).toBe(401);
    expect((await signInPage(before)).status).toBe(200);
    const code = landed(signedIn).query.get("code") ?? "";
    const redeemed = await call("/oauth2/v1/token", {
      form: { grant_type: "authorization_code", code, redirect_uri: app.redirectUri, client_id: app.clientId },
      headers: { authorization: `Basic ${btoa(`${app.clientId}:${app.clientSecret}`)}` },
    });
    expect(redeemed.status).toBe(400);
  });

  it("shows nobody's e-mail in an address, if the application did not", async () => {
    const form = { ...requestFor(app, { login_hint: user.email }), client_secret: app.clientSecret };
    const pushed = await expectJson<{ request_uri: string }>(await call("/oauth2/v1/par", { form }), 201);
    const browser = browserOf();
    const page = await browser.get(authorizeAddress({ client_id: app.clientId, request_uri: pushed.request_uri }));
    const asked = await browser.post(`${BASE}/forgot`, { ...page.forms[0]!.fields, email: user.email });
    expect(decodeURIComponent(asked.location ?? "none")).not.toContain(user.email);
    const asks = await browser.follow(asked);
    expect(asks.html).toContain(`value="${user.email}"`);
    await browser.follow(await browser.submit(asks, { email: user.email }));
    const done = await choose(browser, await browser.get(linkIn(mails[0])));
    const next = /href="([^"]*authorize[^"]*)"/.exec(done.html)![1]!.replaceAll("&amp;", "&");
    const signIn = await browser.get(next);
    expect(signIn.html).toContain(`value="${user.email}"`);
    expect(landed(await browser.submit(signIn, { password: NEW })).at).toBe(app.redirectUri);
  });

  it("leads back to the account page if it was forgotten there", async () => {
    const browser = browserOf();
    const page = await browser.get(`${ORIGIN}/account`);
    const asked = await browser.follow(
      await browser.post(`${BASE}/forgot`, { ...page.forms[0]!.fields, email: user.email }),
    );
    await browser.submit(asked, {});
    const done = await choose(browser, await browser.get(linkIn(mails[0])));
    expect(done.html).toContain(`href="${ORIGIN}/account"`);
  });

  // shows: asvs/v6-authentication/6.3.6
  // shows: asvs/v6-authentication/6.4.3
  it("signs nobody in by its link, and stands in for no second factor", async () => {
    const own = new Browser();
    await own.submit(await own.get(`${ORIGIN}/account`), { email: user.email, password: user.password });
    const { app: authenticator } = await setUpApp(own, ORIGIN, user.password);
    const browser = browserOf();
    await ask(browser);
    expect((await choose(browser, await browser.get(linkIn(mails[0])))).status).toBe(200);
    expect(browser.cookie("session")).toBeUndefined();
    const page = await browser.submit(await signInPage(browser), { email: user.email, password: NEW });
    expect([page.status, page.html.includes("Enter your code")]).toEqual([200, true]);
    const done = await browser.submit(page, { code: authenticator.code() });
    expect(landed(done).query.has("code")).toBe(true);
  });

  // shows: asvs/v6-authentication/6.4.3
  it("ends no count of wrong codes, and makes no known browser, of a person with a second factor", async () => {
    const own = new Browser();
    await own.submit(await own.get(`${ORIGIN}/account`), { email: user.email, password: user.password });
    const { app: authenticator } = await setUpApp(own, ORIGIN, user.password);
    const browser = browserOf(platform, { "cf-connecting-ip": "203.0.113.10" });
    const asked = await browser.submit(await signInPage(browser), { email: user.email, password: user.password });
    for (let n = 0; n < 15; n++) await browser.submit(asked, { code: "000000" });
    await ask(browser);
    expect((await choose(browser, await browser.get(linkIn(mails[0])))).status).toBe(200);
    expect(browser.cookie("device")).toBeUndefined();
    const blocked = await browser.submit(await signInPage(browser), { email: user.email, password: NEW });
    expect([blocked.status, blocked.html.includes("too many unsuccessful")]).toEqual([400, true]);
    const token = await tokenFor(OPERATOR);
    expect((await call(`/admin/v1/users/${user.email}/unlock`, { method: "POST", token })).status).toBe(204);
    const page = await browser.submit(await signInPage(browser), { email: user.email, password: NEW });
    expect(landed(await browser.submit(page, { code: authenticator.code() })).query.has("code")).toBe(true);
  });

  it("ends the block of the account", async () => {
    const stranger = browserOf();
    for (let n = 0; n < 15; n++)
      await stranger.submit(await signInPage(stranger), { email: user.email, password: `wrong password ${n}` });
    expect(await signsIn(user.password)).toBe(false);
    const browser = browserOf();
    await ask(browser);
    await choose(browser, await browser.get(linkIn(mails[0])));
    expect(await signsIn(NEW)).toBe(true);
  });

  it("is written to the audit log, and proves the address", async () => {
    const browser = browserOf();
    await ask(browser);
    await choose(browser, await browser.get(linkIn(mails[0])));
    const rows = await call(`/admin/v1/audit?subject=users/${user.email}`, { token: await tokenFor(OPERATOR) });
    expect((await rows.json<{ action: string; outcome: string }[]>()).map((row) => [row.action, row.outcome])).toEqual(
      expect.arrayContaining([
        ["forgot password", "done"],
        ["reset password", "done"],
      ]),
    );
    const verified = env.DB.prepare(`SELECT email_verified_at FROM user WHERE email = ?1`).bind(user.email);
    expect(await verified.first("email_verified_at")).toEqual(expect.any(Number));
  });

  it.each(["de", "fr"])("speaks the language of the sign-in page: %s", async (lang) => {
    const browser = browserOf();
    const sent = await ask(browser, user.email, { ui_locales: lang });
    expect(sent.headers.get("content-language")).toBe(lang);
    expect(mails[0]!.html).toContain(`lang="${lang}"`);
    expect((await browser.get(linkIn(mails[0]))).headers.get("content-language")).toBe(lang);
  });
});

describe("the answer to an address", () => {
  // shows: asvs/v6-authentication/6.3.8
  it("is the same whether there is such an account or not", async () => {
    const disabled = await makeUser();
    await put(`users/${disabled.email}`, { disabled: true });
    await put("users/no-password@acme.example", {});
    const answers = [];
    for (const email of [user.email, disabled.email, "no-password@acme.example", "nobody@acme.example", "no address"]) {
      const { status, html } = await ask(browserOf(), email);
      answers.push([status, html.replaceAll(email, "EMAIL").replaceAll(/plat-request-id.*/g, "")]);
    }
    expect(new Set(answers.map((one) => JSON.stringify(one))).size).toBe(1);
    expect(mails.map(({ to }) => to)).toEqual([user.email]);
  });

  // shows: asvs/v6-authentication/6.3.8
  it("comes before anything is read of the address, and before the mail: its time tells nothing", async () => {
    let release = (): void => {};
    const held = new Promise<void>((resolve) => void (release = resolve));
    const heldStatement = (statement: D1PreparedStatement): object => ({
      bind: (...values: unknown[]) => heldStatement(statement.bind(...values)),
      run: async () => held.then(() => statement.run()),
    });
    let asked = 0;
    const db = directoryWith({
      prepare(sql) {
        const made = env.DB.prepare(sql);
        if (!sql.includes("mail_link")) return made;
        asked += 1;
        return heldStatement(made);
      },
    });
    const own = { ...env, ...WITH_MAIL, DB: db, MAIL: { send: () => held } as unknown as SendEmail };
    const browser = browserOf();
    const page = await signInPage(browser);
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const context = createExecutionContext();
    const asking = createApp(createDeps(own));
    for (const email of [user.email, "nobody@acme.example"]) {
      const body = new URLSearchParams({ ...page.forms[0]!.fields, email, send: "1" });
      const request = new Request(`${BASE}/forgot`, { method: "POST", headers: { cookie }, body });
      // The links and the mails are held back, so the request would hang if it waited for them.
      expect((await asking.fetch(request, own, context)).status).toBe(303);
    }
    release();
    await waitOnExecutionContext(context);
    expect(asked).toBe(2);
  });

  it("comes after three links of an account within an hour too, without a mail", async () => {
    for (let n = 0; n < 5; n++) expect((await ask(browserOf())).status).toBe(200);
    expect(mails.length).toBe(3);
    vi.useFakeTimers({ now: Date.now() + 3_700_000, toFake: ["Date"] });
    await ask(browserOf());
    vi.useRealTimers();
    expect(mails.length).toBe(4);
  });

  it("brings a link all the same in a browser that the person knows, where strangers used up three", async () => {
    const elsewhere = { "cf-connecting-ip": "203.0.113.9" };
    const own = browserOf(platform, elsewhere);
    const account = await own.get(`${ORIGIN}/account`);
    await own.submit(account, { email: user.email, password: user.password });
    own.cookies.delete("__Host-plat_session");
    for (let n = 0; n < 4; n++) await ask(browserOf(platform, elsewhere));
    expect(mails.length).toBe(3);
    for (let n = 0; n < 5; n++) await ask(own);
    expect(mails.length).toBe(6);
    expect((await own.get(linkIn(mails[5]))).html).toContain(user.email);
  });

  it("comes after thirty links of a network within an hour too, without a mail", async () => {
    const headers = { "cf-connecting-ip": "203.0.113.77" };
    await ask(browserOf(platform, headers));
    const row = `INSERT INTO mail_link SELECT token_hash || ?2, purpose, email || '', browser_hash, network_hash, request,
      created_at, expires_at, created_at FROM mail_link WHERE email = ?1 LIMIT 1`;
    for (let n = 0; n < 29; n++) await env.DB.prepare(row).bind(user.email, `-${n}`).run();
    const another = await makeUser();
    await ask(browserOf(platform, headers), another.email);
    expect(mails.map(({ to }) => to)).toEqual([user.email]);
    await ask(browserOf(platform, { "cf-connecting-ip": "198.51.100.1" }), another.email);
    expect(mails.map(({ to }) => to)).toEqual([user.email, another.email]);
  });
});

describe("a link", () => {
  const openAgain = async (browser: Browser): Promise<number> => (await browser.get(linkIn(mails[0]))).status;

  // shows: asvs/v6-authentication/6.5.1
  it("works once", async () => {
    const browser = browserOf();
    await ask(browser);
    const page = await browser.get(linkIn(mails[0]));
    expect((await choose(browser, page)).status).toBe(200);
    expect((await choose(browser, page, "yet another password")).status).toBe(400);
    expect(await openAgain(browser)).toBe(400);
    expect(await signsIn(NEW)).toBe(true);
  });

  // shows: asvs/v6-authentication/6.5.1
  it("works for one of two who use it at once", async () => {
    const browser = browserOf();
    await ask(browser);
    const page = await browser.get(linkIn(mails[0]));
    const passwords = ["the first new password", "the second new password"];
    const answers = await Promise.all(passwords.map((password) => choose(browser, page, password)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 400]));
    const won = passwords[answers.findIndex(({ status }) => status === 200)]!;
    expect([await signsIn(passwords[0]!), await signsIn(passwords[1]!)]).toEqual(passwords.map((one) => one === won));
  });

  it("is used up by no opening, so programs that open links do no harm", async () => {
    const browser = browserOf();
    await ask(browser);
    for (let n = 0; n < 3; n++) expect(await openAgain(browser)).toBe(200);
    expect((await platform.fetch(linkIn(mails[0]), { method: "HEAD" })).status).toBe(400);
    expect(await openAgain(browser)).toBe(200);
  });

  // shows: asvs/v6-authentication/6.6.2
  it("is worth nothing in another browser, forwarded or intercepted", async () => {
    const [browser, thief] = [browserOf(), browserOf()];
    await ask(browser);
    const page = await browser.get(linkIn(mails[0]));
    const opened = await thief.get(linkIn(mails[0]));
    expect([opened.status, opened.forms]).toEqual([400, []]);
    await signInPage(thief);
    expect((await thief.get(linkIn(mails[0]))).status).toBe(400);
    const { action, fields } = page.forms[0]!;
    const stolen = { ...fields, new_password: NEW, repeated_password: NEW };
    expect((await thief.post(action, stolen)).status).toBe(400);
    expect(await signsIn(user.password)).toBe(true);
  });

  // shows: asvs/v6-authentication/6.5.5
  it("is void after 30 minutes", async () => {
    const browser = browserOf();
    await ask(browser);
    const page = await browser.get(linkIn(mails[0]));
    vi.useFakeTimers({ now: Date.now() + 30 * 60_000, toFake: ["Date"] });
    expect(await openAgain(browser)).toBe(400);
    expect((await choose(browser, page)).status).toBe(400);
    vi.useRealTimers();
    expect(await signsIn(user.password)).toBe(true);
  });

  // shows: asvs/v6-authentication/6.6.2
  it("is void once another link of the account was used", async () => {
    const browser = browserOf();
    await ask(browser);
    await ask(browser);
    await choose(browser, await browser.get(linkIn(mails[1])));
    expect(await openAgain(browser)).toBe(400);
  });

  it("is void while the person is disabled", async () => {
    const browser = browserOf();
    await ask(browser);
    const page = await browser.get(linkIn(mails[0]));
    await put(`users/${user.email}`, { disabled: true });
    expect(await openAgain(browser)).toBe(400);
    expect((await choose(browser, page)).status).toBe(400);
  });

  // shows: oauth/mailed-links/host
  it("leads to the deployment's own host, whatever Host says", async () => {
    const browser = browserOf();
    const page = await signInPage(browser);
    const { fields } = page.forms[0]!;
    const form = new URLSearchParams({ ...fields, email: user.email, send: "1" });
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const headers = { cookie, host: "evil.example", "sec-fetch-site": "same-origin" };
    await platform.fetch("https://evil.example/oauth2/v1/forgot", { method: "POST", headers, body: form });
    expect(mails.map(linkIn)).toEqual([expect.stringMatching(`^${ORIGIN}/`)]);
  });

  it("takes no password that is too short, common, the person's own, or repeated differently, and stays usable", async () => {
    const browser = browserOf();
    await ask(browser);
    const page = await browser.get(linkIn(mails[0]));
    for (const [password, repeated] of [
      ["short", "short"],
      ["password1", "password1"],
      [`${user.email.split("@")[0]}1`, `${user.email.split("@")[0]}1`],
      [NEW, "something else entirely"],
    ] as const)
      expect([password, (await choose(browser, page, password, repeated)).status]).toEqual([password, 400]);
    expect((await choose(browser, page)).status).toBe(200);
  });
});

describe("the pages that ask for the address and say to look for the mail", () => {
  const asking = async (browser: Browser, more: Record<string, string> = {}): Promise<Visit> => {
    const page = await signInPage(browser, more);
    return browser.post(`${BASE}/forgot`, { ...page.forms[0]!.fields, email: user.email });
  };

  it("are loaded again, as by going back, and send nothing then", async () => {
    const browser = browserOf();
    const asks = await asking(browser, { ui_locales: "de" });
    const sent = await browser.submit(await browser.follow(asks), {});
    expect([asks.status, sent.status, mails.length]).toEqual([303, 303, 1]);
    for (let n = 0; n < 2; n++) {
      const [first, second] = [await browser.follow(asks), await browser.follow(sent)];
      expect([first.status, first.forms[0]?.fields["email"], first.forms[0]?.fields["send"]]).toEqual([
        200,
        user.email,
        "1",
      ]);
      expect([second.status, second.forms.length, second.html.includes(user.email)]).toEqual([200, 0, true]);
      expect([first, second].map(({ headers }) => headers.get("content-language"))).toEqual(["de", "de"]);
    }
    expect(mails.length).toBe(1);
  });

  it("have no address of a person in theirs, and tell it no other browser", async () => {
    const [browser, other] = [browserOf(), browserOf()];
    const asks = await asking(browser);
    const sent = await browser.submit(await browser.follow(asks), {});
    for (const visit of [asks, sent]) {
      expect(decodeURIComponent(visit.location!)).not.toContain(user.email);
      const page = await other.get(visit.location!, "cross-site");
      expect([page.status, page.forms[0]?.fields["email"]]).toEqual([200, ""]);
    }
  });

  it("come at once where a request is too long for an address", async () => {
    const browser = browserOf();
    const asks = await asking(browser, { ui_locales: "en ".repeat(5_150) });
    expect([asks.status, asks.location, asks.forms[0]?.fields["email"]]).toEqual([200, undefined, user.email]);
    const sent = await browser.submit(asks, {});
    expect([sent.status, sent.forms.length, mails.length]).toEqual([200, 0, 1]);
  });
});

describe("the forms", () => {
  it("are refused from another site and with the token of another browser", async () => {
    const [browser, other] = [browserOf(), browserOf()];
    const page = await signInPage(browser);
    const { fields } = page.forms[0]!;
    const form = { ...fields, email: user.email, send: "1" };
    expect((await browser.post(`${BASE}/forgot`, form, "cross-site")).status).toBe(400);
    await signInPage(other);
    await other.post(`${BASE}/forgot`, form);
    expect(mails).toEqual([]);
    await ask(browser);
    const opened = await browser.get(linkIn(mails[0]));
    const { action, fields: own } = opened.forms[0]!;
    const chosen = { ...own, new_password: NEW, repeated_password: NEW };
    expect((await browser.post(action, chosen, "cross-site")).status).toBe(400);
    expect((await browser.post(action, { ...chosen, csrf: "x" })).status).toBe(400);
    expect(await signsIn(user.password)).toBe(true);
  });

  it("and the link do not exist on a platform that sends no mail", async () => {
    for (const without of [
      isolate({ ...WITH_MAIL, MAIL_FROM: "" }),
      isolate({ ...WITH_MAIL, MAIL: undefined as never }),
    ]) {
      const browser = browserOf(without);
      const page = await signInPage(browser);
      expect(page.html).not.toContain("/forgot");
      expect((await browser.post(`${BASE}/forgot`, page.forms[0]!.fields)).status).toBe(404);
      expect((await browser.get(`${BASE}/forgot`)).status).toBe(404);
      expect((await browser.get(`${BASE}/reset?token=x`)).status).toBe(404);
      const metadata = await without.fetch("/oauth2/v1/.well-known/openid-configuration");
      expect((await metadata.json<{ claims_supported: string[] }>()).claims_supported).not.toContain("email_verified");
    }
    expect((await signInPage(browserOf())).html).toContain(`formaction="${BASE}/forgot"`);
  });
});
