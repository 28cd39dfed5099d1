import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { createLocalJWKSet, decodeJwt, jwtVerify, type JSONWebKeySet } from "jose";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createApp } from "../../../src/app.ts";
import { createDeps } from "../../../src/deps.ts";
import { errorOf, isLiving, tokenInfo } from "../support/answers.ts";
import { auditOf } from "../support/audit-of.ts";
import { CHALLENGE, codeFor, VERIFIER } from "../support/code.ts";
import {
  CODE_AND_REFRESH,
  makeFlow,
  makeFlowClient,
  makePublicFlow,
  makeUser,
  MEDIA,
  REDIRECT,
  registration,
} from "../support/flow.ts";
import { redeem, refresh, signIn, tokenRequest, type Tokens } from "../support/token-requests.ts";
import { RUNS_OF_AN_HOUR } from "../../../src/platform/storage/slice.ts";
import { sha256Hex } from "../../../src/platform/secrets/hash.ts";
import { shardBinding, shardsOf } from "../../../src/platform/storage/shards.ts";
import { everywhere } from "../../support/shards.ts";
import { sweptAt } from "../../support/sweep.ts";
import { counting } from "../../support/counting.ts";
import { call, expectJson, ORIGIN } from "../../support/platform/call.ts";
import { put, OPERATOR } from "../../support/platform/operator.ts";
import { makeTenant } from "../../support/platform/tenants.ts";
import { basic, tokenFor } from "../../support/platform/tokens.ts";
import { letTimePass } from "../../support/frozen-time.ts";

afterEach(() => {
  vi.useRealTimers();
});

