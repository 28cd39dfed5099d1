import { withoutChallenges } from "../../support/parties/authenticator.ts";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { errorOf, isLiving } from "../support/answers.ts";
import { auditOf } from "../support/audit-of.ts";
import { codeFor } from "../support/code.ts";
import { makeFlowClient, REDIRECT, type Flow, type FlowClient } from "../support/flow.ts";
import { signIn as grant, redeem, refresh, refreshed, type Tokens } from "../support/token-requests.ts";
import { linkAccount } from "../../support/parties/idp/accounts.ts";
import { answerToken, claimsFor, sign } from "../../support/parties/idp/id-token.ts";
import { bindProvider, makeProvider, type Provider } from "../../support/parties/idp/scripted-provider.ts";
import type { SentOff } from "../../support/parties/idp/sent-off.ts";
import { authorizeAddress, Browser, landed, toInit, type Visit } from "../../support/browser.ts";
import { counting } from "../../support/counting.ts";
import { isolate, learnsLogouts } from "../../support/isolate.ts";
import { meddled } from "../../support/meddling.ts";
import { realPasswordCost } from "../../support/runtime/password-cost.ts";
import { call, expectJson, ORIGIN } from "../../support/platform/call.ts";
import { OPERATOR, put } from "../../support/platform/operator.ts";
import { makeTenant } from "../../support/platform/tenants.ts";
import { tokenFor } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";
import { everywhere, HELD } from "../../support/shards.ts";
import { browserAtMoved } from "../../support/moved-platform.ts";
import { join, makeUser, type TestUser } from "../../support/users.ts";
import { itAtNight } from "../../support/model-runs.ts";

/** `/account` and its forms. */
const ACCOUNT = `${ORIGIN}/account`;
const NEW = "another password of hers";
const BLOCKED = /too many unsuccessful/i;

let user: TestUser;
let client: FlowClient;
beforeEach(async () => {
  user = await makeUser();
  client = await makeFlowClient(user.tenant);
});
afterEach(() => {
  vi.useRealTimers();
});

/** Gives a client a grant with a refresh token. */
const give = (to = client, of = user): Promise<Tokens> =>
  grant({ client: to, email: of.email, tenant: of.tenant, role: "" });
/** Gives a grant in another tenant, as the client of a service gets it. */
const givenIn = (tenant: string, atMs: number): Promise<unknown> =>
  everywhere
    .prepare(
      `INSERT INTO refresh_grant SELECT id || '-2', client, email, json_set(authorization, '$.tenant', ?2), ?3, ?3
     FROM refresh_grant WHERE email = ?1`,
    )
    .bind(user.email, tenant, atMs)
    .run();
/** A browser without Fetch Metadata. */
const silent = (headers: Record<string, string> = {}): Browser =>
  new Browser({
    headers,
    send: (address, { headers: { "sec-fetch-site": _site, ...sent }, ...init }) =>
      call(address, { ...init, headers: sent }),
  });
const parseFlow = (to: FlowClient): Flow => ({ client: to, email: user.email, tenant: user.tenant, role: "" });

/** A browser in which the user is signed in. */
async function signedIn(who = user, browser = new Browser()): Promise<Browser> {
  const answer = await browser.submit(await browser.get(ACCOUNT), { email: who.email, password: who.password });
  expect([answer.status, answer.location]).toEqual([303, ACCOUNT]);
  return browser;
}

const formOf = (page: Visit, name: string, clientId?: string) => {
  const found = page.forms.find(
    ({ action, fields }) =>
      new URL(action).pathname.endsWith(`/account/${name}`) &&
      (clientId === undefined || fields["client_id"] === clientId),
  );
  if (found === undefined) throw new Error(`no form ${name}: ${page.status} ${page.location ?? page.html}`);
  return found;
};
/** Sends a form of the given page, or of a page that it loads first. */
async function send(
  browser: Browser,
  name: string,
  fields: Record<string, string> = {},
  given?: Visit,
): Promise<Visit> {
  const form = formOf(given ?? (await browser.get(ACCOUNT)), name, fields["client_id"]);
  return browser.post(form.action, { ...form.fields, ...fields });
}
const passwords = (old = user.password, next = NEW, repeated = next) => ({
  password: old,
  new_password: next,
  repeated_password: repeated,
});

const said = (page: Visit): string => page.html.replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ");
const isSignInForm = (page: Visit): boolean =>
  page.forms.length === 1 && new URL(page.forms[0]!.action).pathname === "/account/sign-in";
/** Expects a redirect to the page, which shows the notice once. */
async function expectDone(answer: Visit, browser: Browser, words: RegExp): Promise<Visit> {
  expect([answer.status, answer.location]).toEqual([303, ACCOUNT]);
  expect(answer.headers.get("cache-control")).toBe("no-store");
  const page = await browser.get(ACCOUNT);
  expect(page.status).toBe(200);
  expect(page.html).toContain('role="status"');
  expect(said(page)).toMatch(words);
  expect((await browser.get(ACCOUNT)).html).not.toContain('role="status"');
  return page;
}
function expectAgain(answer: Visit, words: RegExp): void {
  expect(answer.status).toBe(400);
  expect(answer.html).toContain('role="alert"');
  expect(said(answer)).toMatch(words);
  expect(answer.html).not.toContain(NEW);
}
const isSignedIn = async (browser: Browser): Promise<boolean> => !isSignInForm(await browser.get(ACCOUNT));
const signsIn = async (password: string): Promise<boolean> => {
  const browser = new Browser();
  return (await browser.submit(await browser.get(ACCOUNT), { email: user.email, password })).status === 303;
};
const works = async (tokens: Tokens, by = client): Promise<boolean> =>
  (await refresh(by, tokens.refresh_token)).status === 200;
/** Tests whether a resource accepts the token. The isolate asks again after 5 s at the latest. */
const isTaken = async ({ access_token: token }: Tokens): Promise<boolean> =>
  (await call("/oauth2/v1/refreshtokens", { token })).status === 200;
