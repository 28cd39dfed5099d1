import { env } from "cloudflare:workers";
import { decodeJwt } from "jose";
import { afterEach, describe, expect, it, vi } from "vitest";
import { call, expectJson, ORIGIN } from "../../support/platform/call.ts";
import { makeClient } from "../../support/platform/clients.ts";
import { put } from "../../support/platform/operator.ts";
import { makeTenant } from "../../support/platform/tenants.ts";
import { basic, tokenFor } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";
import { Browser } from "../../support/browser.ts";
import { isolate } from "../../support/isolate.ts";
import { CLIENTS_OF_OLD_TOKENS, MOST_HOLDERS_REVOKED } from "../../../src/oauth/tokens/trust-store.ts";
import { errorOf, makeApp, redeemed, signInThrough, visit } from "../../support/sign-in.ts";
import { join, makeUser } from "../../support/users.ts";

const info = (token: string, more = "") =>
  call(`/oauth2/v1/tokeninfo?access_token=${encodeURIComponent(token)}${more}`);
const revoke = (token: string, client?: { clientId: string; clientSecret: string }) =>
  call("/oauth2/v1/revoke", { form: { token }, headers: client === undefined ? {} : { authorization: basic(client) } });

afterEach(() => {
  vi.useRealTimers();
});

describe("GET /tokeninfo: 200", () => {
  // shows: oauth/what-the-service-does/operations
  // shows: oauth/token-information/scopes
  // shows: oauth/token-information/tenant
  // shows: oauth/token-information/clientid
  // shows: oauth/token-information/user
  // shows: oauth/get-tokeninfo/200
  // shows: oauth/authentication/tokeninfo
  it("returns scopes, tenant and client, and no user if there is none", async () => {
    const client = await makeClient({ scopes: ["plat.media_view"] });
    const response = await info(await tokenFor(client));
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(await expectJson(response, 200)).toEqual({
      scopes: [`plat.tenant=${client.tenant}`, "plat.media_view"],
      tenant: client.tenant,
      clientId: client.clientId,
    });
  });

  // shows: oauth/token-information/allowedservices
  it("lists the subscribed services with details=true, without essential ones", async () => {
    const client = await makeClient();
    const body = await expectJson(await info(await tokenFor(client), "&details=true"), 200);
    expect(body.allowedServices).toEqual([
      { name: "pubsub", proxyUrl: [`${ORIGIN}/pubsub/v1`], serviceScopes: ["plat.pubsub_publish"] },
      {
        name: "media",
        proxyUrl: [`${ORIGIN}/media/v2`],
        serviceScopes: ["plat.media_view", "plat.media_manage", "plat.media_admin"],
      },
    ]);
    const bare = await makeClient({ tenant: await makeTenant({ subscribed: false }) });
    expect((await expectJson(await info(await tokenFor(bare), "&details=true"), 200)).allowedServices).toEqual([]);
  });
});

describe("GET /tokeninfo: 400", () => {
  // shows: oauth/get-tokeninfo/access_token
  // shows: oauth/get-tokeninfo/details
  // shows: oauth/get-tokeninfo/400
  // shows: oauth/errors/400-tokeninfo
  // shows: oauth/access-tokens/spellings
  // shows: oauth/other-endpoints/get-tokeninfo
  it("gives every failure the same response, in its own format", async () => {
    const token = await tokenFor(await makeClient());
    const [header, payload, signature] = token.split(".") as [string, string, string];
    const spare = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const other = spare[spare.indexOf(signature.at(-1)!) ^ 1]!;
    const wrong = [
      "garbage",
      "a.b.c",
      `${token}=`,
      `${token} `,
      `${header}.${payload}.${signature.slice(0, -1)}${other}`,
      `${header}.${payload}.`,
      `${header}.${payload}`,
      `${payload}.${header}.${signature}`,
      "\u0000",
    ];
    for (const text of wrong) {
      const body = await expectJson(await info(text), 400);
      expect(body, text).toMatchObject({
        error: "invalid_query_parameter",
        error_description: expect.any(String),
        error_uri: expect.any(String),
      });
    }
    for (const query of [
      "",
      "?access_token=",
      `?access_token=${token}&access_token=${token}`,
      `?access_token=${token}&details=maybe`,
    ])
      expect(await expectJson(await call(`/oauth2/v1/tokeninfo${query}`), 400)).toMatchObject({
        error: "invalid_query_parameter",
      });
  });
});

