import { env } from "cloudflare:workers";
import { decodeJwt } from "jose";
import { beforeAll, describe, expect, it } from "vitest";
import { isLiving } from "../support/answers.ts";
import { auditOf } from "../support/audit-of.ts";
import { CHALLENGE, VERIFIER } from "../support/code.ts";
import { Browser, landed, toInit, type Visit } from "../../support/browser.ts";
import { counting } from "../../support/counting.ts";
import { isolate } from "../../support/isolate.ts";
import { call, expectJson, ORIGIN } from "../../support/platform/call.ts";
import { operate, put } from "../../support/platform/operator.ts";
import { makeTenant } from "../../support/platform/tenants.ts";
import { basic } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";
import { errorOf, makeApp, signInThrough, visit, type TestApp } from "../../support/sign-in.ts";
import { directoryWith } from "../../support/directory.ts";
import { join, makeUser, type TestUser } from "../../support/users.ts";

/** The page that users see before a client of another tenant gets access. */
const OAUTH = `${ORIGIN}/oauth2/v1`;
const OUTSIDE = { scope: "plat.no_tenant openid" };

let home: string;
let ada: TestUser;
/** Ada is signed in, at a client of her own tenant. */
let browser: Browser;
let web: TestApp;
/** A client without a secret of a tenant that Ada is not a member of. */
let spa: TestApp;
beforeAll(async () => {
  home = await makeTenant();
  ada = await makeUser({ tenant: home, home: 0 });
  web = await makeApp({ tenant: home });
  browser = new Browser();
  await signInThrough(browser, web, ada);
  spa = await makeStranger();
});

const makeStranger = (more: Parameters<typeof makeApp>[0] = {}): Promise<TestApp> =>
  makeApp({ confidential: false, scopes: [], ...more });

/** Sends an authorization request as a client without a secret. */
const ask = (from: Browser, app: TestApp, changes: Record<string, string> = {}): Promise<Visit> =>
  visit(from, app, { code_challenge: CHALLENGE, code_challenge_method: "S256", ...OUTSIDE, ...changes });

const isConsentPage = (answer: Visit): boolean => answer.forms[0]?.action === `${OAUTH}/consent`;
const decide = (from: Browser, page: Visit, decision: "allow" | "deny"): Promise<Visit> =>
  from.submit(page, { decision });

interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly id_token: string;
}

const token = (app: TestApp, form: Record<string, string>): Promise<Response> =>
  call("/oauth2/v1/token", {
    form: app.clientSecret === "" ? { client_id: app.clientId, ...form } : form,
    headers: app.clientSecret === "" ? {} : { authorization: basic(app) },
  });
async function redeem(app: TestApp, answer: Visit): Promise<Tokens> {
  const code = landed(answer).query.get("code") ?? "";
  const proof: Record<string, string> = app.clientSecret === "" ? { code_verifier: VERIFIER } : {};
  const form = { grant_type: "authorization_code", code, redirect_uri: app.redirectUri, ...proof };
  return expectJson<Tokens>(await token(app, form), 200);
}

/** A new client of another tenant with Ada's consent, and its tokens. */
async function allowed(): Promise<{ app: TestApp; tokens: Tokens }> {
  const app = await makeStranger();
  return { app, tokens: await redeem(app, await decide(browser, await ask(browser, app), "allow")) };
}

async function takeAway(app: TestApp): Promise<Visit> {
  const page = await browser.get(`${ORIGIN}/account`);
  const form = page.forms.find(({ fields }) => fields["client_id"] === app.clientId);
  if (form === undefined) throw new Error(`${app.clientId} is not at the account`);
  return browser.post(form.action, form.fields);
}