const hashOf = (): Promise<string | null> =>
  env.DB.prepare("SELECT password_hash FROM user WHERE email = ?").bind(user.email).first<string>("password_hash");
const revoke = async (): Promise<Response> =>
  call(`/admin/v1/users/${user.email}/revoke`, { method: "POST", token: await tokenFor(OPERATOR) });

const set = (assignment: string): Promise<unknown> =>
  env.DB.prepare(`UPDATE user SET ${assignment} WHERE email = ?`).bind(user.email).run();

describe("GET /account", () => {
  // shows: platform/addresses/account
  it("shows a sign-in form if nobody is signed in, which leads back to the page only", async () => {
    const browser = new Browser();
    const page = await browser.get(`${ACCOUNT}?next=https://evil.example&redirect_uri=https://evil.example`);
    expect(page.status).toBe(200);
    expect(isSignInForm(page)).toBe(true);
    expect(page.html).not.toContain("evil");
    expect(page.headers.get("content-security-policy")).toContain("form-action 'self';");
    const form = { email: user.email, password: user.password, request: "client_id=x", next: "https://evil.example" };
    const answer = await browser.submit(page, form);
    expect([answer.status, answer.location]).toEqual([303, ACCOUNT]);
    expect(browser.setCookies.at(-2)).toMatch(
      /^__Host-plat_session=[\w~-]{43,}; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
    );
  });

  // shows: platform/addresses/account
  it("shows the user, the time of the sign-in, the applications and their access, but no token", async () => {
    const other = await makeTenant();
    await join(user.email, other);
    const second = await makeFlowClient(user.tenant, { name: `${unique("shop")}.web` });
    const nowMs = Date.UTC(2031, 4, 6, 7, 8);
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(nowMs);
    const tokens = await give();
    vi.setSystemTime(nowMs + 60_000);
    await givenIn(other, nowMs + 60_000);
    vi.setSystemTime(nowMs + 120_000);
    await refreshed(client, tokens.refresh_token);
    await give(second);
    const page = await (await signedIn()).get(ACCOUNT);
    expect(page.status).toBe(200);
    expect(page.headers.get("cache-control")).toBe("no-store, no-transform");
    const text = said(page);
    expect(text).toContain(`Ada ${user.email} Since 6 May 2031, 07:10 UTC`);
    expect(page.html).toContain('<time datetime="2031-05-06T07:10:00.000Z">');
    expect(text).toContain(`In Tenant ${user.tenant} : create, change and delete files; see files`);
    expect(text).toContain(`In Tenant ${other} : create, change and delete files; see files`);
    expect(text).toContain("Access since 6 May 2031, 07:08 UTC , last used 6 May 2031, 07:10 UTC");
    const removals = page.forms.filter(({ action }) => action.endsWith("/remove-access"));
    expect(new Set(removals.map(({ fields }) => fields["client_id"]))).toEqual(
      new Set([client.clientId, second.clientId]),
    );
    expect(removals.length).toBe(2);
    expect(text).toContain(second.clientId);
    for (const secret of [tokens.refresh_token, tokens.access_token]) expect(page.html).not.toContain(secret);
  });

  it("shows no applications of others and no invalid ones, and says so if there are none", async () => {
    await give(client, await makeUser({ tenant: user.tenant }));
    await give();
    // Simulates a password change by another isolate, before its cleanup.
    const grants = everywhere.prepare(
      "SELECT authorization ->> 'authenticatedAtMs' AS atMs FROM refresh_grant WHERE email = ?1",
    );
    const signedOutAt = env.DB.prepare("UPDATE user SET signed_out_at = ?2 WHERE email = ?1");
    await signedOutAt.bind(user.email, await grants.bind(user.email).first("atMs")).run();
    const page = await (await signedIn()).get(ACCOUNT);
    expect(said(page)).toContain("No application has lasting access to your account.");
    expect(page.html).not.toContain(client.clientId);
  });

  it("lists each place separately, even if two have the same name", async () => {
    const other = await makeTenant();
    await join(user.email, other);
    await env.DB.prepare("UPDATE tenant SET name = 'Acme' WHERE id IN (?1, ?2)").bind(user.tenant, other).run();
    await give();
    await givenIn(other, Date.now());
    expect(said(await (await signedIn()).get(ACCOUNT)).match(/In Acme :/g)?.length).toBe(2);
  });

  it("shows names as they were entered", async () => {
    await put(`users/${user.email}`, { name: `<b>&"Ada"</b>` });
    const page = await (await signedIn()).get(ACCOUNT);
    expect(page.html).toContain("<bdi>&lt;b&gt;&amp;&quot;Ada&quot;&lt;/b&gt;</bdi>");
  });

  it("shows at most a hundred applications, and says that there are more", async () => {
    const made = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 101)`;
    const id = `?1 || '-' || i`;
    await env.DB.batch([
      env.DB.prepare(
        `${made} INSERT INTO client (id, name, tenant, confidential, redirect_uris, post_logout_redirect_uris, grant_types,
           scopes, require_pkce, created_at)
         SELECT ${id}, ${id}, tenant, 1, '[]', '[]', '[]', '[]', 0, 1
         FROM n JOIN client ON client.id = ?1`,
      ).bind(client.clientId),
      env.DB.prepare(`${made} INSERT INTO refresh_grant SELECT ${id}, ${id}, ?2, ?3, i, i FROM n`).bind(
        client.clientId,
        user.email,
        JSON.stringify({ tenant: "", org: "", openid: true, scopes: [], authenticatedAtMs: 9e15 }),
      ),
    ]);
    const page = await (await signedIn()).get(ACCOUNT);
    expect(page.forms.filter(({ action }) => action.endsWith("/remove-access")).length).toBe(100);
    expect(said(page)).toContain("There are more.");
    expect(said(page)).toContain("In no workspace: know who you are");
  });

  it("offers no password change to a user without a password", async () => {
    const browser = await signedIn();
    await set("password_hash = NULL");
    const page = await browser.get(ACCOUNT);
    expect(page.forms.map(({ action }) => action.split("/").at(-1))).toEqual([
      "verify-address",
      "sign-out",
      "new",
      "set-up",
      "end-all",
    ]);
    const { fields } = formOf(page, "end-all");
    expectAgain(await browser.post(`${ACCOUNT}/password`, { ...fields, ...passwords() }), /old password is wrong/);
    expect(await hashOf()).toBeNull();
  });

  // shows: asvs/v7-session-management/7.4.2
  it("shows the sign-in form once the session has ended, wherever that happened", async () => {
    const [revoked, disabled] = [await signedIn(), await signedIn()];
    await revoke();
    expect(await isSignedIn(revoked)).toBe(false);
    await signedIn(user, disabled);
    await put(`users/${user.email}`, { disabled: true });
    expect(await isSignedIn(disabled)).toBe(false);
    const another = await makeUser({ tenant: user.tenant });
    const old = await signedIn(another);
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(Date.now() + 12 * 3_600_000 + 1);
    expect(await isSignedIn(old)).toBe(false);
  });

  it("uses the language of its URL, also after a form", async () => {
    const browser = new Browser();
    const form = await browser.get(`${ACCOUNT}?ui_locales=de-AT`);
    expect(form.headers.get("content-language")).toBe("de");
    const answer = await browser.submit(form, { email: user.email, password: user.password });
    expect(answer.location).toBe(`${ACCOUNT}?ui_locales=de-AT`);
    const page = await browser.get(answer.location!);
    expect(said(page)).toContain("Ihr Konto");
    const wrong = await send(browser, "password", passwords("falsch"), page);
    expectAgain(wrong, /Das alte Passwort ist falsch/);
    expect((await browser.get(`${ACCOUNT}?ui_locales=de&ui_locales=fr`)).status).toBe(200);
    expect((await new Browser().get(`${ACCOUNT}?ui_locales=de&ui_locales=fr`)).status).toBe(400);
  });

  it("follows another platform name and path prefix", async () => {
    const browser = browserAtMoved();
    const own = "https://public.example/base/account";
    const answer = await browser.submit(await browser.get(own), { email: user.email, password: user.password });
    expect(answer.location).toBe(own);
    const page = await browser.get(own);
    expect(page.forms.every(({ action }) => action.startsWith(`${own}/`))).toBe(true);
    const headers = { origin: "https://public.example" };
    const { action, fields } = formOf(page, "sign-out");
    expect((await browser.post(action, fields, undefined, headers)).location).toBe(own);
    expect([...browser.cookies.keys()].sort()).toEqual([
      "__Host-acme_browser",
      "__Host-acme_device",
      "__Host-acme_notice",
    ]);
    expect((await browser.get("https://public.example/account")).status).toBe(404);
  });
});

describe("POST /account/sign-in", () => {
  it("gives the same response to a wrong password, an unknown user and a disabled user", async () => {
    const disabled = await makeUser({ tenant: user.tenant });
    await put(`users/${disabled.email}`, { disabled: true });
    const browser = new Browser();
    const page = await browser.get(ACCOUNT);
    const pages: string[] = [];
    for (const email of [user.email, disabled.email, `${unique("nobody")}@example.org`]) {
      const answer = await browser.submit(page, { email, password: "a guess" });
      expectAgain(answer, /e-mail address or the password is wrong/);
      pages.push(withoutChallenges(answer.html).replaceAll(email, ""));
    }
    expect(new Set(pages).size).toBe(1);
    expect(browser.cookie("session")).toBeUndefined();
  });

  it("counts with all other attempts: a blocked account stays blocked", async () => {
    const form = { grant_type: "password", plat_id_provider: "legacy_idp", username: user.email, password: "a guess" };
    for (let n = 0; n < 15; n++) await call("/oauth2/v1/token", { form });
    const browser = new Browser();
    const right = { email: user.email, password: user.password };
    expectAgain(await browser.submit(await browser.get(ACCOUNT), right), BLOCKED);
  });

  it.each<[string, (fields: Record<string, string>) => void]>([
    ["no token", (fields) => delete fields["csrf"]],
    ["another token", (fields) => (fields["csrf"] = "A".repeat(43))],
  ])("shows the form again and counts no attempt: %s", async (_, change) => {
    const browser = new Browser();
    const page = await browser.get(ACCOUNT);
    const fields = { ...page.forms[0]?.fields, email: user.email, password: user.password };
    change(fields);
    for (let n = 0; n < 16; n++) expectAgain(await browser.post(`${ACCOUNT}/sign-in`, fields), /open for too long/);
    expect((await browser.submit(page, { email: user.email, password: user.password })).status).toBe(303);
  });

  it.each<Record<string, string>>([
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
    { origin: "https://evil.example" },
    { origin: "no origin" },
  ])("ignores a form from another site: %o", async (headers) => {
    const browser = "origin" in headers ? silent() : new Browser();
    const page = await browser.get(ACCOUNT);
    const fields = { ...page.forms[0]?.fields, email: user.email, password: user.password };
    const answer = await browser.post(`${ACCOUNT}/sign-in`, fields, undefined, headers);
    expect([answer.status, answer.forms]).toEqual([400, []]);
    expect(browser.cookie("session")).toBeUndefined();
  });

  it.each([ORIGIN, "null", undefined])(
    "one of a browser without Fetch Metadata is, with the origin %s",
    async (origin) => {
      const browser = silent();
      const page = await browser.get(ACCOUNT);
      const fields = { ...page.forms[0]?.fields, email: user.email, password: user.password };
      const headers: Record<string, string> = origin === undefined ? {} : { origin };
      expect((await browser.post(`${ACCOUNT}/sign-in`, fields, undefined, headers)).status).toBe(303);
    },
  );

  // shows: asvs/v7-session-management/7.2.4
  it("starts a new session each time and ends the one that the browser had", async () => {
    const browser = await signedIn();
    const planted = browser.cookie("session");
    const thief = new Browser();
    for (const [name, value] of browser.cookies) thief.cookies.set(name, value);
    const csrf = (
      await new Browser({ headers: { cookie: `__Host-plat_browser=${browser.cookie("browser")}` } }).get(ACCOUNT)
    ).forms[0]!.fields["csrf"]!;
    const answer = await browser.post(`${ACCOUNT}/sign-in`, { csrf, email: user.email, password: user.password });
    expect(answer.status).toBe(303);
    expect(browser.cookie("session")).not.toBe(planted);
    expect(await isSignedIn(thief)).toBe(false);
    expect(await isSignedIn(browser)).toBe(true);
  });

  it("refuses a form that is too large or repeats a field", async () => {
    const browser = new Browser();
    const page = await browser.get(ACCOUNT);
    const large = await browser.submit(page, { email: user.email, password: "x".repeat(17_000) });
    expect([large.status, large.html.includes(`<a href="${ACCOUNT}">`)]).toEqual([413, true]);
    const twice = new URLSearchParams({ ...page.forms[0]?.fields, email: user.email, password: user.password });
    twice.append("email", "eve@example.org");
    expect((await browser.post(`${ACCOUNT}/sign-in`, twice)).status).toBe(400);
    expect((await browser.get(`${ACCOUNT}/sign-in`)).status).toBe(405);
  });
});

describe("Signing in to the account at another identity provider", () => {
  async function sendOff(provider: Provider, browser: Browser): Promise<SentOff> {
    const sent = await browser.get(`${ACCOUNT}?plat_id_provider=${provider.id}`);
    expect(sent.status).toBe(302);
    const address = new URL(sent.location!);
    expect(address.origin).toBe(provider.issuer);
    const [state, nonce] = [address.searchParams.get("state")!, address.searchParams.get("nonce")!];
    return { browser: undefined as never, address, state, nonce };
  }
  const comeBack = (provider: Provider, browser: Browser, { state }: SentOff): Promise<Visit> =>
    browser.get(`${ORIGIN}/oauth2/v1/callback/${provider.id}?state=${state}&code=c`, "cross-site");
  const application = (email: string) => ({ clientId: "", clientSecret: "", email });

  // shows: platform/addresses/account
  it("returns to the page, which names the provider", async () => {
    const provider = await makeProvider();
    const browser = new Browser();
    const sent = await sendOff(provider, browser);
    await answerToken(provider, await sign(claimsFor(application(user.email), provider, sent), provider.signer));
    const page = await comeBack(provider, browser, sent);
    expect([page.status, browser.cookie("session")]).toEqual([200, undefined]);
    const again = await browser.submit(page, { password: "a guess" });
    expect([again.status, said(again).includes("The password is wrong.")]).toEqual([400, true]);
    const back = await browser.submit(again, { password: user.password });
    expect([back.status, back.location]).toEqual([303, ACCOUNT]);
    expect(said(await browser.get(ACCOUNT))).toContain(`, by ${provider.id}`);
    expect((await comeBack(provider, browser, sent)).status).toBe(400);
  });

  // shows: asvs/v6-authentication/6.2.3
  it("requires the old password for a password change, and then counts as a sign-in by password", async () => {
    const provider = await makeProvider();
    await linkAccount(user, provider);
    const browser = new Browser();
    const sent = await sendOff(provider, browser);
    await answerToken(provider, await sign(claimsFor(application(user.email), provider, sent), provider.signer));
    const back = await comeBack(provider, browser, sent);
    expect([back.status, back.location]).toEqual([302, ACCOUNT]);
    const before = browser.cookie("session");
    expectAgain(await send(browser, "password", passwords("a guess")), /old password is wrong/);
    expect(browser.cookie("session")).toBe(before);
    const page = await expectDone(await send(browser, "password", passwords()), browser, /Your password is changed/);
    expect(said(page)).toContain(`${user.email} Since `);
    expect(said(page)).not.toContain(`by ${provider.id}`);
    expect(await signsIn(NEW)).toBe(true);
  });

  it("refuses a session of a provider that is bound to tenants", async () => {
    const provider = await makeProvider({ tenants: [user.tenant] });
    await linkAccount(user, provider);
    const browser = new Browser();
    const sent = await sendOff(provider, browser);
    await answerToken(provider, await sign(claimsFor(application(user.email), provider, sent), provider.signer));
    expectAgain(await comeBack(provider, browser, sent), /did not confirm who you are/);
    expect(browser.cookie("session")).toBeUndefined();

    const own = await makeProvider();
    await linkAccount(user, own);
    const again = await sendOff(own, browser);
    await answerToken(own, await sign(claimsFor(application(user.email), own, again), own.signer));
    await comeBack(own, browser, again);
    const page = await browser.get(ACCOUNT);
    expect(isSignInForm(page)).toBe(false);
    await bindProvider(own, { tenants: [user.tenant] });
    expect(isSignInForm(await browser.get(ACCOUNT))).toBe(true);
    const form = page.forms.find(({ action }) => action.endsWith("/end-all"))!;
    const answer = await browser.post(form.action, form.fields);
    expect([answer.status, answer.location]).toEqual([303, ACCOUNT]);
    await bindProvider(own, { tenants: [] });
    expect(isSignInForm(await browser.get(ACCOUNT))).toBe(false);
  });

  it("shows an error if the address is unknown here or the provider vouches for nobody: 400, nobody is signed in", async () => {
    const provider = await makeProvider();
    for (const idToken of ["unknown user", "no token"]) {
      const browser = new Browser();
      const sent = await sendOff(provider, browser);
      const claims = claimsFor(application(`${unique("nobody")}@example.org`), provider, sent);
      await answerToken(provider, idToken === "no token" ? "x.y.z" : await sign(claims, provider.signer));
      const back = await comeBack(provider, browser, sent);
      expectAgain(back, /did not confirm who you are, or your address is not known here/);
      expect(isSignInForm(back)).toBe(true);
      expect(browser.cookie("session")).toBeUndefined();
    }
  });

  it("shows the form with 400 if the provider does not exist", async () => {
    const browser = new Browser();
    const answer = await browser.get(`${ACCOUNT}?plat_id_provider=nobody`);
    expectAgain(answer, /did not confirm/);
    expect((await browser.submit(answer, { email: user.email, password: user.password })).status).toBe(303);
    expect((await new Browser().get(`${ACCOUNT}?plat_id_provider=a&plat_id_provider=b`)).status).toBe(400);
    for (const local of ["default_idp", "legacy_idp"])
      expect((await new Browser().get(`${ACCOUNT}?plat_id_provider=${local}`)).status).toBe(200);
  });
});

describe.each(["sign-out", "remove-access", "password", "end-all"])("POST /account/%s does nothing", (name) => {
  let browser: Browser;
  let page: Visit;
  let tokens: Tokens;
  let fields: Record<string, string>;
  beforeEach(async () => {
    tokens = await give();
    browser = await signedIn();
    page = await browser.get(ACCOUNT);
    fields = { ...formOf(page, name).fields, ...(name === "password" ? passwords() : {}) };
  });
  const post = (more: Record<string, string> = {}, by = browser): Promise<Visit> =>
    by.post(`${ACCOUNT}/${name}`, { ...fields, ...more });
  async function expectNothing(): Promise<void> {
    expect(await isSignedIn(browser)).toBe(true);
    expect(await works(tokens)).toBe(true);
    expect(await signsIn(user.password)).toBe(true);
  }

  it("redirects with 303 to the sign-in form if nobody is signed in, which says so", async () => {
    const stranger = new Browser();
    const answer = await post({}, stranger);
    const notice = name === "sign-out" ? "You are signed out of this browser" : "You were signed out meanwhile";
    expect([answer.status, answer.location]).toEqual([303, ACCOUNT]);
    expect((await stranger.get(ACCOUNT)).html).toContain(notice);
    expect((await stranger.get(ACCOUNT)).html).not.toContain(notice);
    await expectNothing();
  });

  // shows: platform/addresses/account
  it("shows the page again with 400 for the form of another session, another user, the sign-in page, or none", async () => {
    const csrfOf = async (who: Browser): Promise<string> => formOf(await who.get(ACCOUNT), "sign-out").fields["csrf"]!;
    const known = new Browser({ headers: { cookie: `__Host-plat_browser=${browser.cookie("browser")}` } });
    const foreign = [
      await csrfOf(await signedIn()),
      await csrfOf(await signedIn(await makeUser({ tenant: user.tenant }))),
      (await known.get(ACCOUNT)).forms[0]!.fields["csrf"]!,
      "",
      `${fields["csrf"]}=`,
    ];
    for (const csrf of foreign) expectAgain(await post({ csrf }), /out of date/);
    await expectNothing();
    expect((await auditOf(`user ${user.email}`)).filter(({ outcome }) => outcome === "refused").length).toBe(5);
  });

  it("shows a 400 page for a form of another site", async () => {
    const cookie = [...browser.cookies].map((pair) => pair.join("=")).join("; ");
    for (const [by, headers] of [
      [new Browser({ headers: { cookie } }), { "sec-fetch-site": "cross-site" }],
      [new Browser({ headers: { cookie } }), { "sec-fetch-site": "same-site" }],
      [silent({ cookie }), { origin: "https://evil.example" }],
    ] as const) {
      const answer = await by.post(`${ACCOUNT}/${name}`, fields, undefined, headers);
      expect([answer.status, answer.forms]).toEqual([400, []]);
    }
    await expectNothing();
  });

  it("refuses a repeated field with 400, a large form with 413, and GET with 405", async () => {
    const twice = new URLSearchParams(fields);
    twice.append("csrf", fields["csrf"]!);
    for (const [answer, status] of [
      [await browser.post(`${ACCOUNT}/${name}`, twice), 400],
      [await post({ x: "x".repeat(17_000) }), 413],
      [await browser.get(`${ACCOUNT}/${name}`), 405],
    ] as const) {
      expect(answer.status).toBe(status);
      expect(said(answer)).toContain("Nothing was done. Please open your account and try again. Your account");
      expect(answer.html).toContain(`<a href="${ACCOUNT}">`);
    }
    const german = await browser.get(`${ACCOUNT}/${name}?ui_locales=de`);
    expect(said(german)).toContain("Es wurde nichts getan.");
    expect(german.html).toContain(`<a href="${ACCOUNT}?ui_locales=de">`);
    await expectNothing();
  });

  it("redirects with 303 to the sign-in form if the session has just ended", async () => {
    await revoke();
    const answer = await post();
    expect([answer.status, answer.location]).toEqual([303, ACCOUNT]);
    expect(await isSignedIn(browser)).toBe(false);
    expect(await signsIn(user.password)).toBe(true);
  });
});

describe("a form of the account page", () => {
  // shows: platform/errors-of-every-service/repeated-oauth-parameter
  it.each([
    ["remove-access", "client_id"],
    ["end-session", "session"],
    ["link", "provider"],
    ["unlink", "provider"],
    ["passkeys/add", "user_handle"],
    ["passkeys/add", "name"],
    ["passkeys/rename", "passkey"],
    ["passkeys/remove", "passkey"],
    ["second-factor", "recovery_code"],
    ["second-factor/recovery", "recovery_code"],
    ["second-factor/confirm", "offer"],
  ])("(%s) with %s twice is refused", async (path, field) => {
    const browser = await signedIn();
    const { csrf = "" } = formOf(await browser.get(ACCOUNT), "sign-out").fields;
    const twice = new URLSearchParams({ csrf, [field]: "one" });
    twice.append(field, "other");
    const answer = await browser.post(`${ACCOUNT}/${path}`, twice);
    expect([answer.status, said(answer).includes("A parameter is repeated")]).toEqual([400, true]);
    expect(await isSignedIn(browser)).toBe(true);
  });
});

describe("POST /account/remove-access", () => {
  itAtNight(
    "reports success only after all grants are revoked, if there are more than one request revokes",
    async () => {
      await give();
      await everywhere
        .prepare(
          `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
       INSERT INTO refresh_grant SELECT id || '-' || i, client, email, authorization, created_at, last_used_at
       FROM n JOIN refresh_grant WHERE email = ?1`,
        )
        .bind(user.email)
        .run();
      const browser = await signedIn();
      await send(browser, "remove-access", { client_id: client.clientId });
      const page = await browser.get(ACCOUNT);
      expect(page.html).not.toContain('role="status"');
      expect(page.html).toContain(client.clientId);
      const again = await send(browser, "remove-access", { client_id: client.clientId }, page);
      expect((await expectDone(again, browser, /no access any more/)).html).not.toContain(client.clientId);
    },
  );

  // shows: platform/addresses/account
  it("revokes all grants of the application with their tokens, and no others", async () => {
    const other = await makeFlowClient(user.tenant);
    const another = await makeUser({ tenant: user.tenant });
    const [first, second, kept] = [await give(), await give(), await give(other)];
    const theirs = await give(client, another);
    const browser = await signedIn();
    expect(await isTaken(first)).toBe(true);
    const answer = await send(browser, "remove-access", { client_id: client.clientId });
    expect(await isTaken(first)).toBe(false);
    const page = await expectDone(answer, browser, /application has no access any more/);
    expect(page.html).not.toContain(client.clientId);
    for (const tokens of [first, second]) {
      expect(await errorOf(await refresh(client, tokens.refresh_token))).toBe("invalid_grant");
      expect(await isLiving(tokens.access_token)).toBe(false);
    }
    expect([await works(kept, other), await isLiving(kept.access_token)]).toEqual([true, true]);
    expect([await works(theirs), await isLiving(theirs.access_token)]).toEqual([true, true]);
    expect(await auditOf(`user ${user.email}`)).toEqual([
      {
        action: "delete refresh tokens",
        subject: `users/${user.email}/grants`,
        outcome: "done",
        reason: `2 of client ${client.clientId} at the account page`,
      },
    ]);
  });

  it("gives the same response to a repetition, to two tabs at once and to a foreign client, and acts once", async () => {
    await give();
    const browser = await signedIn();
    const page = await browser.get(ACCOUNT);
    const remove = (id: string) => send(browser, "remove-access", { client_id: id }, page);
    const { fields } = formOf(page, "remove-access");
    const tabs = await Promise.all([remove(client.clientId), remove(client.clientId), remove(client.clientId)]);
    const foreign = await makeFlowClient(user.tenant);
    const others = [];
    for (const id of [foreign.clientId, "no.body", "x".repeat(5_000), "' OR 1=1 --"])
      others.push(await browser.post(`${ACCOUNT}/remove-access`, { ...fields, client_id: id }));
    for (const answer of [...tabs, ...others]) expect([answer.status, answer.location]).toEqual([303, ACCOUNT]);
    const done = (await auditOf(`user ${user.email}`)).filter(({ outcome }) => outcome === "done");
    expect(done.length).toBeGreaterThanOrEqual(1);
    expect(new Set(done.map(({ reason }) => reason))).toEqual(
      new Set([`1 of client ${client.clientId} at the account page`]),
    );
    expect((await browser.post(`${ACCOUNT}/remove-access`, { csrf: fields["csrf"]! })).status).toBe(400);
  });
});

describe("The session of the account page", () => {
  const asked = async (browser: Browser, more: Record<string, string> = {}): Promise<string> => {
    const request = { response_type: "code", client_id: client.clientId, redirect_uri: REDIRECT, state: "s", ...more };
    const { query } = landed(await browser.get(authorizeAddress({ prompt: "none", ...request })));
    return query.get("error") ?? (query.has("code") ? "a code" : "nothing");
  };

  it("is the session of /authorize: started, renewed and ended here, it changes there", async () => {
    const browser = await signedIn();
    expect(await asked(browser)).toBe("a code");
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(Date.now() + 60_000);
    expect(await asked(browser, { max_age: "30" })).toBe("login_required");
    // The old password has just signed in.
    await send(browser, "password", passwords());
    expect(await asked(browser, { max_age: "30" })).toBe("a code");
    vi.setSystemTime(Date.now() + 60_000);
    const other = await signedIn({ ...user, password: NEW });
    await send(browser, "sign-out");
    expect([await asked(browser), await asked(other)]).toEqual(["login_required", "a code"]);
    await send(await signedIn({ ...user, password: NEW }), "end-all");
    expect(await asked(other)).toBe("login_required");
  });
});

describe("POST /account/sign-out", () => {
  // shows: platform/addresses/account
  // shows: asvs/v7-session-management/7.4.1
  it("ends this browser's session only; tokens stay valid", async () => {
    const tokens = await give();
    const [browser, other] = [await signedIn(), await signedIn()];
    const page = await browser.get(ACCOUNT);
    const kept = browser.cookie("session")!;
    const answer = await send(browser, "sign-out");
    expect(browser.cookie("session")).toBeUndefined();
    expect(isSignInForm(await expectDone(answer, browser, /signed out of this browser/))).toBe(true);
    // The old cookie does not sign in again.
    browser.cookies.set("__Host-plat_session", kept);
    expect(await isSignedIn(browser)).toBe(false);
    expect((await send(browser, "sign-out", {}, page)).location).toBe(ACCOUNT);
    expect([await isSignedIn(other), await works(tokens)]).toEqual([true, true]);
  });
});

describe("POST /account/end-all", () => {
  // shows: platform/addresses/account
  it("revokes every session, grant and token of the user, and no other user's", async () => {
    const another = await makeUser({ tenant: user.tenant });
    const tokens = await give();
    const code = await codeFor(parseFlow(client));
    const theirs = await give(client, another);
    const [browser, other, stranger] = [await signedIn(), await signedIn(), await signedIn(another)];
    const page = await browser.get(ACCOUNT);
    expect(await isTaken(tokens)).toBe(true);
    const answer = await send(browser, "end-all", {}, page);
    expect(await isTaken(tokens)).toBe(false);
    expect(browser.cookie("session")).toBeUndefined();
    expect(isSignInForm(await expectDone(answer, browser, /signed out everywhere/))).toBe(true);
    expect([await isSignedIn(other), await isSignedIn(stranger)]).toEqual([false, true]);
    expect([await works(tokens), await isLiving(tokens.access_token)]).toEqual([false, false]);
    expect((await redeem(client, code)).status).toBe(400);
    expect([await works(theirs), await isLiving(theirs.access_token)]).toEqual([true, true]);
    const row = { action: "revoke", subject: `users/${user.email}`, outcome: "done", reason: "" };
    expect(await auditOf(`user ${user.email}`)).toEqual([row]);
    // A tab that is still open repeats the form.
    expect((await send(other, "end-all", {}, page)).location).toBe(ACCOUNT);
    expect(await auditOf(`user ${user.email}`)).toEqual([row]);
    expect(await isSignedIn(await signedIn())).toBe(true);
  });
});

describe("POST /account/password", () => {
  // shows: platform/addresses/account
  // shows: asvs/v7-session-management/7.4.3
  // shows: asvs/v6-authentication/6.2.2
  it("changes the password, ends everything else of the user, and gives this browser a new session", async () => {
    await realPasswordCost();
    const tokens = await give();
    const code = await codeFor(parseFlow(client));
    const [browser, other] = [await signedIn(), await signedIn()];
    const before = browser.cookie("session");
    expect(await isTaken(tokens)).toBe(true);
    const answer = await send(browser, "password", passwords());
    expect(await isTaken(tokens)).toBe(false);
    expect(browser.cookie("session")).toMatch(HELD);
    expect(browser.cookie("session")).not.toBe(before);
    const page = await expectDone(answer, browser, /Your password is changed/);
    expect(isSignInForm(page)).toBe(false);
    expect(said(page)).toContain("No application has lasting access");
    expect(await isSignedIn(other)).toBe(false);
    expect([await works(tokens), await isLiving(tokens.access_token)]).toEqual([false, false]);
    expect((await redeem(client, code)).status).toBe(400);
    expect([await signsIn(user.password), await signsIn(NEW)]).toEqual([false, true]);
    expect(await hashOf()).toMatch(/^scrypt\$15\$8\$1\$/);
    expect(await auditOf(`user ${user.email}`)).toEqual([
      { action: "change password", subject: `users/${user.email}`, outcome: "done", reason: "" },
    ]);
    // Later tokens of this browser are valid.
    const later = await give();
    expect([await works(later), await isLiving(later.access_token)]).toEqual([true, true]);
    expect((await send(browser, "password", passwords(NEW, user.password))).status).toBe(303);
  });

  // shows: asvs/v6-authentication/6.2.1
  // shows: asvs/v6-authentication/6.2.4
  // shows: asvs/v6-authentication/6.2.12
  it("refuses a password that is short, long, repeated differently or unchanged, and checks no password then", async () => {
    const browser = await signedIn();
    const page = await browser.get(ACCOUNT);
    const faulty: readonly (readonly [given: Record<string, string>, words: RegExp])[] = [
      [passwords(user.password, "1234567"), /must have 8 to 256 characters/],
      [passwords(user.password, "x".repeat(257)), /must have 8 to 256 characters/],
      [passwords(user.password, "Password1"), /one of those that are guessed first/],
      [passwords(user.password, user.email.toUpperCase()), /is your address, a part of it/],
      [{ password: "x", new_password: "", repeated_password: "" }, /must have 8 to 256 characters/],
      [passwords("x", NEW, `${NEW}x`), /differently the second time/],
      [passwords("x", NEW, ""), /differently the second time/],
      [passwords(NEW, NEW), /is the old one/],
    ];
    for (let n = 0; n < 3; n++)
      for (const [given, words] of faulty) expectAgain(await send(browser, "password", given, page), words);
    expect([await signsIn(user.password), await isSignedIn(browser)]).toEqual([true, true]);
  });

  // shows: asvs/v6-authentication/6.2.5
  // shows: asvs/v6-authentication/6.2.9
  it("accepts any letters as other forms do, and the longest and shortest password", async () => {
    const browser = await signedIn();
    const composed = "Schöne Gr\u00fc\u00dfe \u{1f511}";
    expect((await send(browser, "password", passwords(user.password, composed.normalize("NFD")))).status).toBe(303);
    expect(await signsIn(composed)).toBe(true);
    expectAgain(await send(browser, "password", passwords(composed, composed.normalize("NFD"))), /is the old one/);
    // Each character takes nine bytes in a form.
    const [longest, another] = ["€", "₤"].map((mark) =>
      Array.from({ length: 128 }, (_, n) => `${mark}${String.fromCharCode(0x4e00 + n)}`).join(""),
    ) as [string, string];
    expect((await send(browser, "password", passwords(composed, longest))).status).toBe(303);
    expect((await send(browser, "password", passwords(longest, another))).status).toBe(303);
    expect((await send(browser, "password", passwords(another, "v4qz 8ju"))).status).toBe(303);
    expect(await signsIn("v4qz 8ju")).toBe(true);
  });

  // shows: platform/addresses/account
  it("blocks this browser alone after wrong old passwords, as strangers block strangers alone", async () => {
    const browser = await signedIn();
    const page = await browser.get(ACCOUNT);
    const form = { grant_type: "password", plat_id_provider: "legacy_idp", username: user.email, password: "a guess" };
    for (let n = 0; n < 15; n++) await call("/oauth2/v1/token", { form });
    for (let n = 0; n < 15; n++) {
      const answer = await send(browser, "password", passwords(`guess ${n}`), page);
      expectAgain(answer, /old password is wrong/);
      expect(answer.html).toMatch(/id="password"[^>]*aria-invalid="true" aria-describedby="fault"/);
    }
    expectAgain(await send(browser, "password", passwords(), page), BLOCKED);
    const right = { ...form, password: user.password };
    expect((await expectJson(await call("/oauth2/v1/token", { form: right }), 400)).error_description).toMatch(BLOCKED);
    const reasons = (await auditOf(`user ${user.email}`)).map(({ action, reason }) => `${action}: ${reason}`);
    const blocked = "the account is blocked for this known browser";
    expect(reasons).toContain(`change password: wrong password; ${blocked} from now on`);
    expect(reasons).toContain(`change password: ${blocked}`);
    expect(await isSignedIn(browser)).toBe(true);
    // Without the cookie, the session identifies the browser.
    browser.cookies.delete("__Host-plat_device");
    await expectDone(await send(browser, "password", passwords(), page), browser, /Your password is changed/);
  });

  it("changes the password once if two tabs send it at once", async () => {
    const browser = await signedIn();
    const page = await browser.get(ACCOUNT);
    const wishes = ["a first new password", "a second new password"];
    const answers = await Promise.all(
      wishes.map((next) => send(browser, "password", passwords(user.password, next), page)),
    );
    for (const { status } of answers) expect([303, 400]).toContain(status);
    const taken = await Promise.all(wishes.map((next) => signsIn(next)));
    expect(taken.filter(Boolean).length).toBe(1);
    expect(await signsIn(user.password)).toBe(false);
    expect(await isSignedIn(browser)).toBe(true);
    const done = (await auditOf(`user ${user.email}`)).filter(({ outcome }) => outcome === "done");
    expect(done.length).toBe(1);
    // The form belongs to a session that has ended.
    expectAgain(await send(browser, "password", passwords(user.password, "a third new password"), page), /out of date/);
  });

  it.each<[string, () => Promise<unknown>, string]>([
    [
      "an operator sets another one",
      () => put(`users/${user.email}`, { password: "the operator's choice" }),
      "operator",
    ],
    // Each case makes one change alone. An operator who makes it also signs the user out.
    ["the user is disabled", () => set("disabled = 1"), "disabled"],
    ["the user is signed out everywhere", revoke, "revoked"],
    ["the stored hash is another", () => set("password_hash = 'x'"), "hash"],
  ])("changes nothing if %s meanwhile", async (_, meddle, kind) => {
    const { browser, state } = meddled(meddle);
    await signedIn(user, browser);
    const before = await hashOf();
    const page = await browser.get(ACCOUNT);
    state.armed = true;
    const answer = await send(browser, "password", passwords(), page);
    state.armed = false;
    const after = await expectDone(answer, browser, /Nothing was changed/);
    expect(isSignInForm(after)).toBe(kind !== "hash");
    expect(await signsIn(NEW)).toBe(false);
    if (kind === "hash") expect(await hashOf()).toBe("x");
    else if (kind === "operator") expect(await signsIn("the operator's choice")).toBe(true);
    else expect(await hashOf()).toBe(before);
    expect(await auditOf(`user ${user.email}`)).toEqual([
      {
        action: "change password",
        subject: "",
        outcome: "refused",
        reason: "the password has just changed, or the user has just been signed out or disabled",
      },
    ]);
  });

  it("reports the change even if the database fails afterwards, and the new password signs in", async () => {
    user = await makeUser({ home: 0 });
    client = await makeFlowClient(user.tenant);
    const tokens = await give();
    let writes = 0;
    const { browser, state } = meddled(async () => {
      writes += 1;
      if (writes > 1) throw new Error("no database");
    }, [3, 4]);
    await signedIn(user, browser);
    const page = await browser.get(ACCOUNT);
    const errors = vi.spyOn(console, "error").mockImplementation(() => {});
    state.armed = true;
    const answer = await send(browser, "password", passwords(), page);
    state.armed = false;
    expect(errors.mock.calls.flat().join()).toContain("no new session after the password");
    errors.mockRestore();
    expect(writes).toBe(2);
    expect(isSignInForm(await expectDone(answer, browser, /Your password is changed/))).toBe(true);
    expect([await works(tokens), await isLiving(tokens.access_token)]).toEqual([false, false]);
    expect([await signsIn(user.password), await signsIn(NEW)]).toEqual([false, true]);
  });

  it("changes the password once if the form is repeated after a lost response, and the new password signs in", async () => {
    const browser = await signedIn();
    const page = await browser.get(ACCOUNT);
    const before = new Map(browser.cookies);
    await send(browser, "password", passwords(), page);
    browser.cookies.clear();
    for (const [name, value] of before) browser.cookies.set(name, value);
    const answer = await send(browser, "password", passwords(), page);
    expect([
      answer.status,
      answer.location,
      answer.headers.getSetCookie().map((cookie) => cookie.split("=", 1)[0]),
    ]).toEqual([303, ACCOUNT, ["__Host-plat_notice"]]);
    expect(await isSignedIn(browser)).toBe(false);
    expect(await signsIn(NEW)).toBe(true);
    expect((await auditOf(`user ${user.email}`)).map(({ outcome }) => outcome)).toEqual(["done"]);
  });
});

describe("The cost of the account page", () => {
  it("is 3 round trips for the page (two in parallel), 3 for removing access, 5 for a password change", async () => {
    user = await makeUser({ home: 0 });
    client = await makeFlowClient(user.tenant);
    const { env: counted, tally, reset } = counting(env);
    const own = isolate(counted);
    const browser = await signedIn(
      user,
      new Browser({ send: (address, init) => own.fetch(address.slice(ORIGIN.length), toInit(init)) }),
    );
    await give();
    await learnsLogouts(own);
    reset();
    const page = await browser.get(ACCOUNT);
    expect([tally.d1RoundTrips, tally.objectCalls]).toEqual([3, {}]);
    reset();
    await send(browser, "remove-access", { client_id: client.clientId }, page);
    expect([tally.d1RoundTrips, tally.objectCalls]).toEqual([3, {}]);
    reset();
    await send(browser, "password", passwords(), page);
    expect([tally.d1RoundTrips, tally.objectCalls]).toEqual([5, { "LOGIN_ATTEMPTS.attempt": 1 }]);
  });
});

describe("The notice of the account page", () => {
  it("cannot be set by a foreign link or cookie", async () => {
    const browser = await signedIn();
    expect((await browser.get(`${ACCOUNT}?notice=ended`)).html).not.toContain('role="status"');
    browser.cookies.set("__Host-plat_notice", "<script>");
    const page = await browser.get(ACCOUNT);
    expect(page.html).not.toContain("<script>");
    expect(page.html).not.toContain('role="status"');
    expect(browser.cookie("notice")).toBeUndefined();
  });
});
