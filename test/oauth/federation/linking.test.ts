import { env } from "cloudflare:workers";
import { decodeJwt } from "jose";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { PASSWORD_SIGN_IN } from "../../../src/oauth/model/claims.ts";
import { Browser, landed, type Visit } from "../../support/browser.ts";
import { call, expectJson, ORIGIN } from "../../support/platform/call.ts";
import { operate, put } from "../../support/platform/operator.ts";
import { makeTenant } from "../../support/platform/tenants.ts";
import { basic } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";
import { linkAccount, subjectOf } from "../../support/parties/idp/accounts.ts";
import { answerToken, claimsFor, sign } from "../../support/parties/idp/id-token.ts";
import {
  bindProvider,
  CLIENT_ID,
  CLIENT_SECRET,
  makeProvider,
  type Provider,
} from "../../support/parties/idp/scripted-provider.ts";
import { APP_URI, makeApp, signInThrough, visit, type TestApp } from "../../support/sign-in.ts";
import { join, makeUser, type TestUser } from "../../support/users.ts";
import { addressOf, makeAgent, makeService } from "../unregistered/agent.ts";
import { makeUserAndApp } from "../../support/user-and-app.ts";

/** Links between accounts at providers and users here, and the limits of a provider. */
/** Requests the form with the password, even if other tests have bound providers to its domain. */
const OWN = { scope: "openid", plat_id_provider: "default_idp" };
const TEN_MINUTES_MS = 600_000;
let ada: TestUser;
let app: TestApp;
beforeEach(async () => {
  ({ user: ada, app } = await makeUserAndApp());
});
afterEach(() => void vi.useRealTimers());

type Changes = Record<string, string | undefined>;

/** Signs in at the provider, which vouches for this user. `claims`: other claims of its ID token. */
async function signIn(
  provider: Provider,
  options: {
    browser?: Browser;
    user?: { email: string };
    claims?: object;
    asked?: Changes;
    app?: TestApp;
    address?: string;
  } = {},
): Promise<Visit & { readonly browser: Browser }> {
  const { browser = new Browser(), user = ada, claims = {}, asked = {} } = options;
  const sent =
    options.address === undefined
      ? await visit(browser, options.app ?? app, { scope: "openid", plat_id_provider: provider.id, ...asked })
      : await browser.get(options.address);
  const address = new URL(sent.location ?? "");
  if (address.origin !== provider.issuer) throw new Error(`not sent to the provider: ${sent.location}`);
  const [state, nonce] = [address.searchParams.get("state") ?? "", address.searchParams.get("nonce") ?? ""];
  const person = { clientId: "", clientSecret: "", email: user.email };
  const said = { ...claimsFor(person, provider, { browser: undefined as never, address, state, nonce }), ...claims };
  await answerToken(provider, await sign(said, provider.signer));
  const callback = `/oauth2/v1/callback/${provider.id}?${new URLSearchParams({ state, code: "c" }).toString()}`;
  return Object.assign(await browser.get(callback, "cross-site"), { browser });
}

/** The page's link that begins with `start`. */
function linkTo(start: string, { html }: Visit): string {
  const links = [...html.matchAll(/<a class="other" href="([^"]*)"/g)].map(([, href = ""]) =>
    href.replaceAll("&amp;", "&"),
  );
  const link = links.find((href) => href.startsWith(start));
  if (link === undefined) throw new Error(`no link to ${start} among ${links.join(" ")}`);
  return link;
}

