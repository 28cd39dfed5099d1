import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { MOST_ENDED_SESSIONS } from "../../../src/oauth/grants/revocation/revoke-all-store.ts";
import { endedSessionsKey } from "../../../src/oauth/tokens/trust-store.ts";
import { Browser, landed, toInit, type Visit } from "../../support/browser.ts";
import { isolate } from "../../support/isolate.ts";
import { call, expectJson, ORIGIN } from "../../support/platform/call.ts";
import { OPERATOR } from "../../support/platform/operator.ts";
import { tokenFor } from "../../support/platform/tokens.ts";
import { everywhere } from "../../support/shards.ts";
import { redeemed, signInThrough, tokenAt, visit, type TestApp } from "../../support/sign-in.ts";
import { makeUser, type TestUser } from "../../support/users.ts";
import { makeUserAndApp } from "../../support/user-and-app.ts";
import { itAtNight } from "../../support/model-runs.ts";

/** The section "Where you are signed in" of the account page. */
const ACCOUNT = `${ORIGIN}/account`;
const FIREFOX = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/145.0";
const SAFARI =
  "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1";

let user: TestUser;
let app: TestApp;
beforeEach(async () => {
  ({ user, app } = await makeUserAndApp());
});

afterEach(() => void vi.useRealTimers());

const platform = isolate();
/** A browser at a place, as Cloudflare reports it. */
const browserAt = (agent: string, cf: Record<string, string> = {}) =>
  new Browser({
    send: (address, init) => platform.fetch(address, { ...toInit(init), cf }),
    headers: { "user-agent": agent },
  });
async function signedIn(browser: Browser): Promise<Browser> {
  await signInThrough(browser, app, user);
  return browser;
}
const cards = (html: string): string[] =>
  (/aria-labelledby="sessions">(.*?)<\/section>/s.exec(html)?.[1] ?? "")
    .split("<li>")
    .slice(1)
    .map((card) =>
      card
        .replaceAll(/<[^>]*>/g, " ")
        .replaceAll(/\s+/g, " ")
        .trim(),
    );