describe("POST /token, authorization_code: 200", () => {
  // shows: oauth/what-the-service-does/grant-authorization_code
  // shows: oauth/access-token-response/token_type
  // shows: oauth/access-token-response/expires_in
  // shows: oauth/access-token-response/refresh-token-beside-a-code-s-token
  // shows: platform/other-origins-caches-headers/tokens
  it("gives a client with a secret a token of the user, and a refresh token", async () => {
    const flow = await makeFlow({}, 0);
    const response = await redeem(flow.client, await codeFor(flow));
    expect(response.headers.get("cache-control")).toBe("no-store");
    const body = await expectJson(response, 200);
    expect(body).toEqual({
      token_type: "Bearer",
      access_token: expect.any(String),
      expires_in: 3600,
      scope: `plat.tenant=${flow.tenant} ${MEDIA.toSorted().join(" ")}`,
      refresh_token: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
    });
    expect(await expectJson(await tokenInfo(body.access_token), 200)).toEqual({
      scopes: body.scope.split(" "),
      tenant: flow.tenant,
      clientId: flow.client.clientId,
      user: flow.email,
    });
    expect(decodeJwt(body.access_token)).toMatchObject({
      client_auth: true,
      sub: flow.email,
      user: flow.email,
      sid: "session-1",
      tenant_explicit: false,
    });
  });

  // shows: oauth/post-token/authorization_code-client_id
  // shows: oauth/post-token/authorization_code-code_verifier
  it("gives a client without a secret the same by its name and its verifier, S256 and plain", async () => {
    const flow = await makePublicFlow();
    const tokens = await signIn(flow);
    expect(decodeJwt(tokens.access_token)).toMatchObject({ client_auth: false, client_id: flow.client.clientId });
    expect(tokens.refresh_token).toBeDefined();
    await signIn(flow, { challenge: { value: VERIFIER, method: "plain" } });
  });

  // shows: oauth/access-token-response/refresh-token-beside-a-code-s-token
  it("gives no refresh token to a client that is not registered for them", async () => {
    const flow = await makeFlow({ grantTypes: ["authorization_code"] });
    expect((await signIn(flow)).refresh_token).toBeUndefined();
  });

  // shows: oauth/what-the-service-does/id-token
  // shows: oauth/access-token-response/id_token-beside-a-code-s-token
  // shows: oauth/id-token/aud
  // shows: oauth/id-token/nonce
  // shows: oauth/id-token/sub
  // shows: oauth/id-token/email
  // shows: oauth/scopes/openid
  it("gives an ID token with openid: nonce, time of the sign-in, at_hash", async () => {
    const flow = await makeFlow();
    const authenticatedAtMs = Date.now() - 5_000;
    vi.useFakeTimers({ toFake: ["Date"] });
    await env.DB.prepare("UPDATE user SET signed_out_at = 0, created_at = 0 WHERE email = ?").bind(flow.email).run();
    const tokens = await signIn(flow, { nonce: "n-0S6_WzA2Mj", authorization: { openid: true, authenticatedAtMs } });
    expect(tokens.scope.split(" ")).toContain("openid");
    expect(decodeJwt(tokens.id_token!)).toMatchObject({
      iss: `${ORIGIN}/oauth2/v1`,
      aud: flow.client.clientId,
      sub: flow.email,
      email: flow.email,
      nonce: "n-0S6_WzA2Mj",
      auth_time: Math.floor(authenticatedAtMs / 1000),
      at_hash: expect.any(String),
      tenant: flow.tenant,
    });
  });

  // shows: oauth/access-token-response/id_token-beside-a-code-s-token
  // shows: oauth/scopes/openid
  it("gives no ID token without openid", async () => {
    const flow = await makeFlow();
    expect((await signIn(flow, { nonce: "n" })).id_token).toBeUndefined();
  });

  // shows: oauth/post-token/authorization_code-scope
  // shows: oauth/token/scope-at-redemption
  it("narrows by scope, and letTimePass tokens stay narrowed", async () => {
    const flow = await makeFlow();
    const code = await codeFor(flow, { authorization: { openid: true } });
    const scope = `plat.tenant=${flow.tenant} plat.media_view`;
    const tokens = await expectJson<Tokens>(await redeem(flow.client, code, { scope }), 200);
    expect(tokens.scope).toBe(scope);
    expect(tokens.id_token).toBeUndefined();
    expect(decodeJwt(tokens.access_token)).toMatchObject({ tenant_explicit: true });
    expect(await errorOf(await refresh(flow.client, tokens.refresh_token, { scope: "plat.media_manage" }))).toBe(
      "invalid_scope",
    );
    expect(await errorOf(await refresh(flow.client, tokens.refresh_token, { scope: "openid" }))).toBe("invalid_scope");
  });

  it("keeps the session of the authorization, whatever the request names", async () => {
    const flow = await makeFlow();
    const response = await redeem(flow.client, await codeFor(flow), { "plat-session-id": "mine" });
    expect(decodeJwt((await expectJson<Tokens>(response, 200)).access_token)).toMatchObject({ sid: "session-1" });
  });

  it("works outside any tenant, and in an organization", async () => {
    const flow = await makeFlow();
    const outside = await signIn(flow, { authorization: { tenant: "", scopes: [] } });
    expect(outside.scope).toBe("plat.no_tenant");
    expect(await expectJson(await tokenInfo(outside.access_token), 200)).toMatchObject({ tenant: "" });

    const org = `${flow.tenant}-org`;
    await put(`organizations/${org}/members/${flow.email}`, { roles: [flow.role] });
    const within = await signIn(flow, { authorization: { tenant: "", org, scopes: [] } });
    expect(within.scope).toBe(`plat.org=${org}`);
    await call(`/admin/v1/organizations/${org}/members/${flow.email}`, {
      method: "DELETE",
      token: await tokenFor(OPERATOR),
    });
    expect(await errorOf(await refresh(flow.client, within.refresh_token))).toBe("invalid_grant");
  });

  // shows: oauth/post-token/authorization_code-redirect_uri
  it("requires redirect_uri in both requests, or in neither", async () => {
    const flow = await makeFlow();
    const response = await redeem(flow.client, await codeFor(flow, { redirectUri: undefined }), { redirect_uri: "" });
    expect(response.status).toBe(200);
  });

  it("accepts the redirect_uri of the code if the authorization left it to the only registered one", async () => {
    const flow = await makeFlow();
    const code = await codeFor(flow, { redirectUri: undefined });
    expect((await redeem(flow.client, code, { redirect_uri: REDIRECT })).status).toBe(200);
  });
});