describe("A client of a tenant that the user is not a member of", () => {
  it("p7: gets no silent response, sees no other grants with its token, and revokes none", async () => {
    const own = await redeem(web, await visit(browser, web));
    const silent = await ask(browser, spa, { prompt: "none" });
    expect(errorOf(silent)).toMatchObject({ error: "consent_required", query: "consent_required" });
    expect(silent.location).not.toContain(encodeURIComponent(ada.email));

    const answer = await decide(browser, await ask(browser, spa), "allow");
    const theirs = await redeem(spa, answer);
    expect(decodeJwt(theirs.id_token)["email"]).toBe(ada.email);
    const at = (method: string) => call("/oauth2/v1/refreshtokens", { method, token: theirs.access_token });
    const listed = await expectJson<{ clientId: string }[]>(await at("GET"), 200);
    expect(listed.map(({ clientId }) => clientId)).toEqual([spa.clientId]);
    expect((await at("DELETE")).status).toBe(204);
    expect(await isLiving(own.access_token)).toBe(true);
    expect(await isLiving(theirs.access_token)).toBe(false);
  });

  it("is shown with its tenant and scopes on a page that is neither cached nor framed", async () => {
    const tenant = await makeTenant();
    const app = await makeStranger({ tenant });
    const page = await ask(browser, app, { ui_locales: "de" });
    expect(page.status).toBe(200);
    for (const text of ["Zugriff erlauben?", app.clientId, tenant, ada.email]) expect(page.html).toContain(text);
    expect(page.forms[0]?.buttons.map(({ name, value, text }) => [name, value, text])).toEqual([
      ["decision", "allow", "Erlauben"],
      ["decision", "deny", "Ablehnen"],
    ]);
    expect(page.headers.get("cache-control")).toBe("no-store, no-transform");
    expect(page.headers.get("content-security-policy")).toMatch(/default-src 'none'.*frame-ancestors 'none'/);
    expect(page.html).not.toContain("<script>");
  });

  it.each<[string, Record<string, string>, "query" | "fragment"]>([
    ["code", {}, "query"],
    ["implicit", { response_type: "token" }, "fragment"],
    ["implicit with an ID token", { response_type: "id_token token", nonce: "n" }, "fragment"],
  ])(
    "%s flow: asks for consent once; a denial is access_denied, and consent continues the request",
    async (_, flow, where) => {
      const app = await makeStranger();
      const page = await ask(browser, app, flow);
      expect(isConsentPage(page)).toBe(true);
      const denied = await decide(browser, page, "deny");
      expect(denied.status).toBe(303);
      expect(errorOf(denied).error).toBe("access_denied");
      expect(landed(denied).fragment.get("state")).toBe("a state");
      expect(isConsentPage(await ask(browser, app, flow))).toBe(true);
      const given = await decide(browser, page, "allow");
      expect(given.status).toBe(303);
      expect(landed(given)[where].get("state")).toBe("a state");
      for (const answer of [given, await ask(browser, app, { ...flow, prompt: "none" })])
        expect(landed(answer)[where].get(where === "query" ? "code" : "access_token")).not.toBeNull();
      expect((await auditOf(`user ${ada.email}`))[0]).toEqual({
        action: "allow client",
        subject: `users/${ada.email}/consents/${app.clientId}`,
        outcome: "done",
        reason: "openid",
      });
    },
  );

  it("needs consent again with prompt=consent, and after a fresh sign-in, but not twice", async () => {
    const { app } = await allowed();
    expect(isConsentPage(await ask(browser, app, { prompt: "consent" }))).toBe(true);
    const fresh = new Browser();
    const signIn = await ask(fresh, app, { prompt: "login consent", max_age: "0" });
    const page = await fresh.submit(signIn, { email: ada.email, password: ada.password });
    expect(isConsentPage(page)).toBe(true);
    expect(landed(await decide(fresh, page, "allow")).query.get("code")).not.toBeNull();
  });

  it("needs consent again for more scopes, for each organization, and once it moves to another tenant", async () => {
    const [north, south] = [unique("north"), unique("south")];
    const role = unique("role");
    await put(`roles/${role}`, { scopes: ["plat.pubsub.topic=*"] });
    for (const id of [north, south]) {
      await put(`organizations/${id}`, { name: `The ${id}` });
      await put(`organizations/${id}/members/${ada.email}`, { roles: [role] });
    }
    const app = await makeStranger({ scopes: ["plat.pubsub.topic=a.*"] });
    const [one, two] = ["plat.pubsub.topic=a.b", "plat.pubsub.topic=a.c"];
    const fresh = new Browser();
    await signInThrough(fresh, web, ada);
    const has = async (scope: string) =>
      landed(await ask(fresh, app, { scope, prompt: "none" })).query.get("code") !== null;
    const page = await ask(fresh, app, { scope: `plat.org=${north} ${one}` });
    expect(page.html).toContain(`The ${north}`);
    expect(page.html).toContain(one);
    await decide(fresh, page, "allow");
    expect(await has(`plat.org=${north} ${one}`)).toBe(true);
    for (const more of [`plat.org=${north} ${two}`, `plat.org=${south} ${one}`, "plat.no_tenant"])
      expect(await has(more), more).toBe(false);
    await decide(fresh, await ask(fresh, app, { scope: `plat.org=${north} ${two}` }), "allow");
    for (const both of [one, two]) expect(await has(`plat.org=${north} ${both}`)).toBe(true);
    await env.DB.prepare("UPDATE client SET tenant = ? WHERE id = ?")
      .bind(await makeTenant(), app.clientId)
      .run();
    const elsewhere = isolate();
    const moved = new Browser({ send: (to, init) => elsewhere.fetch(to, toInit(init)) });
    for (const [name, value] of fresh.cookies) moved.cookies.set(name, value);
    expect(isConsentPage(await ask(moved, app, { scope: `plat.org=${north} ${one}` }))).toBe(true);
  });

  // shows: oauth/consent/another-organization
  it("is asked about for another organization than its tenant's, by a member of the tenant too", async () => {
    const tenant = await makeTenant();
    await join(ada.email, tenant);
    const [own, north, role] = [`${tenant}-org`, unique("north"), unique("role")];
    const scope = "plat.admin_tenant";
    await put(`roles/${role}`, { scopes: [scope] });
    await put(`organizations/${north}`, { name: "North" });
    for (const id of [own, north]) await put(`organizations/${id}/members/${ada.email}`, { roles: [role] });
    const app = await makeStranger({ tenant, scopes: [scope] });
    const at = (place: string) => ask(browser, app, { scope: `plat.${place} ${scope}` });
    expect(isConsentPage(await at(`org=${north}`))).toBe(true);
    expect(landed(await at(`org=${own}`)).query.has("code")).toBe(true);
    expect(landed(await ask(browser, app)).query.has("code")).toBe(true);
  });

  it("accepts no form of another site, sign-in or request, and no other decision", async () => {
    const app = await makeStranger();
    const page = await ask(browser, app);
    const form = page.forms[0];
    const fields: Record<string, string> = { ...form?.fields, decision: "allow" };
    const to = form?.action ?? "";
    const other = new Browser();
    await signInThrough(other, web, ada);
    const asked = JSON.stringify({ ...JSON.parse(fields["asked"] ?? ""), scopes: ["plat.media_admin"] });
    const attempts: [string, Promise<Visit>][] = [
      ["another site", browser.post(to, fields, "cross-site")],
      ["another sign-in", other.post(to, fields)],
      ["other scopes", browser.post(to, { ...fields, asked })],
      ["no token", browser.post(to, { ...fields, csrf: "" })],
      ["no decision", browser.post(to, { ...fields, decision: "perhaps" })],
      ["no request", browser.post(to, { ...fields, request: "" })],
    ];
    for (const [what, attempt] of attempts) expect((await attempt).status, what).toBe(400);
    const nobody = await new Browser().post(to, fields);
    expect(nobody.forms[0]?.action).toBe(`${OAUTH}/sign-in`);
    expect(isConsentPage(await ask(browser, app))).toBe(true);
    const stale = await other.post(to, fields);
    expect(stale.html).toContain("This page was out of date");
    expect(landed(await decide(other, stale, "allow")).query.get("code")).not.toBeNull();
  });

  it("gets no consent by an ID token alone, but its hint works after a consent", async () => {
    const { app, tokens } = await allowed();
    const noPlace = new Browser();
    const hint = { id_token_hint: tokens.id_token };
    expect(landed(await ask(noPlace, app, { ...hint, prompt: "none" })).query.get("code")).not.toBeNull();
    const again = await ask(noPlace, app, { ...hint, prompt: "consent" });
    expect(again.forms[0]?.action).toBe(`${OAUTH}/sign-in`);
  });

  it("is listed on the account page, where its consent and all its tokens can be removed", async () => {
    const { app, tokens } = await allowed();
    const code = landed(await ask(browser, app)).query.get("code") ?? "";
    expect((await takeAway(app)).status).toBe(303);
    expect(await isLiving(tokens.access_token)).toBe(false);
    const used = { grant_type: "refresh_token", refresh_token: tokens.refresh_token };
    expect((await token(app, used)).status).toBe(400);
    const late = { grant_type: "authorization_code", code, redirect_uri: app.redirectUri, code_verifier: VERIFIER };
    expect((await token(app, late)).status).toBe(400);
    expect(errorOf(await ask(browser, app, { prompt: "none" })).error).toBe("consent_required");
    expect((await browser.get(`${ORIGIN}/account`)).html).not.toContain(app.clientId);
    // The application is listed too if its access left no grant.
    const silent = await makeStranger({ grantTypes: ["implicit"] });
    await decide(browser, await ask(browser, silent, { response_type: "token" }), "allow");
    await takeAway(silent);
    const answer = await ask(browser, silent, { response_type: "token", prompt: "none" });
    expect(errorOf(answer).error).toBe("consent_required");
  });

  it.each<[string, (app: TestApp, user: TestUser) => Promise<unknown>]>([
    ["the client is revoked", async ({ clientId }) => revoke(`clients/${clientId}`)],
    ["the user is revoked", async (_, { email }) => revoke(`users/${email}`)],
    ["the user has another password", async (_, { email }) => put(`users/${email}`, { password: "another password" })],
    ["the user was removed", async (_, { email }) => remove(`users/${email}`)],
    ["the client was removed", async ({ clientId }) => remove(`clients/${clientId}`)],
  ])("has nothing left when %s", async (_, end) => {
    const user = await makeUser({ tenant: home });
    const app = await makeStranger();
    const own = new Browser();
    await signInThrough(own, web, user);
    await decide(own, await ask(own, app), "allow");
    await end(app, user);
    const left = env.DB.prepare("SELECT count(*) AS n FROM consent WHERE email = ?1 OR client = ?2");
    expect(await left.bind(user.email, app.clientId).first("n")).toBe(0);
  });

  it("gets no consent by a sign-in that has just ended, and a consent form restores nothing removed meanwhile", async () => {
    const user = await makeUser({ tenant: home });
    const app = await makeStranger();
    let meanwhile = async (): Promise<unknown> => undefined;
    let isWriting = false;
    const db = directoryWith({
      prepare(sql) {
        isWriting ||= sql.includes("INSERT INTO consent");
        return env.DB.prepare(sql);
      },
      async batch(statements) {
        if (isWriting) await meanwhile();
        isWriting = false;
        return env.DB.batch(statements);
      },
    });
    const racing = isolate({ DB: db });
    const own = new Browser({ send: (to, init) => racing.fetch(to, toInit(init)) });
    const row = env.DB.prepare("SELECT scopes FROM consent WHERE email = ?1 AND client = ?2");
    const kept = () => row.bind(user.email, app.clientId).first("scopes");
    await signInThrough(own, web, user);
    await decide(own, await ask(own, app), "allow");
    expect(await kept()).toBe('["openid"]');
    const less = await ask(own, app, { prompt: "consent", scope: "plat.no_tenant" });
    await decide(own, less, "allow");
    expect(await kept()).toBe('["openid"]');
    meanwhile = () => env.DB.prepare("DELETE FROM consent WHERE email = ?1").bind(user.email).run();
    await decide(own, less, "allow");
    expect(await kept()).toBe("[]");
    meanwhile = () => revoke(`users/${user.email}`);
    await decide(own, await ask(own, app), "allow");
    expect(await kept()).toBeNull();
  });

  it("keeps no refresh grant from a membership that has ended", async () => {
    const app = await makeStranger();
    const user = await makeUser({ tenant: home });
    await join(user.email, app.tenant);
    const own = new Browser();
    const tokens = await redeem(
      app,
      await signInThrough(own, app, user, { code_challenge: CHALLENGE, code_challenge_method: "S256", ...OUTSIDE }),
    );
    const used = { grant_type: "refresh_token", refresh_token: tokens.refresh_token };
    const next = await expectJson<Tokens>(await token(app, used), 200);
    await remove(`tenants/${app.tenant}/members/${user.email}`);
    const refused = await token(app, { ...used, refresh_token: next.refresh_token });
    expect((await expectJson<{ error: string }>(refused, 400)).error).toBe("invalid_grant");
  });
});

