import { env } from "cloudflare:workers";
import { decodeJwt } from "jose";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createDeps } from "../../../src/deps.ts";
import { errorOf, isLiving, tokenInfo } from "../support/answers.ts";
import { auditOf } from "../support/audit-of.ts";
import { makeFlow, makeFlowClient, makePublicFlow, MEDIA, registration, type FlowClient } from "../support/flow.ts";
import { refresh, refreshed, signIn, type Tokens } from "../support/token-requests.ts";
import { sha256Hex } from "../../../src/platform/secrets/hash.ts";
import { shardBinding } from "../../../src/platform/storage/shards.ts";
import { everywhere, shardDb } from "../../support/shards.ts";
import { sweptAt } from "../../support/sweep.ts";
import { isolate, type Isolate } from "../../support/isolate.ts";
import { expectJson } from "../../support/platform/call.ts";
import { operate, put, putService } from "../../support/platform/operator.ts";
import { makeTenant } from "../../support/platform/tenants.ts";
import { basic } from "../../support/platform/tokens.ts";

afterEach(() => {
  vi.useRealTimers();
});

/** Stops the clock and moves it. */
function clock() {
  let nowMs = Date.now();
  vi.useFakeTimers({ toFake: ["Date"] });
  vi.setSystemTime(nowMs);
  return { pass: (ms: number) => vi.setSystemTime((nowMs += ms)) };
}

const remove = (path: string): Promise<Response> => operate(path, "DELETE");

describe("POST /token, refresh_token, of a client with a secret: 200", () => {
  // shows: oauth/post-token/refresh_token-refresh_token
  // shows: oauth/token/refresh-with-a-secret
  it("gives tokens of the same grant any number of times, and shows the same refresh token", async () => {
    const flow = await makeFlow();
    const first = await signIn(flow, { nonce: "once", authorization: { openid: true } });
    const { gid, sid } = decodeJwt<{ gid: string; sid: string }>(first.access_token);
    for (let n = 0; n < 3; n++) {
      const response = await refresh(flow.client, first.refresh_token);
      expect(response.headers.get("cache-control")).toBe("no-store");
      const tokens = await expectJson<Tokens>(response, 200);
      expect(tokens.refresh_token).toBe(first.refresh_token);
      expect(tokens.scope).toBe(first.scope);
      expect(decodeJwt(tokens.access_token)).toMatchObject({ gid, sid, user: flow.email, client_auth: true });
      const idToken = decodeJwt(tokens.id_token!);
      expect(idToken["auth_time"]).toBe(decodeJwt(first.id_token!)["auth_time"]);
      expect(idToken["nonce"]).toBeUndefined();
    }
    expect(await isLiving(first.access_token)).toBe(true);
  });

  it("succeeds for all parallel uses", async () => {
    const flow = await makeFlow();
    const { refresh_token } = await signIn(flow);
    const all = await Promise.all(Array.from({ length: 10 }, () => refreshed(flow.client, refresh_token)));
    expect(new Set(all.map((tokens) => tokens.refresh_token))).toEqual(new Set([refresh_token]));
  });

  // shows: oauth/refresh-token/lifetime
  // shows: oauth/limits/refresh-token
  it("never expires", async () => {
    const flow = await makeFlow();
    const { refresh_token } = await signIn(flow);
    const time = clock();
    time.pass(400 * 86_400_000);
    await createDeps(env).oauth.sweep(Date.now());
    expect((await refresh(flow.client, refresh_token)).status).toBe(200);
  });

  // shows: oauth/post-token/refresh_token-scope
  it("narrows this token and not the grant; a pattern gives the scopes that it matches", async () => {
    const flow = await makeFlow({ scopes: ["plat.pubsub.topic=*"] });
    await put(`roles/${flow.role}`, { scopes: ["plat.pubsub.topic=*"] });
    const { refresh_token } = await signIn(flow, { authorization: { scopes: ["plat.pubsub.topic=shop.*"] } });
    const narrow = await refreshed(flow.client, refresh_token, { scope: "plat.pubsub.topic=shop.orders" });
    expect(narrow.scope).toBe(`plat.tenant=${flow.tenant} plat.pubsub.topic=shop.orders`);
    const whole = await refreshed(flow.client, refresh_token, { scope: `plat.tenant=${flow.tenant}` });
    expect(whole.scope).toBe(`plat.tenant=${flow.tenant} plat.pubsub.topic=shop.*`);
    await put(`roles/${flow.role}`, { scopes: ["plat.pubsub.topic=shop.orders", "plat.pubsub.topic=other.x"] });
    expect((await refreshed(flow.client, refresh_token)).scope).toBe(
      `plat.tenant=${flow.tenant} plat.pubsub.topic=shop.orders`,
    );
  });

  it("gives no scopes that a role got after the sign-in", async () => {
    const flow = await makeFlow();
    const { refresh_token } = await signIn(flow, { authorization: { scopes: ["plat.media_view"] } });
    expect((await refreshed(flow.client, refresh_token)).scope).toBe(`plat.tenant=${flow.tenant} plat.media_view`);
    expect(await errorOf(await refresh(flow.client, refresh_token, { scope: "plat.media_manage" }))).toBe(
      "invalid_scope",
    );
  });

  it("gives an ID token and no other scope for openid alone", async () => {
    const flow = await makeFlow();
    const { refresh_token } = await signIn(flow, { authorization: { openid: true } });
    const tokens = await refreshed(flow.client, refresh_token, { scope: "openid" });
    expect(tokens.scope).toBe(`plat.tenant=${flow.tenant} openid`);
    expect(tokens.id_token).toBeDefined();
    expect((await refreshed(flow.client, refresh_token, { scope: "plat.media_view" })).id_token).toBeUndefined();
  });
});