describe("POST /token, authorization_code: 400 invalid_grant, and the code stays good", () => {
  const cases: readonly (readonly [name: string, form: Record<string, string>])[] = [
    ["another redirect_uri", { redirect_uri: `${REDIRECT}/` }],
    ["no redirect_uri", { redirect_uri: "" }],
    ["no verifier", { code_verifier: "" }],
    ["another verifier", { code_verifier: `${VERIFIER}x` }],
    ["the challenge as the verifier", { code_verifier: CHALLENGE }],
    ["a verifier that is too short", { code_verifier: "x" }],
  ];
  // shows: oauth/post-token/authorization_code-redirect_uri
  // shows: oauth/post-token/authorization_code-code_verifier
  // shows: oauth/token/code-bound
  it.each(cases)("for %s", async (_, form) => {
    for (const flow of [await makeFlow(), await makePublicFlow()]) {
      const code = await codeFor(flow);
      expect(await errorOf(await redeem(flow.client, code, form))).toBe("invalid_grant");
      expect((await redeem(flow.client, code)).status).toBe(200);
    }
  });

  it("for another redirect_uri than the code was sent to, if the authorization named none", async () => {
    const flow = await makeFlow();
    const code = await codeFor(flow, { redirectUri: undefined });
    for (const other of [`${REDIRECT}/`, `${REDIRECT}?`, "https://other.example/callback", "x"])
      expect(await errorOf(await redeem(flow.client, code, { redirect_uri: other }))).toBe("invalid_grant");
    expect((await redeem(flow.client, code)).status).toBe(200);
    const { client, ...of } = await makeFlow({ redirectUris: [REDIRECT, "https://other.example/callback"] });
    const sole = await codeFor({ client, ...of }, { redirectUri: undefined });
    // This client has two redirect URIs, so the code may have been sent to either.
    expect(await errorOf(await redeem(client, sole))).toBe("invalid_grant");
  });

  it("for a verifier if no challenge was sent, since an attacker may have removed it", async () => {
    const flow = await makeFlow();
    const code = await codeFor(flow, { challenge: undefined });
    expect(await errorOf(await redeem(flow.client, code))).toBe("invalid_grant");
    expect((await redeem(flow.client, code, { code_verifier: "" })).status).toBe(200);
  });

  // shows: oauth/token/pkce
  it("for no challenge of a client that needs one", async () => {
    for (const flow of [await makePublicFlow(), await makeFlow({ requirePkce: true })]) {
      const code = await codeFor(flow, { challenge: undefined });
      expect(await errorOf(await redeem(flow.client, code, { code_verifier: "" }))).toBe("invalid_grant");
    }
  });

  it("for a plain challenge that is too short, even with the same verifier", async () => {
    const flow = await makeFlow();
    const code = await codeFor(flow, { challenge: { value: "short", method: "plain" } });
    expect(await errorOf(await redeem(flow.client, code, { code_verifier: "short" }))).toBe("invalid_grant");
  });

  // shows: oauth/token/code-bound
  it("for another client, which learns nothing and revokes nothing", async () => {
    const flow = await makeFlow();
    const other = await makeFlowClient(flow.tenant);
    const code = await codeFor(flow);
    const refused = await expectJson(await redeem(other, code), 400);
    const unknown = await expectJson(await redeem(other, "no-code"), 400);
    expect(refused.error).toBe("invalid_grant");
    expect(refused.error_description).toBe(unknown.error_description);
    const tokens = await expectJson<Tokens>(await redeem(flow.client, code), 200);
    expect(await errorOf(await redeem(other, code))).toBe("invalid_grant");
    expect(await isLiving(tokens.access_token)).toBe(true);
  });
});