const revoke = (path: string): Promise<Response> => operate(`${path}/revoke`, "POST");
const remove = (path: string): Promise<Response> => operate(path, "DELETE");

describe("Access without consent", () => {
  it("works for members of the client's tenant, outside any tenant and with prompt=consent too", async () => {
    for (const changes of [{}, { prompt: "consent" }, OUTSIDE] as Record<string, string>[])
      expect(landed(await visit(browser, web, changes)).query.get("code")).not.toBeNull();
  });

  it("works for a service's client in a subscribing tenant of the user, and needs consent outside of it", async () => {
    const service = unique("svc");
    const provider = await makeTenant();
    await put(`organizations/of-${provider}`, { name: "Provider" });
    const own = { sourceUrl: "https://s.example", proxyPath: `/${service}`, scopes: [`${service}.read`] };
    await put(`services/${service}`, { ...own, tenant: provider, access: "token" });
    await put(`packages/${service}`, { version: "1", organization: `of-${provider}`, services: [service] });
    await put(`tenants/${home}/subscriptions/${service}`, {});
    const app = await makeStranger({ tenant: provider, service, scopes: [`${service}.read`] });
    const inside = await ask(browser, app, { scope: `plat.tenant=${home} openid`, prompt: "none" });
    expect(landed(inside).query.get("code")).not.toBeNull();
    expect(isConsentPage(await ask(browser, app))).toBe(true);
  });

  it("has no page in the password grant, so a stranger's client gets nothing outside the user's tenants", async () => {
    const form = {
      grant_type: "password",
      plat_id_provider: "legacy_idp",
      username: ada.email,
      password: ada.password,
      scope: "plat.no_tenant",
    };
    const grantTypes = ["password"];
    const stranger = await makeApp({ grantTypes, scopes: [] });
    const refused = await expectJson<{ error: string }>(await token(stranger, form), 400);
    expect(refused.error).toBe("invalid_scope");
    expect((await token(await makeApp({ tenant: home, grantTypes }), form)).status).toBe(200);
  });

  it("costs no database read unless consent is needed", async () => {
    const counted = counting(env);
    const worker = isolate(counted.env);
    const own = new Browser({ send: (to, init) => worker.fetch(to, toInit(init)) });
    for (const [name, value] of browser.cookies) own.cookies.set(name, value);
    const cost = async (app: TestApp, changes: Record<string, string>): Promise<number> => {
      await ask(own, app, changes);
      counted.reset();
      await ask(own, app, changes);
      return counted.tally.d1RoundTrips;
    };
    const { app } = await allowed();
    expect(await cost(web, {})).toBe(2);
    expect(await cost(app, {})).toBe(3);
  });
});
