import { env } from "cloudflare:workers";
import { decodeJwt } from "jose";
import { beforeAll, describe, expect, it } from "vitest";
import { REVOKED_TOKENS } from "../../../src/oauth/tokens/revoked-tokens-store.ts";
import { accessKey } from "../../../src/oauth/tokens/trust-store.ts";
import { errorOf, isLiving } from "../support/answers.ts";
import { auditOf } from "../support/audit-of.ts";
import { makeFlow, makeFlowClient, makePublicFlow, makeUser, type Flow, type FlowClient } from "../support/flow.ts";
import { refresh, refreshed, signIn } from "../support/token-requests.ts";
import { isolate } from "../../support/isolate.ts";
import { call, expectJson } from "../../support/platform/call.ts";
import { makeClient } from "../../support/platform/clients.ts";
import { basic, tokenFor } from "../../support/platform/tokens.ts";

/**
 * Refresh tokens, tokens of clients without a secret, and mixtures. Access tokens of clients are in
 * token-state.test.ts.
 */
const revoke = (tokens: string | readonly string[], by?: FlowClient): Promise<Response> => {
  const token = typeof tokens === "string" ? tokens : tokens.join(",");
  const { clientId = "", clientSecret } = by ?? {};
  return call("/oauth2/v1/revoke", {
    form: { token, ...(clientId !== "" && clientSecret === undefined ? { client_id: clientId } : {}) },
    headers: clientSecret === undefined ? {} : { authorization: basic({ clientId, clientSecret }) },
  });
};

let flow: Flow;
let open: Flow;
beforeAll(async () => {
  flow = await makeFlow();
  open = await makePublicFlow();
});

describe("POST /revoke: 200", () => {
  // shows: oauth/what-the-service-does/operations
  // shows: oauth/states-of-a-refresh-token/valid-revoke-by-its-client
  // shows: oauth/post-revoke/kinds
  // shows: oauth/access-tokens/a-row-for-a-family
  // shows: oauth/other-endpoints/post-revoke-refresh-token
  it("revokes a refresh token with the access tokens of its grant, and no other grant", async () => {
    const other = await signIn(flow);
    const first = await signIn(flow);
    const second = await refreshed(flow.client, first.refresh_token);
    expect(await expectJson(await revoke(first.refresh_token, flow.client), 200)).toEqual({});
    expect(await isLiving(first.access_token)).toBe(false);
    expect(await isLiving(second.access_token)).toBe(false);
    expect(await errorOf(await refresh(flow.client, first.refresh_token))).toBe("invalid_grant");
    expect(await isLiving(other.access_token)).toBe(true);
    expect((await refresh(flow.client, other.refresh_token)).status).toBe(200);
    expect(await expectJson(await revoke(first.refresh_token, flow.client), 200)).toEqual({});
    const { gid } = decodeJwt<{ gid: string }>(first.access_token);
    const done = (await auditOf(flow.client.clientId)).filter(({ outcome }) => outcome === "done");
    expect(done).toEqual([{ action: "revoke", subject: `grants/${gid}`, outcome: "done", reason: "" }]);
  });

  // shows: oauth/states-of-an-access-token/valid-revoke-by-its-client
  // shows: oauth/post-revoke/kinds
  it("revokes an access token alone: its grant stays", async () => {
    const first = await signIn(flow);
    expect((await revoke(first.access_token, flow.client)).status).toBe(200);
    expect(await isLiving(first.access_token)).toBe(false);
    const second = await refreshed(flow.client, first.refresh_token);
    expect(await isLiving(second.access_token)).toBe(true);
  });

  it("revokes the grant of a rotated token too", async () => {
    const first = await signIn(open);
    const second = await refreshed(open.client, first.refresh_token);
    expect((await revoke(first.refresh_token, open.client)).status).toBe(200);
    expect(await errorOf(await refresh(open.client, second.refresh_token))).toBe("invalid_grant");
    expect(await isLiving(second.access_token)).toBe(false);
  });

  it("needs no secret for tokens issued without one, with or without the client's name", async () => {
    for (const by of [open.client, undefined]) {
      const tokens = await signIn(open);
      expect(await expectJson(await revoke([tokens.access_token], by), 200)).toEqual({});
      expect(await isLiving(tokens.access_token)).toBe(false);
      expect(await expectJson(await revoke([tokens.refresh_token], by), 200)).toEqual({});
      expect(await errorOf(await refresh(open.client, tokens.refresh_token))).toBe("invalid_grant");
    }
  });

  // shows: oauth/post-revoke/kinds
  it("ignores a right or wrong hint of the token's kind", async () => {
    for (const hint of ["access_token", "refresh_token", "nonsense"]) {
      const { access_token, refresh_token } = await signIn(open);
      for (const token of [access_token, refresh_token])
        expect((await call("/oauth2/v1/revoke", { form: { token, token_type_hint: hint } })).status).toBe(200);
      expect(await isLiving(access_token)).toBe(false);
      expect(await errorOf(await refresh(open.client, refresh_token))).toBe("invalid_grant");
    }
  });

  // shows: oauth/access-tokens/spellings
  it("treats other spellings of a token as unknown", async () => {
    const { access_token, refresh_token } = await signIn(open);
    const spare = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const respelled = (text: string) => text.slice(0, -1) + spare[spare.indexOf(text.at(-1)!) ^ 1]!;
    const list = [access_token, refresh_token].flatMap((token) => [`${token}=`, `${token}==`, respelled(token)]);
    expect(await expectJson(await revoke(list), 200)).toEqual({});
    expect(await isLiving(access_token)).toBe(true);
    // Other spellings of a revoked token are not valid either.
    await revoke(access_token);
    for (const token of [access_token, `${access_token}=`, respelled(access_token)])
      expect(await isLiving(token)).toBe(false);
    expect((await refresh(open.client, refresh_token)).status).toBe(200);
  });
});

