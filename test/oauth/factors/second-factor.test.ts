import { env } from "cloudflare:workers";
import { decodeJwt } from "jose";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { codeAt, matchingStep, toBase32 } from "../../../src/oauth/factors/totp.ts";
import { utf8 } from "../../../src/platform/text/encoding.ts";
import { Browser, landed, toInit, type Visit } from "../../support/browser.ts";
import { counting } from "../../support/counting.ts";
import { isolate, learnsLogouts } from "../../support/isolate.ts";
import { meddled } from "../../support/meddling.ts";
import { call, expectJson, ORIGIN } from "../../support/platform/call.ts";
import { OPERATOR, put } from "../../support/platform/operator.ts";
import { tokenFor } from "../../support/platform/tokens.ts";
import { errorOf, makeApp, redeemed, signInThrough, tokenAt, visit, type TestApp } from "../../support/sign-in.ts";
import { appOf, recoveryCodesOf, setUpApp, type App } from "../../support/parties/totp.ts";
import { makeUser, type TestUser } from "../../support/users.ts";

const ACCOUNT = `${ORIGIN}/account`;
const TWO_FACTORS = "urn:plinth:acr:two-factors";
const NOW = Date.UTC(2031, 4, 6, 7, 8, 10);

let user: TestUser;
let client: TestApp;
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: NOW });
  user = await makeUser();
  client = await makeApp({
    tenant: user.tenant,
    grantTypes: ["authorization_code", "implicit", "refresh_token", "password"],
  });
});
afterEach(() => {
  vi.useRealTimers();
});

const later = (seconds: number): void => void vi.setSystemTime(Date.now() + seconds * 1000);
const set = (sql: string, ...values: readonly (string | number)[]) =>
  env.DB.prepare(sql)
    .bind(...values)
    .run();
const asksForCode = ({ html }: Visit): boolean => html.includes("Enter your code");

async function atAccount(browser = new Browser()): Promise<Browser> {
  await browser.submit(await browser.get(ACCOUNT), { email: user.email, password: user.password });
  return browser;
}

/** Sets up an app, and lets a minute pass, so that its current code is unused. */
async function withApp() {
  const made = await setUpApp(await atAccount(), ORIGIN, user.password);
  later(60);
  return made;
}

const token = (form: Record<string, string>): Promise<Response> => tokenAt(client, form);
const refresh = (refreshToken: string) => token({ grant_type: "refresh_token", refresh_token: refreshToken });

describe("A one-time code", () => {
  it("is that of RFC 6238, appendix B", () => {
    const secret = toBase32(utf8("12345678901234567890"));
    const codes = [59, 1_111_111_109, 1_111_111_111, 1_234_567_890, 2_000_000_000, 20_000_000_000];
    expect(codes.map((seconds) => codeAt(secret, Math.floor(seconds / 30)))).toEqual(
      ["94287082", "07081804", "14050471", "89005924", "69279037", "65353130"].map((eight) => eight.slice(2)),
    );
  });

  // shows: asvs/v6-authentication/6.5.5
  it("is good in its 30 s, and in those before and after, unless it or a later one was used", () => {
    const secret = toBase32(utf8("12345678901234567890"));
    const good = (step: number, last = 0) => matchingStep(secret, codeAt(secret, step), 100 * 30_000, last);
    expect([98, 99, 100, 101, 102].map((step) => good(step))).toEqual([undefined, 99, 100, 101, undefined]);
    expect([99, 100, 101].map((step) => good(step, 100))).toEqual([undefined, undefined, 101]);
  });
});