describe("An access token", () => {
  // shows: oauth/states-of-an-access-token/valid-3600-s-elapsed
  // shows: oauth/get-tokeninfo/400
  // shows: oauth/limits/access-token
  it("expires after 3600 s", async () => {
    const client = await makeClient();
    const token = await tokenFor(client);
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(Date.now() + 3_598_000);
    expect((await info(token)).status).toBe(200);
    vi.setSystemTime(Date.now() + 3_000);
    expect((await info(token)).status).toBe(400);
    const refused = await call("/admin/v1/roles", { token });
    expect(await expectJson(refused, 401)).toMatchObject({
      type: "insufficient_credentials",
      message: "The access token has expired.",
    });
  });
});

describe("POST /revoke", () => {
  // shows: oauth/states-of-an-access-token/valid-revoke-by-its-client
  // shows: oauth/post-revoke/success
  // shows: oauth/other-endpoints/post-revoke
  it("ends a token at once, here and in tokeninfo, and responds with {}", async () => {
    const client = await makeClient({ scopes: ["plat.media_view"] });
    const token = await tokenFor(client);
    const other = await tokenFor(client);
    const response = await revoke(token, client);
    expect(await expectJson(response, 200)).toEqual({});
    expect((await info(token)).status).toBe(400);
    expect((await info(other)).status).toBe(200);
    expect(await expectJson(await call("/admin/v1/roles", { token }), 401)).toMatchObject({
      type: "insufficient_credentials",
    });
    expect((await call("/admin/v1/roles", { token: other })).status).toBe(403);
  });

  // shows: oauth/post-revoke/several-tokens
  // shows: oauth/other-endpoints/post-revoke
  it("accepts a list with spaces, repeats, empty items and unknown tokens, and a repetition of all", async () => {
    const client = await makeClient();
    const tokens = await Promise.all([1, 2, 3].map(() => tokenFor(client)));
    const list = ` ${tokens.join(" , ")},,${tokens[0]},unknown, `;
    for (let time = 0; time < 2; time++) expect(await expectJson(await revoke(list, client), 200)).toEqual({});
    for (const token of tokens) expect((await info(token)).status).toBe(400);
  });

  // shows: oauth/states-of-an-access-token/revoke-by-another-client
  // shows: oauth/post-revoke/own-tokens-alone
  // shows: oauth/other-endpoints/post-revoke-another-client-s
  it("leaves another client's token valid, after it revoked the caller's own", async () => {
    const [mine, theirs] = [await makeClient(), await makeClient()];
    const own = await tokenFor(mine);
    const foreign = await tokenFor(theirs);
    expect(await expectJson(await revoke(`${foreign},${own}`, mine), 400)).toMatchObject({
      error: "unauthorized_client",
    });
    expect((await info(own)).status).toBe(400);
    expect((await info(foreign)).status).toBe(200);
  });

  it("needs no credentials for unknown tokens only", async () => {
    expect(await expectJson(await revoke("unknown, , a.b.c"), 200)).toEqual({});
  });

  it("accepts up to its documented number of tokens", async () => {
    const client = await makeClient();
    const tokens = await Promise.all(Array.from({ length: 100 }, () => tokenFor(client)));
    expect(await expectJson(await revoke(tokens.join(","), client), 200)).toEqual({});
    expect((await info(tokens[99]!)).status).toBe(400);
    const many = Array.from({ length: 501 }, (_, n) => `unknown${n}`).join(",");
    expect(await expectJson(await revoke(many, client), 400)).toMatchObject({ error: "invalid_request" });
  });

  // shows: oauth/post-revoke/tokens-of-an-authenticated-client
  // shows: oauth/authentication/revoke
  // shows: oauth/errors/401-revoke-without-header
  it("needs the client's credentials", async () => {
    const client = await makeClient();
    const token = await tokenFor(client);
    for (const attempt of [revoke(token), revoke(token, { ...client, clientSecret: "wrong" })]) {
      const response = await attempt;
      expect(await expectJson(response, 401)).toMatchObject({ error: "invalid_client" });
      expect(response.headers.get("www-authenticate")).toMatch(/^Basic /);
    }
    expect((await info(token)).status).toBe(200);
    expect(
      await expectJson(
        await call("/oauth2/v1/revoke", { form: { x: "1" }, headers: { authorization: basic(client) } }),
        400,
      ),
    ).toMatchObject({ error: "invalid_request" });
  });

  // shows: oauth/access-tokens/revocation-row
  it("stores only the token's id, until the token would have expired", async () => {
    const client = await makeClient();
    const token = await tokenFor(client);
    await revoke(token, client);
    const rows = await env.DB.prepare("SELECT * FROM revocation WHERE kind = 'token'").all<{
      key: string;
      expires_sec: number;
    }>();
    expect(JSON.stringify(rows.results)).not.toContain(token.split(".")[2]);
    expect(rows.results.every((row) => row.expires_sec - Date.now() / 1000 <= 3600)).toBe(true);
  });
});

