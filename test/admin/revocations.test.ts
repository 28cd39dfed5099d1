import { env } from "cloudflare:workers";
import { decodeJwt } from "jose";
import { describe, expect, it, vi } from "vitest";
import { call, expectJson } from "../support/platform/call.ts";
import { makeClient } from "../support/platform/clients.ts";
import { operate, OPERATOR, put } from "../support/platform/operator.ts";
import { makeTenant } from "../support/platform/tenants.ts";
import { basic, tokenFor } from "../support/platform/tokens.ts";
import { unique } from "../support/platform/unique.ts";
import { Browser, landed } from "../support/browser.ts";
import { isolate } from "../support/isolate.ts";
import { makePerson, tokenOf } from "../support/parties/operators.ts";
import { makeApp, signInThrough, visit } from "../support/sign-in.ts";
import { join, makeUser } from "../support/users.ts";
import { errorOf, isLiving } from "../oauth/support/answers.ts";
import { codeFor } from "../oauth/support/code.ts";
import { makeFlow, makeFlowClient, MEDIA, type Flow } from "../oauth/support/flow.ts";
import { redeem, refresh, refreshed, signIn, type Tokens } from "../oauth/support/token-requests.ts";
import { itAtNight } from "../support/model-runs.ts";

/** An operator revokes tokens that clients and browsers got in the usual ways. */
const revoke = async (path: string, token?: string): Promise<Response> =>
  call(`/admin/v1/${path}/revoke`, { method: "POST", token: token ?? (await tokenFor(OPERATOR)) });
const auditOf = async (subject: string): Promise<any[]> =>
  (
    await expectJson<any[]>(await call(`/admin/v1/audit?subject=${subject}`, { token: await tokenFor(OPERATOR) }), 200)
  ).filter((entry) => entry.subject === subject);
const sessionOf = (token: string): string => String(decodeJwt(token)["sid"]);

/** The access and refresh token of a sign-in, and a code that is not redeemed. */
interface Held extends Tokens {
  readonly code: string;
}
const hold = async (flow: Flow, sessionId = unique("session")): Promise<Held> => ({
  ...(await signIn(flow, { authorization: { sessionId } })),
  code: await codeFor(flow, { authorization: { sessionId } }),
});
async function expectAllEnded(flow: Flow, held: Held): Promise<void> {
  expect(await isLiving(held.access_token)).toBe(false);
  expect(await errorOf(await refresh(flow.client, held.refresh_token))).toBe("invalid_grant");
  expect(await errorOf(await redeem(flow.client, held.code))).toBe("invalid_grant");
}
async function expectAllGood(flow: Flow, held: Held): Promise<void> {
  expect(await isLiving(held.access_token)).toBe(true);
  await refreshed(flow.client, held.refresh_token);
  await expectJson(await redeem(flow.client, held.code), 200);
}

/** Checks that the revocation ends the tokens of the client and of the flow, but not those of the other flow. */
async function expectRevoked(
  path: string,
  { client, flow, other }: { client: Parameters<typeof tokenFor>[0]; flow: Flow; other: Flow },
): Promise<void> {
  const [own, held, others] = [await tokenFor(client), await hold(flow), await hold(other)];
  expect((await revoke(path)).status).toBe(204);
  expect(await isLiving(own)).toBe(false);
  await expectAllEnded(flow, held);
  await expectAllGood(other, others);
  // Nothing is disabled: they get new tokens at once, and the new tokens work.
  expect(await isLiving(await tokenFor(client))).toBe(true);
  await expectAllGood(flow, await hold(flow));
}

