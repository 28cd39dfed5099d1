import { env } from "cloudflare:workers";
import { decodeJwt } from "jose";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { errorOf, isLiving } from "../support/answers.ts";
import { auditOf } from "../support/audit-of.ts";
import { codeFor } from "../support/code.ts";
import { makeFlow, makeFlowClient, makeUser, type Flow } from "../support/flow.ts";
import { redeem, refresh, refreshed, signIn, type Tokens } from "../support/token-requests.ts";
import { call, expectJson } from "../../support/platform/call.ts";
import { makeClient } from "../../support/platform/clients.ts";
import { put } from "../../support/platform/operator.ts";
import { tokenFor } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";
import { itAtNight } from "../../support/model-runs.ts";

const PATH = "/oauth2/v1/refreshtokens";
const list = async (token: string, query = ""): Promise<any[]> =>
  expectJson<any[]>(await call(`${PATH}${query}`, { token }), 200);
const remove = (token: string, rest = ""): Promise<Response> => call(`${PATH}${rest}`, { method: "DELETE", token });
const gidOf = (tokens: Tokens): string => decodeJwt<{ gid: string }>(tokens.access_token).gid;

let flow: Flow;
beforeEach(async () => {
  vi.useRealTimers();
  flow = await makeFlow();
});

describe("GET /refreshtokens: 200", () => {
  // shows: oauth/what-the-service-does/operations
  // shows: oauth/refresh-token/record
  // shows: oauth/refreshtokens/list
  // shows: oauth/other-endpoints/get-refreshtokens
  it("lists the user's grants, the newest first, and no token", async () => {
    const nowMs = Date.now();
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(nowMs + 10);
    const first = await signIn(flow, { authorization: { openid: true } });
    vi.setSystemTime(nowMs + 20);
    const second = await signIn(flow, { authorization: { scopes: ["plat.media_view"] } });
    vi.setSystemTime(nowMs + 30);
    await refreshed(flow.client, first.refresh_token);
    const response = await call(PATH, { token: first.access_token });
    expect(response.headers.get("link")).toContain('rel="self"');
    expect(response.headers.get("cache-control")).toBe("no-store");
    const text = await response.text();
    for (const { refresh_token } of [first, second]) expect(text).not.toContain(refresh_token);
    expect(JSON.parse(text)).toEqual([
      {
        id: gidOf(second),
        clientId: flow.client.clientId,
        clientName: flow.client.clientId,
        tenant: flow.tenant,
        scope: `plat.tenant=${flow.tenant} plat.media_view`,
        createdAt: nowMs + 20,
        lastUsedAt: nowMs + 20,
      },
      {
        id: gidOf(first),
        clientId: flow.client.clientId,
        clientName: flow.client.clientId,
        tenant: flow.tenant,
        scope: `plat.tenant=${flow.tenant} openid plat.media_view plat.media_manage`,
        createdAt: nowMs + 10,
        lastUsedAt: nowMs + 30,
      },
    ]);
    expect(await list(first.access_token, `?clientId=${flow.client.clientId}`)).toHaveLength(2);
    expect(await list(first.access_token, "?clientId=no.body")).toEqual([]);
  });

  // shows: oauth/refreshtokens/filter-by-client
  it("lists only the grants of the calling client", async () => {
    const other = { ...flow, client: await makeFlowClient(flow.tenant) };
    const [mine, theirs] = [await signIn(flow), await signIn(other)];
    expect((await list(mine.access_token)).map(({ id }) => id)).toEqual([gidOf(mine)]);
    const query = `?clientId=${other.client.clientId}`;
    expect(await list(mine.access_token, query)).toEqual([]);
    expect((await remove(mine.access_token, query)).status).toBe(204);
    expect((await expectJson(await remove(mine.access_token, `/${gidOf(theirs)}`), 404)).type).toBe(
      "element_resource_non_existing",
    );
    expect((await remove(mine.access_token)).status).toBe(204);
    expect(await isLiving(mine.access_token)).toBe(false);
    expect(await isLiving(theirs.access_token)).toBe(true);
    expect((await refresh(other.client, theirs.refresh_token)).status).toBe(200);
  });

  it.each<[string, object, boolean]>([
    ["that has a secret, without it: nothing is there", { confidential: true }, false],
    ["that has none: its own grants", { confidential: false }, true],
  ])("lists nothing for a token of a client %s", async (_, client, reaches) => {
    const password = unique("a password ");
    const all = ["password", "authorization_code", "refresh_token"];
    const named = { ...flow, client: await makeFlowClient(flow.tenant, { ...client, grantTypes: all }) };
    await put(`users/${flow.email}`, { name: "Ada", password });
    const nowMs = Date.now() + 1_000;
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(nowMs);
    const held = await signIn(named);
    const byPassword = async (clientId: Record<string, string>) => {
      const form = { grant_type: "password", plat_id_provider: "legacy_idp", username: flow.email, password };
      return (await expectJson<Tokens>(await call("/oauth2/v1/token", { form: { ...form, ...clientId } }), 200))
        .access_token;
    };
    const unproven = await byPassword({ client_id: named.client.clientId });
    expect((await list(unproven)).map(({ id }) => id)).toEqual(reaches ? [gidOf(held)] : []);
    // A token without a client reaches no client's grants.
    for (const token of [await byPassword({}), ...(reaches ? [] : [unproven])]) {
      expect(await list(token)).toEqual([]);
      expect((await remove(token, `/${gidOf(held)}`)).status).toBe(404);
      expect((await remove(token)).status).toBe(204);
    }
    expect(await isLiving(held.access_token)).toBe(true);
    if (reaches) expect((await remove(unproven)).status).toBe(204);
    expect(await isLiving(held.access_token)).toBe(!reaches);
  });

  // shows: oauth/refreshtokens/list
  it("lists no other user's grants, and a rotated token as one grant", async () => {
    const another = { ...flow, ...(await makeUser(flow.tenant)) };
    const mine = await signIn(flow);
    await signIn(another);
    expect((await list(mine.access_token)).map(({ id }) => id)).toEqual([gidOf(mine)]);
  });

  // shows: platform/paging/following-next
  // shows: oauth/other-endpoints/get-refreshtokens
  it("lists every grant once over pages, even with equal times and changes meanwhile", async () => {
    const nowMs = Date.now() + 1_000;
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(nowMs);
    const grants = await Promise.all(Array.from({ length: 5 }, () => signIn(flow)));
    // The token must have no grant, because the test deletes grants.
    const token = await tokenOfNoGrant();
    const seen: string[] = [];
    let next: string | undefined = `${PATH}?pageSize=2`;
    while (next !== undefined) {
      const response: Response = await call(next, { token });
      seen.push(...(await expectJson<any[]>(response, 200)).map(({ id }) => id as string));
      next = /<([^>]+)>; rel="next"/.exec(response.headers.get("link") ?? "")?.[1];
      vi.setSystemTime(nowMs + 1_000 * seen.length);
      await signIn(flow);
      expect((await remove(token, `/${seen[0]}`)).status).toBe(seen.length === 2 ? 204 : 404);
    }
    expect(seen.length).toBe(5);
    expect(new Set(seen)).toEqual(new Set(grants.map(gidOf)));
    const linkOf = async (query: string) => (await call(PATH + query, { token })).headers.get("link");
    expect(await linkOf("?pageSize=100&pageNumber=2")).toMatch(/pageNumber=1&pageSize=100>; rel="prev"$/);
    expect(await linkOf("?pageSize=100&pageNumber=3")).toMatch(/rel="self"$/);
  });

  it("omits grants from before the user was signed out", async () => {
    await signIn(flow);
    await put(`users/${flow.email}`, { password: "another-password-1" });
    const nowMs = Date.now() + 1_000;
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(nowMs);
    const after = await signIn(flow);
    expect((await list(after.access_token)).map(({ id }) => id)).toEqual([gidOf(after)]);
  });
});