const reasonOf = async (answer: Visit): Promise<string> => {
  const row = env.DB.prepare("SELECT group_concat(reason, ' | ') AS reason FROM audit_entry WHERE request_id = ?");
  return (await row.bind(answer.headers.get("plat-request-id")).first<string>("reason")) ?? "";
};
async function expectError(answer: Visit, error: string, reason: string): Promise<void> {
  const { query } = landed(answer.status === 400 ? { ...answer, location: linkTo(APP_URI, answer) } : answer);
  expect(Object.fromEntries(query)).toMatchObject({ error, state: "a state" });
  expect(await reasonOf(answer)).toContain(reason);
}
/** Expects the page that asks for the password. It signs nobody in. */
function expectPage(answer: Visit & { readonly browser: Browser }, status = 200): void {
  expect([answer.status, answer.forms.map(({ action }) => new URL(action).pathname)]).toEqual([
    status,
    ["/oauth2/v1/link-identity"],
  ]);
  expect(answer.browser.cookie("session")).toBeUndefined();
}
const codeOf = (answer: Visit): string => {
  const code = landed(answer).query.get("code");
  if (code === null) throw new Error(`no code: ${answer.location}`);
  return code;
};
const tokenOf = async (form: Record<string, string>, status = 200): Promise<any> =>
  expectJson(
    await call("/oauth2/v1/token", {
      form,
      headers: { authorization: basic({ clientId: app.clientId, clientSecret: app.clientSecret }) },
    }),
    status,
  );
const redeem = (answer: Visit): Promise<any> =>
  tokenOf({ grant_type: "authorization_code", code: codeOf(answer), redirect_uri: app.redirectUri });
const refresh = (token: string, status?: number): Promise<any> =>
  tokenOf({ grant_type: "refresh_token", refresh_token: token }, status);
const introspected = async (token: string): Promise<any> =>
  expectJson(await call("/oauth2/v1/introspect", { form: { token }, headers: { authorization: basic(app) } }), 200);
const identityClaims = async ({ id }: Provider): Promise<any> => {
  const answer = await operate(`users/${ada.email}/identities/${id}`);
  return answer.status === 404 ? undefined : expectJson(answer, 200);
};

