import { env } from "cloudflare:workers";
import { decodeJwt } from "jose";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { errorOf } from "../support/answers.ts";
import { codeFor, VERIFIER } from "../support/code.ts";
import { makeFlow, makeFlowClient, makePublicFlow, REDIRECT, registration, type Flow } from "../support/flow.ts";
import { refresh, refreshed, signIn, type Tokens } from "../support/token-requests.ts";
import { Browser, landed, toInit, type Visit } from "../../support/browser.ts";
import { isolate } from "../../support/isolate.ts";
import { call, expectJson, ORIGIN } from "../../support/platform/call.ts";
import { makeClient } from "../../support/platform/clients.ts";
import { OPERATOR, put, putService } from "../../support/platform/operator.ts";
import { makeTenant } from "../../support/platform/tenants.ts";
import { basic, tokenFor } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";
import { makeApp, signInThrough, visit } from "../../support/sign-in.ts";
import { makeUser } from "../../support/users.ts";

/** Responses about tokens: `/introspect` for clients, `/userinfo` for holders. */
type Secretive = { clientId: string; clientSecret?: string | undefined };
const introspect = ({ clientId, clientSecret = "" }: Secretive, token: string): Promise<Response> =>
  call("/oauth2/v1/introspect", { form: { token }, headers: { authorization: basic({ clientId, clientSecret }) } });
const introspected = async (by: Secretive, token: string): Promise<any> => expectJson(await introspect(by, token), 200);

/** Revokes a token as another isolate does: this isolate learns it from D1 only. */
const revokeElsewhere = (token: string) =>
  env.DB.prepare("INSERT INTO revocation (kind, key, until_ms, expires_sec) VALUES ('token', ?, ?, ?)")
    .bind(decodeJwt(token).jti, Number.MAX_SAFE_INTEGER, 9_999_999_999)
    .run();

let flow: Flow;
let open: Flow;
beforeAll(async () => {
  flow = await makeFlow();
  open = await makePublicFlow();
});
afterEach(() => void vi.useRealTimers());