describe("A person with an authenticator app", () => {
  it("is asked for a code after the password, and both are in the tokens", async () => {
    const { app } = await withApp();
    const browser = new Browser();
    const page = await signInThrough(browser, client, user, { scope: "openid" });
    expect([page.status, asksForCode(page)]).toEqual([200, true]);
    expect(page.html).not.toContain(user.password);
    const tokens = await redeemed(client, await browser.submit(page, { code: app.code() }));
    for (const jwt of [tokens.id_token, tokens.access_token])
      expect(decodeJwt(jwt)).toMatchObject({ acr: TWO_FACTORS, amr: ["pwd", "otp", "mfa"] });
    const again = await expectJson<{ id_token: string }>(await refresh(tokens.refresh_token), 200);
    expect(decodeJwt(again.id_token)).toMatchObject({ acr: TWO_FACTORS, amr: ["pwd", "otp", "mfa"] });
    // The session has two factors now.
    expect(landed(await visit(browser, client)).query.get("code")).not.toBeNull();
  });

  // shows: asvs/v6-authentication/6.3.4
  it("gets nothing by a session of one factor: no code, no token without a page, no account", async () => {
    await withApp();
    const browser = new Browser();
    await signInThrough(browser, client, user);
    expect(asksForCode(await visit(browser, client))).toBe(true);
    expect(errorOf(await visit(browser, client, { prompt: "none" })).error).toBe("login_required");
    const implicit = { response_type: "id_token token", nonce: "n", prompt: "none" };
    expect(errorOf(await visit(browser, client, implicit)).error).toBe("login_required");
    const account = await browser.get(ACCOUNT);
    expect([asksForCode(account), account.forms.length]).toEqual([true, 1]);
    const { csrf = "" } = account.forms[0]?.fields ?? {};
    for (const form of ["password", "second-factor/remove", "second-factor/recovery", "end-all"])
      expect((await browser.post(`${ACCOUNT}/${form}`, { csrf })).location).toBe(ACCOUNT);
    expect(await env.DB.prepare("SELECT 1 FROM totp WHERE email = ?").bind(user.email).first()).not.toBeNull();
  });

  // shows: asvs/v6-authentication/6.3.4
  it("gets nothing by the password grant, by a refresh token of before, or by a code of before", async () => {
    const browser = new Browser();
    const tokens = await redeemed(client, await signInThrough(browser, client, user));
    const code = landed(await visit(browser, client)).query.get("code") ?? "";
    await withApp();
    const refused = await expectJson(await refresh(tokens.refresh_token), 400);
    expect(refused).toMatchObject({ error: "invalid_grant" });
    const late = { grant_type: "authorization_code", code, redirect_uri: client.redirectUri };
    expect(await expectJson(await token(late), 400)).toMatchObject({ error: "invalid_grant" });
    const byPassword = { grant_type: "password", plat_id_provider: "legacy_idp", username: user.email };
    expect(await expectJson(await token({ ...byPassword, password: user.password }), 400)).toMatchObject({
      error: "invalid_grant",
      error_description: expect.stringContaining("Two factors are needed"),
    });
    // The session of the other browser still has one factor.
    expect(asksForCode(await visit(browser, client))).toBe(true);
  });

  // shows: operator/resources/second-factor
  // shows: asvs/v6-authentication/6.5.6
  it("signs in by the password alone after the operator removed the second factor", async () => {
    await withApp();
    const remove = async (email = user.email) =>
      call(`/admin/v1/users/${email}/second-factor`, { method: "DELETE", token: await tokenFor(OPERATOR) });
    const shown = async () =>
      expectJson(await call(`/admin/v1/users/${user.email}`, { token: await tokenFor(OPERATOR) }), 200);
    expect((await remove("nobody@acme.example")).status).toBe(404);
    expect((await shown()).secondFactorAt).toBeGreaterThan(0);
    expect((await remove()).status).toBe(204);
    expect((await shown()).secondFactorAt).toBeUndefined();
    expect((await remove()).status).toBe(404);
    const stored =
      "SELECT (SELECT count(*) FROM totp WHERE email = ?1) + (SELECT count(*) FROM recovery_code WHERE email = ?1) AS n";
    expect(await env.DB.prepare(stored).bind(user.email).first("n")).toBe(0);
    expect(landed(await signInThrough(new Browser(), client, user)).query.get("code")).not.toBeNull();
    const rows = await call(`/admin/v1/audit?subject=users/${user.email}`, { token: await tokenFor(OPERATOR) });
    const about = (await expectJson<any[]>(rows, 200)).filter(({ action }) => action === "remove second factor");
    expect(about).toMatchObject([{ actor: "plat.operator", outcome: "done" }]);
  });

  // shows: asvs/v6-authentication/6.5.1
  it("uses a code once: not again, not the one before, and not twice at once", async () => {
    const { app } = await withApp();
    const pages = await Promise.all(
      [1, 2, 3].map(async () => {
        const browser = new Browser();
        return { browser, page: await signInThrough(browser, client, user) };
      }),
    );
    const send = ({ browser, page }: (typeof pages)[number], code: string) => browser.submit(page, { code });
    const code = app.code();
    const [one, two, third] = pages as [(typeof pages)[number], (typeof pages)[number], (typeof pages)[number]];
    const statuses = (await Promise.all([send(one, code), send(two, code)])).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([303, 400]));
    for (const old of [code, app.code(1)]) expect((await send(third, old)).status).toBe(400);
    later(30);
    expect((await send(third, app.code())).status).toBe(303);
  });

  it("is not signed in by a code of somebody else, or of another browser's page", async () => {
    const { app } = await withApp();
    const [victim, thief] = [new Browser(), new Browser()];
    const page = await signInThrough(victim, client, user);
    expect((await thief.submit(page, { code: app.code() })).html).toContain('name="password"');
    await signInThrough(thief, client, user);
    const stolen = await thief.submit(page, { code: app.code() });
    expect([stolen.status, stolen.html.includes("out of date")]).toEqual([400, true]);
    expect((await victim.submit(page, { code: app.code() }, "cross-site")).status).toBe(400);
    expect((await victim.submit(page, { code: app.code() })).status).toBe(303);
  });

  // shows: asvs/v6-authentication/6.5.1
  // shows: asvs/v6-authentication/6.5.2
  it("signs in by each recovery code once, and gets new ones for a code", async () => {
    const { app, recoveryCodes } = await withApp();
    const [first = "", second = ""] = recoveryCodes;
    const enter = async (code: string): Promise<number> => {
      const browser = new Browser();
      const page = await signInThrough(browser, client, user);
      return (await browser.submit(page, { recovery_code: code })).status;
    };
    expect([await enter(first.toUpperCase().replaceAll("-", " ")), await enter(first)]).toEqual([303, 400]);
    const browser = await atAccount();
    await browser.submit(await browser.get(ACCOUNT), { code: app.code() });
    const account = await browser.get(ACCOUNT);
    expect(account.html).toMatch(/<strong>9<\/strong> recovery codes left/);
    const form = account.forms.find(({ action }) => action.endsWith("/second-factor/recovery"));
    later(30);
    const fresh = recoveryCodesOf(await browser.post(form?.action ?? "", { ...form?.fields, code: app.code() }));
    expect(fresh.length).toBe(10);
    // OWASP ASVS 6.5.2 requires 112 bits, or a slow hash. Each base32 character has five bits.
    expect(Math.min(...fresh.map((code) => code.replaceAll("-", "").length * 5))).toBeGreaterThanOrEqual(112);
    expect([await enter(second), await enter(fresh[9] ?? "")]).toEqual([400, 303]);
    const { results } = await env.DB.prepare("SELECT code_hash AS hash FROM recovery_code WHERE email = ?")
      .bind(user.email)
      .all<{ hash: string }>();
    expect(results.length).toBe(9);
    for (const { hash } of results) expect(hash).toMatch(/^[0-9a-f]{64}$/);
  });

  // shows: asvs/v6-authentication/6.5.6
  it("turns it off for a code, and signs in by the password alone again", async () => {
    const { app } = await withApp();
    const browser = await atAccount();
    await browser.submit(await browser.get(ACCOUNT), { code: app.code() });
    const { fields } = (await browser.get(ACCOUNT)).forms.at(-1) ?? { fields: {} };
    const remove = (code: string) => browser.post(`${ACCOUNT}/second-factor/remove`, { ...fields, code });
    expect((await remove("")).status).toBe(400);
    expect((await remove(app.code())).html).toContain("was used already");
    later(30);
    expect((await remove(app.code())).status).toBe(303);
    expect((await browser.get(ACCOUNT)).html).toContain("Two-step sign-in is off");
    expect((await signInThrough(new Browser(), client, user)).status).toBe(303);
  });
});

