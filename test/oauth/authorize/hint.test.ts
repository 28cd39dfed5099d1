import { decodeJwt } from "jose";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { isLiving } from "../support/answers.ts";
import { CHALLENGE, VERIFIER } from "../support/code.ts";
import { Browser, landed, type Visit } from "../../support/browser.ts";
import { call, expectJson, ORIGIN } from "../../support/platform/call.ts";
import { operate, put, putService } from "../../support/platform/operator.ts";
import { makeTenant } from "../../support/platform/tenants.ts";
import { basic } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";
import { errorOf, makeApp, signInThrough, visit, type TestApp } from "../../support/sign-in.ts";
import { join, makeUser, type TestUser } from "../../support/users.ts";

/** `id_token_hint`: the lifetime of an ID token as a sign-in, and the tokens issued for it. */
const OAUTH = `${ORIGIN}/oauth2/v1`;
const SCOPES = ["plat.media_view", "plat.media_manage"];

interface Tokens {
  readonly access_token: string;
  readonly id_token: string;
  readonly refresh_token?: string;
  readonly expires_in: number;
  readonly scope: string;
}

/** A signed-in user of a client without a secret, with an ID token of the code flow. */
interface Signed {
  readonly user: TestUser;
  readonly app: TestApp;
  readonly browser: Browser;
  readonly tokens: Tokens;
}

const PKCE = { code_challenge: CHALLENGE, code_challenge_method: "S256" };

/** `POST /token` for the code of a response, as a client without a secret. */
async function redeem(app: TestApp, answer: Visit): Promise<Tokens> {
  const code = landed(answer).query.get("code");
  if (code === null) throw new Error(`no code: ${answer.location}`);
  const form = {
    grant_type: "authorization_code",
    client_id: app.clientId,
    code,
    redirect_uri: app.redirectUri,
    code_verifier: VERIFIER,
  };
  return expectJson<Tokens>(await call("/oauth2/v1/token", { form }), 200);
}

const refresh = (app: TestApp, token = ""): Promise<Response> =>
  call("/oauth2/v1/token", {
    form: { grant_type: "refresh_token", client_id: app.clientId, refresh_token: token },
  });

async function signed(app: TestApp, user: TestUser, scope = "openid plat.media_view"): Promise<Signed> {
  const browser = new Browser();
  const tokens = await redeem(app, await signInThrough(browser, app, user, { scope, ...PKCE }));
  return { user, app, browser, tokens };
}

/** Sends a request with the ID token, from a browser without cookies. */
const silently = (app: TestApp, hint: string, more: Record<string, string> = {}): Promise<Visit> =>
  visit(new Browser(), app, { prompt: "none", id_token_hint: hint, ...PKCE, ...more });

const implicitly = async (from: Browser, app: TestApp): Promise<URLSearchParams> =>
  landed(await visit(from, app, { response_type: "id_token token", nonce: "n", scope: "openid" })).fragment;

const operator = async (path: string, method = "POST"): Promise<number> => (await operate(path, method)).status;
const sidOf = (token: string): string => decodeJwt<{ sid: string }>(token).sid;