describe("POST /introspect: 200", () => {
  // shows: platform/other-origins-caches-headers/tokens
  // shows: oauth/other-endpoints/post-introspect
  it("describes a client's own access token", async () => {
    const { access_token, scope } = await signIn(flow);
    const { jti, iat, exp } = decodeJwt(access_token);
    const response = await introspect(flow.client, access_token);
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(await expectJson(response, 200)).toEqual({
      active: true,
      scope,
      client_id: flow.client.clientId,
      username: flow.email,
      token_type: "Bearer",
      sub: flow.email,
      iss: `${ORIGIN}/oauth2/v1`,
      aud: ORIGIN,
      iat,
      exp,
      jti,
      tenant: flow.tenant,
    });
    const client = await makeClient();
    expect(await introspected(client, await tokenFor(client))).toMatchObject({ active: true, sub: client.clientId });
    expect(await introspected(client, await tokenFor(client))).not.toHaveProperty("username");
  });

  // shows: oauth/other-endpoints/post-introspect
  it("describes a client's own refresh token, which has no end", async () => {
    const { refresh_token } = await signIn(flow, { authorization: { openid: true } });
    expect(await introspected(flow.client, refresh_token)).toEqual({
      active: true,
      scope: `plat.tenant=${flow.tenant} openid plat.media_manage plat.media_view`,
      client_id: flow.client.clientId,
      username: flow.email,
      sub: flow.email,
      iss: `${ORIGIN}/oauth2/v1`,
      iat: expect.any(Number),
      tenant: flow.tenant,
    });
  });

  // shows: oauth/other-endpoints/post-introspect
  it("tells a client nothing about another's tokens, and a service's client and the operator everything", async () => {
    const { access_token, refresh_token } = await signIn(flow);
    const other = await makeFlowClient(flow.tenant);
    const tenant = await makeTenant();
    const service = unique("s");
    await putService(service, { tenant });
    const serving = await makeFlowClient(tenant, { service });
    for (const token of [access_token, refresh_token]) {
      expect(await introspected(other, token)).toEqual({ active: false });
      expect(await introspected(serving, token)).toMatchObject({ active: true, client_id: flow.client.clientId });
      expect(await introspected(OPERATOR, token)).toMatchObject({ active: true, client_id: flow.client.clientId });
    }
  });

  // shows: oauth/other-endpoints/post-introspect
  it("reports other tokens as inactive: unknown, revoked, expired, used, ended", async () => {
    const revoked = await signIn(flow);
    const { clientId, clientSecret = "" } = flow.client;
    const headers = { authorization: basic({ clientId, clientSecret }) };
    await call("/oauth2/v1/revoke", { form: { token: `${revoked.access_token},${revoked.refresh_token}` }, headers });
    const rotated = (await signIn(open)).refresh_token;
    await refreshed(open.client, rotated);
    const texts = [revoked.access_token, revoked.refresh_token, "x", "a.b.c", "\u0000", "💥", `${rotated}=`];
    for (const text of texts) expect(await introspected(flow.client, text), text).toEqual({ active: false });
    expect(await introspected(OPERATOR, rotated)).toEqual({ active: false });

    const { access_token, refresh_token } = await signIn(flow);
    const nowMs = Date.now();
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(nowMs + 3_601_000);
    expect(await introspected(flow.client, access_token)).toEqual({ active: false });
    expect(await introspected(flow.client, refresh_token)).toMatchObject({ active: true });
  });

  it("reports a refresh token of a disabled user or client, or of a client that may not use it, as inactive", async () => {
    const own = await makeFlow();
    const { refresh_token } = await signIn(own);
    const path = `clients/${own.client.clientId}`;
    await put(path, registration(own.tenant, { disabled: true }));
    expect(await introspected(OPERATOR, refresh_token)).toEqual({ active: false });
    await put(path, registration(own.tenant, { grantTypes: ["authorization_code"], disabled: false }));
    expect(await introspected(OPERATOR, refresh_token)).toEqual({ active: false });
    await put(path, registration(own.tenant));
    expect(await introspected(OPERATOR, refresh_token)).toMatchObject({ active: true });
    await put(`users/${own.email}`, { disabled: true });
    expect(await introspected(OPERATOR, refresh_token)).toEqual({ active: false });
    await put(`users/${own.email}`, { disabled: false });
    expect(await introspected(OPERATOR, refresh_token)).toEqual({ active: false });
  });

  it("reports a refresh token with the scopes that a refresh gives now, and as inactive if that is refused", async () => {
    const own = await makeFlow();
    const { refresh_token } = await signIn(own);
    const member = `tenants/${own.tenant}/members/${own.email}`;
    const role = unique("role");
    await put(`roles/${role}`, { scopes: ["plat.media_view"] });
    await put(member, { roles: [role] });
    const scope = `plat.tenant=${own.tenant} plat.media_view`;
    expect(await introspected(OPERATOR, refresh_token)).toMatchObject({ active: true, scope });
    expect(await refreshed(own.client, refresh_token)).toMatchObject({ scope });
    await call(`/admin/v1/${member}`, { method: "DELETE", token: await tokenFor(OPERATOR) });
    expect(await introspected(OPERATOR, refresh_token)).toEqual({ active: false });
    expect(await errorOf(await refresh(own.client, refresh_token))).toBe("invalid_grant");
  });

  it("sees a revocation by another isolate at once", async () => {
    const { access_token } = await signIn(flow);
    expect((await introspected(flow.client, access_token)).active).toBe(true);
    await revokeElsewhere(access_token);
    expect((await introspected(flow.client, access_token)).active).toBe(false);
  });
});

describe("POST /introspect: 400 and 401", () => {
  // shows: oauth/other-endpoints/post-introspect-who-asks
  it("is 400 without a token or with two", async () => {
    expect(await errorOf(await introspect(flow.client, ""))).toBe("invalid_request");
    const form = new URLSearchParams([
      ["token", "a"],
      ["token", "b"],
    ]);
    expect(await errorOf(await call("/oauth2/v1/introspect", { form }))).toBe("invalid_request");
  });

  // shows: oauth/other-endpoints/post-introspect-who-asks
  it("is 401 without an authenticated client, for any token", async () => {
    const { access_token } = await signIn(open);
    const attempts = [
      call("/oauth2/v1/introspect", { form: { token: access_token } }),
      call("/oauth2/v1/introspect", { form: { token: access_token }, token: access_token }),
      call("/oauth2/v1/introspect", { form: { token: access_token, client_id: open.client.clientId } }),
      introspect({ ...flow.client, clientSecret: "wrong" }, access_token),
      introspect({ clientId: "no.body", clientSecret: "wrong" }, access_token),
    ];
    for (const attempt of attempts) {
      const response = await attempt;
      expect(response.headers.get("www-authenticate")).toMatch(/^Basic /);
      expect(await errorOf(response, 401)).toBe("invalid_client");
    }
  });
});

const USERINFO = "/oauth2/v1/userinfo";