describe("The first sign-in by a provider", () => {
  // shows: oauth/authorize/custom-provider-user
  // shows: oauth/authorize/linked-account
  it("requires the account's password once; then the account there is the user, whatever its address", async () => {
    const provider = await makeProvider();
    const page = await signIn(provider);
    expectPage(page);
    expect(page.headers.get("cache-control")).toContain("no-store");
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(page.html).toContain(ada.email);
    expect(page.html).toContain(provider.id);
    expect(await identityClaims(provider)).toBeUndefined();
    const again = await page.browser.submit(page, { password: "a guess" });
    expectPage({ ...again, browser: page.browser }, 400);
    expect(await reasonOf(again)).toBe("wrong password");
    const back = await page.browser.submit(again, { password: ada.password });
    expect(decodeJwt((await redeem(back)).id_token)).toMatchObject({ email: ada.email });
    expect(page.browser.cookie("device")).toBeDefined();
    expect(await identityClaims(provider)).toMatchObject({ subject: subjectOf(ada), linkedBy: "password" });
    const audit = await expectJson<any[]>(await operate(`audit?subject=users/${ada.email}/identities`), 200);
    expect(audit).toMatchObject([{ action: "link identity", actor: `user ${ada.email}`, reason: "by password" }]);

    for (const claims of [{ email: "another@elsewhere.example" }, { email: undefined }, { email_verified: false }])
      expect(decodeJwt((await redeem(await signIn(provider, { claims }))).id_token)["email"]).toBe(ada.email);
  });

  // shows: oauth/authorize/linked-account
  // shows: asvs/v6-authentication/6.8.1
  it("gives a stranger nothing by a user's verified address, at another tenant's provider (p13)", async () => {
    // Ada has an account with the same `sub` at another provider.
    const ours = await makeProvider();
    await linkAccount(ada, ours);
    expect(codeOf(await signIn(ours))).toBeTruthy();
    const mallory = await makeProvider();
    const page = await signIn(mallory);
    expectPage(page);
    const elsewhere = await visit(page.browser, app, { scope: "openid" });
    expect([elsewhere.status, elsewhere.html.includes('name="email"')]).toEqual([200, true]);
  });

  // shows: oauth/authorize/linked-account
  it("links no second account of the same provider to a user, until the operator moves the link", async () => {
    const provider = await makeProvider();
    await linkAccount(ada, provider);
    const claims = { sub: "another account with her address" };
    await expectError(await signIn(provider, { claims }), "access_denied", "linked to another account there");
    const first = await signIn(provider);
    const tokens = await redeem(first);
    await put(`users/${ada.email}/identities/${provider.id}`, { subject: claims.sub });
    expect(codeOf(await signIn(provider, { claims }))).toBeTruthy();
    await expectError(await signIn(provider), "access_denied", "linked to another account there");
    expect((await visit(first.browser, app)).status).toBe(200);
    expect(await refresh(tokens.refresh_token, 400)).toMatchObject({ error: "invalid_grant" });
    expect((await call("/oauth2/v1/userinfo", { token: tokens.access_token })).status).toBe(401);
  });

  it("counts a wrong password like every other guess, and blocks", async () => {
    const provider = await makeProvider();
    let page: Visit & { browser: Browser } = await signIn(provider);
    const { browser } = page;
    for (let guess = 0; guess < 15; guess++) page = { ...(await browser.submit(page, { password: "no" })), browser };
    const right = await browser.submit(page, { password: ada.password });
    expectPage({ ...right, browser }, 400);
    expect(right.html).toMatch(/too many unsuccessful/i);
    expect(await identityClaims(provider)).toBeUndefined();
  });

  it("belongs to its browser, for ten minutes and from our own page, and its content cannot be changed", async () => {
    const provider = await makeProvider();
    const page = await signIn(provider);
    const [form] = page.forms;
    const fields = { ...form!.fields, password: ada.password };
    const stranger = new Browser();
    await visit(stranger, app);
    const mallory = await makeUser({ tenant: ada.tenant });
    const other = (await signIn(provider, { user: mallory })).forms[0]!;
    const answers = [
      await stranger.post(form!.action, fields),
      await new Browser().post(form!.action, fields),
      await page.browser.post(form!.action, fields, "cross-site"),
      await page.browser.post(form!.action, { ...fields, vouched: other.fields["vouched"]! }),
      await page.browser.post(form!.action, { ...fields, vouched: `${form!.fields["vouched"]}x` }),
      await page.browser.post(form!.action, { password: ada.password }),
    ];
    expect(answers.map(({ status, forms }) => [status, forms.length])).toEqual(answers.map(() => [400, 0]));
    expect(await identityClaims(provider)).toBeUndefined();
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(Date.now() + TEN_MINUTES_MS);
    expect((await page.browser.post(form!.action, fields)).forms).toEqual([]);
    vi.setSystemTime(Date.now() - 30_000);
    expect(codeOf(await page.browser.post(form!.action, fields))).toBeTruthy();
  });

  it("links one of two accounts there that are confirmed at once", async () => {
    const provider = await makeProvider();
    const pages = [await signIn(provider), await signIn(provider, { claims: { sub: "the other" } })];
    const answers = await Promise.all(pages.map((page) => page.browser.submit(page, { password: ada.password })));
    const codes = answers.filter((answer) => landed(answer).query.has("code"));
    expect(codes).toHaveLength(1);
    const refused = answers.find((answer) => !codes.includes(answer))!;
    await expectError(refused, "access_denied", "just changed");
    // The same form, sent twice, succeeds twice.
    const own = await makeProvider();
    const page = await signIn(own);
    const both = [0, 1].map(() => page.browser.submit(page, { password: ada.password }));
    for (const answer of await Promise.all(both)) expect(codeOf(answer)).toBeTruthy();
  });

  it("links nothing if the operator changed it meanwhile", async () => {
    const provider = await makeProvider();
    const page = await signIn(provider);
    const { issuer } = await makeProvider();
    await put(`identity-providers/${provider.id}`, { issuer, clientId: CLIENT_ID, clientSecret: CLIENT_SECRET });
    await expectError(await page.browser.submit(page, { password: ada.password }), "access_denied", "just changed");
  });

  it("shows no page if the client wants none or expects another user", async () => {
    const provider = await makeProvider();
    const silent = await signIn(provider, { asked: { prompt: "none" } });
    expect(landed(silent).query.get("error")).toBe("interaction_required");
    const bob = await makeUser({ tenant: ada.tenant });
    await linkAccount(bob, provider);
    const { id_token: hint } = await redeem(await signIn(provider, { user: bob }));
    const answer = await signIn(provider, { asked: { id_token_hint: hint, prompt: "login" } });
    expect(landed(answer).query.get("error")).toBe("login_required");
  });

  // shows: oauth/authorize/linked-account
  it("needs the operator for users without a password, and for everybody if linking is the operator's", async () => {
    await env.DB.prepare("UPDATE user SET password_hash = NULL WHERE email = ?").bind(ada.email).run();
    const [confirm, byOperator] = [await makeProvider(), await makeProvider({ linking: "operator" })];
    const bob = await makeUser({ tenant: ada.tenant });
    for (const [provider, user] of [
      [confirm, ada],
      [byOperator, bob],
    ] as const) {
      await expectError(await signIn(provider, { user }), "access_denied", "an operator has to link");
      await linkAccount(user, provider);
      expect(codeOf(await signIn(provider, { user }))).toBeTruthy();
    }
  });

  // shows: oauth/authorize/linked-account
  it("is enough by itself at a provider that links by the addresses of its domains", async () => {
    const provider = await makeProvider({ linking: "verified_email", domains: ["EXAMPLE.org"] });
    expect(codeOf(await signIn(provider))).toBeTruthy();
    expect(await identityClaims(provider)).toMatchObject({ linkedBy: "verified_email" });
    await expectError(await signIn(provider, { claims: { sub: "x" } }), "access_denied", "linked to another account");
    // A provider bound to a tenant only, which no PUT can make, links no address.
    const ofTenant = await makeProvider({ tenants: [ada.tenant] });
    await env.DB.prepare("UPDATE identity_provider SET linking = 'verified_email' WHERE id = ?1")
      .bind(ofTenant.id)
      .run();
    await expectError(await signIn(ofTenant), "access_denied", "an operator has to link");
  });

  it.each(["", "x".repeat(256), "\u00e9", "nul\0"])("is refused of an account named %o", async (sub) => {
    const answer = await signIn(await makeProvider(), { claims: { sub } });
    expect(landed(answer).query.get("error")).toBe("access_denied");
  });
});

