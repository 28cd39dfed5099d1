import { env } from "cloudflare:workers";
import { decodeJwt } from "jose";
import { beforeAll, describe, expect, it } from "vitest";
import { consentRule } from "../../../src/oauth/consent/consent.ts";
import { failureOf, isLiving } from "../support/answers.ts";
import { auditOf } from "../support/audit-of.ts";
import { Browser, landed, toInit, type Visit } from "../../support/browser.ts";
import { counting } from "../../support/counting.ts";
import { isolate } from "../../support/isolate.ts";
import { call, expectJson, ORIGIN } from "../../support/platform/call.ts";
import { OPERATOR, put } from "../../support/platform/operator.ts";
import { makeTenant } from "../../support/platform/tenants.ts";
import { basic, tokenFor } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";
import { everywhere } from "../../support/shards.ts";
import { errorOf, makeApp, redeemed, signInThrough, tokenAt, visit, type TestApp } from "../../support/sign-in.ts";
import { makeUser, type TestUser } from "../../support/users.ts";

/** Clients that are registered as `thirdParty`, in the tenant of their users. */
const OAUTH = `${ORIGIN}/oauth2/v1`;
const DEVICE = "urn:ietf:params:oauth:grant-type:device_code";
const EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
const VIEW = { scope: "openid plat.media_view" };
const BOTH = { scope: "openid plat.media_view plat.media_manage" };

let tenant: string;
let ada: TestUser;
let browser: Browser;
let own: TestApp;
beforeAll(async () => {
  tenant = await makeTenant();
  ada = await makeUser({ tenant, home: 0 });
  own = await makeApp({ tenant, grantTypes: ["authorization_code", "password", EXCHANGE] });
  browser = new Browser();
  await signInThrough(browser, own, ada);
});

const makeForeign = (more: Parameters<typeof makeApp>[0] = {}): Promise<TestApp> =>
  makeApp({ tenant, thirdParty: true, ...more });
const isConsentPage = (answer: Visit): boolean => answer.forms[0]?.action === `${OAUTH}/consent`;
const decide = (page: Visit, decision: "allow" | "deny" = "allow"): Promise<Visit> =>
  browser.submit(page, { decision });
const codeOf = (answer: Visit): string | null => landed(answer).query.get("code");

const refresh = (app: TestApp, token: string): Promise<Response> =>
  tokenAt(app, { grant_type: "refresh_token", refresh_token: token });