describe("Each use of a refresh token checks", () => {
  // shows: oauth/who-gets-which-scope/checked-again-at-refresh
  it("the role, the client's scopes and the subscription: lost scopes are omitted, or refused if named", async () => {
    const changes: readonly ((flow: Awaited<ReturnType<typeof makeFlow>>) => Promise<unknown>)[] = [
      (flow) => put(`roles/${flow.role}`, { scopes: ["plat.media_view"] }),
      (flow) => put(`clients/${flow.client.clientId}`, registration(flow.tenant, { scopes: ["plat.media_view"] })),
    ];
    for (const change of changes) {
      const flow = await makeFlow();
      const { refresh_token } = await signIn(flow);
      await change(flow);
      const body = await expectJson(await refresh(flow.client, refresh_token, { scope: "plat.media_manage" }), 400);
      expect(body).toMatchObject({
        error: "invalid_scope",
        error_description: expect.stringContaining("plat.media_manage"),
      });
      expect((await refreshed(flow.client, refresh_token)).scope).toBe(`plat.tenant=${flow.tenant} plat.media_view`);
    }
    const flow = await makeFlow();
    const { refresh_token } = await signIn(flow);
    await remove(`tenants/${flow.tenant}/subscriptions/platform`);
    expect((await refreshed(flow.client, refresh_token)).scope).toBe(`plat.tenant=${flow.tenant}`);
    await put(`tenants/${flow.tenant}/subscriptions/platform`, {});
    expect((await refreshed(flow.client, refresh_token)).scope.split(" ").length).toBe(3);
  });

  // shows: oauth/who-gets-which-scope/checked-again-at-refresh
  it("the membership: invalid_grant, or invalid_scope if the tenant is named; restored, it works again", async () => {
    const flow = await makeFlow();
    const { refresh_token } = await signIn(flow);
    const member = `tenants/${flow.tenant}/members/${flow.email}`;
    await remove(member);
    expect(await errorOf(await refresh(flow.client, refresh_token))).toBe("invalid_grant");
    const scope = `plat.tenant=${flow.tenant}`;
    expect(await errorOf(await refresh(flow.client, refresh_token, { scope }))).toBe("invalid_scope");
    expect((await auditOf(flow.client.clientId)).map(({ reason }) => reason)).toEqual(
      Array(2).fill(`${flow.email} is no member of tenant ${flow.tenant}`),
    );
    await put(member, { roles: [flow.role] });
    expect((await refresh(flow.client, refresh_token)).status).toBe(200);
  });

  // shows: oauth/who-gets-which-scope/checked-again-at-refresh
  it("for another tenant, its subscription to the client's service", async () => {
    const flow = await makeFlow();
    const subscriber = await makeTenant();
    await put(`tenants/${subscriber}/members/${flow.email}`, { roles: [flow.role] });
    const service = flow.tenant;
    await putService(service, { tenant: flow.tenant });
    await put(`packages/${service}`, { version: "1", organization: `${flow.tenant}-org`, services: [service] });
    await put(`clients/${flow.client.clientId}`, registration(flow.tenant, { service }));
    const subscription = `tenants/${subscriber}/subscriptions/${service}`;
    await put(subscription, {});
    const { refresh_token } = await signIn(flow, { authorization: { tenant: subscriber, tenantExplicit: true } });
    expect((await refreshed(flow.client, refresh_token)).scope).toContain(`plat.tenant=${subscriber}`);
    await remove(subscription);
    expect(await errorOf(await refresh(flow.client, refresh_token))).toBe("invalid_grant");
  });

  it("the user: being disabled or changing the password revokes earlier grants for good", async () => {
    for (const change of [{ disabled: true }, { password: "another-password-1" }]) {
      const flow = await makeFlow();
      const { access_token, refresh_token } = await signIn(flow);
      await put(`users/${flow.email}`, change);
      expect(await isLiving(access_token)).toBe(false);
      expect(await errorOf(await refresh(flow.client, refresh_token))).toBe("invalid_grant");
      await put(`users/${flow.email}`, { disabled: false });
      expect(await errorOf(await refresh(flow.client, refresh_token))).toBe("invalid_grant");
      const time = clock();
      time.pass(1_000);
      const later = await signIn(flow);
      expect((await refresh(flow.client, later.refresh_token)).status).toBe(200);
    }
  });

  it.each([
    ["ahead of", 600_000],
    ["behind", -600_000],
  ])("the password change, by a clock that is %s the database's", async (_, aheadMs) => {
    const flow = await makeFlow();
    const time = clock();
    // A sign-in uses the later of the two clocks.
    if (aheadMs > 0) time.pass(aheadMs);
    const { refresh_token } = await signIn(flow, { authorization: { authenticatedAtMs: Date.now() - 5 } });
    if (aheadMs < 0) time.pass(aheadMs);
    await put(`users/${flow.email}`, { password: "another-password-1" });
    expect(await errorOf(await refresh(flow.client, refresh_token))).toBe("invalid_grant");
  });

  it("the user, with sign-in times of either clock", async () => {
    const flow = await makeFlow();
    const { refresh_token } = await signIn(flow);
    const disable = (disabled: number) =>
      env.DB.prepare("UPDATE user SET disabled = ?1 WHERE email = ?2").bind(disabled, flow.email).run();
    await disable(1);
    expect(await errorOf(await refresh(flow.client, refresh_token))).toBe("invalid_grant");
    await disable(0);
    expect((await refresh(flow.client, refresh_token)).status).toBe(200);
  });

  it("the client: its registration for the grant, that it is enabled, that it is the same", async () => {
    const flow = await makeFlow();
    const { refresh_token } = await signIn(flow);
    const path = `clients/${flow.client.clientId}`;
    await put(path, registration(flow.tenant, { grantTypes: ["authorization_code"] }));
    expect(await errorOf(await refresh(flow.client, refresh_token))).toBe("unauthorized_client");
    await put(path, registration(flow.tenant, { disabled: true }));
    expect(await errorOf(await refresh(flow.client, refresh_token), 401)).toBe("invalid_client");
    await put(path, registration(flow.tenant, { disabled: false }));
    const other = await makeFlowClient(flow.tenant);
    const refused = await expectJson(await refresh(other, refresh_token), 400);
    const unknown = await expectJson(await refresh(other, "unknown"), 400);
    expect(refused.error).toBe("invalid_grant");
    expect(refused.error_description).toBe(unknown.error_description);
    expect((await refresh(flow.client, refresh_token)).status).toBe(200);
  });
});