describe("/userinfo: 200", () => {
  // shows: oauth/what-the-service-does/operations
  // shows: oauth/user-information/sub
  // shows: oauth/get-and-post-userinfo/200
  it("returns only the user's address, by GET and by POST", async () => {
    const { access_token } = await signIn(flow);
    for (const init of [{}, { method: "POST" }, { form: { other: "1" } }]) {
      const response = await call(USERINFO, { token: access_token, ...init });
      expect(response.headers.get("content-type")).toBe("application/json");
      expect(response.headers.get("cache-control")).toBe("no-store");
      expect(response.headers.get("access-control-allow-origin")).toBe("*");
      expect(await expectJson(response, 200)).toEqual({ sub: flow.email });
    }
  });
});

describe("/userinfo: 401", () => {
  const expectRefusal = async (response: Response, header: RegExp): Promise<void> => {
    expect(response.headers.get("www-authenticate")).toMatch(header);
    expect(await expectJson(response, 401)).toMatchObject({
      status: 401,
      type: "insufficient_credentials",
      message: expect.any(String),
      moreInfo: expect.any(String),
    });
  };
  const invalid = /^Bearer realm="plat", error="invalid_token", error_description="[^"]+"$/;

  // shows: oauth/authentication/userinfo
  // shows: platform/errors-of-every-service/token-in-the-header-alone
  it("is a bare challenge without a token (RFC 6750 3.1); a token in the body or the URL is never accepted", async () => {
    const { access_token } = await signIn(flow);
    for (const attempt of [
      call(USERINFO),
      call(USERINFO, { form: { access_token } }),
      call(`${USERINFO}?access_token=${access_token}`),
    ])
      await expectRefusal(await attempt, /^Bearer realm="plat"$/);
  });

  // shows: oauth/get-and-post-userinfo/401-invalid-token
  // shows: oauth/errors/401-userinfo
  it("refuses a token that is invalid, revoked, expired, or of another kind", async () => {
    const tokens = await signIn(flow, { authorization: { openid: true } });
    const { clientId, clientSecret = "" } = flow.client;
    const revoked = await signIn(flow);
    await call("/oauth2/v1/revoke", {
      form: { token: revoked.access_token },
      headers: { authorization: basic({ clientId, clientSecret }) },
    });
    for (const token of ["x", "a.b.c", tokens.refresh_token, tokens.id_token!, revoked.access_token])
      await expectRefusal(await call(USERINFO, { token }), invalid);
    const nowMs = Date.now();
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(nowMs + 3_601_000);
    await expectRefusal(await call(USERINFO, { token: tokens.access_token }), invalid);
  });

  it("refuses a token that another isolate has just revoked", async () => {
    const { access_token } = await signIn(flow);
    expect((await call(USERINFO, { token: access_token })).status).toBe(200);
    await revokeElsewhere(access_token);
    await expectRefusal(await call(USERINFO, { token: access_token }), invalid);
  });

  // shows: oauth/get-and-post-userinfo/401-no-user
  // shows: oauth/authentication/userinfo
  // shows: oauth/errors/401-userinfo
  it("refuses a token without a user", async () => {
    const token = await tokenFor(await makeClient());
    for (const method of ["GET", "POST"]) await expectRefusal(await call(USERINFO, { token, method }), invalid);
  });
});

describe("/userinfo: 400", () => {
  // shows: platform/errors-of-every-service/userinfo-with-header-and-body
  it("refuses a token in the header and one in the body: invalid_request", async () => {
    const { access_token } = await signIn(flow);
    const response = await call(USERINFO, { token: access_token, form: { access_token } });
    expect(response.headers.get("www-authenticate")).toMatch(/^Bearer realm="plat", error="invalid_request"/);
    expect(await expectJson(response, 400)).toMatchObject({
      status: 400,
      type: "validation_violation",
      error: "invalid_request",
    });
  });

  it("refuses another method: 405", async () => {
    const response = await call(USERINFO, { method: "PUT" });
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toContain("POST");
  });
});

describe("Each kind of token at every other place", () => {
  it("is accepted at its own place only", async () => {
    const tokens = await signIn(flow, { authorization: { openid: true } });
    const others = [tokens.refresh_token, tokens.id_token!];
    for (const token of others) {
      expect((await call("/admin/v1/roles", { token })).status).toBe(401);
      expect((await call("/oauth2/v1/refreshtokens", { token })).status).toBe(401);
      expect((await call(`/oauth2/v1/tokeninfo?access_token=${token}`)).status).toBe(400);
    }
    for (const token of [tokens.access_token, tokens.id_token!])
      expect(await errorOf(await refresh(flow.client, token))).toBe("invalid_grant");
    expect(await introspected(flow.client, tokens.id_token!)).toEqual({ active: false });
  });
});