describe("A third-party client", () => {
  // shows: oauth/consent/third-party
  // shows: oauth/consent/narrower-and-wider
  it("is asked about once, and again for a wider request alone", async () => {
    const app = await makeForeign();
    const page = await visit(browser, app, BOTH);
    expect(isConsentPage(page)).toBe(true);
    for (const text of [app.clientId, `Tenant ${tenant}`, "see files", "create, change and delete files", ada.email])
      expect(page.html).toContain(text);
    expect(page.html).not.toContain("not a member");
    expect(codeOf(await decide(page))).not.toBeNull();
    for (const less of [BOTH, VIEW, { scope: "plat.media_manage" }, { scope: `plat.tenant=${tenant} openid` }])
      expect(codeOf(await visit(browser, app, { ...less, prompt: "none" })), less.scope).not.toBeNull();
    const wider: Record<string, string>[] = [
      { scope: `${BOTH.scope} plat.pubsub_publish` },
      { scope: `${BOTH.scope} profile` },
      // A request without scopes asks for all of them.
      {},
    ];
    for (const more of wider) {
      expect(isConsentPage(await visit(browser, app, more)), more.scope).toBe(true);
      expect(errorOf(await visit(browser, app, { ...more, prompt: "none" })).error).toBe("consent_required");
    }
    expect((await auditOf(`user ${ada.email}`))[0]).toMatchObject({
      action: "allow client",
      reason: `tenant ${tenant} openid plat.media_view plat.media_manage`,
    });
  });

  // shows: oauth/consent/third-party
  it("needs consent in each tenant and organization", async () => {
    const other = await makeTenant();
    await put(`tenants/${other}/members/${ada.email}`, { roles: [] });
    const service = unique("svc");
    const scopes = [`${service}.a`];
    const at = { sourceUrl: `https://${service}.example.com`, proxyPath: `/${service}/v1`, access: "token" };
    await put(`services/${service}`, { ...at, tenant, scopes });
    await put(`packages/${service}`, { version: "1", organization: `${tenant}-org`, services: [service] });
    await put(`tenants/${other}/subscriptions/${service}`, {});
    const app = await makeForeign({ service, scopes });
    await decide(await visit(browser, app, { scope: `plat.tenant=${tenant} openid` }));
    const elsewhere = { scope: `plat.tenant=${other} openid` };
    const fresh = new Browser();
    await signInThrough(fresh, own, ada);
    const page = await visit(fresh, app, elsewhere);
    expect(isConsentPage(page)).toBe(true);
    expect(page.html).toContain(`Tenant ${other}`);
    for (const scope of [elsewhere.scope, "plat.no_tenant openid"])
      expect(errorOf(await visit(fresh, app, { scope, prompt: "none" })).error).toBe("consent_required");
  });

  // shows: oauth/consent/prompt
  it("is asked about again with prompt=consent, and a denial keeps what was given", async () => {
    const app = await makeForeign();
    await decide(await visit(browser, app, VIEW));
    const again = await visit(browser, app, { ...VIEW, prompt: "consent" });
    expect(isConsentPage(again)).toBe(true);
    expect(errorOf(await decide(again, "deny")).query).toBe("access_denied");
    expect(codeOf(await visit(browser, app, VIEW))).not.toBeNull();
    expect(codeOf(await visit(browser, own, { ...VIEW, prompt: "consent" }))).not.toBeNull();
  });

  // shows: oauth/consent/words
  it.each(["sent", "pushed"])(
    "is asked about again with prompt=consent, %s, though the sign-in ends while the page is open",
    async (how) => {
      const app = await makeApp({ tenant, thirdParty: true });
      const eve = await makeUser({ tenant });
      const credentials = { email: eve.email, password: eve.password };
      const from = new Browser();
      await from.submit(await signInThrough(from, app, eve, VIEW), { decision: "allow" });
      const wish = { response_type: "code", redirect_uri: app.redirectUri, ...VIEW, prompt: "consent" };
      const request = async (): Promise<Visit> => {
        if (how === "sent") return visit(from, app, wish);
        const pushed = await call("/oauth2/v1/par", { form: wish, headers: { authorization: basic(app) } });
        const { request_uri } = await expectJson<{ request_uri: string }>(pushed, 201);
        const query = new URLSearchParams({ client_id: app.clientId, request_uri });
        return from.get(`${OAUTH}/authorize?${query.toString()}`);
      };
      const endings = [
        // Nobody is signed in any more: the page of the sign-in leads back.
        async (page: Visit) => {
          await everywhere.prepare("DELETE FROM session WHERE email = ?").bind(eve.email).run();
          return from.submit(await from.submit(page, { decision: "allow" }), credentials);
        },
        // A sign-in of the same person in another tab.
        async (page: Visit) => {
          await from.submit(await visit(from, app, { ...VIEW, prompt: "login" }), credentials);
          const next = await from.submit(page, { decision: "allow" });
          return next.html.includes('name="password"') ? from.submit(next, credentials) : next;
        },
      ];
      for (const ending of endings) {
        const again = await ending(await request());
        expect(isConsentPage(again)).toBe(true);
        expect(codeOf(await from.submit(again, { decision: "allow" }))).not.toBeNull();
      }
    },
  );

  it("asks in the words of the services that its tenant uses, and by the name where there are none", async () => {
    const [mine, theirs] = [unique("svc"), unique("svc")];
    const scopes = ["view", "edit.*", "other"].map((name) => `${mine}.${name}`);
    const at = (name: string) => ({
      sourceUrl: `https://${name}.example.com`,
      proxyPath: `/${name}/v1`,
      access: "token",
    });
    const words = { [`${mine}.view`]: "look at <your> orders", [`${mine}.edit.*`]: "change your orders" };
    await put(`services/${mine}`, { ...at(mine), tenant, scopes, scopeDescriptions: words });
    const lie = { [`${mine}.other`]: "nothing at all" };
    await put(`services/${theirs}`, { ...at(theirs), tenant: await makeTenant(), scopes, scopeDescriptions: lie });
    const asked = [`${mine}.view`, `${mine}.edit.price`, `${mine}.other`];
    const user = await makeUser({ tenant, scopes });
    const app = await makeForeign({ scopes });
    const from = new Browser();
    const page = await signInThrough(from, app, user, { scope: `openid profile ${asked.join(" ")}` });
    for (const text of [
      "look at &lt;your&gt; orders",
      "change your orders",
      `<code>${mine}.other</code>`,
      "see your name, picture and language",
    ])
      expect(page.html).toContain(text);
    for (const text of [`<code>${mine}.view</code>`, "nothing at all"]) expect(page.html).not.toContain(text);
  });

  // shows: oauth/consent/take-back
  it("loses its tokens, codes and consent when the person takes it back", async () => {
    const app = await makeForeign();
    const tokens = await redeemed(app, await decide(await visit(browser, app, VIEW)));
    const code = codeOf(await visit(browser, app, VIEW)) ?? "";
    const page = await browser.get(`${ORIGIN}/account`);
    expect(page.html).toContain(app.clientId);
    const form = page.forms.find(({ fields }) => fields["client_id"] === app.clientId);
    const forged = { ...form?.fields, csrf: "AAAA" };
    expect((await browser.post(form?.action ?? "", forged)).status).toBe(400);
    expect((await browser.post(form?.action ?? "", form?.fields ?? {}, "cross-site")).status).toBe(400);
    expect(await isLiving(tokens.access_token)).toBe(true);
    expect((await browser.post(form?.action ?? "", form?.fields ?? {})).status).toBe(303);
    expect(await isLiving(tokens.access_token)).toBe(false);
    expect(await failureOf(await refresh(app, tokens.refresh_token))).toBe("400 invalid_grant");
    const late = { grant_type: "authorization_code", code, redirect_uri: app.redirectUri };
    expect(await failureOf(await tokenAt(app, late))).toBe("400 invalid_grant");
    expect((await browser.get(`${ORIGIN}/account`)).html).not.toContain(app.clientId);
    expect(isConsentPage(await visit(browser, app, VIEW))).toBe(true);
  });

  it("is not listed for a consent from before a sign-out everywhere, even while it is being removed", async () => {
    const [app, person, at] = [await makeForeign(), await makeUser({ tenant, home: 0 }), new Browser()];
    await at.submit(await signInThrough(at, app, person), { decision: "allow" });
    const listed = async () => (await at.get(`${ORIGIN}/account`)).html.includes(app.clientId);
    expect(await listed()).toBe(true);
    await env.DB.prepare("UPDATE user SET signed_out_at = ?2 WHERE email = ?1").bind(person.email, Date.now()).run();
    await signInThrough(at, own, person);
    expect(await listed()).toBe(false);
  });

  // shows: oauth/consent/forged
  it("gets no consent by a framed page, a forged post or another person's form", async () => {
    const app = await makeForeign();
    const page = await visit(browser, app, VIEW);
    expect(page.headers.get("content-security-policy")).toMatch(/frame-ancestors 'none'/);
    expect(page.headers.get("x-frame-options")).toBe("DENY");
    const form = page.forms[0];
    const fields: Record<string, string> = { ...form?.fields, decision: "allow" };
    const wider = JSON.stringify({ ...JSON.parse(fields["asked"] ?? ""), scopes: ["plat.media_admin"] });
    const to = form?.action ?? "";
    expect((await browser.post(to, fields, "cross-site")).status).toBe(400);
    const changes: Record<string, string>[] = [{ csrf: "" }, { csrf: "AAAA" }, { asked: wider }];
    for (const forged of changes) expect((await browser.post(to, { ...fields, ...forged })).status).toBe(400);
    const mallory = new Browser();
    await signInThrough(mallory, own, await makeUser({ tenant }));
    expect((await mallory.post(to, fields)).status).toBe(400);
    expect(errorOf(await visit(browser, app, { ...VIEW, prompt: "none" })).error).toBe("consent_required");
    // The form was made for fewer scopes. With a wider request in it, the page asks again.
    const all = new URLSearchParams(fields["request"]);
    all.set("scope", BOTH.scope);
    expect(isConsentPage(await browser.post(to, { ...fields, request: all.toString() }))).toBe(true);
  });

  // shows: oauth/consent/other-grants
  it("gets nothing without consent by a refresh token, a code, the implicit flow or an ID token", async () => {
    const app = await makeApp({ tenant });
    const tokens = await redeemed(app, await visit(browser, app, VIEW));
    const code = codeOf(await visit(browser, app, VIEW)) ?? "";
    await env.DB.prepare("UPDATE client SET third_party = 1 WHERE id = ?").bind(app.clientId).run();
    const elsewhere = isolate();
    const at = (form: Record<string, string>) =>
      elsewhere.fetch(`${OAUTH}/token`, {
        method: "POST",
        body: new URLSearchParams(form),
        headers: { authorization: basic(app) },
      });
    const used = { grant_type: "refresh_token", refresh_token: tokens.refresh_token };
    expect(await failureOf(await at(used))).toBe("400 invalid_grant");
    const late = { grant_type: "authorization_code", code, redirect_uri: app.redirectUri };
    expect(await failureOf(await at(late))).toBe("400 invalid_grant");
    const moved = new Browser({ send: (to, init) => elsewhere.fetch(to, toInit(init)) });
    for (const [name, value] of browser.cookies) moved.cookies.set(name, value);
    for (const type of ["token", "id_token", "id_token token"]) {
      const silent = await visit(moved, app, { ...VIEW, response_type: type, nonce: "n", prompt: "none" });
      expect(errorOf(silent).fragment).toBe("consent_required");
    }
    const given = await moved.submit(await visit(moved, app, VIEW), { decision: "allow" });
    const fresh = { grant_type: "authorization_code", code: codeOf(given) ?? "", redirect_uri: app.redirectUri };
    const next = await expectJson<{ refresh_token: string }>(await at(fresh), 200);
    const wider = { grant_type: "refresh_token", refresh_token: next.refresh_token, scope: "plat.media_manage" };
    expect(await failureOf(await at(wider))).toBe("400 invalid_scope");
  });

  // shows: oauth/consent/other-grants
  it("has no password grant", async () => {
    const registered = await call(`/admin/v1/clients/${tenant}.${unique("app")}`, {
      method: "PUT",
      token: await tokenFor(OPERATOR),
      json: { tenant, confidential: true, grantTypes: ["password"], scopes: [], thirdParty: true },
    });
    expect(await expectJson(registered, 400)).toMatchObject({ details: [{ field: "grantTypes" }] });
    const app = await makeApp({ tenant, grantTypes: ["password"] });
    await env.DB.prepare("UPDATE client SET third_party = 1 WHERE id = ?").bind(app.clientId).run();
    const elsewhere = isolate();
    const form = (password: string) => ({
      grant_type: "password",
      username: ada.email,
      password,
      plat_id_provider: "legacy_idp",
    });
    for (const password of [ada.password, "wrong"]) {
      const init = {
        method: "POST",
        body: new URLSearchParams(form(password)),
        headers: { authorization: basic(app) },
      };
      expect(await failureOf(await elsewhere.fetch(`${OAUTH}/token`, init))).toBe("400 unauthorized_client");
    }
  });

  // shows: oauth/consent/other-grants
  it("exchanges no token of a person who has not allowed it", async () => {
    const service = unique("svc");
    const scopes = [`${service}.view`];
    const at = { sourceUrl: `https://${service}.example.com`, proxyPath: `/${service}/v1`, access: "token" };
    await put(`services/${service}`, { ...at, tenant, scopes });
    const user = await makeUser({ tenant, scopes });
    const first = await makeApp({ tenant, scopes });
    const from = new Browser();
    const subject = await redeemed(first, await signInThrough(from, first, user, { scope: scopes.join(" ") }));
    const grantTypes = [EXCHANGE, "authorization_code"];
    const app = await makeForeign({ service, scopes, grantTypes });
    const form = {
      grant_type: EXCHANGE,
      subject_token: subject.access_token,
      subject_token_type: "urn:ietf:params:oauth:token-type:access_token",
    };
    expect(await failureOf(await tokenAt(app, form))).toBe("400 invalid_grant");
    await from.submit(await visit(from, app, { scope: scopes.join(" ") }), { decision: "allow" });
    const exchanged = await expectJson<{ access_token: string }>(await tokenAt(app, form), 200);
    expect(decodeJwt(exchanged.access_token)).toMatchObject({ user: user.email, client_id: app.clientId });
  });

  // shows: oauth/consent/pushed-and-devices
  it("is asked about for a pushed request, and for a device", async () => {
    const app = await makeForeign({ requirePushedAuthorizationRequests: true });
    const body = { response_type: "code", redirect_uri: app.redirectUri, ...VIEW };
    const push = async (more: Record<string, string> = {}): Promise<Visit> => {
      const pushed = await call("/oauth2/v1/par", {
        form: { ...body, ...more },
        headers: { authorization: basic(app) },
      });
      const { request_uri: uri } = await expectJson<{ request_uri: string }>(pushed, 201);
      const query = new URLSearchParams({ client_id: app.clientId, request_uri: uri });
      return browser.get(`${OAUTH}/authorize?${query.toString()}`);
    };
    expect(errorOf(await push({ prompt: "none" })).query).toBe("consent_required");
    const page = await push();
    expect(isConsentPage(page)).toBe(true);
    expect((await redeemed(app, await decide(page))).access_token).not.toBe("");
    expect(codeOf(await push())).not.toBeNull();

    const tool = await makeForeign({ confidential: false, redirectUris: [], grantTypes: [DEVICE] });
    const begin = await call("/oauth2/v1/device_authorization", { form: { client_id: tool.clientId, ...VIEW } });
    const device = await expectJson<{ device_code: string; user_code: string }>(begin, 200);
    const typed = await browser.submit(await browser.get(`${OAUTH}/device`), { user_code: device.user_code });
    const asked = await browser.get(typed.location ?? "");
    expect(isConsentPage(asked)).toBe(true);
    await decide(asked);
    const poll = { grant_type: DEVICE, client_id: tool.clientId, device_code: device.device_code };
    await expectJson(await call("/oauth2/v1/token", { form: poll }), 200);
    expect((await browser.get(`${ORIGIN}/account`)).html).toContain(tool.clientId);
  });
});