describe("A wrong code", () => {
  it("counts towards the block with the passwords, and the right password in between ends no count", async () => {
    const { app } = await withApp();
    let page: Visit | undefined;
    for (let failures = 0; failures < 15; failures++) {
      // Each attempt is from a new browser, as of an attacker who knows the password.
      const browser = new Browser();
      page = await browser.submit(await signInThrough(browser, client, user), { code: "000000" });
      expect(page.status).toBe(400);
      expect(browser.cookie("device")).toBeUndefined();
    }
    const blocked = await signInThrough(new Browser(), client, user);
    expect([blocked.status, blocked.html.includes("too many unsuccessful")]).toEqual([400, true]);
    later(15 * 60 + 1);
    const browser = new Browser();
    const answer = await browser.submit(await signInThrough(browser, client, user), { code: app.code() });
    expect([answer.status, browser.cookie("device") === undefined]).toEqual([303, false]);
    const { results } = await env.DB.prepare("SELECT reason FROM audit_entry WHERE subject = ? AND outcome = 'refused'")
      .bind(`users/${user.email}`)
      .all<{ reason: string }>();
    expect(results.map(({ reason }) => reason)).toContain("wrong code; the account is blocked from now on");
  });

  it("blocks at the page of the code too, for the right one", async () => {
    const { app } = await withApp();
    const browser = new Browser();
    let page = await signInThrough(browser, client, user);
    for (let failures = 0; failures < 15; failures++) page = await browser.submit(page, { code: "000000" });
    page = await browser.submit(page, { code: app.code() });
    expect([page.status, page.html.includes("too many unsuccessful")]).toEqual([400, true]);
  });
});