describe("A revocation by another isolate", () => {
  // shows: oauth/access-tokens/other-services
  it("reaches the services within 5 s, and tokeninfo at once", async () => {
    const client = await makeClient();
    const token = await tokenFor(client);
    expect((await call("/admin/v1/roles", { token })).status).toBe(403);
    const { jti } = decodeJwt(token);
    await env.DB.prepare(
      "INSERT INTO revocation (kind, key, until_ms, expires_sec) VALUES ('token', ?, 9999999999999, 9999999999)",
    )
      .bind(jti)
      .run();
    expect((await call("/admin/v1/roles", { token })).status).toBe(403);
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(Date.now() + 5_100);
    expect((await call("/admin/v1/roles", { token })).status).toBe(401);
    expect((await info(token)).status).toBe(400);
  });

  // shows: operator/resources/tenants-id
  it("ends every token of a disabled tenant, and later ones are valid again", async () => {
    const client = await makeClient();
    const token = await tokenFor(client);
    const tenant = { organization: `${client.tenant}-org`, name: "x" };
    await put(`tenants/${client.tenant}`, { ...tenant, disabled: true });
    expect((await call("/admin/v1/roles", { token })).status).toBe(401);
    await expect((async () => tokenFor(client))()).rejects.toThrow("invalid_client");
    await put(`tenants/${client.tenant}`, { ...tenant, disabled: false });
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(Date.now() + 1_100);
    expect((await call("/admin/v1/roles", { token })).status).toBe(401);
    expect((await call("/admin/v1/roles", { token: await tokenFor(client) })).status).toBe(403);
  });

  it("ends the tokens of a disabled tenant's clients for other tenants too, and gives no new ones", async () => {
    const name = unique("svc-");
    const scopes = [`${name}.read`];
    const [provider, customer] = [await makeTenant({ subscribed: false }), await makeTenant()];
    const service = { sourceUrl: `https://${name}.example.com/v1`, proxyPath: `/${name}/v1`, access: "token" };
    await put(`services/${name}`, { ...service, scopes, tenant: provider });
    await put(`packages/${name}`, { version: "1", organization: `${provider}-org`, services: [name] });
    await put(`tenants/${customer}/subscriptions/${name}`, {});
    const client = await makeClient({ tenant: provider, service: name, scopes });
    const other = isolate();
    const body = new URLSearchParams({ grant_type: "client_credentials", scope: `plat.tenant=${customer}` });
    const ask = async (): Promise<any> => {
      const headers = { authorization: basic(client) };
      return (await other.fetch("/oauth2/v1/token", { method: "POST", headers, body })).json();
    };
    const { access_token: token } = await ask();
    expect((await info(token)).status).toBe(200);
    await put(`tenants/${provider}`, { organization: `${provider}-org`, name: "x", disabled: true });
    expect((await info(token)).status).toBe(400);
    // This isolate still has old records of the client: what it issues from them is not valid.
    const late = await ask();
    if (late.access_token !== undefined) expect((await info(late.access_token)).status).toBe(400);
    await expect(tokenFor(client, `plat.tenant=${customer}`)).rejects.toThrow("invalid_client");
  });

  it("ends the tokens of a disabled tenant's clients by few rows, however many clients it has", async () => {
    const tenant = await makeTenant();
    const [app, user] = [await makeApp({ tenant }), await makeUser({ tenant })];
    // Ids before that of the application, so that no row names it.
    await env.DB.prepare(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT ${CLIENTS_OF_OLD_TOKENS + 500})
       INSERT INTO client (id, name, tenant, confidential, redirect_uris, post_logout_redirect_uris, grant_types,
         scopes, require_pkce, created_at)
       SELECT '!' || i || ?1, '!' || i || ?1, ?1, 1, '[]', '[]', '[]', '[]', 0, 0 FROM n`,
    )
      .bind(tenant)
      .run();
    const tokens = await redeemed(
      app,
      await signInThrough(new Browser(), app, user, { scope: "plat.no_tenant openid" }),
    );
    const headers = { authorization: `Bearer ${tokens.access_token}` };
    expect((await call("/oauth2/v1/userinfo", { headers })).status).toBe(200);
    const rows = () => env.DB.prepare("SELECT count(*) AS n FROM revocation").first<number>("n");
    const before = await rows();
    await put(`tenants/${tenant}`, { organization: `${tenant}-org`, name: "x", disabled: true });
    expect((await rows())! - before!).toBe(CLIENTS_OF_OLD_TOKENS + 2);
    const named = await env.DB.prepare("SELECT 1 FROM revocation WHERE key = ?").bind(app.clientId).first();
    expect(named).toBeNull();
    expect((await call("/oauth2/v1/userinfo", { headers })).status).toBe(401);
    // Its ID token gives no token either, once the tenant is enabled again.
    await put(`tenants/${tenant}`, { organization: `${tenant}-org`, name: "x", disabled: false });
    const hinted = await visit(new Browser(), app, { prompt: "none", id_token_hint: tokens.id_token });
    expect(errorOf(hinted).error).toBe("login_required");
  });

  it("ends the tokens by a role that loses a scope by few rows, however many people have it", async () => {
    const [tenant, other, role] = [await makeTenant(), await makeTenant(), unique("role")];
    await put(`roles/${role}`, { scopes: ["plat.media_view"] });
    const user = await makeUser({ tenant });
    await put(`tenants/${tenant}/members/${user.email}`, { roles: [role] });
    await join(user.email, other);
    const tokenIn = async (place: string): Promise<string> => {
      const app = await makeApp({ tenant: place });
      return (await redeemed(app, await signInThrough(new Browser(), app, user))).access_token;
    };
    const [here, there, own] = [
      await tokenIn(tenant),
      await tokenIn(other),
      await tokenFor(await makeClient({ tenant })),
    ];
    const many = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT ${MOST_HOLDERS_REVOKED})`;
    const email = `i || '@${tenant}.example'`;
    await env.DB.batch(
      [
        `INSERT INTO user (email, name, created_at) ${many} SELECT ${email}, '', 0 FROM n`,
        `INSERT INTO tenant_member (tenant, email, created_at) ${many} SELECT '${tenant}', ${email}, 0 FROM n`,
        `INSERT INTO tenant_member_role (tenant, email, role) ${many} SELECT '${tenant}', ${email}, '${role}' FROM n`,
      ].map((sql) => env.DB.prepare(sql)),
    );
    const rows = () => env.DB.prepare("SELECT count(*) AS n FROM revocation").first<number>("n");
    const before = await rows();
    await put(`roles/${role}`, { scopes: [] });
    expect((await rows())! - before!).toBe(1);
    const living = await Promise.all([here, there, own].map(async (token) => (await info(token)).status));
    expect(living).toEqual([400, 200, 200]);
  });

  it("ends nothing of others if few people have a role in many places", async () => {
    const [tenant, role] = [await makeTenant(), unique("role")];
    await put(`roles/${role}`, { scopes: ["plat.media_view"] });
    const [holder, other] = [await makeUser({ tenant }), await makeUser({ tenant })];
    await put(`tenants/${tenant}/members/${holder.email}`, { roles: [role] });
    const tokenOf = async (user: typeof holder): Promise<string> => {
      const app = await makeApp({ tenant });
      return (await redeemed(app, await signInThrough(new Browser(), app, user))).access_token;
    };
    const [own, others] = [await tokenOf(holder), await tokenOf(other)];
    const many = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT ${MOST_HOLDERS_REVOKED})`;
    const place = `'${tenant}x' || i`;
    await env.DB.batch(
      [
        `INSERT INTO organization (id, name, created_at) ${many} SELECT ${place}, '', 0 FROM n`,
        `INSERT INTO organization_member (organization, email, created_at) ${many} SELECT ${place}, '${holder.email}', 0 FROM n`,
        `INSERT INTO organization_member_role (organization, email, role) ${many} SELECT ${place}, '${holder.email}', '${role}' FROM n`,
      ].map((sql) => env.DB.prepare(sql)),
    );
    const rows = () => env.DB.prepare("SELECT count(*) AS n FROM revocation").first<number>("n");
    const before = await rows();
    await put(`roles/${role}`, { scopes: [] });
    expect.soft((await rows())! - before!).toBe(1);
    const living = await Promise.all([own, others].map(async (token) => (await info(token)).status));
    expect(living).toEqual([400, 200]);
  });

  it("ends people's tokens outside of tenants that a disabled tenant's client got", async () => {
    const tenant = await makeTenant();
    const [app, user] = [await makeApp({ tenant }), await makeUser({ tenant })];
    const browser = new Browser();
    const scope = "plat.no_tenant openid";
    const tokens = await redeemed(app, await signInThrough(browser, app, user, { scope }));
    const headers = { authorization: `Bearer ${tokens.access_token}` };
    expect((await call("/oauth2/v1/userinfo", { headers })).status).toBe(200);
    await put(`tenants/${tenant}`, { organization: `${tenant}-org`, name: "x", disabled: true });
    expect((await call("/oauth2/v1/userinfo", { headers })).status).toBe(401);
    const page = await visit(browser, app, { scope });
    expect([page.status, page.location]).toEqual([400, undefined]);
  });
});