describe("The cost of consent", () => {
  it("is one round trip more for a third-party client, and none for others", async () => {
    const counted = counting(env);
    const worker = isolate(counted.env);
    const from = new Browser({ send: (to, init) => worker.fetch(to, toInit(init)) });
    for (const [name, value] of browser.cookies) from.cookies.set(name, value);
    const costs = async (app: TestApp): Promise<{ authorize: number; code: number; refresh: number }> => {
      const at = async (form: Record<string, string>): Promise<{ refresh_token: string }> => {
        const headers = { authorization: basic(app) };
        return expectJson(
          await worker.fetch("/oauth2/v1/token", { method: "POST", body: new URLSearchParams(form), headers }),
          200,
        );
      };
      const count = async <T>(act: () => Promise<T>): Promise<[number, T]> => {
        counted.reset();
        const done = await act();
        return [counted.tally.d1RoundTrips, done];
      };
      const code = (answer: Visit) => ({
        grant_type: "authorization_code",
        code: codeOf(answer) ?? "",
        redirect_uri: app.redirectUri,
      });
      await at(code(await visit(from, app, VIEW)));
      const [authorize, answer] = await count(() => visit(from, app, VIEW));
      const [redeeming, tokens] = await count(() => at(code(answer)));
      const used = { grant_type: "refresh_token", refresh_token: tokens.refresh_token };
      const [refreshed] = await count(() => at(used));
      return { authorize, code: redeeming, refresh: refreshed };
    };
    const app = await makeForeign();
    await decide(await visit(browser, app, VIEW));
    const first = await costs(await makeApp({ tenant }));
    expect(first).toEqual({ authorize: 2, code: 2, refresh: 2 });
    expect(await costs(app)).toEqual({ authorize: 3, code: 3, refresh: 3 });
  });
});