describe("revocation by an operator", () => {
  // shows: operator/beyond-the-resources/revocation-of-a-client
  it("of a client ends its tokens and its grants, and leaves other clients of the same tenant and user", async () => {
    const flow = await makeFlow({ grantTypes: ["authorization_code", "refresh_token", "client_credentials"] });
    const client = { clientId: flow.client.clientId, clientSecret: flow.client.clientSecret ?? "" };
    const other: Flow = { ...flow, client: await makeFlowClient(flow.tenant) };
    await expectRevoked(`clients/${client.clientId}`, { client, flow, other });
    expect(await auditOf(`clients/${client.clientId}`)).toMatchObject([
      { action: "revoke", actor: "plat.operator", outcome: "done" },
    ]);
  });

  it("of a client by an organization's administrator ends the grants and codes of everybody", async () => {
    const boss = await makePerson(["plat.admin_tenant"]);
    const user = await makeUser({ tenant: boss.tenant, scopes: MEDIA, home: 0 });
    const client = await makeFlowClient(boss.tenant);
    const flow: Flow = { client, email: user.email, tenant: boss.tenant, role: "" };
    const held = await hold(flow);
    expect((await revoke(`clients/${client.clientId}`, await tokenOf(boss))).status).toBe(204);
    await expectAllEnded(flow, held);
    await expectAllGood(flow, await hold(flow));
  });

  // shows: operator/beyond-the-resources/revocation-of-a-user
  it("of a user ends tokens of every client and tenant and signs out, and leaves other users", async () => {
    const user = await makeUser();
    const app = await makeApp({ tenant: user.tenant });
    const browser = new Browser();
    await signInThrough(browser, app, user);
    expect(landed(await visit(browser, app)).query.has("code")).toBe(true);
    const flow: Flow = {
      client: { clientId: app.clientId, clientSecret: app.clientSecret, tenant: app.tenant },
      email: user.email,
      tenant: user.tenant,
      role: "",
    };
    const second = await makeFlow();
    await join(user.email, second.tenant);
    const elsewhere: Flow = { ...second, email: user.email };
    const held = [await hold(flow), await hold(elsewhere)] as const;
    const [others, clients] = [await hold(second), await tokenFor(await makeClient({ tenant: user.tenant }))];
    expect((await revoke(`users/${user.email.toUpperCase()}`)).status).toBe(204);
    await expectAllEnded(flow, held[0]);
    await expectAllEnded(elsewhere, held[1]);
    expect((await visit(browser, app)).status).toBe(200);
    await expectAllGood(second, others);
    expect(await isLiving(clients)).toBe(true);
    expect(await auditOf(`users/${user.email}`)).toMatchObject([{ action: "revoke" }]);
    expect(landed(await signInThrough(browser, app, user)).query.has("code")).toBe(true);
    await expectAllGood(flow, await hold(flow));
  });

  // shows: operator/beyond-the-resources/revocation-of-a-tenant
  it("of a tenant ends tokens of its clients and users, and leaves the same user in another tenant", async () => {
    const flow = await makeFlow();
    const client = await makeClient({ tenant: flow.tenant });
    const other = await makeFlow();
    await join(flow.email, other.tenant);
    const elsewhere: Flow = { ...other, email: flow.email };
    await expectRevoked(`tenants/${flow.tenant}`, { client, flow, other: elsewhere });
    expect((await auditOf(`tenants/${flow.tenant}`))[0]).toMatchObject({ action: "revoke" });
  });

  // shows: operator/beyond-the-resources/revocation-of-a-session
  it("of a session ends its tokens and grants and signs its browser out, and leaves other sessions", async () => {
    const flow = await makeFlow();
    const [held, others] = [await hold(flow), await hold(flow)];
    const renamed = await refreshed(flow.client, held.refresh_token, { "plat-session-id": `${unique("named")}/+==` });
    expect(sessionOf(renamed.access_token)).toBe(sessionOf(held.access_token));
    const session = sessionOf(held.access_token);
    expect((await revoke(`sessions/${session}`)).status).toBe(204);
    await expectAllEnded(flow, held);
    expect(await isLiving(renamed.access_token)).toBe(false);
    await expectAllGood(flow, others);
    expect(await auditOf(`sessions/${session}`)).toMatchObject([{ action: "revoke" }]);
    // A session that the caller names itself revokes nothing.
    const named = `${unique("named")}/+==`;
    const own = await refreshed(flow.client, others.refresh_token, { "plat-session-id": named });
    expect((await revoke(`sessions/${encodeURIComponent(named)}`)).status).toBe(204);
    expect(await isLiving(own.access_token)).toBe(true);

    const user = await makeUser({ home: 0 });
    const app = await makeApp({ tenant: user.tenant });
    const [browser, another] = [new Browser(), new Browser()];
    const tokens = async (at: Browser): Promise<Tokens> => {
      const code = landed(await visit(at, app)).query.get("code") ?? "";
      const form = { grant_type: "authorization_code", code, redirect_uri: app.redirectUri };
      return expectJson(await call("/oauth2/v1/token", { form, headers: { authorization: basic(app) } }), 200);
    };
    await signInThrough(browser, app, user);
    await signInThrough(another, app, user);
    const [first, second] = [await tokens(browser), await tokens(another)];
    expect((await revoke(`sessions/${sessionOf(first.access_token)}`)).status).toBe(204);
    expect(await isLiving(first.access_token)).toBe(false);
    expect((await visit(browser, app)).status).toBe(200);
    expect(await isLiving(second.access_token)).toBe(true);
    expect((await visit(another, app)).status).toBe(302);
    // In older releases, the id of a session was not the beginning of its key.
    const older = unique("older");
    await env.DB.prepare("UPDATE session SET sid = ?2 WHERE email = ?1").bind(user.email, older).run();
    expect((await visit(another, app)).status).toBe(302);
    expect((await revoke(`sessions/${older}`)).status).toBe(204);
    expect((await visit(another, app)).status).toBe(200);
  });

  it("of a session works with access tokens alone, which are not stored", async () => {
    const client = await makeClient();
    const [one, other] = [await tokenFor(client), await tokenFor(client)];
    expect((await revoke(`sessions/${sessionOf(one)}`)).status).toBe(204);
    expect([await isLiving(one), await isLiving(other)]).toEqual([false, true]);
  });

  it("reaches another isolate within 5 s, even tokens that it issues from older records", async () => {
    const client = await makeClient();
    const other = isolate();
    const issue = async (): Promise<string> => (await expectJson(await other.token(client), 200)).access_token;
    // A refused token gets 401, while a valid token without the right gets 403.
    const status = async (token: string): Promise<number> =>
      (await other.fetch("/admin/v1/roles", { headers: { authorization: `Bearer ${token}` } })).status;
    const before = await issue();
    expect(await status(before)).toBe(403);
    expect((await revoke(`clients/${client.clientId}`)).status).toBe(204);
    vi.useFakeTimers({ toFake: ["Date"] });
    try {
      vi.setSystemTime(Date.now() + 5_001);
      expect(await status(before)).toBe(401);
      expect(await status(await issue())).toBe(401);
      vi.setSystemTime(Date.now() + 30_001);
      expect(await status(await issue())).toBe(403);
    } finally {
      vi.useRealTimers();
    }
  });

  it("of the operator client itself ends the token that asked for it", async () => {
    const leaked = await tokenFor(OPERATOR);
    expect((await call("/admin/v1/roles", { token: leaked })).status).toBe(200);
    expect((await call("/admin/v1/clients/plat.operator/revoke", { method: "POST", token: leaked })).status).toBe(204);
    expect((await call("/admin/v1/roles", { token: leaked })).status).toBe(401);
    expect((await call("/admin/v1/roles", { token: await tokenFor(OPERATOR) })).status).toBe(200);
  });

  it("may be repeated; answers 404, 400 and 405 for unknown ids, wrong ids and other methods", async () => {
    const tenant = await makeTenant();
    const client = await makeClient({ tenant });
    const email = `${unique("zoe")}@example.org`;
    await put(`users/${email}`, {});
    for (const path of [
      `clients/${client.clientId}`,
      `users/${email}`,
      `tenants/${tenant}`,
      `sessions/${unique("s")}`,
    ]) {
      expect([path, (await revoke(path)).status, (await revoke(path)).status]).toEqual([path, 204, 204]);
      const wrong = await call(`/admin/v1/${path}/revoke`, { method: "GET", token: await tokenFor(OPERATOR) });
      expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, expect.stringContaining("POST")]);
    }
    for (const path of ["clients/no.body", "users/nobody@example.org", "tenants/nosuch"]) {
      const refused = await expectJson(await revoke(path), 404);
      expect(refused, path).toMatchObject({ type: "element_resource_non_existing" });
      expect(await auditOf(path)).toEqual([]);
    }
    for (const [path, field] of [
      ["clients/a%20b", "clientId"],
      ["users/nobody", "email"],
      ["tenants/UPPER", "id"],
      ["sessions/a%20b", "sessionId"],
    ] as const) {
      const refused = await expectJson(await revoke(path), 400);
      expect(refused, path).toMatchObject({ details: [{ type: "invalid_uri_parameter", field }] });
    }
    const rows = env.DB.prepare(
      "SELECT count(*) AS n FROM revocation WHERE key IN ('no.body', 'nobody@example.org', 'nosuch')",
    );
    expect(await rows.first("n")).toBe(0);
  });

  itAtNight("continues over several transactions, and asks to be repeated if one request is not enough", async () => {
    const flow = await makeFlow({}, 0);
    const { clientId } = flow.client;
    const grants = (count: number, session: string) =>
      env.DB.prepare(
        `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT ?1)
         INSERT INTO refresh_grant SELECT ?2 || i, ?3, ?4, json_object('tenant', ?5, 'sessionId', ?2), i, i FROM n`,
      ).bind(count, session, clientId, flow.email, flow.tenant);
    const left = () =>
      env.DB.prepare("SELECT count(*) AS n FROM refresh_grant WHERE client = ?").bind(clientId).first("n");
    const [shared, kept] = [unique("shared"), unique("kept")];
    await env.DB.batch([grants(10_300, shared), grants(5_400, kept)]);
    const held = await hold(flow, shared);
    const shut = await revoke(`sessions/${shared}`);
    expect(await expectJson(shut, 503)).toMatchObject({ type: "service_temporarily_unavailable" });
    expect(shut.headers.get("retry-after")).toMatch(/^[12]$/);
    expect(await left()).toBe(300 + 5_400 + 1);
    expect((await revoke(`sessions/${shared}`)).status).toBe(204);
    expect(await left()).toBe(5_400);
    await expectAllEnded(flow, held);
    expect((await revoke(`tenants/${flow.tenant}`)).status).toBe(204);
    expect(await left()).toBe(0);
    expect((await auditOf(`sessions/${shared}`)).map(({ action }) => action)).toEqual(["revoke", "revoke"]);
  });

  itAtNight(
    "runs before a client or user with thousands of grants is removed, and when a user is signed out",
    async () => {
      const [flow, disabled] = [await makeFlow(), await makeFlow()];
      const grants = ({ client, email }: Flow, of: string) =>
        env.DB.prepare(
          `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 5001)
         INSERT INTO refresh_grant SELECT ?1 || i, ?2, ?3, '{}', i, i FROM n`,
        ).bind(unique(of), client.clientId, email);
      const remove = (path: string) => operate(path, "DELETE");
      const actions = async (subject: string) => (await auditOf(subject)).map(({ action }) => action);
      await env.DB.batch([grants(flow, "one"), grants(disabled, "disabled")]);
      const held = await hold(flow);
      expect((await remove(`clients/${flow.client.clientId}`)).status).toBe(204);
      expect(await isLiving(held.access_token)).toBe(false);
      expect(await actions(`clients/${flow.client.clientId}`)).toEqual(["delete", "revoke"]);

      await put(`users/${disabled.email}`, { disabled: true });
      const left = env.DB.prepare("SELECT count(*) AS n FROM refresh_grant WHERE email = ?").bind(disabled.email);
      expect(await left.first("n")).toBe(0);

      await grants(disabled, "two").run();
      expect((await remove(`users/${disabled.email}`)).status).toBe(204);
      expect((await actions(`users/${disabled.email}`)).slice(0, 3)).toEqual(["delete", "revoke", "put"]);
      expect((await remove(`users/${flow.email}`)).status).toBe(204);
      expect(await actions(`users/${flow.email}`)).toEqual(["delete"]);
    },
  );
});
