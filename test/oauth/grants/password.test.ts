import { env } from "cloudflare:workers";
import { decodeJwt } from "jose";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { sha256Hex } from "../../../src/platform/secrets/hash.ts";
import { systemRandom } from "../../../src/platform/runtime/random.ts";
import { readConfig } from "../../../src/config.ts";
import { createUserStore } from "../../../src/oauth/users/user-store.ts";
import { Browser } from "../../support/browser.ts";
import { counting } from "../../support/counting.ts";
import { isolate } from "../../support/isolate.ts";
import { realPasswordCost } from "../../support/runtime/password-cost.ts";
import { call, expectJson } from "../../support/platform/call.ts";
import { ALL_SCOPES, type TestClient } from "../../support/platform/clients.ts";
import { OPERATOR, put } from "../../support/platform/operator.ts";
import { makeTenant } from "../../support/platform/tenants.ts";
import { basic, tokenFor } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";
import { makeApp, visit } from "../../support/sign-in.ts";
import { cheapHash, join, makeUser, type TestUser } from "../../support/users.ts";
import { isLiving } from "../support/answers.ts";

const TOKEN = "/oauth2/v1/token";
const WRONG = "The e-mail address or the password is wrong.";
const BLOCKED = "There were too many unsuccessful authentication attempts. Try again later.";

const formFor = (user: { email: string; password: string }, more: Record<string, string> = {}) => ({
  grant_type: "password",
  plat_id_provider: "legacy_idp",
  username: user.email,
  password: user.password,
  ...more,
});
const signIn = (user: { email: string; password: string }, more: Record<string, string> = {}, client?: TestClient) =>
  call(TOKEN, {
    form: formFor(user, more),
    ...(client === undefined ? {} : { headers: { authorization: basic(client) } }),
  });
const posted = (user: { email: string; password: string }): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/x-www-form-urlencoded" },
  body: new URLSearchParams(formFor(user)).toString(),
});
const info = async (token: string) =>
  expectJson(await call(`/oauth2/v1/tokeninfo?access_token=${encodeURIComponent(token)}`), 200);
const refusal = async (response: Response | Promise<Response>, status = 400) => {
  const { error, error_description } = await expectJson(await response, status);
  return { error, error_description };
};

async function makePasswordClient(
  tenant: string,
  more: { grantTypes?: string[]; scopes?: readonly string[]; confidential?: boolean } = {},
): Promise<TestClient> {
  const clientId = `${tenant}.${unique("app")}`;
  const settings = { tenant, confidential: true, grantTypes: ["password"], scopes: ALL_SCOPES };
  const created = await put(`clients/${clientId}`, { ...settings, ...more });
  return { clientId, clientSecret: created.clientSecret ?? "", tenant };
}

/** Rows of the audit log about an account or a client, the newest first. */
async function audited(match: Record<string, string>) {
  const response = await call("/admin/v1/audit?pageSize=1000", { token: await tokenFor(OPERATOR) });
  const rows = await expectJson<any[]>(response, 200);
  return rows.filter((row) => Object.entries(match).every(([field, value]) => row[field] === value));
}