describe("POST /revoke of several tokens", () => {
  // shows: oauth/post-revoke/mixture-without-credentials
  // shows: oauth/errors/401-revoke-without-header
  it("revokes those that need no secret, then 401, without credentials", async () => {
    const [mine, theirs] = [await signIn(open), await signIn(flow)];
    const response = await revoke([theirs.access_token, mine.access_token, theirs.refresh_token, mine.refresh_token]);
    expect(response.headers.get("www-authenticate")).toMatch(/^Basic /);
    expect(await errorOf(response, 401)).toBe("invalid_client");
    expect(await isLiving(mine.access_token)).toBe(false);
    expect(await errorOf(await refresh(open.client, mine.refresh_token))).toBe("invalid_grant");
    expect(await isLiving(theirs.access_token)).toBe(true);
    expect((await refresh(flow.client, theirs.refresh_token)).status).toBe(200);
  });

  // shows: oauth/states-of-a-refresh-token/by-anybody-else
  // shows: oauth/post-revoke/own-tokens-alone
  // shows: oauth/other-endpoints/post-revoke-another-client-s
  it("revokes a client's own of both kinds by its secret, then 400 for those of others", async () => {
    const own = await tokenFor(await makeClient());
    const [mine, theirs] = [await signIn(flow), await signIn(open)];
    const list = [theirs.access_token, mine.access_token, theirs.refresh_token, own, mine.refresh_token];
    expect(await errorOf(await revoke(list, flow.client))).toBe("unauthorized_client");
    expect(await isLiving(mine.access_token)).toBe(false);
    expect(await errorOf(await refresh(flow.client, mine.refresh_token))).toBe("invalid_grant");
    expect(await isLiving(own)).toBe(true);
    expect(await isLiving(theirs.access_token)).toBe(true);
    expect((await refresh(open.client, theirs.refresh_token)).status).toBe(200);
  });

  it("revokes a client's own that need no secret by its name; others are reported, with 401 if a secret was needed", async () => {
    const other = await makePublicFlow();
    const [mine, theirs] = [await signIn(open), await signIn(other)];
    expect(await errorOf(await revoke([theirs.access_token, mine.access_token], open.client))).toBe(
      "unauthorized_client",
    );
    expect(await isLiving(mine.access_token)).toBe(false);
    expect(await isLiving(theirs.access_token)).toBe(true);

    const secretive = await signIn(flow);
    const named = { ...flow.client, clientSecret: undefined };
    expect(await errorOf(await revoke([secretive.access_token], named), 401)).toBe("invalid_client");
    expect(await errorOf(await revoke([secretive.refresh_token], named), 401)).toBe("invalid_client");
    expect(await isLiving(secretive.access_token)).toBe(true);
  });

  it("accepts unknown client names and unknown tokens silently", async () => {
    const nobody = { clientId: "no.body", clientSecret: undefined, tenant: "" };
    expect(await expectJson(await revoke("unknown", nobody), 200)).toEqual({});
    expect(await errorOf(await revoke("unknown", { ...nobody, clientSecret: "x" }), 401)).toBe("invalid_client");
    const { access_token } = await signIn(open);
    expect(await errorOf(await revoke(access_token, nobody))).toBe("unauthorized_client");
  });

  it("refuses a client without a secret that sends one: 401, nothing is revoked", async () => {
    const { access_token } = await signIn(open);
    expect(await errorOf(await revoke(access_token, { ...open.client, clientSecret: "a-secret" }), 401)).toBe(
      "invalid_client",
    );
    expect(await isLiving(access_token)).toBe(true);
  });

  it("revokes 500 of both kinds in one transaction, and refuses one more", async () => {
    const { refresh_token, access_token } = await signIn(open);
    const grants = await Promise.all(Array.from({ length: 20 }, () => signIn(open)));
    const tokens = grants.flatMap((grant) => [grant.access_token, grant.refresh_token]);
    const filler = (count: number) => Array.from({ length: count }, (_, n) => `unknown-${n}`);
    expect(await errorOf(await revoke([...tokens, refresh_token, ...filler(460)]))).toBe("invalid_request");
    expect(await isLiving(tokens[0]!)).toBe(true);
    const response = await revoke([...tokens, ...filler(460)]);
    expect(response.status).toBe(200);
    for (const token of [tokens[0]!, tokens.at(-2)!]) expect(await isLiving(token)).toBe(false);
    expect(await isLiving(access_token)).toBe(true);
    const rows = await env.DB.prepare(
      "SELECT count(*) AS n FROM audit_entry WHERE action = 'revoke' AND request_id = ?",
    )
      .bind(response.headers.get("plat-request-id"))
      .first("n");
    expect(rows).toBe(40);
  });
});