describe("A link", () => {
  // shows: oauth/authorize/linked-account-end
  it("ends with the user, the provider, its issuer, or by the operator; then the next sign-in is a first one", async () => {
    const provider = await makeProvider();
    const ends: (() => Promise<unknown>)[] = [
      () => operate(`users/${ada.email}/identities/${provider.id}`, "DELETE"),
      async () => {
        await operate(`users/${ada.email}`, "DELETE");
        await put(`users/${ada.email}`, { password: ada.password });
        await join(ada.email, ada.tenant);
      },
      async () => {
        await operate(`identity-providers/${provider.id}`, "DELETE");
        await put(`identity-providers/${provider.id}`, {
          issuer: provider.issuer,
          clientId: CLIENT_ID,
          clientSecret: CLIENT_SECRET,
        });
      },
      async () => {
        const registration = { clientId: CLIENT_ID, clientSecret: CLIENT_SECRET };
        await put(`identity-providers/${provider.id}`, { ...registration, issuer: "https://another.example" });
        await put(`identity-providers/${provider.id}`, { ...registration, issuer: provider.issuer });
      },
    ];
    for (const end of ends) {
      await linkAccount(ada, provider);
      const before = await signIn(provider);
      const { refresh_token: token } = await redeem(before);
      await end();
      expect(await identityClaims(provider)).toBeUndefined();
      expect((await visit(before.browser, app)).status).toBe(200);
      expect(await refresh(token, 400)).toMatchObject({ error: "invalid_grant" });
      expectPage(await signIn(provider));
    }
  });

  // shows: operator/resources/users-email-identities-provider
  it("can be made, listed, shown and removed by the operator", async () => {
    const provider = await makeProvider();
    const path = `users/${ada.email}/identities/${provider.id}`;
    const made = await expectJson(await operate(path, "PUT", { subject: "a" }), 201);
    const shown = { email: ada.email, provider: provider.id, subject: "a", linkedBy: "operator" };
    expect(made).toEqual({ ...shown, linkedAt: expect.any(Number) });
    expect(await expectJson(await operate(path), 200)).toEqual(made);
    expect(await expectJson(await operate(`users/${ada.email}/identities`), 200)).toEqual([made]);
    expect(await expectJson(await operate(path, "PUT", { subject: "a" }), 200)).toEqual(made);
    expect(await expectJson(await operate(path, "PUT", { subject: "b" }), 200)).toMatchObject({ subject: "b" });
    const bob = await makeUser({ tenant: ada.tenant });
    const taken = await operate(`users/${bob.email}/identities/${provider.id}`, "PUT", { subject: "b" });
    expect((await expectJson(taken, 409)).details).toMatchObject([{ type: "taken", field: "subject" }]);
    for (const absent of [`users/${ada.email}/identities/none`, `users/no@body.example/identities/${provider.id}`])
      expect((await operate(absent, "PUT", { subject: "c" })).status).toBe(404);
    for (const subject of ["", "x".repeat(256), "\u00e9", "a\nb", 7])
      expect((await operate(path, "PUT", { subject })).status).toBe(400);
    expect((await operate("users/no@body.example/identities")).status).toBe(404);
    expect((await operate(path, "DELETE")).status).toBe(204);
    expect((await operate(path, "DELETE")).status).toBe(404);
  });
});