describe("Who is asked", () => {
  // shows: oauth/consent/unregistered
  it("depends on who registered the client, and on who belongs to its tenant", () => {
    const member = { tenants: [{ id: "acme", organization: "acme-group" }] } as unknown as Parameters<
      typeof consentRule
    >[1];
    const inTenant = { tenant: "acme", org: "" };
    const nowhere = { tenant: "", org: "" };
    expect(consentRule({ tenant: "acme" }, member, inTenant)).toBe("never");
    expect(consentRule({ tenant: "acme" }, member, nowhere)).toBe("never");
    expect(consentRule({ tenant: "acme" }, member, { tenant: "", org: "acme-group" })).toBe("never");
    expect(consentRule({ tenant: "acme" }, member, { tenant: "", org: "globex-group" })).toBe("once");
    expect(consentRule({ tenant: "globex" }, member, inTenant)).toBe("never");
    expect(consentRule({ tenant: "globex" }, member, nowhere)).toBe("once");
    expect(consentRule({ tenant: "acme", thirdParty: true }, member, inTenant)).toBe("once");
    expect(
      consentRule(
        { tenant: "acme", unregistered: { host: "app.example", metadata: "{}", readAtMs: 0 } },
        member,
        inTenant,
      ),
    ).toBe("always");
    expect(consentRule(undefined, member, inTenant)).toBe("never");
  });
});
