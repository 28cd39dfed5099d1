import { env } from "cloudflare:workers";
import { decodeJwt, exportJWK, SignJWT } from "jose";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Browser } from "../support/browser.ts";
import { isolate, type Isolate } from "../support/isolate.ts";
import { call, expectJson } from "../support/platform/call.ts";
import { makeClient } from "../support/platform/clients.ts";
import { operate, OPERATOR, put } from "../support/platform/operator.ts";
import { makeTenant } from "../support/platform/tenants.ts";
import { basic, tokenFor } from "../support/platform/tokens.ts";
import { unique } from "../support/platform/unique.ts";
import { errorOf, makeApp, visit } from "../support/sign-in.ts";
import { directoryWith } from "../support/directory.ts";
import { makeUser, type TestUser } from "../support/users.ts";
import { isLiving } from "./support/answers.ts";

const accessToken = async (response: Promise<Response>): Promise<string> =>
  (await expectJson(await response, 200)).access_token as string;
const settings = (tenant: string) => ({
  tenant,
  confidential: true,
  grantTypes: ["client_credentials"],
  scopes: ["plat.media_view", "plat.pubsub_publish"],
});

const passwordToken = (user: Pick<TestUser, "email" | "password">): Promise<string> =>
  accessToken(
    call("/oauth2/v1/token", {
      form: { grant_type: "password", plat_id_provider: "legacy_idp", username: user.email, password: user.password },
    }),
  );

afterEach(() => {
  vi.useRealTimers();
});

describe("A token that another isolate still issues from old records", () => {
  const changes: [string, (client: { clientId: string; tenant: string }) => Promise<unknown>][] = [
    [
      "disabling the client",
      (client) => put(`clients/${client.clientId}`, { ...settings(client.tenant), disabled: true }),
    ],
    ["removing the client", (client) => operate(`clients/${client.clientId}`, "DELETE")],
    [
      "renaming the client",
      (client) => put(`clients/${client.clientId}`, { ...settings(client.tenant), name: `${client.tenant}.renamed` }),
    ],
    [
      "replacing a secret that leaked",
      (client) => put(`clients/${client.clientId}`, { ...settings(client.tenant), clientSecret: "x".repeat(40) }),
    ],
    [
      "disabling the tenant",
      (client) => put(`tenants/${client.tenant}`, { organization: `${client.tenant}-org`, name: "x", disabled: true }),
    ],
  ];
  // shows: oauth/access-tokens/records-that-decide
  it.each(changes)("is revoked from the start, after %s", async (_, change) => {
    const client = await makeClient();
    const other: Isolate = isolate();
    const before = await accessToken(other.token(client));
    expect(await isLiving(before)).toBe(true);
    await change(client);
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(Date.now() + 20_000);
    const late = await accessToken(other.token(client));
    expect(await isLiving(late)).toBe(false);
    expect(await isLiving(before)).toBe(false);
  });

  // shows: oauth/access-tokens/records-that-decide
  it.each(changes.filter(([what]) => !what.startsWith("renaming")))(
    "stops within 30 s, after %s",
    async (_, change) => {
      const client = await makeClient();
      const other = isolate();
      await accessToken(other.token(client));
      await change(client);
      expect((await other.token(client)).status).toBe(200);
      vi.useFakeTimers({ toFake: ["Date"] });
      vi.setSystemTime(Date.now() + 30_001);
      expect([400, 401]).toContain((await other.token(client)).status);
    },
  );

  // shows: oauth/what-the-service-does/service-on-behalf-of-a-project
  it("is not issued 30 s after a subscription was cancelled", async () => {
    const client = await makeClient();
    const other = isolate();
    const scopeOf = async () => (await expectJson(await other.token(client), 200)).scope as string;
    expect(await scopeOf()).toContain("plat.media_view");
    expect((await operate(`tenants/${client.tenant}/subscriptions/platform`, "DELETE")).status).toBe(204);
    expect(await scopeOf()).toContain("plat.media_view");
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(Date.now() + 30_001);
    expect(await scopeOf()).not.toContain("plat.media_view");
  });
});

describe("A change of an identity provider, in the isolate that made it", () => {
  it("applies at once, even if its absence was just cached: registered and removed", async () => {
    const app = await makeApp();
    const provider = unique("idp");
    const error = async () => errorOf(await visit(new Browser(), app, { plat_id_provider: provider })).error;
    const json = { issuer: `https://${unique("nowhere")}.example`, clientId: "plinth", clientSecret: "a secret" };
    expect(await error()).toBe("invalid_request");
    await put(`identity-providers/${provider}`, json);
    // The provider is registered, but cannot be reached.
    expect(await error()).toBe("temporarily_unavailable");
    expect((await operate(`identity-providers/${provider}`, "DELETE")).status).toBe(204);
    expect(await error()).toBe("invalid_request");
  });
});