describe("An essential acr", () => {
  // shows: asvs/v6-authentication/6.8.4
  it("of a password is not met by a provider: the person enters the password, or the client gets an error", async () => {
    const provider = await makeProvider();
    await linkAccount(ada, provider);
    const { browser } = await signIn(provider);
    const acr = { essential: true, value: PASSWORD_SIGN_IN };
    const essential = { scope: "openid", claims: JSON.stringify({ id_token: { acr } }) };
    const unmet = "unmet_authentication_requirements";
    await expectError(await signIn(provider, { asked: essential }), unmet, "does not take this way to sign in");
    expect(landed(await visit(browser, app, { ...essential, prompt: "none" })).query.get("error")).toBe(
      "login_required",
    );
    const page = await visit(browser, app, { ...essential, plat_id_provider: "default_idp" });
    expect(page.status).toBe(200);
    const tokens = await redeem(await browser.submit(page, { email: ada.email, password: ada.password }));
    expect(decodeJwt(tokens.id_token)["acr"]).toBe(acr.value);
  });
});

describe("A provider that is bound to tenants", () => {
  // shows: oauth/authorize/provider-bound-to-tenants
  it("reaches only these: by the code, the refresh token and the ID token, without a page", async () => {
    const provider = await makeProvider({ tenants: [ada.tenant] });
    await linkAccount(ada, provider);
    const other = await makeTenant();
    await join(ada.email, other);
    const theirs = await makeApp({ tenant: other });
    const first = await signIn(provider);
    const tokens = await redeem(first);
    expect(decodeJwt(tokens.access_token)["tenant"]).toBe(ada.tenant);
    expect(await refresh(tokens.refresh_token)).toMatchObject({ token_type: "Bearer" });

    const asked = { plat_id_provider: provider.id };
    const bound = `is bound to ${ada.tenant}`;
    for (const scope of ["plat.no_tenant", "plat.org=x"])
      await expectError(await visit(first.browser, app, { ...asked, scope }), "invalid_scope", bound);
    await expectError(await visit(first.browser, theirs, asked), "access_denied", bound);
    for (const scope of [`plat.tenant=${other}`, "plat.no_tenant"])
      await expectError(await visit(first.browser, theirs, { ...asked, scope }), "invalid_scope", bound);
    await expectError(await signIn(provider, { app: theirs, asked: { prompt: "login" } }), "access_denied", bound);
    const hint = { id_token_hint: tokens.id_token, prompt: "none" };
    const elsewhere = { ...hint, ...asked, scope: "plat.no_tenant" };
    await expectError(await visit(new Browser(), app, elsewhere), "invalid_scope", bound);
    expect(landed(await visit(new Browser(), app, hint)).query.get("error")).toBe("login_required");
    expect(codeOf(await visit(new Browser(), app, { ...hint, ...asked }))).toBeTruthy();
  });

  it("is not represented by an ID token of another provider's sign-in, nor of the platform's own directory", async () => {
    const [provider, other] = [await makeProvider(), await makeProvider()];
    await linkAccount(ada, provider);
    const byProvider = await redeem(await signIn(provider));
    const byPassword = await redeem(await signInThrough(new Browser(), app, ada, OWN));
    for (const { id_token } of [byProvider, byPassword]) {
      const answer = await visit(new Browser(), app, { id_token_hint: id_token, plat_id_provider: other.id });
      expect(new URL(answer.location ?? "").origin).toBe(other.issuer);
    }
  });

  // shows: oauth/authorize/provider-bound-to-tenants
  it("does not stand in for the platform's own directory: the user is asked there", async () => {
    const [bound, open] = [await makeProvider({ tenants: [ada.tenant] }), await makeProvider()];
    for (const [provider, status] of [
      [bound, 200],
      [open, 302],
    ] as const) {
      await linkAccount(ada, provider);
      const { browser } = await signIn(provider);
      expect((await visit(browser, app)).status).toBe(status);
      expect((await visit(browser, app, { plat_id_provider: provider.id })).status).toBe(302);
    }
  });

  // shows: oauth/authorize/provider-bound-to-tenants
  it("limits earlier sessions, refresh tokens and ID tokens too", async () => {
    const provider = await makeProvider();
    await linkAccount(ada, provider);
    const first = await signIn(provider);
    const tokens = await redeem(first);
    const elsewhere = await makeTenant();
    await bindProvider(provider, { tenants: [elsewhere] });
    expect(await refresh(tokens.refresh_token, 400)).toMatchObject({ error: "invalid_grant" });
    expect(await introspected(tokens.refresh_token)).toEqual({ active: false });
    const bound = `is bound to ${elsewhere}`;
    const asked = { plat_id_provider: provider.id };
    await expectError(await visit(first.browser, app, asked), "access_denied", bound);
    const hint = { ...asked, id_token_hint: tokens.id_token, prompt: "none" };
    await expectError(await visit(new Browser(), app, hint), "access_denied", bound);
    await bindProvider(provider, { tenants: [] });
    expect(await introspected(tokens.refresh_token)).toMatchObject({ active: true });
    expect(await refresh(tokens.refresh_token)).toMatchObject({ token_type: "Bearer" });
  });

  it("offers only its own tenants to choose from", async () => {
    const provider = await makeProvider({ tenants: [ada.tenant] });
    await linkAccount(ada, provider);
    await join(ada.email, await makeTenant());
    const answer = await signIn(provider, { asked: { response_type: "token", scope: undefined } });
    const token = landed(answer).fragment.get("access_token") ?? "";
    expect(decodeJwt(token)["tenant"]).toBe(ada.tenant);
  });
});