describe("POST /token, refresh_token: 400 and 401", () => {
  // shows: oauth/post-token/refresh_token-refresh_token
  it("is invalid_request without a token, and invalid_grant for any other text or spelling", async () => {
    const flow = await makeFlow();
    const { access_token, refresh_token } = await signIn(flow);
    expect(await errorOf(await refresh(flow.client, ""))).toBe("invalid_request");
    const spare = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const other = refresh_token.slice(0, -1) + spare[spare.indexOf(refresh_token.at(-1)!) ^ 1]!;
    for (const text of ["x", "\u0000", "💥", `${refresh_token}=`, ` ${refresh_token}`, other, access_token])
      expect(await errorOf(await refresh(flow.client, text)), text).toBe("invalid_grant");
  });

  it("is 401 without the secret of a client that has one", async () => {
    const flow = await makeFlow();
    const { refresh_token } = await signIn(flow);
    for (const clientSecret of [undefined, "", "wrong"])
      expect(await errorOf(await refresh({ ...flow.client, clientSecret }, refresh_token), 401)).toBe("invalid_client");
  });
});

describe("The rotation for a client without a secret", () => {
  // shows: oauth/access-tokens/refresh-tokens-codes-sessions
  // shows: oauth/token/refresh-without-one
  it("gives another token at each use, and the new one works", async () => {
    const flow = await makePublicFlow();
    const tokens = [(await signIn(flow)).refresh_token];
    for (let n = 0; n < 4; n++) tokens.push((await refreshed(flow.client, tokens.at(-1)!)).refresh_token);
    expect(new Set(tokens).size).toBe(5);
    const stored = await everywhere.prepare("SELECT * FROM refresh_token").all();
    for (const token of tokens) expect(JSON.stringify(stored.results)).not.toContain(token);
  });

  // shows: oauth/token/a-used-token-within-30-s
  it("gives the same successor for 30 s, in case a response was lost", async () => {
    const flow = await makePublicFlow();
    const { refresh_token } = await signIn(flow);
    const time = clock();
    const first = await refreshed(flow.client, refresh_token);
    time.pass(30_000);
    const again = await refreshed(flow.client, refresh_token);
    expect(again.refresh_token).toBe(first.refresh_token);
    expect(await isLiving(first.access_token)).toBe(true);
    expect(await isLiving(again.access_token)).toBe(true);
    expect((await refresh(flow.client, first.refresh_token)).status).toBe(200);
  });

  // shows: oauth/token/a-used-token-within-30-s
  it("lets parallel uses of one token succeed, with one successor for all", async () => {
    const flow = await makePublicFlow();
    const { refresh_token } = await signIn(flow);
    const all = await Promise.all(Array.from({ length: 20 }, () => refreshed(flow.client, refresh_token)));
    const successors = new Set(all.map((tokens) => tokens.refresh_token));
    expect(successors.size).toBe(1);
    expect(successors.has(refresh_token)).toBe(false);
    const living = await everywhere
      .prepare(
        `SELECT count(*) AS n FROM refresh_token JOIN refresh_grant ON refresh_grant.id = grant_id
       WHERE email = ? AND used_at IS NULL`,
      )
      .bind(flow.email)
      .first("n");
    expect(living).toBe(1);
    expect((await refresh(flow.client, [...successors][0]!)).status).toBe(200);
  });

  const ended = async (flow: Awaited<ReturnType<typeof makeFlow>>, all: readonly Tokens[]): Promise<void> => {
    for (const { access_token, refresh_token } of all) {
      expect(await isLiving(access_token)).toBe(false);
      expect(await errorOf(await refresh(flow.client, refresh_token))).toBe("invalid_grant");
    }
    const { gid } = decodeJwt<{ gid: string }>(all[0]!.access_token);
    expect(await auditOf(flow.client.clientId)).toContainEqual({
      action: "end grant",
      subject: `grants/${gid}`,
      outcome: "done",
      reason: "a refresh token was used twice",
    });
  };

  // shows: oauth/token/a-used-token-later
  it("revokes the family if a token is used again after 30 s", async () => {
    const flow = await makePublicFlow();
    const first = await signIn(flow);
    const other = await signIn(flow);
    const time = clock();
    const second = await refreshed(flow.client, first.refresh_token);
    time.pass(30_001);
    expect(await errorOf(await refresh(flow.client, first.refresh_token))).toBe("invalid_grant");
    await ended(flow, [first, second]);
    expect((await refresh(flow.client, other.refresh_token)).status).toBe(200);
  });

  // shows: oauth/token/a-used-token-later
  it("revokes the family if a token is used again after its successor, even within 30 s", async () => {
    const flow = await makePublicFlow();
    const first = await signIn(flow);
    const second = await refreshed(flow.client, first.refresh_token);
    const third = await refreshed(flow.client, second.refresh_token);
    expect(await errorOf(await refresh(flow.client, first.refresh_token))).toBe("invalid_grant");
    await ended(flow, [first, second, third]);
  });

  it.each([0, 1])(
    "revokes the family if a token is used again while others use it and its successor, in shard %i",
    async (home) => {
      const flow = await makePublicFlow({}, home);
      const first = await signIn(flow);
      const all = [first];
      let uses = false;
      const late = new Proxy(shardDb(home), {
        get(target, name) {
          if (name === "prepare")
            return (sql: string) => {
              uses ||= /UPDATE refresh_token/.test(sql);
              return target.prepare(sql);
            };
          if (name === "batch")
            return async (statements: D1PreparedStatement[]) => {
              // The token was valid when it was read. Other requests write before this one.
              if (uses) while (all.length < 3) all.push(await refreshed(flow.client, all.at(-1)!.refresh_token));
              return target.batch(statements);
            };
          return Reflect.get(target, name, target) as unknown;
        },
      });
      const form = { grant_type: "refresh_token", refresh_token: first.refresh_token, client_id: flow.client.clientId };
      const body = new URLSearchParams(form);
      const answer = await isolate({ [shardBinding(home)]: late }).fetch("/oauth2/v1/token", { method: "POST", body });
      expect(await errorOf(answer)).toBe("invalid_grant");
      expect(all.length).toBe(3);
      await ended(flow, all);
    },
  );

  it("uses up nothing in a refused request", async () => {
    const flow = await makePublicFlow();
    const { refresh_token } = await signIn(flow, { authorization: { scopes: ["plat.media_view"] } });
    const time = clock();
    expect(await errorOf(await refresh(flow.client, refresh_token, { scope: "plat.media_manage" }))).toBe(
      "invalid_scope",
    );
    time.pass(60_000);
    expect((await refresh(flow.client, refresh_token)).status).toBe(200);
  });

  it("recognizes a spent token even in a request that would be refused anyway", async () => {
    const flow = await makePublicFlow();
    const first = await signIn(flow);
    const time = clock();
    const second = await refreshed(flow.client, first.refresh_token);
    time.pass(31_000);
    expect(await errorOf(await refresh(flow.client, first.refresh_token, { scope: "plat.no_tenant" }))).toBe(
      "invalid_grant",
    );
    await ended(flow, [second]);
  });

  it("deletes used tokens after 30 days, and never the living one", async () => {
    const flow = await makePublicFlow();
    const first = await signIn(flow);
    const second = await refreshed(flow.client, first.refresh_token);
    const count = () =>
      everywhere
        .prepare("SELECT count(*) AS n FROM refresh_token WHERE grant_id = ?")
        .bind(decodeJwt<{ gid: string }>(first.access_token).gid)
        .first("n");
    const { oauth } = createDeps(env);
    const usedHash = await sha256Hex(first.refresh_token);
    await oauth.sweep(sweptAt(usedHash, Date.now() + 28 * 86_400_000));
    expect(await count()).toBe(2);
    await oauth.sweep(sweptAt(usedHash, Date.now() + 31 * 86_400_000));
    await oauth.sweep(sweptAt(await sha256Hex(second.refresh_token), Date.now() + 31 * 86_400_000));
    expect(await count()).toBe(1);
    expect(await errorOf(await refresh(flow.client, first.refresh_token))).toBe("invalid_grant");
    expect((await refresh(flow.client, second.refresh_token)).status).toBe(200);
  });

  it("starts for a client that loses its secret, and stops for a client that gets one, which keeps its token", async () => {
    const flow = await makePublicFlow();
    const first = await signIn(flow);
    const { refresh_token } = await refreshed(flow.client, first.refresh_token);
    const path = `clients/${flow.client.clientId}`;
    const made = await put(path, registration(flow.tenant));
    const client = { ...flow.client, clientSecret: made.clientSecret as string };
    expect((await refreshed(client, refresh_token)).refresh_token).toBe(refresh_token);
    await put(path, registration(flow.tenant, { confidential: false }));
    expect((await refreshed(flow.client, refresh_token)).refresh_token).not.toBe(refresh_token);
  });
});