describe("POST /revoke: 400", () => {
  it("refuses no token, a repeated one, and two ways to authenticate", async () => {
    const { clientId, clientSecret = "" } = flow.client;
    const headers = { authorization: basic({ clientId, clientSecret }) };
    const repeated = new URLSearchParams([
      ["token", "a"],
      ["token", "b"],
    ]);
    const forms: readonly (Record<string, string> | URLSearchParams)[] = [
      {},
      { token: "" },
      repeated,
      { token: "x", client_secret: clientSecret },
    ];
    for (const form of forms)
      expect(await errorOf(await call("/oauth2/v1/revoke", { form, headers }))).toBe("invalid_request");
  });

  it("ignores odd text", async () => {
    for (const text of ["\u0000", "💥", ".", "..", "a.b.c", "__proto__", ",", "%00"])
      expect(await expectJson(await revoke(text), 200)).toEqual({});
    expect((await makeFlowClient(flow.tenant)).clientSecret).toBeDefined();
  });
});

/** Simulates earlier revocations of a person's tokens, or of those that a client got for itself. */
const fill = (clientId: string, email: string, count: number) =>
  env.DB.prepare(
    `INSERT INTO revocation (kind, key, until_ms, expires_sec, client, issued_to)
     WITH RECURSIVE counted(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM counted WHERE i < ?2)
     SELECT 'token', ?3 || i, 9007199254740991, unixepoch() + 3600, ?3, ?1 FROM counted`,
  )
    .bind(clientId, count, accessKey(email, clientId))
    .run();