describe("A token issued after a change", () => {
  // shows: oauth/access-tokens/records-that-decide
  it("is valid at once: disabled and enabled again, removed and made again", async () => {
    const client = await makeClient();
    const path = `clients/${client.clientId}`;
    const old = await tokenFor(client);
    await put(path, { ...settings(client.tenant), disabled: true });
    await put(path, { ...settings(client.tenant), disabled: false });
    expect(await isLiving(await tokenFor(client))).toBe(true);
    expect(await isLiving(old)).toBe(false);
    expect((await operate(path, "DELETE")).status).toBe(204);
    const { clientSecret } = await put(path, settings(client.tenant));
    expect(await isLiving(await tokenFor({ clientId: client.clientId, clientSecret }))).toBe(true);
  });

  it("has no scope that was removed from a client or from a role", async () => {
    const tenant = await makeTenant();
    const client = await makeClient({ tenant, scopes: settings(tenant).scopes });
    const [token, role] = [await tokenFor(client), unique("role")];
    const path = `clients/${client.clientId}`;
    await put(path, { ...settings(tenant), scopes: [...settings(tenant).scopes, "plat.media_manage"].toReversed() });
    expect(await isLiving(token)).toBe(true);
    await put(path, { ...settings(tenant), scopes: ["plat.media_view"] });
    expect(await isLiving(token)).toBe(false);
    expect(await isLiving(await tokenFor(client))).toBe(true);

    await put(`roles/${role}`, { scopes: ["plat.media_view", "plat.media_admin"] });
    const [holder, other] = [await makeUser({ tenant }), await makeUser({ tenant })];
    await put(`tenants/${tenant}/members/${holder.email}`, { roles: [role] });
    const tokens = await Promise.all([holder, other].map((user) => passwordToken(user)));
    await put(`roles/${role}`, { scopes: ["plat.media_admin", "plat.media_view", "a.b"] });
    expect(await Promise.all(tokens.map(isLiving))).toEqual([true, true]);
    await put(`roles/${role}`, { scopes: ["plat.media_view"] });
    expect(await Promise.all(tokens.map(isLiving))).toEqual([false, true]);
  });

  it("stays valid if nothing of its records changed", async () => {
    const client = await makeClient({ scopes: settings("").scopes });
    const token = await tokenFor(client);
    await put(`clients/${client.clientId}`, {
      ...settings(client.tenant),
      redirectUris: ["https://a.example/cb"],
    });
    const { clientId, clientSecret } = client;
    await put(`clients/${clientId}`, { ...settings(client.tenant), clientSecret });
    await operate(`clients/${clientId}/secret`, "POST");
    expect(await isLiving(token)).toBe(true);
    await tokenFor({ clientId, clientSecret });
  });

  it("stays valid after a DELETE of something that does not exist", async () => {
    const clientId = `${await makeTenant()}.${unique("app")}`;
    const operator = await tokenFor(OPERATOR);
    expect((await operate(`clients/${clientId}`, "DELETE")).status).toBe(404);
    for (const path of ["tenants/plat", "organizations/plat", "clients/plat.operator"])
      expect((await operate(path, "DELETE")).status).toBe(409);
    const count = await env.DB.prepare("SELECT count(*) AS n FROM revocation WHERE key IN (?, 'plat', 'plat.operator')")
      .bind(clientId)
      .first("n");
    expect(count).toBe(0);
    expect(await isLiving(operator)).toBe(true);
  });
});

describe("A client that owns topics", () => {
  it("keeps its name and tenant, and is not removed, or its topics would become a stranger's", async () => {
    const client = await makeClient();
    const path = `clients/${client.clientId}`;
    const token = await tokenFor(client);
    expect((await call("/pubsub/v1/topics", { token, json: { eventType: "orders" } })).status).toBe(201);
    const other = await makeTenant();
    const refusals = [
      await operate(path, "DELETE"),
      await operate(path, "PUT", { ...settings(client.tenant), name: `${client.tenant}.renamed` }),
      await operate(path, "PUT", settings(other)),
    ];
    for (const refusal of refusals)
      expect(await expectJson(refusal, 409)).toMatchObject({
        type: "conflict_resource",
        details: [{ type: "in_use", field: "topic" }],
      });
    expect((await call(`/pubsub/v1/topics/${client.clientId}/orders`, { method: "DELETE", token })).status).toBe(202);
    await vi.waitFor(async () => expect((await operate(path, "DELETE")).status).toBe(204), { timeout: 5_000 });
  });
});