describe("POST /token, authorization_code: 400 and 401", () => {
  // shows: oauth/token/code-60-s
  it("is invalid_grant after 60 s", async () => {
    const flow = await makeFlow();
    const [early, late] = [await codeFor(flow), await codeFor(flow)];
    letTimePass(59_900);
    expect((await redeem(flow.client, early)).status).toBe(200);
    vi.setSystemTime(Date.now() + 200);
    expect(await errorOf(await redeem(flow.client, late))).toBe("invalid_grant");
  });

  // shows: oauth/post-token/authorization_code-code
  it("is invalid_request without a code, and invalid_grant for any other text", async () => {
    const flow = await makeFlow();
    expect(await errorOf(await redeem(flow.client, ""))).toBe("invalid_request");
    for (const code of ["x", "\u0000", "💥", "a".repeat(10_000), "__proto__"])
      expect(await errorOf(await redeem(flow.client, code))).toBe("invalid_grant");
  });

  it("is unauthorized_client for a client that is not registered for codes", async () => {
    const flow = await makeFlow({ grantTypes: ["refresh_token"] });
    expect(await errorOf(await redeem(flow.client, await codeFor(flow)))).toBe("unauthorized_client");
  });

  it("is 401 for a client without proof or with two, and the code stays valid", async () => {
    const flow = await makeFlow();
    const code = await codeFor(flow);
    const without = { ...flow.client, clientSecret: undefined };
    expect(await errorOf(await redeem(without, code), 401)).toBe("invalid_client");
    expect(await errorOf(await redeem({ ...flow.client, clientSecret: "wrong" }, code), 401)).toBe("invalid_client");
    expect((await redeem(flow.client, code)).status).toBe(200);

    const open = await makePublicFlow();
    const openCode = await codeFor(open);
    const secretive = { ...open.client, clientSecret: "a-secret-that-it-does-not-have" };
    expect(await errorOf(await redeem(secretive, openCode), 401)).toBe("invalid_client");
    const nobody = call("/oauth2/v1/token", { form: { grant_type: "authorization_code", code: openCode } });
    expect(await errorOf(await nobody, 401)).toBe("invalid_client");
    // An empty secret counts as none (RFC 6749 2.3.1).
    expect((await redeem({ ...open.client, clientSecret: "" }, openCode)).status).toBe(200);
  });

  // shows: oauth/token/scope-at-redemption
  it("is invalid_scope with the name for more than was authorized or another place, and the code stays valid", async () => {
    const flow = await makeFlow();
    const other = await makeTenant();
    const code = await codeFor(flow, { authorization: { scopes: ["plat.media_view"] } });
    for (const scope of ["plat.media_manage", "openid", `plat.tenant=${other}`, "plat.org=x"]) {
      const body = await expectJson(await redeem(flow.client, code, { scope }), 400);
      expect(body.error).toBe("invalid_scope");
      expect(body.error_description).toContain(scope);
    }
    expect((await redeem(flow.client, code)).status).toBe(200);
  });

  // shows: oauth/post-token/authorization_code-scope
  it("takes no tenant as the client's parent tenant, and allows no place that was not authorized", async () => {
    const flow = await makeFlow();
    const tokens = await redeem(flow.client, await codeFor(flow), { scope: "plat.no_tenant" });
    expect((await expectJson<Tokens>(tokens, 200)).scope.split(" ")).toContain(`plat.tenant=${flow.tenant}`);
    const org = `${flow.tenant}-org`;
    await put(`organizations/${org}/members/${flow.email}`, { roles: [flow.role] });
    const within = await codeFor(flow, { authorization: { tenant: "", org, scopes: [] } });
    expect(await errorOf(await redeem(flow.client, within, { scope: "plat.no_tenant" }))).toBe("invalid_scope");
  });

  it("is invalid_scope for more scopes than fit into a token, and the code stays valid for fewer", async () => {
    const flow = await makeFlow();
    const service = `${flow.tenant}svc`;
    const scopes = Array.from(
      { length: 30 },
      (_, index) => `${service}.${String(index).padStart(3, "0")}${"x".repeat(160)}`,
    );
    const about = { sourceUrl: "https://s.example", proxyPath: `/${service}`, tenant: flow.tenant, access: "token" };
    await put(`services/${service}`, { ...about, scopes });
    await put(`roles/${flow.role}`, { scopes });
    await put(`clients/${flow.client.clientId}`, registration(flow.tenant, { scopes }));
    const code = await codeFor(flow, { authorization: { scopes } });
    expect(await errorOf(await redeem(flow.client, code))).toBe("invalid_scope");
    const fewer = scopes.slice(0, 5).join(" ");
    const tokens = await expectJson<Tokens>(await redeem(flow.client, code, { scope: fewer }), 200);
    expect(tokens.scope).toBe(`plat.tenant=${flow.tenant} ${fewer}`);
  });

  it("refuses lost rights: the role's scope, the client's, the subscription, the membership, the user", async () => {
    const operator = await tokenFor(OPERATOR);
    const remove = (path: string) => call(`/admin/v1/${path}`, { method: "DELETE", token: operator });
    const changes: readonly ((flow: Awaited<ReturnType<typeof makeFlow>>) => Promise<unknown>)[] = [
      (flow) => put(`roles/${flow.role}`, { scopes: ["plat.media_view"] }),
      (flow) => put(`clients/${flow.client.clientId}`, registration(flow.tenant, { scopes: ["plat.media_view"] })),
    ];
    for (const change of changes) {
      const flow = await makeFlow();
      const code = await codeFor(flow);
      await change(flow);
      expect(await errorOf(await redeem(flow.client, code, { scope: "plat.media_manage" }))).toBe("invalid_scope");
      const tokens = await expectJson<Tokens>(await redeem(flow.client, code), 200);
      expect(tokens.scope).toBe(`plat.tenant=${flow.tenant} plat.media_view`);
    }
    const unsubscribed = await makeFlow();
    const code = await codeFor(unsubscribed);
    await remove(`tenants/${unsubscribed.tenant}/subscriptions/platform`);
    const tokens = await expectJson<Tokens>(await redeem(unsubscribed.client, code), 200);
    expect(tokens.scope).toBe(`plat.tenant=${unsubscribed.tenant}`);

    const left = await makeFlow();
    const theirs = await codeFor(left);
    await remove(`tenants/${left.tenant}/members/${left.email}`);
    expect(await errorOf(await redeem(left.client, theirs))).toBe("invalid_grant");
    const named = await expectJson(await redeem(left.client, theirs, { scope: `plat.tenant=${left.tenant}` }), 400);
    expect(named).toMatchObject({ error: "invalid_scope", error_description: expect.stringContaining(left.tenant) });

    const disabled = await makeFlow();
    const last = await codeFor(disabled);
    await put(`users/${disabled.email}`, { disabled: true });
    expect(await errorOf(await redeem(disabled.client, last))).toBe("invalid_grant");
    await put(`users/${disabled.email}`, { disabled: false });
    // The sign-in was before the user was disabled.
    expect(await errorOf(await redeem(disabled.client, last))).toBe("invalid_grant");
  });
});