const rowsOf = async (clientId: string): Promise<number> =>
  (await env.DB.prepare("SELECT count(*) AS n FROM revocation WHERE issued_to = ?1 AND kind = 'token'")
    .bind(clientId)
    .first<number>("n"))!;

describe("A person who revokes more tokens of a client than an isolate should hold", () => {
  // shows: oauth/access-tokens/a-row-for-a-family
  it("loses what the client got of this person, by one row, and ends nothing of others", async () => {
    const [greedy, other] = [await makePublicFlow(), await makeFlowClient(open.tenant)];
    const { clientId } = greedy.client;
    const modest = { ...greedy, ...(await makeUser(greedy.tenant)) };
    const [kept, others] = [await signIn(greedy), await signIn(modest)];
    const elsewhere = await signIn({ ...open, client: other });
    await fill(clientId, greedy.email, REVOKED_TOKENS.ofPerson - 1);
    expect((await revoke((await signIn(greedy)).access_token)).status).toBe(200);
    expect(await rowsOf(clientId)).toBe(REVOKED_TOKENS.ofPerson);
    expect(await isLiving(kept.access_token)).toBe(true);

    const last = await signIn(greedy);
    expect((await revoke(last.access_token, greedy.client)).status).toBe(200);
    expect(await rowsOf(clientId)).toBe(0);
    const held = [kept, last, others, elsewhere].map(({ access_token }) => access_token);
    expect(await Promise.all(held.map(isLiving))).toEqual([false, false, true, true]);
    // The refresh tokens live on, and give tokens that are valid.
    for (const { refresh_token } of [kept, last])
      expect(await isLiving((await refreshed(greedy.client, refresh_token)).access_token)).toBe(true);
    const [row] = (await auditOf(clientId)).filter(({ reason }) => reason !== "");
    expect(row).toMatchObject({ subject: `clients/${clientId}`, outcome: "done" });
  }, 30_000);
});

describe("A client that revokes more tokens than an isolate should hold", () => {
  // shows: oauth/access-tokens/a-row-for-a-family
  it("loses its own tokens that it got until then, by one row, and can get new ones at once", async () => {
    const [greedy, modest] = [await makeClient({ tenant: flow.tenant }), await makeClient()];
    const person = { ...flow, client: await makeFlowClient(flow.tenant) };
    const [kept, others, persons] = [await tokenFor(greedy), await tokenFor(modest), await signIn(person)];
    await fill(greedy.clientId, "", REVOKED_TOKENS.ofClient - 1);
    expect((await revoke(await tokenFor(greedy), greedy)).status).toBe(200);
    expect(await rowsOf(greedy.clientId)).toBe(REVOKED_TOKENS.ofClient);
    expect(await isLiving(kept)).toBe(true);

    const last = await tokenFor(greedy);
    expect((await revoke(last, greedy)).status).toBe(200);
    expect(await rowsOf(greedy.clientId)).toBe(0);
    expect([await isLiving(kept), await isLiving(last), await isLiving(others)]).toEqual([false, false, true]);
    expect(await isLiving(persons.access_token)).toBe(true);
    // A new isolate issues from new records. This one may use old records for 30 s.
    const fresh = (await (await isolate().token(greedy)).json<any>()).access_token as string;
    expect(await isLiving(fresh)).toBe(true);
    expect((await auditOf(greedy.clientId)).map(({ subject }) => subject)).toContain(`clients/${greedy.clientId}`);
  }, 30_000);
});