/** Adds grants of a session, whose ids come before those of the platform. */
const grantsBefore = (count: number, session: string) =>
  everywhere
    .prepare(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT ?1)
       INSERT INTO refresh_grant SELECT ?2 || '.!' || i, client, email, authorization, created_at, last_used_at
       FROM n JOIN (SELECT * FROM refresh_grant WHERE email = ?3)`,
    )
    .bind(count, session, user.email)
    .run();
const grantsLeft = () =>
  everywhere.prepare("SELECT count(*) AS n FROM refresh_grant WHERE email = ?1").bind(user.email).first("n");

describe("the account page", () => {
  it("lists each signed-in browser with its place, this one first, and no other user's", async () => {
    await signedIn(browserAt(SAFARI, { country: "FR", city: "Lyon" }));
    const stranger = await makeUser({ tenant: user.tenant });
    await signInThrough(browserAt(SAFARI), app, stranger);
    const here = await signedIn(browserAt(FIREFOX, { country: "DE", city: "Berlin" }));
    const page = await here.get(`${ACCOUNT}?ui_locales=de`);
    const [first, second, ...more] = cards(page.html);
    expect(first).toMatch(/^Firefox, Windows Dieser Browser Berlin, Deutschland Seit /);
    expect(second).toMatch(/^Safari, iOS Lyon, Frankreich Seit .* Dort abmelden$/);
    expect(more).toEqual([]);
  });

  it("says so if browser and place are unknown", async () => {
    const here = await signedIn(browserAt("<script>", { country: "XX", city: "<b>Nowhere</b>" }));
    const [first] = cards((await here.get(ACCOUNT)).html);
    expect(first).toMatch(/^Unknown browser This browser Since /);
  });

  // shows: asvs/v7-session-management/7.5.2
  it("ends one session, with the tokens that came of it, and leaves the others", async () => {
    const [there, here] = [await signedIn(browserAt(SAFARI)), await signedIn(browserAt(FIREFOX))];
    const code = landed(await visit(there, app, { scope: "openid" })).query.get("code") ?? "";
    const form = { grant_type: "authorization_code", code, redirect_uri: app.redirectUri };
    const headers = { authorization: `Basic ${btoa(`${app.clientId}:${app.clientSecret}`)}` };
    const tokens = await expectJson(await call("/oauth2/v1/token", { form, headers }), 200);
    const page = await here.get(ACCOUNT);
    const end = page.forms.filter(({ action }) => action.endsWith("/end-session"));
    expect(end.length).toBe(1);
    expect((await here.post(end[0]!.action, end[0]!.fields)).status).toBe(303);
    expect((await here.get(ACCOUNT)).html).toContain("The browser is signed out");
    expect((await there.get(ACCOUNT)).forms[0]!.action).toContain("/account/sign-in");
    expect((await call("/oauth2/v1/userinfo", { token: tokens.access_token })).status).toBe(401);
    const rows = await call(`/admin/v1/audit?subject=sessions/${end[0]!.fields["session"]}`, {
      token: await tokenFor(OPERATOR),
    });
    expect(await rows.json()).toMatchObject([{ action: "revoke", actor: `user ${user.email}` }]);
  });

  // shows: oauth/access-tokens/a-row-for-a-family
  it("signs a person out everywhere who has ended a thousand within an hour, by one row for all isolates", async () => {
    const key = endedSessionsKey(user.email);
    const rows = () => env.DB.prepare("SELECT count(*) AS n FROM revocation WHERE client = ?1").bind(key).first("n");
    const fill = `
      WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n LIMIT ${MOST_ENDED_SESSIONS - 1})
      INSERT INTO revocation (kind, key, until_ms, expires_sec, client) SELECT 'session', i || ?1, 1, unixepoch() + 99, ?1 FROM n`;
    await env.DB.prepare(fill).bind(key).run();
    const [first, second, here] = [browserAt(SAFARI), browserAt(SAFARI), browserAt(FIREFOX)];
    for (const browser of [first, second, here]) await signedIn(browser);
    const [one, other] = (await here.get(ACCOUNT)).forms.filter(({ action }) => action.endsWith("/end-session"));
    const isIn = async (browser: Browser) => !(await browser.get(ACCOUNT)).html.includes("/account/sign-in");
    await here.post(one!.action, one!.fields);
    expect([await rows(), await isIn(here)]).toEqual([MOST_ENDED_SESSIONS, true]);
    const tokens = await redeemed(app, await visit(here, app));
    await here.post(other!.action, other!.fields);
    expect(await rows()).toBe(MOST_ENDED_SESSIONS);
    expect(await Promise.all([first, second, here].map(isIn))).toEqual([false, false, false]);
    expect((await call("/oauth2/v1/userinfo", { token: tokens.access_token })).status).toBe(401);
    await signedIn(here);
    expect(await isIn(here)).toBe(true);
    const subject = `sessions/${other!.fields["session"]}`;
    const audit = await call(`/admin/v1/audit?subject=${subject}`, { token: await tokenFor(OPERATOR) });
    expect(await audit.json()).toMatchObject([
      { action: "revoke", reason: expect.stringContaining("over 1000 sessions") },
    ]);
  });

  // shows: asvs/v7-session-management/7.5.2
  it.each([0, 1])("says so if a session gave more than one request ends, which is repeated (home %i)", async (home) => {
    user = await makeUser({ tenant: user.tenant, home });
    const [there, here] = [await signedIn(browserAt(SAFARI)), await signedIn(browserAt(FIREFOX))];
    const tokens = await redeemed(app, await visit(there, app));
    const form = (await here.get(ACCOUNT)).forms.find(({ action }) => action.endsWith("/end-session"))!;
    // They are removed by their id, so that of the tokens comes last.
    await grantsBefore(10_000, form.fields["session"]!);
    const end = async (): Promise<string> => {
      expect((await here.post(form.action, form.fields)).status).toBe(303);
      return (await here.get(ACCOUNT)).html;
    };
    expect(await end()).toContain("ends the rest");
    expect((await there.get(ACCOUNT)).forms[0]!.action).toContain("/account/sign-in");
    const refresh = () => tokenAt(app, { grant_type: "refresh_token", refresh_token: tokens.refresh_token });
    const renewed = await expectJson(await refresh(), 200);
    expect(await end()).toContain("what applications got by it has ended");
    tokens.refresh_token = renewed.refresh_token;
    expect((await refresh()).status).toBe(400);
    expect(await grantsLeft()).toBe(0);
  });

  itAtNight(
    "leaves nothing that gives access where everything of a person is more than one request removes",
    async () => {
      user = await makeUser({ tenant: user.tenant, home: 0 });
      const [there, here] = [await signedIn(browserAt(SAFARI)), await signedIn(browserAt(FIREFOX))];
      const tokens = await redeemed(app, await visit(there, app));
      const form = (await here.get(ACCOUNT)).forms.find(({ action }) => action.endsWith("/end-all"))!;
      await grantsBefore(100_000, "!");
      expect((await here.post(form.action, form.fields)).status).toBe(303);
      expect((await here.get(ACCOUNT)).html).toContain("signed out everywhere");
      expect(await grantsLeft()).toBe(1);
      expect((await tokenAt(app, { grant_type: "refresh_token", refresh_token: tokens.refresh_token })).status).toBe(
        400,
      );
      expect((await call("/oauth2/v1/userinfo", { token: tokens.access_token })).status).toBe(401);
    },
  );

  // shows: asvs/v7-session-management/7.5.2
  it("ends one, or all, within a quarter of an hour of a sign-in; later the person signs in again first", async () => {
    const [there, here] = [await signedIn(browserAt(SAFARI)), await signedIn(browserAt(FIREFOX))];
    const press = async (what: string): Promise<Visit> => {
      const form = (await here.get(ACCOUNT)).forms.find(({ action }) => action.endsWith(what))!;
      return here.post(form.action, form.fields);
    };
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(Date.now() + 15 * 60_000);
    for (const what of ["/end-session", "/end-all"]) {
      const asked = await press(what);
      expect([asked.status, asked.html.includes("sign in again")]).toEqual([400, true]);
      expect((await there.get(ACCOUNT)).html).toContain("Safari");
    }
    // This browser alone is signed out as ever.
    expect((await press("/sign-out")).status).toBe(303);
    await signedIn(here);
    expect((await press("/end-session")).status).toBe(303);
    expect((await there.get(ACCOUNT)).forms[0]!.action).toContain("/account/sign-in");
    expect((await press("/end-all")).status).toBe(303);
    expect((await here.get(ACCOUNT)).forms[0]!.action).toContain("/account/sign-in");
  });

  // shows: operator/resources/sessions-of-a-user
  it("has the same list for operators, who end one of them", async () => {
    const there = await signedIn(browserAt(SAFARI, { country: "FR", city: "Lyon" }));
    const here = await signedIn(browserAt(FIREFOX));
    const token = await tokenFor(OPERATOR);
    const path = `/admin/v1/users/${user.email}/sessions`;
    const list = () => call(path, { token }).then((answer) => expectJson<any[]>(answer, 200));
    const sessions = await list();
    expect(sessions.map(({ browser, system, city, country }) => [browser, system, city, country])).toEqual(
      expect.arrayContaining([
        ["Safari", "iOS", "Lyon", "FR"],
        ["Firefox", "Windows", "", ""],
      ]),
    );
    const { sessionId, ...rest } = sessions.find(({ browser }) => browser === "Safari");
    expect(rest).toMatchObject({ provider: "default_idp", signedInAt: expect.any(Number) });
    const end = { token, method: "POST" };
    expect((await call(`/admin/v1/sessions/${sessionId}/revoke`, end)).status).toBe(204);
    expect((await list()).map(({ browser }) => browser)).toEqual(["Firefox"]);
    expect((await there.get(ACCOUNT)).forms[0]!.action).toContain("/account/sign-in");
    expect((await call(`/admin/v1/users/${user.email}/revoke`, end)).status).toBe(204);
    expect(await list()).toEqual([]);
    expect((await here.get(ACCOUNT)).forms[0]!.action).toContain("/account/sign-in");
    expect((await call("/admin/v1/users/nobody@acme.example/sessions", { token })).status).toBe(404);
  });

  it("ends no session of somebody else, and none by a form of another site or sign-in", async () => {
    const stranger = await makeUser({ tenant: user.tenant });
    const there = browserAt(SAFARI);
    await signInThrough(there, app, stranger);
    const here = await signedIn(browserAt(FIREFOX));
    const sid = await everywhere
      .prepare(`SELECT sid FROM session WHERE email = ?1`)
      .bind(stranger.email)
      .first<string>("sid");
    const { fields } = (await here.get(ACCOUNT)).forms.find(({ action }) => action.endsWith("/sign-out"))!;
    const form = { ...fields, session: String(sid) };
    await here.post(`${ACCOUNT}/end-session`, form);
    await there.post(`${ACCOUNT}/end-session`, form, "cross-site");
    expect((await there.post(`${ACCOUNT}/end-session`, form)).status).toBe(400);
    expect((await there.get(ACCOUNT)).html).toContain(stranger.email);
    expect(cards((await there.get(ACCOUNT)).html).length).toBe(1);
  });

  it("shows the last use, which is written once an hour, beside a code", async () => {
    const here = await signedIn(browserAt(FIREFOX));
    const seen = () =>
      everywhere.prepare(`SELECT seen_at FROM session WHERE email = ?1`).bind(user.email).first("seen_at");
    const first = Number(await seen());
    expect(first).toBeGreaterThan(0);
    await visit(here, app);
    expect(await seen()).toBe(first);
    vi.useFakeTimers({ now: Date.now() + 3_700_000, toFake: ["Date"] });
    await visit(here, app);
    vi.useRealTimers();
    expect(Number(await seen())).toBeGreaterThan(first + 3_600_000);
  });

  // shows: oauth/sessions/idle
  // shows: asvs/v7-session-management/7.3.1
  it("and applications know no session that was unused for the time that the operator set; each use begins it anew", async () => {
    const own = isolate({ SESSION_IDLE_MINUTES: "30" });
    const browserOf = () => new Browser({ send: (address, init) => own.fetch(address, toInit(init)) });
    const isKnown = async (browser: Browser): Promise<boolean> =>
      landed(await visit(browser, app)).query.get("code") !== null;
    vi.useFakeTimers({ now: Date.now(), toFake: ["Date"] });
    const later = (minutes: number): void => void vi.setSystemTime(Date.now() + minutes * 60_000);
    const [used, left] = [browserOf(), browserOf()];
    for (const browser of [used, left]) await signInThrough(browser, app, user);
    later(20);
    expect(await isKnown(used)).toBe(true);
    later(10);
    expect(cards((await used.get(ACCOUNT)).html).length).toBe(1);
    expect((await left.get(ACCOUNT)).html).toContain('name="password"');
    later(29);
    expect(await isKnown(used)).toBe(true);
    later(29);
    const { fields } = (await used.get(ACCOUNT)).forms[0]!;
    later(30);
    const refused = await used.post(`${ACCOUNT}/end-all`, fields);
    expect([refused.status, (await used.get(ACCOUNT)).html.includes('name="password"')]).toEqual([303, true]);
    expect((await visit(used, app)).status).toBe(200);
    expect(landed(await visit(used, app, { prompt: "none" })).query.get("error")).toBe("login_required");
  });

  // shows: asvs/v7-session-management/7.3.2
  it("lists no session that has ended by itself", async () => {
    await signedIn(browserAt(SAFARI));
    await everywhere.prepare(`UPDATE session SET expires_at = 1 WHERE email = ?1`).bind(user.email).run();
    const here = await signedIn(browserAt(FIREFOX));
    expect(cards((await here.get(ACCOUNT)).html).length).toBe(1);
  });
});