describe("The setting SUBJECT", () => {
  /** Returns the subject from each place that names it, on a platform with this `SUBJECT`. */
  async function told(SUBJECT: string, of: Flow): Promise<{ subs: readonly unknown[]; tokens: Tokens }> {
    const { fetch } = isolate({ SUBJECT });
    const authorization = basic({ clientId: of.client.clientId, clientSecret: of.client.clientSecret ?? "" });
    const send = async (path: string, form?: Record<string, string>, by = authorization): Promise<any> =>
      expectJson(
        await fetch(`/oauth2/v1/${path}`, {
          method: form === undefined ? "GET" : "POST",
          headers: { authorization: by },
          ...(form !== undefined && { body: new URLSearchParams(form) }),
        }),
        200,
      );
    const code = await codeFor(of, { authorization: { openid: true } });
    const redemption = { grant_type: "authorization_code", code, redirect_uri: REDIRECT, code_verifier: VERIFIER };
    const tokens: Tokens = await send("token", redemption);
    const again: Tokens = await send("token", { grant_type: "refresh_token", refresh_token: tokens.refresh_token });
    const { access_token: access, refresh_token: refreshToken, id_token: id = "" } = tokens;
    for (const token of [access, refreshToken])
      expect(await send("introspect", { token })).toMatchObject({ username: of.email });
    expect(decodeJwt(access)["user"]).toBe(of.email);
    expect(decodeJwt(id)["email"]).toBe(of.email);
    const subs = [
      decodeJwt(id).sub,
      decodeJwt(access).sub,
      decodeJwt(again.id_token ?? "").sub,
      (await send("userinfo", undefined, `Bearer ${access}`)).sub,
      (await send("introspect", { token: access })).sub,
      (await send("introspect", { token: refreshToken })).sub,
    ];
    return { subs, tokens };
  }
  // shows: oauth/authorize/subject
  it.each([
    ["email", (email: string) => email],
    ["opaque", () => expect.stringMatching(/^[0-9a-f]{32}$/) as string],
  ])("%s: ID token, access token, /userinfo and /introspect name the user alike, each time", async (SUBJECT, named) => {
    const own = await makeFlow();
    const { subs } = await told(SUBJECT, own);
    expect(new Set(subs).size).toBe(1);
    expect(subs[0]).toEqual(named(own.email));
    expect((await told(SUBJECT, own)).subs).toEqual(subs);
  });

  // shows: oauth/authorize/subject
  it("opaque: two requests at once get one subject, and the next user of the address gets another", async () => {
    const own = await makeFlow();
    const first = await Promise.all([told("opaque", own), told("opaque", own)]);
    const [sub] = first[0].subs;
    expect(first.map(({ subs }) => subs[0])).toEqual([sub, sub]);
    await call(`/admin/v1/users/${own.email}`, { method: "DELETE", token: await tokenFor(OPERATOR) });
    await put(`users/${own.email}`, { name: "Somebody else" });
    await put(`tenants/${own.tenant}/members/${own.email}`, { roles: [own.role] });
    expect((await told("opaque", own)).subs[0]).not.toBe(sub);
  });

  it("does not change a client's own token, which names the client", async () => {
    const client = await makeClient();
    const { fetch } = isolate({ SUBJECT: "opaque" });
    const init = { method: "POST", body: new URLSearchParams({ grant_type: "client_credentials" }) };
    const answer = await fetch("/oauth2/v1/token", { ...init, headers: { authorization: basic(client) } });
    const { access_token: token } = await expectJson<Tokens>(answer, 200);
    expect(decodeJwt(token).sub).toBe(client.clientId);
  });

  it.each([
    ["email", "opaque"],
    ["opaque", "email"],
  ])("changed from %s to %s keeps earlier ID tokens valid as hints", async (before, after) => {
    const user = await makeUser();
    const app = await makeApp({ tenant: user.tenant });
    const browserAt = (SUBJECT: string): Browser => {
      const own = isolate({ SUBJECT });
      return new Browser({ send: (address, init) => own.fetch(address, toInit(init)) });
    };
    const asked = { response_type: "id_token token", nonce: "n", scope: "openid" };
    const idTokenOf = (answer: Visit): string => landed(answer).fragment.get("id_token") ?? "";
    const first = idTokenOf(await signInThrough(browserAt(before), app, user, asked));
    const hinted = { ...asked, prompt: "none", id_token_hint: first };
    const second = idTokenOf(await visit(browserAt(after), app, hinted));
    expect(decodeJwt(second)["email"]).toBe(user.email);
    expect(decodeJwt(second).sub).not.toBe(decodeJwt(first).sub);
  });
});