describe("A code that is used twice", () => {
  // shows: oauth/post-token/authorization_code-code
  // shows: oauth/token/code-twice
  it("is refused, and revokes all tokens and refresh tokens that came of it", async () => {
    const flow = await makeFlow();
    const code = await codeFor(flow);
    const first = await expectJson<Tokens>(await redeem(flow.client, code), 200);
    const second = await expectJson<Tokens>(await refresh(flow.client, first.refresh_token), 200);
    expect(await errorOf(await redeem(flow.client, code))).toBe("invalid_grant");
    expect(await isLiving(first.access_token)).toBe(false);
    expect(await isLiving(second.access_token)).toBe(false);
    expect((await call("/admin/v1/roles", { token: first.access_token })).status).toBe(401);
    expect(await errorOf(await refresh(flow.client, first.refresh_token))).toBe("invalid_grant");
    const { gid } = decodeJwt<{ gid: string }>(first.access_token);
    expect(await auditOf(flow.client.clientId)).toContainEqual({
      action: "end grant",
      subject: `grants/${gid}`,
      outcome: "done",
      reason: "a code was used twice",
    });
    // Repetitions change nothing and do not fill the audit log, where operators' changes have the same share.
    for (let time = 0; time < 2; time++) expect(await errorOf(await redeem(flow.client, code))).toBe("invalid_grant");
    const audit = await auditOf(flow.client.clientId);
    expect(audit.filter(({ action }) => action === "end grant").length).toBe(1);
  });

  // shows: oauth/token/code-twice
  it("is recognized with any verifier and redirect_uri, and long after its 60 s", async () => {
    const flow = await makePublicFlow();
    const code = await codeFor(flow);
    const tokens = await expectJson<Tokens>(await redeem(flow.client, code), 200);
    letTimePass(30 * 60_000);
    expect(await isLiving(tokens.access_token)).toBe(true);
    expect(await errorOf(await redeem(flow.client, code, { code_verifier: "x", redirect_uri: "x:y" }))).toBe(
      "invalid_grant",
    );
    expect(await isLiving(tokens.access_token)).toBe(false);
  });

  it("does not affect other grants of the client and the user", async () => {
    const flow = await makeFlow();
    const other = await signIn(flow);
    const code = await codeFor(flow);
    await redeem(flow.client, code);
    await redeem(flow.client, code);
    expect(await isLiving(other.access_token)).toBe(true);
    expect((await refresh(flow.client, other.refresh_token)).status).toBe(200);
  });

  // shows: oauth/token/code-twice
  it.each([
    ["with a secret", makeFlow],
    ["without one", makePublicFlow],
  ])("gives one 200 if sent 20 times at once by a client %s, and its grant is revoked", async (_, make) => {
    const flow = await make();
    const code = await codeFor(flow);
    const answers = await Promise.all(Array.from({ length: 20 }, () => redeem(flow.client, code)));
    const good = answers.filter(({ status }) => status === 200);
    expect(good.length).toBe(1);
    for (const answer of answers.filter(({ status }) => status !== 200))
      expect(await errorOf(answer)).toBe("invalid_grant");
    const tokens = await expectJson<Tokens>(good[0]!, 200);
    expect(await isLiving(tokens.access_token)).toBe(false);
    expect(await errorOf(await refresh(flow.client, tokens.refresh_token))).toBe("invalid_grant");
  });
});