describe("Two factors that are asked for", () => {
  const roleOf = async ({ email }: TestUser): Promise<string> =>
    (await env.DB.prepare("SELECT role FROM tenant_member_role WHERE email = ?").bind(email).first<string>("role"))!;

  /** Sets the flag as an operator does, and leaves the other fields as they are. */
  async function require(path: string): Promise<void> {
    const asked = await call(`/admin/v1/${path}`, { token: await tokenFor(OPERATOR) });
    const {
      id: _id,
      clientId: _client,
      createdAt: _made,
      ...record
    } = await expectJson<Record<string, unknown>>(asked, 200);
    if (path.startsWith("roles/")) delete record["name"];
    expect(record["requireSecondFactor"]).toBe(false);
    await put(path, { ...record, requireSecondFactor: true });
    // A PUT without the flag keeps it.
    delete record["requireSecondFactor"];
    expect(await put(path, record)).toMatchObject({ requireSecondFactor: true });
  }

  // shows: operator/resources/second-factor-required
  // shows: asvs/v6-authentication/6.3.3
  // shows: asvs/v6-authentication/6.3.4
  it.each([
    ["the tenant", async () => `tenants/${user.tenant}`],
    ["a role", async () => `roles/${await roleOf(user)}`],
    ["the client", async () => `clients/${client.clientId}`],
  ])("by %s are set up at the sign-in, and nothing goes around it", async (_, path) => {
    const before = await redeemed(client, await signInThrough(new Browser(), client, user));
    await require(await path());
    later(40);
    expect((await refresh(before.refresh_token)).status).toBe(400);
    const byPassword = { grant_type: "password", plat_id_provider: "legacy_idp", username: user.email };
    expect((await token({ ...byPassword, password: user.password })).status).toBe(400);
    const browser = new Browser();
    const page = await signInThrough(browser, client, user, { scope: "openid" });
    const app = appOf(page);
    expect(errorOf(await visit(browser, client, { prompt: "none" })).error).toBe("login_required");
    const wrong = await browser.submit(page, { code: "000000" });
    expect([wrong.status, appOf(wrong).code()]).toEqual([400, app.code()]);
    const codes = await browser.submit(wrong, { code: app.code() });
    expect(recoveryCodesOf(codes).length).toBe(10);
    const tokens = await redeemed(client, await browser.submit(codes, {}));
    expect(decodeJwt(tokens.id_token)).toMatchObject({ acr: TWO_FACTORS });
    expect((await refresh(tokens.refresh_token)).status).toBe(200);
  });

  it("by acr_values, or as essential, are asked for where one is enough otherwise", async () => {
    const { app } = await withApp();
    await set("UPDATE user SET second_factor_at = NULL WHERE email = ?", user.email);
    const browser = new Browser();
    expect((await signInThrough(browser, client, user)).status).toBe(303);
    await set("UPDATE user SET second_factor_at = 1 WHERE email = ?", user.email);
    const essential = JSON.stringify({ id_token: { acr: { essential: true, value: TWO_FACTORS } } });
    for (const wish of [{ acr_values: TWO_FACTORS }, { claims: essential }])
      expect(asksForCode(await visit(browser, client, wish))).toBe(true);
    const page = await visit(browser, client, { acr_values: TWO_FACTORS, scope: "openid" });
    const tokens = await redeemed(client, await browser.submit(page, { code: app.code() }));
    expect(decodeJwt(tokens.id_token)["acr"]).toBe(TWO_FACTORS);
  });

  it("are not set up by an old sign-in: the password comes first", async () => {
    const browser = new Browser();
    await signInThrough(browser, client, user);
    later(16 * 60);
    await set("UPDATE client SET second_factor = 1 WHERE id = ?", client.clientId);
    expect((await visit(browser, client)).html).toContain('name="password"');
    const page = await signInThrough(browser, client, user);
    const app = appOf(page);
    later(16 * 60);
    expect((await browser.submit(page, { code: app.code() })).html).toContain('name="password"');
    expect(await env.DB.prepare("SELECT 1 FROM totp WHERE email = ?").bind(user.email).first()).toBeNull();
  });
});