describe("A provider that is bound to domains", () => {
  // shows: oauth/authorize/provider-bound-to-domains
  it("vouches for no other domain, no subdomain, and no user from before the binding", async () => {
    const provider = await makeProvider({ domains: ["sub.example.org", "xexample.org"] });
    await expectError(await signIn(provider), "access_denied", "not bound to the domain");
    await linkAccount(ada, provider);
    await expectError(await signIn(provider), "access_denied", "not bound to the domain");
    await bindProvider(provider, { domains: ["Example.ORG"] });
    const first = await signIn(provider);
    const tokens = await redeem(first);
    expect((await visit(first.browser, app)).status).toBe(200);
    expect((await visit(first.browser, app, { plat_id_provider: provider.id })).status).toBe(302);
    await bindProvider(provider, { domains: ["elsewhere.example"] });
    expect(await refresh(tokens.refresh_token, 400)).toMatchObject({ error: "invalid_grant" });
    const again = await visit(first.browser, app, { plat_id_provider: provider.id });
    expect(new URL(again.location ?? "").origin).toBe(provider.issuer);
  });

  // shows: oauth/authorize/provider-outside-page
  it("shows a page that leads to another way to sign in and back to the client, and signs nobody in", async () => {
    const provider = await makeProvider({ domains: ["elsewhere.example"] });
    for (const isLinked of [false, true]) {
      if (isLinked) await linkAccount(ada, provider);
      const page = await signIn(provider);
      expect([page.status, page.forms]).toEqual([400, []]);
      expect(page.html).toContain(ada.email);
      expect(page.html).not.toContain("elsewhere.example");
      expect(page.browser.cookie("session")).toBeUndefined();
      expect(landed({ ...page, location: linkTo(APP_URI, page) }).query.get("error")).toBe("access_denied");
      const form = await page.browser.get(linkTo(ORIGIN, page));
      expect(codeOf(await page.browser.submit(form, { email: ada.email, password: ada.password }))).toBeTruthy();
    }
    const silent = await signIn(provider, { asked: { prompt: "none" } });
    expect(landed(silent).query.get("error")).toBe("access_denied");
    const [agent, service] = [await makeAgent(), await makeService(ada.tenant)];
    const agents = { address: addressOf(agent, service, { plat_id_provider: provider.id }) };
    for (const start of [agent.redirectUri, ORIGIN]) linkTo(start, await signIn(provider, agents));
    const other = await makeTenant();
    await join(ada.email, other);
    const ofTenant = await makeProvider({ tenants: [ada.tenant] });
    await linkAccount(ada, ofTenant);
    const theirs = await makeApp({ tenant: other });
    const refused = await signIn(ofTenant, { app: theirs });
    expect(refused.status).toBe(400);
    await expectError(refused, "access_denied", `is bound to ${ada.tenant}`);
    const again = await refused.browser.get(linkTo(ORIGIN, refused));
    expect(codeOf(await refused.browser.submit(again, { email: ada.email, password: ada.password }))).toBeTruthy();
  });

  it("keeps what a PUT omits, and a PUT that makes no sense is refused", async () => {
    const provider = await makeProvider({ tenants: [ada.tenant], domains: ["b.example", "A.example", "b.example"] });
    await bindProvider(provider, { scopes: ["openid"] });
    const path = `identity-providers/${provider.id}`;
    expect(await expectJson(await operate(path), 200)).toMatchObject({
      tenants: [ada.tenant],
      domains: ["a.example", "b.example"],
      linking: "confirm",
    });
    const { issuer } = provider;
    const registration = { issuer, clientId: CLIENT_ID, clientSecret: CLIENT_SECRET };
    for (const [field, fields] of [
      ["tenants[0]", { tenants: [unique("t").slice(0, 16)] }],
      ["domains[0]", { domains: ["a@b.example"] }],
      ["domains[0]", { domains: ["example"] }],
      ["domains[0]", { domains: [""] }],
      ["linking", { linking: "always" }],
      ["linking", { linking: "verified_email", domains: [] }],
    ] as const) {
      const refused = await expectJson(await operate(path, "PUT", { ...registration, ...fields }), 400);
      expect(refused.details[0].field).toBe(field);
    }
    await bindProvider(provider, { linking: "verified_email" });
    expect((await operate(path, "PUT", { ...registration, domains: [] })).status).toBe(400);
    expect((await operate(path, "PUT", { ...registration, domains: [], linking: "operator" })).status).toBe(200);
  });
});