describe("The token of a refresh", () => {
  it("is the user's in tokeninfo", async () => {
    const flow = await makeFlow();
    const { refresh_token } = await signIn(flow);
    const { access_token } = await refreshed(flow.client, refresh_token);
    expect(await expectJson(await tokenInfo(access_token), 200)).toMatchObject({
      user: flow.email,
      tenant: flow.tenant,
      clientId: flow.client.clientId,
      scopes: expect.arrayContaining(MEDIA),
    });
  });
});

describe("An isolate with an old record of a client", () => {
  const refreshIn = (other: Isolate, { clientId, clientSecret = "" }: FlowClient, token: string): Promise<Response> =>
    other.fetch("/oauth2/v1/token", {
      method: "POST",
      headers: { authorization: basic({ clientId, clientSecret }) },
      body: new URLSearchParams({ grant_type: "refresh_token", refresh_token: token }),
    });

  it("still accepts a leaked secret that was replaced, and the tokens are revoked from the start", async () => {
    const flow = await makeFlow();
    const { refresh_token } = await signIn(flow);
    const other = isolate();
    // This request reads the client, but not its tenant.
    expect((await refreshIn(other, flow.client, "unknown")).status).toBe(400);
    await put(`clients/${flow.client.clientId}`, registration(flow.tenant, { clientSecret: "x".repeat(40) }));
    const tokens = await expectJson<Tokens>(await refreshIn(other, flow.client, refresh_token), 200);
    expect(await isLiving(tokens.access_token)).toBe(false);
  });

  it("gives a user who signed in by a new password valid tokens at once", async () => {
    const flow = await makeFlow();
    const before = await signIn(flow);
    const other = isolate();
    expect((await refreshIn(other, flow.client, before.refresh_token)).status).toBe(200);
    await put(`users/${flow.email}`, { password: "another-password-1" });
    const after = await signIn(flow, { authorization: { authenticatedAtMs: Date.now() + 5 } });
    const tokens = await expectJson<Tokens>(await refreshIn(other, flow.client, after.refresh_token), 200);
    expect(await isLiving(tokens.access_token)).toBe(true);
    expect(await isLiving(before.access_token)).toBe(false);
  });
});