describe("GET /refreshtokens: 400", () => {
  it("refuses page sizes and cursors that are not valid", async () => {
    const { access_token } = await signIn(flow);
    for (const query of ["?pageSize=0", "?pageNumber=x", "?cursor=x", "?cursor=WzEsMl0", "?clientId=a&clientId=b"])
      expect(await expectJson(await call(PATH + query, { token: access_token }), 400)).toMatchObject({
        type: "validation_violation",
      });
  });
});

/** A token of the client without a grant, as the code flow with an ID token hint issues it. */
async function tokenOfNoGrant(): Promise<string> {
  const hint = { endsAtMs: Math.floor(Date.now() / 1000 + 3_600) * 1000, tenant: flow.tenant, scopes: [] };
  return (await signIn(flow, { authorization: { hint, scopes: [] } })).access_token;
}

async function makeGrants(count: number): Promise<void> {
  await env.DB.prepare(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?3)
     INSERT INTO refresh_grant (id, client, email, authorization, created_at, last_used_at)
     SELECT 'many-' || ?1 || i, ?2, ?1, '{"authenticatedAtMs":9999999999999}', 1, 1 FROM n`,
  )
    .bind(flow.email, flow.client.clientId, count)
    .run();
}

describe("DELETE /refreshtokens: 204", () => {
  // shows: oauth/states-of-a-refresh-token/valid-deleted-by-its-user
  // shows: oauth/states-of-a-refresh-token/by-anybody-else
  // shows: oauth/refreshtokens/delete
  // shows: oauth/other-endpoints/delete-refreshtokens
  it("deletes all of the user's with their access tokens, and no other user's", async () => {
    const another = { ...flow, ...(await makeUser(flow.tenant)) };
    const theirs = await signIn(another);
    const [first, second] = [await signIn(flow), await signIn(flow)];
    const response = await remove(first.access_token);
    expect(response.status).toBe(204);
    expect(response.headers.get("content-type")).toBeNull();
    for (const tokens of [first, second]) {
      expect(await isLiving(tokens.access_token)).toBe(false);
      expect(await errorOf(await refresh(flow.client, tokens.refresh_token))).toBe("invalid_grant");
    }
    expect(await isLiving(theirs.access_token)).toBe(true);
    expect((await refresh(flow.client, theirs.refresh_token)).status).toBe(200);
    expect(await auditOf(`user ${flow.email}`)).toEqual([
      {
        action: "delete refresh tokens",
        subject: `users/${flow.email}/grants`,
        outcome: "done",
        reason: `2 by a token of client ${flow.client.clientId}`,
      },
    ]);
  });

  // shows: oauth/refreshtokens/filter-by-client
  // shows: oauth/other-endpoints/delete-refreshtokens
  it("deletes those of the client, named or not; none at all is fine too, and a token without a grant is revoked too", async () => {
    const gone = await signIn(flow);
    const query = `?clientId=${flow.client.clientId}`;
    for (const make of [() => gone.access_token, tokenOfNoGrant, tokenOfNoGrant]) {
      const token = await make();
      expect((await remove(token, query)).status).toBe(204);
      expect(await isLiving(token)).toBe(false);
    }
    expect(await errorOf(await refresh(flow.client, gone.refresh_token))).toBe("invalid_grant");
    const code = await codeFor(flow);
    expect((await remove(await tokenOfNoGrant())).status).toBe(204);
    expect(await errorOf(await redeem(flow.client, code))).toBe("invalid_grant");
    expect(await isLiving((await signIn(flow)).access_token)).toBe(true);
  });

  // shows: oauth/states-of-a-refresh-token/valid-deleted-by-its-user
  // shows: oauth/other-endpoints/delete-refreshtokens-id
  it("deletes one by its id", async () => {
    const [kept, gone] = [await signIn(flow), await signIn(flow)];
    expect((await remove(kept.access_token, `/${gidOf(gone)}`)).status).toBe(204);
    expect(await isLiving(gone.access_token)).toBe(false);
    expect((await list(kept.access_token)).map(({ id }) => id)).toEqual([gidOf(kept)]);
  });

  it("deletes more than one transaction can", async () => {
    const tokens = await signIn(flow);
    await makeGrants(1_200);
    expect((await remove(tokens.access_token)).status).toBe(204);
    const left = await env.DB.prepare("SELECT count(*) AS n FROM refresh_grant WHERE email = ?")
      .bind(flow.email)
      .first("n");
    expect(left).toBe(0);
  });
});

describe("DELETE /refreshtokens: 503", () => {
  itAtNight("deletes the rest with the next request if there are more than one request deletes", async () => {
    const token = await tokenOfNoGrant();
    await makeGrants(10_000);
    expect((await expectJson(await remove(token), 503)).type).toBe("service_temporarily_unavailable");
    expect((await remove(token)).status).toBe(204);
    expect(await list(await tokenOfNoGrant())).toEqual([]);
  });
});

describe("DELETE /refreshtokens/{id}: 404", () => {
  // shows: oauth/states-of-a-refresh-token/by-anybody-else
  // shows: oauth/other-endpoints/delete-refreshtokens-id
  it("is the same for an unknown grant, another user's and a deleted one", async () => {
    const another = { ...flow, ...(await makeUser(flow.tenant)) };
    const theirs = await signIn(another);
    const { access_token } = await signIn(flow);
    for (const id of ["unknown", gidOf(theirs), "%00", "💥"])
      expect(await expectJson(await remove(access_token, `/${id}`), 404)).toMatchObject({
        type: "element_resource_non_existing",
      });
    expect(await isLiving(theirs.access_token)).toBe(true);
  });
});

describe("/refreshtokens: 401", () => {
  // shows: oauth/authentication/refreshtokens
  it("is the platform's error for a token without a user", async () => {
    const token = await tokenFor(await makeClient());
    for (const attempt of [call(PATH, { token }), remove(token), remove(token, "/x")]) {
      const response = await attempt;
      expect(response.headers.get("www-authenticate")).toMatch(/^Bearer realm="plat", error="invalid_token"/);
      expect(await expectJson(response, 401)).toMatchObject({
        status: 401,
        type: "insufficient_credentials",
        message: expect.any(String),
        moreInfo: expect.any(String),
      });
    }
  });
});