let tenant: string;
let web: TestApp;
beforeAll(async () => {
  tenant = await makeTenant();
  web = await makeApp({ tenant, confidential: false, scopes: SCOPES });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("A valid ID token hint", () => {
  it("returns a code without a page, within the scopes of its grant, and never a refresh token", async () => {
    const { app, tokens } = await signed(web, await makeUser({ tenant }));
    expect(tokens.refresh_token).toEqual(expect.any(String));
    const wider = { scope: `plat.tenant=${tenant} openid plat.media_manage` };
    expect(errorOf(await silently(app, tokens.id_token, wider)).error).toBe("invalid_scope");
    for (const scope of ["openid plat.media_view", `plat.tenant=${tenant}`, undefined]) {
      const got = await redeem(app, await silently(app, tokens.id_token, scope === undefined ? {} : { scope }));
      expect(got.refresh_token).toBeUndefined();
      expect(got.scope.split(" ")).toContain("plat.media_view");
      expect(got.scope).not.toContain("plat.media_manage");
      expect(decodeJwt(got.access_token)["gid"]).toBe(decodeJwt(tokens.access_token)["gid"]);
    }
    // A grant of `openid` alone never gives service scopes. Clients of other vendors often request only that.
    const bare = await signed(web, await makeUser({ tenant }), "openid");
    expect((await redeem(app, await silently(app, bare.tokens.id_token))).scope).toBe(`plat.tenant=${tenant}`);
  });

  it("limits access token, code, ID token and later hints to its own lifetime", async () => {
    const startMs = Math.ceil(Date.now() / 1000) * 1000 + 1_000;
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(startMs);
    const { app, tokens } = await signed(web, await makeUser({ tenant }));
    const { exp, auth_time } = decodeJwt<{ exp: number; auth_time: number }>(tokens.id_token);
    let hint = tokens.id_token;
    for (const minutes of [20, 40, 59]) {
      vi.setSystemTime(startMs + minutes * 60_000);
      const got = await redeem(app, await silently(app, hint, { scope: "openid plat.media_view" }));
      expect(got.expires_in).toBe((60 - minutes) * 60);
      expect(decodeJwt(got.access_token)["exp"]).toBe(exp);
      expect(decodeJwt(got.id_token)).toMatchObject({ exp, auth_time });
      const { fragment } = landed(await silently(app, hint, { response_type: "token" }));
      expect(fragment.get("expires_in")).toBe(String((60 - minutes) * 60));
      hint = got.id_token;
    }
    vi.setSystemTime(startMs + 3_590_000);
    const late = await silently(app, hint);
    vi.setSystemTime(startMs + 3_600_000);
    await expect(redeem(app, late)).rejects.toThrow();
    expect(errorOf(await silently(app, hint)).error).toBe("login_required");
  });

  it("returns a token for another tenant, with the grant's scopes that the user's roles hold there", async () => {
    const service = unique("svc");
    const scopes = [`${service}.read`, `${service}.write`];
    const other = await makeTenant();
    await put(`organizations/of-${other}`, { name: "Provider" });
    await putService(service, { scopes, tenant });
    await put(`packages/${service}`, { version: "1", organization: `of-${other}`, services: [service] });
    await put(`tenants/${other}/subscriptions/${service}`, {});
    const user = await makeUser({ tenant, scopes });
    await join(user.email, other, scopes);
    const app = await makeApp({ tenant, service, scopes, confidential: false });
    const { tokens } = await signed(app, user, `openid ${service}.read`);
    const there = await redeem(app, await silently(app, tokens.id_token, { scope: `openid plat.tenant=${other}` }));
    expect(there.scope).toBe(`plat.tenant=${other} openid`);
    const all = await redeem(app, await silently(app, there.id_token, { scope: `plat.tenant=${other}` }));
    expect(all.scope).toBe(`plat.tenant=${other} ${service}.read`);
    const beyond = await silently(app, there.id_token, { scope: `plat.tenant=${other} ${service}.write` });
    expect(errorOf(beyond).error).toBe("invalid_scope");
    // The ID token for the other tenant gets a token for the first one. Revocations of either tenant end it.
    expect((await redeem(app, await silently(app, there.id_token))).scope).toBe(
      `plat.tenant=${tenant} ${service}.read`,
    );
    expect(await operator(`tenants/${tenant}/revoke`)).toBe(204);
    expect(errorOf(await silently(app, there.id_token)).error).toBe("login_required");
  });

  it("yields to the session of the browser, which grants as a sign-in does", async () => {
    const { app, browser, tokens } = await signed(web, await makeUser({ tenant }));
    const asked = { scope: "openid plat.media_manage", id_token_hint: tokens.id_token, prompt: "none", ...PKCE };
    const got = await redeem(app, await visit(browser, app, asked));
    expect(got.refresh_token).toEqual(expect.any(String));
    expect(got.scope).toContain("plat.media_manage");
  });
});

/** The events that end a hint. */
const ENDINGS: readonly (readonly [string, (signedIn: Signed) => Promise<unknown>])[] = [
  ["/end_session", ({ app, browser }) => browser.get(`${OAUTH}/end_session?client_id=${app.clientId}`)],
  [
    "another sign-in in the browser",
    ({ app, browser, user }) => signInThrough(browser, app, user, { prompt: "login", ...PKCE }),
  ],
  ["sign-out at /account", ({ browser }) => atAccount(browser, "sign-out")],
  [
    "access taken away at /account",
    ({ app, browser }) => atAccount(browser, "remove-access", { client_id: app.clientId }),
  ],
  ["everything ended at /account", ({ browser }) => atAccount(browser, "end-all")],
  [
    "DELETE /refreshtokens",
    ({ tokens }) => call("/oauth2/v1/refreshtokens", { method: "DELETE", token: tokens.access_token }),
  ],
  [
    "DELETE /refreshtokens/{id}",
    ({ tokens }) => {
      const { gid } = decodeJwt<{ gid: string }>(tokens.access_token);
      return call(`/oauth2/v1/refreshtokens/${gid}`, { method: "DELETE", token: tokens.access_token });
    },
  ],
  [
    "/revoke of the refresh token",
    ({ app, tokens }) =>
      call("/oauth2/v1/revoke", { form: { client_id: app.clientId, token: tokens.refresh_token ?? "" } }),
  ],
  [
    "a refresh token used twice",
    async ({ app, tokens }) => {
      const next = await expectJson<Tokens>(await refresh(app, tokens.refresh_token), 200);
      await refresh(app, next.refresh_token);
      await refresh(app, tokens.refresh_token);
    },
  ],
  ["an operator: the session", ({ tokens }) => operator(`sessions/${sidOf(tokens.access_token)}/revoke`)],
  ["an operator: the client", ({ app }) => operator(`clients/${app.clientId}/revoke`)],
  ["an operator: the tenant", () => operator(`tenants/${tenant}/revoke`)],
  ["an operator: the user", ({ user }) => operator(`users/${user.email}/revoke`)],
  [
    "the user is disabled for a moment",
    async ({ user }) => {
      await put(`users/${user.email}`, { disabled: true });
      await put(`users/${user.email}`, { disabled: false });
    },
  ],
  ["the user has another password", ({ user }) => put(`users/${user.email}`, { password: "another password" })],
  [
    "the user is removed, and another has the address",
    async ({ user }) => {
      await operator(`users/${user.email}`, "DELETE");
      await put(`users/${user.email}`, {});
      await join(user.email, tenant);
    },
  ],
  [
    "twelve hours",
    async () => {
      vi.useFakeTimers({ toFake: ["Date"] });
      vi.setSystemTime(Date.now() + 12 * 3_600_000);
    },
  ],
];

async function atAccount(browser: Browser, form: string, fields: Record<string, string> = {}): Promise<void> {
  const page = await browser.get(`${ORIGIN}/account`);
  const found = page.forms.find(({ action }) => action.endsWith(`/account/${form}`));
  const csrf = page.forms[0]?.fields["csrf"] ?? "";
  const answer = await browser.post(found?.action ?? `${ORIGIN}/account/${form}`, { csrf, ...fields });
  expect(answer.status, form).toBe(303);
}

describe("An ID token hint is not valid", () => {
  it.each(ENDINGS)("after %s, neither the first one nor a later one of the chain", async (_, end) => {
    const user = await makeUser({ tenant });
    const app = await makeApp({ tenant, confidential: false, scopes: SCOPES });
    const own = await signed(app, user);
    const chained = (await redeem(app, await silently(app, own.tokens.id_token, { scope: "openid" }))).id_token;
    const hints = [own.tokens.id_token, chained];
    for (const hint of hints) expect(landed(await silently(app, hint)).query.get("code")).not.toBeNull();
    await end(own);
    for (const hint of hints) {
      const answer = await silently(app, hint);
      expect(errorOf(answer).error).toBe("login_required");
      expect(landed(answer).query.get("code")).toBeNull();
    }
  });

  it.each(ENDINGS.filter(([what]) => /taken away|DELETE \/refreshtokens$|the client/.test(what)))(
    "after %s, without a refresh grant (implicit flow)",
    async (_, end) => {
      const user = await makeUser({ tenant });
      const app = await makeApp({ tenant, confidential: false, scopes: SCOPES, grantTypes: ["implicit"] });
      const browser = new Browser();
      await signInThrough(browser, app, user, { response_type: "token" });
      const fragment = await implicitly(browser, app);
      const [idToken, accessToken] = [fragment.get("id_token") ?? "", fragment.get("access_token") ?? ""];
      const ask = () => silently(app, idToken, { response_type: "token" });
      const before = landed(await ask()).fragment.get("access_token") ?? "";
      expect(await isLiving(before)).toBe(true);
      await end({
        user,
        app,
        browser,
        tokens: { access_token: accessToken, id_token: idToken, expires_in: 0, scope: "" },
      });
      expect(errorOf(await ask()).error).toBe("login_required");
    },
  );

  it("after a code was used twice", async () => {
    const user = await makeUser({ tenant });
    const browser = new Browser();
    const answer = await signInThrough(browser, web, user, { scope: "openid", ...PKCE });
    const { id_token: hint } = await redeem(web, answer);
    expect(landed(await silently(web, hint)).query.get("code")).not.toBeNull();
    await expect(redeem(web, answer)).rejects.toThrow();
    expect(errorOf(await silently(web, hint)).error).toBe("login_required");
  });

  it("if it comes from the password grant, which has no session that its user could end", async () => {
    const user = await makeUser({ tenant });
    const app = await makeApp({ tenant, grantTypes: ["password", "authorization_code"] });
    const form = {
      grant_type: "password",
      plat_id_provider: "legacy_idp",
      username: user.email,
      password: user.password,
      scope: "openid",
    };
    const answer = await call("/oauth2/v1/token", { form, headers: { authorization: basic(app) } });
    const { id_token: hint } = await expectJson<Tokens>(answer, 200);
    expect(errorOf(await visit(new Browser(), app, { prompt: "none", id_token_hint: hint })).error).toBe(
      "login_required",
    );
  });
});

/** Attacks that a security review tried. */
describe("Attacks with a hint", () => {
  it("p1: fail after sign-out, deleted grants and a revoked session: a hint is no renewable login", async () => {
    const { user, app, browser, tokens } = await signed(web, await makeUser({ tenant }), "openid");
    await browser.get(`${OAUTH}/end_session?client_id=${app.clientId}`);
    await call("/oauth2/v1/refreshtokens", { method: "DELETE", token: tokens.access_token });
    await operator(`sessions/${sidOf(tokens.access_token)}/revoke`);
    const scope = `plat.tenant=${user.tenant} openid plat.media_view plat.media_manage`;
    const answer = await silently(app, tokens.id_token, { scope });
    expect(errorOf(answer).query).toBe("login_required");
    expect(landed(answer).query.get("code")).toBeNull();
  });

  it("p14: with a stolen cookie and a chosen session id stay in the victim's session, and end with it", async () => {
    const { user, app, browser, tokens } = await signed(web, await makeUser({ tenant }));
    const thief = new Browser();
    for (const [name, value] of browser.cookies) thief.cookies.set(name, value);
    const stolen = await redeem(app, await visit(thief, app, { "plat-session-id": "zzz", ...PKCE }));
    expect(sidOf(stolen.access_token)).toBe(sidOf(tokens.access_token));
    expect(await operator(`sessions/${sidOf(tokens.access_token)}/revoke`)).toBe(204);
    for (const { access_token: token, refresh_token: lasting } of [tokens, stolen]) {
      expect(await isLiving(token)).toBe(false);
      expect((await refresh(app, lasting)).status).toBe(400);
    }
    expect((await visit(thief, app, { ...PKCE })).status).toBe(200);
    expect(user.tenant).toBe(tenant);
  });

  it("p14: with equal session names of two tenants revoke neither by name, and one by its id", async () => {
    const named = { "plat-session-id": unique("shared") };
    const both = await Promise.all(
      [1, 2].map(async () => {
        const identifyGrantClient = await makeApp({ grantTypes: ["client_credentials"] });
        const headers = { authorization: basic(identifyGrantClient) };
        const form = { grant_type: "client_credentials", ...named };
        return (await expectJson<Tokens>(await call("/oauth2/v1/token", { form, headers }), 200)).access_token;
      }),
    );
    const living = async () => Promise.all(both.map(isLiving));
    expect(await operator(`sessions/${named["plat-session-id"]}/revoke`)).toBe(204);
    expect(await living()).toEqual([true, true]);
    expect(await operator(`sessions/${sidOf(both[0] ?? "")}/revoke`)).toBe(204);
    expect(await living()).toEqual([false, true]);
  });
});