let home: string;
beforeAll(async () => {
  home = await makeTenant();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("A text that is too long", () => {
  /** The longest text of a form; it takes half a second to normalize. */
  const ACCENTS = `a${"\u0301".repeat(15_900)}${"\u0323".repeat(15_900)}`;
  /** Tolerance for the machine that runs the tests. */
  const NOISE_MS = 300;

  it.each([
    ["an address", { username: ACCENTS, password: "x" }],
    ["the name in an address", { username: `${ACCENTS}@example.org`, password: "x" }],
    ["a password", { username: "nobody@example.org", password: ACCENTS }],
  ])("as %s is wrong, at the cost of any wrong sign-in", async (_, given) => {
    const timeOf = async ({ username, password }: typeof given): Promise<number> => {
      const body = `grant_type=password&plat_id_provider=legacy_idp&username=${username}&password=${password}`;
      const startMs = performance.now();
      const response = await call(TOKEN, { body, headers: { "content-type": "application/x-www-form-urlencoded" } });
      expect(await refusal(response)).toEqual({ error: "invalid_grant", error_description: WRONG });
      return performance.now() - startMs;
    };
    const plainMs = await timeOf({ username: `${unique("nobody")}@example.org`, password: "wrong" });
    expect(Math.min(await timeOf(given), await timeOf(given))).toBeLessThan(plainMs + NOISE_MS);
  });
});

describe("The password grant without a client: 200", () => {
  // shows: oauth/what-the-service-does/grant-password
  // shows: oauth/access-token-response/token_type
  // shows: oauth/access-token-response/user-of-the-password-grant
  // shows: oauth/post-token/trust-neither-id-nor-secret
  // shows: oauth/versioning/deprecated-password-grant
  // shows: oauth/token/no-client-tenant
  // shows: oauth/token/no-client-clientid-in-tokeninfo
  it("gives the scopes of the user's roles in the only tenant, and neither ID token nor refresh token", async () => {
    const user = await makeUser({
      tenant: home,
      scopes: ["plat.media_view", "plat.pubsub.topic=shop.*", "not.a_service"],
    });
    const response = await signIn(user);
    expect(response.headers.get("cache-control")).toBe("no-store");
    const body = await expectJson(response, 200);
    expect(Object.keys(body).sort()).toEqual(["access_token", "expires_in", "scope", "token_type"]);
    expect(body).toMatchObject({ token_type: "Bearer", expires_in: 3600 });
    const scope = `plat.tenant=${user.tenant} plat.media_view plat.pubsub.topic=shop.*`;
    expect(body.scope).toBe(scope);
    expect(await info(body.access_token)).toEqual({
      scopes: scope.split(" "),
      tenant: user.tenant,
      clientId: "",
      user: user.email,
    });
    expect(decodeJwt(body.access_token)).toMatchObject({ sub: user.email, client_auth: false, tenant_explicit: false });
    const openid = await expectJson(await signIn(user, { scope: "openid" }), 200);
    expect(openid.scope).toBe(`plat.tenant=${user.tenant} openid`);
    expect(openid).not.toHaveProperty("id_token");
    expect(openid).not.toHaveProperty("refresh_token");
  });

  // shows: oauth/scopes/plat.tenant-tenant
  // shows: oauth/scopes/plat.no_tenant
  // shows: oauth/scopes/plat.org-organization_id
  it("accepts a named tenant or organization, or none", async () => {
    const user = await makeUser({ tenant: home });
    const other = await makeTenant();
    await join(user.email, other, ["plat.media_view"]);
    const named = await expectJson(await signIn(user, { scope: `plat.tenant=${other}` }), 200);
    expect(named.scope).toBe(`plat.tenant=${other} plat.media_view`);
    expect(decodeJwt(named.access_token)["tenant_explicit"]).toBe(true);
    const outside = await expectJson(await signIn(user, { scope: "plat.no_tenant" }), 200);
    expect(await info(outside.access_token)).toMatchObject({ tenant: "", scopes: ["plat.no_tenant"] });
    await put(`organizations/${other}-org/members/${user.email}`, { roles: [] });
    const org = await expectJson(await signIn(user, { scope: `plat.org=${other}-org` }), 200);
    expect(decodeJwt(org.access_token)).toMatchObject({ org: `${other}-org`, tenant: "" });
  });

  it("accepts any spelling of the address and of the password's accents", async () => {
    const user = await makeUser({ tenant: home });
    await put(`users/${user.email}`, { name: "Ada", password: "caf\u00e9 au lait" });
    const wide = user.email.replace("example", "\uff45xample").toUpperCase();
    await expectJson(await signIn({ email: ` ${wide} `, password: "cafe\u0301 au lait" }), 200);
  });

  // shows: oauth/post-token/password-plat-session-id
  it("logs the caller's session id, and makes its own for each sign-in", async () => {
    const user = await makeUser({ tenant: home });
    const sidOf = async (more: Record<string, string>) =>
      decodeJwt((await expectJson(await signIn(user, more), 200)).access_token)["sid"];
    const [named, again] = [await sidOf({ "plat-session-id": "s-1" }), await sidOf({ "plat-session-id": "s-1" })];
    for (const sid of [named, again, await sidOf({})]) expect(sid).toMatch(/^[0-9a-f]{32}$/);
    expect(again).not.toBe(named);
  });
});

describe("The password grant with a client: 200", () => {
  // shows: oauth/post-token/trust-client_id-only
  // shows: oauth/token/client_id-without-secret
  it("is limited by the client's list too, and unauthenticated without the secret", async () => {
    const user = await makeUser({ tenant: home });
    const grantTypes = ["password", "refresh_token"];
    const client = await makePasswordClient(user.tenant, {
      grantTypes,
      scopes: ["plat.media_view", "plat.media_admin"],
    });
    const body = await expectJson(await signIn(user, { client_id: client.clientId }), 200);
    expect(body.scope).toBe(`plat.tenant=${user.tenant} plat.media_admin plat.media_view`);
    expect(body).not.toHaveProperty("refresh_token");
    expect(await info(body.access_token)).toMatchObject({ clientId: client.clientId, user: user.email });
    expect(decodeJwt(body.access_token)["client_auth"]).toBe(false);
    const openid = await expectJson(await signIn(user, { client_id: client.clientId, scope: "openid" }), 200);
    expect(decodeJwt(openid.id_token)).toMatchObject({ aud: client.clientId, sub: user.email, email: user.email });
  });

  // shows: oauth/post-token/trust-client_id-only
  it("accepts a public client, which has no secret", async () => {
    const user = await makeUser({ tenant: home });
    const client = await makePasswordClient(user.tenant, { confidential: false });
    const body = await expectJson(await signIn(user, { client_id: client.clientId }), 200);
    expect(await info(body.access_token)).toMatchObject({ clientId: client.clientId });
  });

  // shows: oauth/post-token/trust-both
  it("gives an authenticated client an ID token, and a refresh token if it is registered for them", async () => {
    const user = await makeUser({ tenant: home });
    const plain = await makePasswordClient(user.tenant);
    const without = await expectJson(await signIn(user, {}, plain), 200);
    expect(without).not.toHaveProperty("refresh_token");
    expect(without).not.toHaveProperty("id_token");
    expect(decodeJwt(without.access_token)["client_auth"]).toBe(true);

    const client = await makePasswordClient(user.tenant, { grantTypes: ["password", "refresh_token"] });
    const body = await expectJson(await signIn(user, { scope: "openid plat.media_view" }, client), 200);
    expect(body.scope).toBe(`plat.tenant=${user.tenant} openid plat.media_view`);
    const idToken = decodeJwt(body.id_token);
    expect(idToken).toMatchObject({ aud: client.clientId, sub: user.email, tenant: user.tenant });
    expect(idToken["nonce"]).toBeUndefined();
    const refreshed = await call(TOKEN, {
      form: { grant_type: "refresh_token", refresh_token: body.refresh_token },
      headers: { authorization: basic(client) },
    });
    const again = await expectJson(refreshed, 200);
    expect(again.scope).toBe(body.scope);
    const [first, second] = [decodeJwt(body.access_token), decodeJwt(again.access_token)];
    expect([second["gid"], second["sid"]]).toEqual([first["gid"], first["sid"]]);
    expect(decodeJwt(again.id_token)["auth_time"]).toBe(idToken["auth_time"]);
  });

  it("uses the client's own tenant if the user is a member, else the only one that the client may act for", async () => {
    const user = await makeUser({ tenant: home });
    const clientTenant = await makeTenant();
    const own = await makePasswordClient(user.tenant);
    await join(user.email, clientTenant);
    const body = await expectJson(await signIn(user, {}, own), 200);
    expect(await info(body.access_token)).toMatchObject({ tenant: user.tenant });
    const elsewhere = await makeUser();
    expect(await refusal(signIn(elsewhere, {}, own))).toMatchObject({ error: "invalid_grant" });

    const service = unique("svc");
    const fields = { sourceUrl: "https://s.example/v1", proxyPath: `/${service}`, scopes: [`${service}.x`] };
    await put(`services/${service}`, { ...fields, essential: false, tenant: clientTenant, access: "token" });
    await put(`packages/${service}-p`, { version: "1", organization: `${clientTenant}-org`, services: [service] });
    const served = await makePasswordClient(clientTenant, { scopes: [`${service}.*`, ...ALL_SCOPES] });
    await put(`clients/${served.clientId}`, {
      tenant: clientTenant,
      confidential: true,
      grantTypes: ["password"],
      scopes: [`${service}.*`],
      service,
    });
    expect(await refusal(signIn(elsewhere, {}, served))).toMatchObject({ error: "invalid_grant" });
    await put(`tenants/${elsewhere.tenant}/subscriptions/${service}-p`, {});
    const there = await expectJson(await signIn(elsewhere, {}, served), 200);
    expect(await info(there.access_token)).toMatchObject({ tenant: elsewhere.tenant });
  });
});

describe("The password grant: 400 invalid_request", () => {
  const cases: [string, Record<string, string>][] = [
    ["plat_id_provider", { plat_id_provider: "" }],
    ["plat_id_provider", { plat_id_provider: "default_idp" }],
    ["plat_id_provider", { plat_id_provider: "legacy_idp " }],
    ["username", { username: "" }],
    ["password", { password: "" }],
  ];
  // shows: oauth/post-token/password-username
  // shows: oauth/post-token/password-password
  // shows: oauth/post-token/password-plat_id_provider
  it.each(cases)("names %s: %o", async (name, form) => {
    const refused = await refusal(signIn({ email: "a@example.org", password: "x" }, form));
    expect(refused.error).toBe("invalid_request");
    expect(refused.error_description).toContain(name);
  });
});

/** Makes a user, a disabled user, and a user without a password. */
async function makeUsers() {
  const [user, disabled] = [await makeUser({ tenant: home }), await makeUser({ tenant: home })];
  await put(`users/${disabled.email}`, { name: "Ada", disabled: true });
  const bare = `${unique("bare")}@example.org`;
  await put(`users/${bare}`, { name: "Bare" });
  return { user, disabled, bare };
}

describe("The password grant: 400 invalid_grant", () => {
  // shows: oauth/token/unknown-user-wrong-password
  it("is the same for an unknown, a disabled and a password-less user, no address and a wrong password", async () => {
    const { user, disabled, bare } = await makeUsers();
    const attempts = [
      { email: user.email, password: `${user.password} ` },
      { email: `${unique("nobody")}@example.org`, password: user.password },
      { email: disabled.email, password: disabled.password },
      { email: bare, password: "password" },
      { email: "no address", password: "x" },
      { email: "\u0000@example.org", password: "\u0000" },
      { email: "__proto__", password: "__proto__" },
      { email: "\ud800@example.org", password: "\udfff" },
      { email: "x".repeat(20_000), password: "y".repeat(20_000) },
    ];
    for (const attempt of attempts)
      expect(await refusal(signIn(attempt)), attempt.email.slice(0, 40)).toEqual({
        error: "invalid_grant",
        error_description: WRONG,
      });
  });

  it("leaves the exact reason in the audit log, and no password there", async () => {
    const user = await makeUser({ tenant: home });
    const client = await makePasswordClient(user.tenant);
    await signIn({ email: user.email, password: "guess-1" }, {}, client);
    await signIn({ email: "guess-2 in the wrong field", password: "x" }, {}, client);
    const nobody = `${unique("nobody")}@example.org`;
    await signIn({ email: nobody, password: "x" });
    const disabled = await makeUser({ tenant: home });
    await put(`users/${disabled.email}`, { name: "Ada", disabled: true });
    await signIn(disabled);
    await vi.waitFor(async () => {
      const bySubject = await audited({ subject: `users/${user.email}`, outcome: "refused" });
      expect(bySubject).toMatchObject([{ action: "sign in", reason: "wrong password" }]);
      const byClient = await audited({ actor: client.clientId });
      expect(byClient).toMatchObject([{ action: "token" }, { action: "token", outcome: "refused" }]);
      expect(await audited({ subject: `users/${nobody}` })).toMatchObject([{ reason: "unknown user" }]);
      const ofDisabled = await audited({ subject: `users/${disabled.email}`, action: "sign in" });
      expect(ofDisabled).toMatchObject([{ reason: "disabled user" }]);
    });
    expect(JSON.stringify(await audited({}))).not.toMatch(/guess-[12]/);
  });

  it("is the response for a member of no tenant, and of a disabled tenant", async () => {
    const user = await makeUser();
    await put(`tenants/${user.tenant}`, { organization: `${user.tenant}-org`, name: "x", disabled: true });
    const refused = await refusal(signIn(user));
    expect(refused.error).toBe("invalid_grant");
    expect(refused.error_description).not.toBe(WRONG);
  });

  it("refuses a password that changed meanwhile", async () => {
    const user = await makeUser({ tenant: home });
    const racing = isolate({ LOGIN_ATTEMPTS: changingPassword(user) });
    expect(await refusal(racing.fetch(TOKEN, posted(user)))).toEqual({
      error: "invalid_grant",
      error_description: WRONG,
    });
  });
});

describe("A deployment that restricts the password grant", () => {
  const withoutClient = { PASSWORD_GRANT_WITHOUT_CLIENT: "false" };
  const answer = async (bindings: object, form: Record<string, string>) => {
    const user = await makeUser({ tenant: home });
    const response = await isolate(bindings).fetch(TOKEN, {
      ...posted(user),
      body: new URLSearchParams({ ...formFor(user), ...form }).toString(),
    });
    return { response, body: JSON.parse(await response.text()) as Record<string, string> };
  };

  it("requires a client: 401 without one, and the audit log names the variable", async () => {
    const { response, body } = await answer(withoutClient, {});
    expect([response.status, body["error"]]).toEqual([401, "invalid_client"]);
    expect(JSON.stringify(body)).not.toContain("PASSWORD_GRANT");
    const reason = "without a client, the password grant needs PASSWORD_GRANT_WITHOUT_CLIENT=true";
    expect((await audited({ reason })).length).toBeGreaterThan(0);
    const { clientId, clientSecret } = await makePasswordClient(home);
    const named: Record<string, string> = { client_id: clientId };
    for (const client of [named, { ...named, client_secret: clientSecret }])
      expect((await answer(withoutClient, { ...client, scope: "plat.no_tenant" })).response.status).toBe(200);
  });

  it("can turn it off, which its metadata and its explanations say", async () => {
    const off = { PASSWORD_GRANT: "false" };
    const { clientId, clientSecret } = await makePasswordClient(home);
    const proven: Record<string, string> = { client_id: clientId, client_secret: clientSecret };
    for (const client of [{}, proven]) {
      const { response, body } = await answer(off, client);
      expect([response.status, body["error"]]).toEqual([400, "unsupported_grant_type"]);
    }
    const types = async (bindings: object) => {
      const metadata = await isolate(bindings).fetch("/oauth2/v1/.well-known/openid-configuration");
      return ((await metadata.json()) as { grant_types_supported: string[] }).grant_types_supported;
    };
    expect(await types(off)).not.toContain("password");
    expect(await types({})).toContain("password");
    const { email } = await makeUser({ tenant: home });
    const headers = { authorization: `Bearer ${await tokenFor(OPERATOR)}` };
    const explained = await isolate(off).fetch(`/admin/v1/explain?user=${email}`, { headers });
    expect(await explained.text()).toContain("the deployment has PASSWORD_GRANT=false");
  });

  it("is what wrangler.toml has: clients only", () => {
    const deployed = { ...env, PASSWORD_GRANT: "true", PASSWORD_GRANT_WITHOUT_CLIENT: "false" };
    expect(readConfig(deployed).passwordGrant).toBe("clients");
    expect(readConfig({ ...deployed, PASSWORD_GRANT_WITHOUT_CLIENT: "true" }).passwordGrant).toBe("everybody");
    expect(() => readConfig({ ...deployed, PASSWORD_GRANT: "yes" })).toThrow("PASSWORD_GRANT");
  });
});

describe("The password grant: 400 invalid_scope", () => {
  // shows: oauth/token/no-client-tenant
  it("asks a user of several tenants to name one", async () => {
    const user = await makeUser({ tenant: home });
    const other = await makeTenant();
    await join(user.email, other);
    const refused = await refusal(signIn(user));
    expect(refused).toEqual({
      error: "invalid_scope",
      error_description: "Name one of the user's tenants: plat.tenant=<tenant>.",
    });
  });

  // shows: oauth/what-the-service-does/scopes-by-role
  // shows: oauth/scopes/plat.org-is-alone
  // shows: oauth/post-token/password-scope
  it("names a tenant or organization that the user does not belong to, and a scope that no role holds", async () => {
    const user = await makeUser({ tenant: home, scopes: ["plat.media_view"] });
    const stranger = await makeTenant();
    for (const scope of [
      `plat.tenant=${stranger}`,
      `plat.org=${stranger}-org`,
      "plat.media_manage",
      "plat.admin",
      "no.such",
    ]) {
      const refused = await refusal(signIn(user, { scope }));
      expect(refused, scope).toMatchObject({ error: "invalid_scope" });
      expect(refused.error_description).toContain(scope);
    }
    const both = await refusal(signIn(user, { scope: `plat.org=${user.tenant}-org plat.no_tenant` }));
    expect(both.error).toBe("invalid_scope");
  });

  it("is the same for a named tenant that the client may not act for", async () => {
    const user = await makeUser({ tenant: home });
    const client = await makePasswordClient(await makeTenant());
    const refused = await refusal(signIn(user, { scope: `plat.tenant=${user.tenant}` }, client));
    expect(refused.error).toBe("invalid_scope");
  });
});

describe("The password grant: 400 unauthorized_client, 401 invalid_client", () => {
  // shows: oauth/token/registered-for-the-grant
  it("refuses a client that authenticated and is not registered for the grant", async () => {
    const user = await makeUser({ tenant: home });
    const client = await makePasswordClient(user.tenant, { grantTypes: ["client_credentials"] });
    expect(await refusal(signIn(user, {}, client))).toMatchObject({ error: "unauthorized_client" });
  });

  it("tells nobody without a secret whether a client exists", async () => {
    const user = await makeUser({ tenant: home });
    const registered = await makePasswordClient(user.tenant);
    const client = await makePasswordClient(user.tenant, { grantTypes: ["client_credentials"] });
    const spa = await makePasswordClient(user.tenant, { confidential: false });
    const expected = { error: "invalid_client", error_description: "Client authentication failed." };
    const attempts: Promise<Response>[] = [
      signIn(user, { client_id: "no.body" }),
      signIn(user, { client_id: client.clientId }),
      signIn(user, { client_id: registered.clientId, client_secret: "wrong" }),
      signIn(user, { client_id: spa.clientId, client_secret: "any" }),
      signIn(user, {}, { ...registered, clientSecret: "wrong" }),
      signIn(user, {}, { ...registered, clientId: "no.body" }),
    ];
    for (const response of await Promise.all(attempts)) expect(await refusal(response, 401)).toEqual(expected);
  });

  it("checks no password for a client that it refuses", async () => {
    const user = await makeUser({ tenant: home });
    await failBefore(user.email, 14);
    await signIn({ ...user, password: "guess" }, { client_id: "no.body" });
    await expectJson(await signIn(user), 200);
  });
});

describe("A blocked account", () => {
  // shows: oauth/states-of-a-user-account/active-15-invalid-attempts-within-15-minutes
  // shows: oauth/states-of-a-user-account/blocked-attempt
  // shows: oauth/errors/400-blocked-account
  // shows: oauth/accounts/one-account
  // shows: oauth/errors-of-token-revoke-introspect/blocked-account
  it("is refused with the specified message, for every spelling of its address", async () => {
    const user = await makeUser({ tenant: home });
    const [name] = user.email.split("@");
    const spellings = [
      user.email,
      user.email.toUpperCase(),
      `  ${user.email}\t`,
      `\uff41${user.email.slice(1)}`,
      `${name}@example\uff0eorg`,
    ];
    await failBefore(user.email, 10);
    for (const email of spellings)
      expect(await refusal(signIn({ email, password: "guess" }))).toMatchObject({ error_description: WRONG });
    for (const email of spellings)
      expect(await refusal(signIn({ ...user, email }))).toEqual({
        error: "invalid_grant",
        error_description: BLOCKED,
      });
    await vi.waitFor(async () => {
      const rows = await audited({ subject: `users/${user.email}`, action: "sign in" });
      expect(rows.map(({ reason }): string => reason).sort()).toEqual([
        ...spellings.map(() => "the account is blocked"),
        ...spellings.slice(1).map(() => "wrong password"),
        "wrong password; the account is blocked from now on",
      ]);
    });
  });

  // shows: oauth/accounts/nobody-s-address
  it("is refused alike for an unknown address, ligatures included, and for text that is not an address", async () => {
    const nobody = `${unique("of")}@example.org`;
    for (const spellings of [
      [nobody, nobody.toUpperCase(), nobody.replace("of", "o\uff46")],
      [" office", "OFFICE", "o\ufb03ce"],
    ]) {
      await failBefore(spellings[0]!.trim(), 12);
      for (const email of spellings)
        expect(await refusal(signIn({ email, password: "guess" }))).toMatchObject({ error_description: WRONG });
      for (const email of spellings)
        expect(await refusal(signIn({ email, password: "guess" }))).toMatchObject({ error_description: BLOCKED });
    }
  });

  // shows: oauth/states-of-a-user-account/blocked-attempt
  // shows: oauth/errors/400-blocked-account
  // shows: oauth/accounts/one-account
  // shows: oauth/errors-of-token-revoke-introspect/blocked-account
  it("is shared by the token endpoint and the sign-in page: both count failures together", async () => {
    const user = await makeUser({ tenant: home });
    const app = await makeApp({ tenant: home });
    const browser = new Browser();
    const page = await visit(browser, app);
    const submit = (password: string) => browser.submit(page, { email: user.email.toUpperCase(), password });
    await failBefore(user.email, 8);
    for (let n = 0; n < 3; n++) {
      await signIn({ ...user, password: "guess" });
      expect((await submit("guess")).html).not.toContain("too many");
    }
    expect(await refusal(signIn({ ...user, password: "guess" }))).toMatchObject({ error_description: WRONG });
    const blocked = await submit(user.password);
    expect(blocked.status).toBe(400);
    expect(blocked.html).toContain(BLOCKED);
    expect(browser.cookie("session")).toBeUndefined();
    expect(await refusal(signIn(user))).toMatchObject({ error_description: BLOCKED });
  });

  // shows: oauth/accounts/parallel-guesses
  it("lets 15 of 40 parallel guesses try a password", async () => {
    const user = await makeUser({ tenant: home });
    const guesses = Array.from({ length: 40 }, (_, n) => refusal(signIn({ ...user, password: `guess ${n}` })));
    const texts = (await Promise.all(guesses)).map(({ error_description }) => error_description);
    expect(texts.filter((text) => text === WRONG)).toHaveLength(15);
    expect(texts.filter((text) => text === BLOCKED)).toHaveLength(25);
  });

  // shows: oauth/states-of-a-user-account/blocked-15-minutes-over
  it("is open again after 15 minutes", async () => {
    const user = await makeUser({ tenant: home });
    const startMs = Date.now();
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(startMs);
    await failBefore(user.email, 15);
    vi.setSystemTime(startMs + 15 * 60_000 - 1);
    expect(await refusal(signIn(user))).toMatchObject({ error_description: BLOCKED });
    vi.setSystemTime(startMs + 15 * 60_000);
    await expectJson(await signIn(user), 200);
  });

  // shows: operator/resources/users-email-unlock
  it("is open at once when an operator unlocks it, which the audit log shows", async () => {
    const user = await makeUser({ tenant: home });
    await failBefore(user.email, 15);
    const path = `/admin/v1/users/${encodeURIComponent(user.email.toUpperCase())}/unlock`;
    const unlocked = await call(path, { method: "POST", token: await tokenFor(OPERATOR) });
    expect(unlocked.status).toBe(204);
    await expectJson(await signIn(user), 200);
    expect(await audited({ subject: `users/${user.email}`, action: "unlock" })).toMatchObject([
      { actor: "plat.operator", outcome: "done" },
    ]);
  });
});

describe("A client that another isolate disabled a moment ago", () => {
  it("may still get tokens, which are revoked from the start", async () => {
    const user = await makeUser({ tenant: home });
    const client = await makePasswordClient(home);
    const other = isolate();
    const get = async () => {
      const form = new URLSearchParams({ ...formFor(user, { scope: "plat.no_tenant" }), client_id: client.clientId });
      return other.fetch(TOKEN, { ...posted(user), body: form.toString() });
    };
    expect(await isLiving((await expectJson(await get(), 200)).access_token)).toBe(true);
    const settings = { tenant: home, confidential: true, grantTypes: ["password"], scopes: ALL_SCOPES };
    await put(`clients/${client.clientId}`, { ...settings, disabled: true });
    expect(await isLiving((await expectJson(await get(), 200)).access_token)).toBe(false);
  });
});

describe("The cost of a refused sign-in", () => {
  // shows: oauth/token/unknown-user-wrong-password
  it("is one read, one call of the object and one verification, for any user", async () => {
    const { user, disabled, bare } = await makeUsers();
    const { env: counted, tally, reset } = counting(env);
    const own = isolate(counted);
    const compare = vi.spyOn(crypto.subtle, "timingSafeEqual");
    const costs: object[] = [];
    for (const email of [bare, user.email, disabled.email, bare, `${unique("nobody")}@example.org`]) {
      reset();
      compare.mockClear();
      expect(await refusal(await own.fetch(TOKEN, posted({ email, password: "guess" })))).toMatchObject({
        error_description: WRONG,
      });
      const verified = compare.mock.calls.filter(([key]) => key.byteLength === 32).length;
      // The same read finds fewer rows for an unknown user.
      const { d1RowsRead: _, ...cost } = structuredClone(tally);
      costs.push({ ...cost, verified });
    }
    compare.mockRestore();
    const [, first, ...others] = costs;
    expect(first).toMatchObject({ objectCalls: { "LOGIN_ATTEMPTS.attempt": 1 }, verified: 1 });
    for (const cost of others) expect(cost).toEqual(first);
  });
});

describe("A hash of another cost", () => {
  // shows: oauth/accounts/passwords
  it("is replaced at the sign-in, which keeps working", async () => {
    await realPasswordCost();
    const user = await makeUser({ tenant: home });
    const hashOf = () => env.DB.prepare(`SELECT password_hash FROM user WHERE email = ?1`).bind(user.email).first();
    await signIn({ ...user, password: "guess" });
    expect(await hashOf()).toEqual({ password_hash: cheapHash(user.password) });
    await expectJson(await isolate().fetch(TOKEN, posted(user)), 200);
    expect(await hashOf()).toEqual({ password_hash: expect.stringMatching(/^scrypt\$15\$8\$1\$/) });
    await expectJson(await signIn(user), 200);
  });

  it("does not replace a password that changed meanwhile", async () => {
    const user = await makeUser();
    const hashOf = () => env.DB.prepare(`SELECT password_hash FROM user WHERE email = ?1`).bind(user.email).first();
    const changed = cheapHash("another-password-1");
    await env.DB.prepare(`UPDATE user SET password_hash = ?1 WHERE email = ?2`).bind(changed, user.email).run();
    await createUserStore(env.DB, "email", systemRandom).upgradeHash(
      user.email,
      cheapHash(user.password),
      "the old one, made anew",
    );
    expect(await hashOf()).toEqual({ password_hash: changed });
    await createUserStore(env.DB, "email", systemRandom).upgradeHash(user.email, changed, "the new one, made anew");
    expect(await hashOf()).toEqual({ password_hash: "the new one, made anew" });
  });
});

/** Fails sign-ins at the account's object, whose name is the SHA-256 of the normalized address. */
async function failBefore(address: string, times: number): Promise<void> {
  const account = env.LOGIN_ATTEMPTS.getByName(await sha256Hex(address));
  for (let n = 0; n < times; n++) await account.attempt(cheapHash("right"), "guess");
}

/** Objects of accounts. The user's password is changed before the object checks the sent one. */
const changingPassword = (user: TestUser): typeof env.LOGIN_ATTEMPTS =>
  new Proxy(env.LOGIN_ATTEMPTS, {
    get: (target) => (name: string) => ({
      async attempt(hash: string, password: string) {
        await put(`users/${user.email}`, { name: "Ada", password: "another password" });
        return target.getByName(name).attempt(hash, password);
      },
    }),
  });