/**
 * Another isolate over counted bindings. `loseBatch(n)` loses the response of a shard's nth transaction from now on,
 * but not its work.
 */
function isolateOf(shard = 0) {
  const counted = counting(env);
  let losing = 0;
  const watched = new Proxy(shardsOf(counted.env)[shard]!.db, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      if (name !== "batch") return value.bind(target) as unknown;
      return async (statements: D1PreparedStatement[]) => {
        const results = await target.batch(statements);
        if (losing > 0 && --losing === 0) throw new Error("the answer was lost");
        return results;
      };
    },
  });
  const own = { ...counted.env, [shardBinding(shard)]: watched };
  const app = createApp(createDeps(own));
  const send = async (clientId: string, clientSecret: string, form: Record<string, string>): Promise<Response> => {
    const context = createExecutionContext();
    const headers = { authorization: basic({ clientId, clientSecret }) };
    const request = new Request(`${ORIGIN}/oauth2/v1/token`, {
      method: "POST",
      headers,
      body: new URLSearchParams(form),
    });
    const response = await app.fetch(request, own, context);
    await waitOnExecutionContext(context);
    return response;
  };
  return { ...counted, send, loseBatch: (nth: number) => (losing = nth) };
}

describe("The D1 cost of a user's grant", () => {
  it.each([{ home: 0 }, { home: 2 }])(
    "is two round trips each for a code and a refresh token, in any home: $home",
    async ({ home }) => {
      const flow = await makeFlow({}, home);
      const { clientId, clientSecret = "" } = flow.client;
      const isolate = isolateOf();
      const form = { grant_type: "authorization_code", redirect_uri: REDIRECT, code_verifier: VERIFIER };
      const warm = await isolate.send(clientId, clientSecret, { ...form, code: await codeFor(flow) });
      const { refresh_token } = await expectJson<Tokens>(warm, 200);
      isolate.reset();
      const code = await codeFor(flow);
      expect((await isolate.send(clientId, clientSecret, { ...form, code })).status).toBe(200);
      // The first call reads the user, and the code if it is in the directory. The second redeems it.
      expect(isolate.tally).toMatchObject({ d1RoundTrips: 2, d1RowsWritten: 7 });
      isolate.reset();
      const again = { grant_type: "refresh_token", refresh_token };
      expect((await isolate.send(clientId, clientSecret, again)).status).toBe(200);
      // A client with a secret keeps its token: only the use of the grant is written.
      expect(isolate.tally).toMatchObject({ d1RoundTrips: 2, d1RowsWritten: 1 });
    },
  );

  it.each([0, 3])(
    "stays correct if the response of a redemption is lost: its tokens are valid, in shard %i",
    async (home) => {
      const flow = await makeFlow({}, home);
      const { clientId, clientSecret = "" } = flow.client;
      const isolate = isolateOf(home);
      const form = { grant_type: "authorization_code", redirect_uri: REDIRECT, code_verifier: VERIFIER };
      await isolate.send(clientId, clientSecret, { ...form, code: await codeFor(flow) });
      // In the directory, the redemption is the second batch of the request. Elsewhere it is the only one.
      isolate.loseBatch(home === 0 ? 2 : 1);
      const response = await isolate.send(clientId, clientSecret, { ...form, code: await codeFor(flow) });
      const tokens = await expectJson<Tokens>(response, 200);
      expect(await isLiving(tokens.access_token)).toBe(true);
      expect((await refresh(flow.client, tokens.refresh_token)).status).toBe(200);
      const grants = await everywhere
        .prepare("SELECT count(*) AS n FROM refresh_grant WHERE email = ?")
        .bind(flow.email)
        .first("n");
      expect(grants).toBe(2);
    },
  );
});