describe("Client secrets", () => {
  // shows: operator/resources/clients-secret
  it("are shown by one of many parallel first PUTs, and that one works", async () => {
    const tenant = await makeTenant();
    const clientId = `${tenant}.${unique("app")}`;
    const answers = await Promise.all(Array.from({ length: 6 }, () => put(`clients/${clientId}`, settings(tenant))));
    const shown = answers.filter((answer) => "clientSecret" in answer);
    expect(shown).toHaveLength(1);
    await tokenFor({ clientId, clientSecret: shown[0].clientSecret });
  });

  // shows: operator/resources/clients-id-secret
  it("work for 24 h beside the new one after a rotation, and not longer", async () => {
    const client = await makeClient();
    const made = await expectJson(await operate(`clients/${client.clientId}/secret`, "POST"), 201);
    const status = async (clientSecret: string): Promise<number> =>
      (await isolate().token({ ...client, clientSecret })).status;
    expect(await Promise.all([status(client.clientSecret), status(made.clientSecret)])).toEqual([200, 200]);
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(made.previousExpiresAt - 1);
    expect(await Promise.all([status(client.clientSecret), status(made.clientSecret)])).toEqual([200, 200]);
    vi.setSystemTime(made.previousExpiresAt);
    expect(await Promise.all([status(client.clientSecret), status(made.clientSecret)])).toEqual([401, 200]);
  });

  it("count at once where they were rotated, even if the response was lost", async () => {
    const client = await makeClient();
    let loses = false;
    const db = directoryWith({
      async batch(statements) {
        const answer = await env.DB.batch(statements);
        if (loses) throw new Error("the answer was lost");
        return answer;
      },
    });
    const own = isolate({ DB: db });
    const authorization = `Bearer ${await tokenFor(OPERATOR)}`;
    const rotate = (): Promise<Response> =>
      own.fetch(`/admin/v1/clients/${client.clientId}/secret`, { method: "POST", headers: { authorization } });
    await expectJson(await rotate(), 201);
    // The first secret is in its last 24 h, and this isolate has read it. The next rotation ends it.
    expect((await own.token(client)).status).toBe(200);
    loses = true;
    expect((await rotate()).status).toBe(503);
    loses = false;
    expect((await own.token(client)).status).toBe(401);
  });

  // shows: oauth/post-token/client-by-authorization-basic
  it("are accepted by Basic as they are and form-encoded", async () => {
    const tenant = await makeTenant();
    const clientId = `${tenant}.${unique("app")}`;
    const clientSecret = `a+b%zz/c:d=${"x".repeat(32)}`;
    await put(`clients/${clientId}`, { ...settings(tenant), clientSecret });
    const form = { grant_type: "client_credentials" };
    for (const authorization of [`Basic ${btoa(`${clientId}:${clientSecret}`)}`, basic({ clientId, clientSecret })])
      expect((await call("/oauth2/v1/token", { form, headers: { authorization } })).status).toBe(200);
  });
});

describe("Scopes of services", () => {
  it.each([
    "plat.admin",
    "plat.*",
    "*",
    "plat.media_view",
    "plat.pubsub.topic=acme.*",
    "plat.tenant=victim",
    "plat.no_tenant",
    "openid",
    "open*",
  ])("may not be %s", async (scope) => {
    const tenant = await makeTenant();
    const service = {
      sourceUrl: "https://s.example",
      proxyPath: `/${unique("s")}`,
      scopes: [scope],
      tenant,
      access: "token",
    };
    const refused = await expectJson(await operate(`services/${unique("s")}`, "PUT", service), 400);
    expect(refused.details[0]).toMatchObject({ type: "invalid_field", field: "scopes" });
  });
});

describe("Keys beside the one that signs", () => {
  it("of an unknown algorithm are published, and break nothing", async () => {
    const pair = (await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"])) as CryptoKeyPair;
    const publicJwk = { ...(await exportJWK(pair.publicKey)), kid: "ed-1", alg: "Ed25519", use: "sig" };
    await env.DB.prepare(
      "INSERT INTO signing_key (kid, alg, public_jwk, sealed_private_jwk, created_at, signs_from) VALUES ('ed-1', 'Ed25519', ?, '', 0, 0)",
    )
      .bind(JSON.stringify(publicJwk))
      .run();
    const other = isolate();
    const client = await makeClient();
    const token = await accessToken(other.token(client));
    expect((await other.fetch("/admin/v1/roles", { headers: { authorization: `Bearer ${token}` } })).status).toBe(403);
    const { keys } = await (await other.fetch("/oauth2/v1/jwks")).json<{ keys: { kid: string }[] }>();
    expect(keys.map((key) => key.kid)).toContain("ed-1");
    const forged = new SignJWT(decodeJwt(token)).setProtectedHeader({ alg: "Ed25519", kid: "ed-1", typ: "at+jwt" });
    expect(await isLiving(await forged.sign(pair.privateKey))).toBe(false);
  });
});