describe("The account page", () => {
  // shows: asvs/v6-authentication/6.5.4
  it("sets up an app only with the password and a code, stores the key sealed, and stays signed in", async () => {
    const browser = await atAccount();
    const form = (await browser.get(ACCOUNT)).forms.find(({ action }) => action.endsWith("/set-up"));
    const page = await browser.post(form?.action ?? "", form?.fields ?? {});
    expect(page.html).toContain('role="img"');
    const app: App = appOf(page);
    const enter = (code: string, password: string) => browser.submit(page, { code, password });
    expect((await enter("000000", user.password)).html).toContain("The code is wrong");
    expect((await enter(app.code(), "not hers, surely")).html).toContain("The password is wrong.");
    expect(await env.DB.prepare("SELECT 1 FROM totp WHERE email = ?").bind(user.email).first()).toBeNull();
    expect(recoveryCodesOf(await enter(app.code(), user.password)).length).toBe(10);
    expect((await browser.get(ACCOUNT)).html).toContain("or never saw them, make new ones");
    const key = /class="key">([A-Z2-7 ]+)</.exec(page.html)?.[1]?.replaceAll(" ", "") ?? "none";
    const stored = JSON.stringify(
      (await env.DB.prepare("SELECT * FROM totp WHERE email = ?").bind(user.email).all()).results,
    );
    expect(stored).not.toContain(key);
    // The set-up started a new session, so the form is out of date.
    expect((await enter(app.code(), user.password)).status).toBe(400);
  });

  it("sets up no app in a session that ends at the same moment, and takes no new recovery codes then", async () => {
    user = await makeUser({ home: 0 });
    const endSessions = () => set("DELETE FROM session WHERE email = ?", user.email);
    const { browser, state } = meddled(endSessions, [4]);
    await atAccount(browser);
    const form = (await browser.get(ACCOUNT)).forms.find(({ action }) => action.endsWith("/set-up"));
    const page = await browser.post(form?.action ?? "", form?.fields ?? {});
    state.armed = true;
    const answer = await browser.submit(page, { code: appOf(page).code(), password: user.password });
    state.armed = false;
    expect([answer.status, answer.location]).toEqual([303, ACCOUNT]);
    const left = `SELECT email FROM totp WHERE email = ?1 UNION ALL SELECT email FROM recovery_code WHERE email = ?1`;
    expect(await env.DB.prepare(left).bind(user.email).first()).toBeNull();
    expect((await browser.get(ACCOUNT)).html).not.toContain("Two-step sign-in is on");

    const removed = meddled(() => set("DELETE FROM totp WHERE email = ?", user.email), [3]);
    const { app } = await withApp();
    await atAccount(removed.browser);
    await removed.browser.submit(await removed.browser.get(ACCOUNT), { code: app.code() });
    later(30);
    const account = await removed.browser.get(ACCOUNT);
    const renew = account.forms.find(({ action }) => action.endsWith("/second-factor/recovery"));
    removed.state.armed = true;
    const renewed = await removed.browser.post(renew?.action ?? "", { ...renew?.fields, code: app.code() });
    removed.state.armed = false;
    expect([renewed.status, recoveryCodesOf(renewed)]).toEqual([303, []]);
  });

  it("gets the recovery codes if the session ends just after the app was set up", async () => {
    for (const breaks of [
      () => set("UPDATE user SET signed_out_at = ?2 WHERE email = ?1", user.email, NOW + 60_000),
      () => Promise.reject(new Error("D1 is away")),
    ]) {
      await set("DELETE FROM totp WHERE email = ?", user.email);
      await set("UPDATE user SET signed_out_at = 0, second_factor_at = NULL WHERE email = ?", user.email);
      const session = meddled(breaks, [3]);
      await atAccount(session.browser);
      const form = (await session.browser.get(ACCOUNT)).forms.find(({ action }) => action.endsWith("/set-up"));
      const page = await session.browser.post(form?.action ?? "", form?.fields ?? {});
      session.state.armed = true;
      const answer = await session.browser.submit(page, { code: appOf(page).code(), password: user.password });
      session.state.armed = false;
      expect([answer.status, recoveryCodesOf(answer).length]).toEqual([200, 10]);
    }
  });

  it("takes no key that was offered to another session", async () => {
    const [one, two] = [await atAccount(), await atAccount()];
    const offer = async (browser: Browser) => {
      const form = (await browser.get(ACCOUNT)).forms.find(({ action }) => action.endsWith("/set-up"));
      return browser.post(form?.action ?? "", form?.fields ?? {});
    };
    const [mine, other] = [await offer(one), await offer(two)];
    const fields = { ...mine.forms[0]?.fields, offer: other.forms[0]?.fields["offer"] ?? "" };
    const answer = await one.post(`${ACCOUNT}/second-factor/confirm`, {
      ...fields,
      code: appOf(other).code(),
      password: user.password,
    });
    expect([answer.status, answer.html.includes("out of date")]).toEqual([400, true]);
  });
});

describe("The cost of a sign-in", () => {
  it("is what it was without a second factor, and 5 round trips more with one", async () => {
    user = await makeUser({ tenant: client.tenant, home: 0 });
    const { env: counted, tally, reset } = counting(env);
    const own = isolate(counted);
    const send = (address: string, init: Parameters<typeof toInit>[0]) =>
      own.fetch(address.slice(ORIGIN.length), toInit(init));
    // Once, for the copies of the isolate.
    await signInThrough(new Browser({ send }), client, user);
    await learnsLogouts(own);
    const browser = new Browser({ send });
    const page = await visit(browser, client);
    reset();
    await browser.submit(page, { email: user.email, password: user.password });
    expect([tally.d1RoundTrips, tally.objectCalls]).toEqual([2, { "LOGIN_ATTEMPTS.attempt": 1 }]);
    const { app } = await withApp();
    const another = new Browser({ send });
    const form = await signInThrough(another, client, user);
    await learnsLogouts(own);
    reset();
    expect((await another.submit(form, { code: app.code() })).status).toBe(303);
    expect([tally.d1RoundTrips, tally.objectCalls]).toEqual([5, { "LOGIN_ATTEMPTS.attemptCode": 1 }]);
  });
});