describe("The stored codes", () => {
  // shows: oauth/access-tokens/refresh-tokens-codes-sessions
  it("are hashes, and are deleted once none of their tokens can be valid", async () => {
    const flow = await makeFlow();
    const code = await codeFor(flow, { nonce: "odd \u0000 \u{1F600} \u2028" });
    const rows = async () =>
      (await everywhere.prepare("SELECT * FROM authorization_code WHERE email = ?").bind(flow.email).all()).results;
    expect(JSON.stringify(await rows())).not.toContain(code);
    const { oauth } = createDeps(env);
    const nowMs = Date.now();
    const hash = await sha256Hex(code);
    await oauth.sweep(sweptAt(hash, nowMs + 60_000, RUNS_OF_AN_HOUR));
    expect((await rows()).length).toBe(1);
    await oauth.sweep(sweptAt(hash, nowMs + 60_000 + 3_662_000, RUNS_OF_AN_HOUR));
    expect((await rows()).length).toBe(0);
  });

  it("are deleted with their client and their user", async () => {
    const flow = await makeFlow();
    const tokens = await signIn(flow);
    const token = await tokenFor(OPERATOR);
    expect((await call(`/admin/v1/users/${flow.email}`, { method: "DELETE", token })).status).toBe(204);
    expect(await isLiving(tokens.access_token)).toBe(false);
    expect(await errorOf(await refresh(flow.client, tokens.refresh_token))).toBe("invalid_grant");
    for (const table of ["authorization_code", "refresh_grant"])
      expect(
        await everywhere.prepare(`SELECT count(*) AS n FROM ${table} WHERE email = ?`).bind(flow.email).first("n"),
      ).toBe(0);
  });
});

describe("An unusual nonce", () => {
  // shows: oauth/id-token/nonce
  it("is returned unchanged", async () => {
    const flow = await makeFlow();
    const nonce = "odd \u0000 \u{1F600} \u2028 é";
    const tokens = await signIn(flow, { nonce, authorization: { openid: true } });
    expect(decodeJwt(tokens.id_token!)["nonce"]).toBe(nonce);
  });
});

describe("Several users of one client", () => {
  it("get the scopes of their own roles", async () => {
    const flow = await makeFlow();
    const reader = { ...flow, ...(await makeUser(flow.tenant, ["plat.media_view"])) };
    expect((await signIn(reader)).scope).toBe(`plat.tenant=${flow.tenant} plat.media_view`);
    expect((await signIn(flow)).scope.split(" ").length).toBe(3);
    expect((await tokenRequest(flow.client, { grant_type: CODE_AND_REFRESH[1]! })).status).toBe(400);
  });
});

describe("The ID token", () => {
  // shows: oauth/id-token/typ
  // shows: oauth/id-token/alg
  // shows: oauth/id-token/iss
  // shows: oauth/id-token/aud
  // shows: oauth/id-token/exp
  // shows: oauth/id-token/iat
  // shows: oauth/id-token/signature
  // shows: oauth/limits/audience
  // shows: oauth/authorize/id-tokens
  it("has the specified header and claims, and verifies with the published key", async () => {
    const flow = await makeFlow();
    const tokens = await signIn(flow, { nonce: "n-1", authorization: { openid: true } });
    const keys = await expectJson<JSONWebKeySet>(await call("/oauth2/v1/jwks"), 200);
    const idToken = await jwtVerify(tokens.id_token!, createLocalJWKSet(keys));
    expect(idToken.protectedHeader).toEqual({ typ: "JWT", alg: "RS256", kid: expect.any(String) });
    const { iat = 0, exp = 0, ...claims } = idToken.payload;
    expect(claims).toEqual({
      iss: `${ORIGIN}/oauth2/v1`,
      aud: flow.client.clientId,
      sub: flow.email,
      email: flow.email,
      nonce: "n-1",
      tenant: flow.tenant,
      at_hash: expect.any(String),
      auth_time: expect.any(Number),
      // The platform's own claim: auth_time in milliseconds, for hints.
      auth_ms: expect.any(Number),
      // A hint depends on the grant, the session, and the time at which records were read.
      gid: decodeJwt(tokens.access_token)["gid"],
      sid: "session-1",
      scope: [...MEDIA].sort().join(" "),
      asof: expect.any(Number),
      user_asof: expect.any(Number),
    });
    expect(idToken.payload.iss).toMatch(/^https:/);
    expect(Math.abs(iat - Date.now() / 1000)).toBeLessThan(60);
    expect(exp - iat).toBe(3600);
  });
});
