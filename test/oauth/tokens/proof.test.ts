import { decodeJwt } from "jose";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { CHALLENGE, codeFor, VERIFIER } from "../support/code.ts";
import { makeFlow, makePublicFlow, REDIRECT, type Flow } from "../support/flow.ts";
import { answerJson, requestsTo } from "../../support/outside.ts";
import { call, expectJson, ORIGIN } from "../../support/platform/call.ts";
import { makeClient } from "../../support/platform/clients.ts";
import { put } from "../../support/platform/operator.ts";
import { basic, tokenFor } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";
import { hashOf, makeProver, type Prover } from "../../support/parties/prover.ts";
import { makeApp } from "../../support/sign-in.ts";
import type { TestClient } from "../../support/platform/clients.ts";
import { failureOf, refusalOf } from "../support/answers.ts";

const TOKEN = "/oauth2/v1/token";
const FILES = "/media/v2/";
const GRANT = { grant_type: "client_credentials" };

let client: TestClient;
let prover: Prover;
let bound: string;
beforeAll(async () => {
  client = await makeClient();
  prover = await makeProver();
  bound = await boundToken();
});
afterEach(() => {
  vi.useRealTimers();
});

async function boundToken(by: Prover = prover): Promise<string> {
  const response = await by.send(TOKEN, { form: GRANT, headers: { authorization: basic(client) } });
  const answer = await expectJson<{ token_type: string; access_token: string }>(response, 200);
  expect(answer.token_type).toBe("DPoP");
  return answer.access_token;
}
const LIST = "/pubsub/v1/topics";
const use = (more: Parameters<Prover["send"]>[1] = {}) => prover.send(LIST, { token: bound, ...more });

describe("A token that was asked for with a proof", () => {
  // shows: oauth/bound-tokens/access-token
  // shows: oauth/bound-tokens/use
  // shows: oauth/bound-tokens/nonce
  it("is bound to the key, and opens what it opens with a proof for each request", async () => {
    expect(decodeJwt(bound)["cnf"]).toEqual({ jkt: prover.thumbprint });
    const fresh = await makeProver();
    const first = await call(TOKEN, {
      form: GRANT,
      headers: { authorization: basic(client), dpop: await fresh.proofFor("POST", TOKEN) },
    });
    expect(first.headers.get("dpop-nonce")).toMatch(/^\S{20,}$/);
    expect(await failureOf(first)).toBe("400 use_dpop_nonce");
    expect((await use()).status).toBe(200);
    expect((await prover.send(`${LIST}?pageSize=1`, { token: bound })).status).toBe(200);
    const shown = await call("/oauth2/v1/introspect", {
      form: { token: bound },
      headers: { authorization: basic(client) },
    });
    expect(await expectJson(shown, 200)).toMatchObject({ token_type: "DPoP", cnf: { jkt: prover.thumbprint } });
  });

  it.each(["PS256", "EdDSA"])("may be bound to a key of %s", async (alg) => {
    const other = await makeProver(alg);
    const token = await boundToken(other);
    expect((await other.send(LIST, { token })).status).toBe(200);
  });

  // shows: oauth/bound-tokens/as-bearer
  it("is refused as Bearer, and a Bearer token is refused as DPoP", async () => {
    expect(refusalOf(await call(LIST, { token: bound }))).toBe("401 invalid_token");
    expect(refusalOf(await call("/oauth2/v1/userinfo", { token: bound }))).toBe("401 invalid_token");
    expect(refusalOf(await call(LIST, { token: bound, headers: { dpop: await prover.proofFor("GET", LIST) } }))).toBe(
      "401 invalid_token",
    );
    const bearer = await tokenFor(client);
    expect(refusalOf(await prover.send(LIST, { token: bearer }))).toBe("401 invalid_token");
    expect((await call(LIST, { token: bearer })).status).toBe(200);
  });

  // shows: oauth/bound-tokens/use
  it("is refused with a proof for anything else, or none", async () => {
    await use();
    const now = Math.floor(Date.now() / 1000);
    const thief = await makeProver();
    thief.nonce = prover.nonce;
    const wrong: Record<string, Promise<Response>> = {
      "no proof": call(LIST, { headers: { authorization: `DPoP ${bound}` } }),
      "another key": thief.send(LIST, { token: bound }),
      "the key of the token, another signature": thief.send(LIST, { token: bound, header: { jwk: prover.jwk } }),
      "another method": use({ claims: { htm: "POST" } }),
      "another path": use({ claims: { htu: `${ORIGIN}${FILES}` } }),
      "another host": use({ claims: { htu: `https://other.example${LIST}` } }),
      "another token": use({ claims: { ath: await hashOf("another") } }),
      "no token": use({ claims: { ath: undefined } }),
      "an old one": use({ claims: { iat: now - 600 } }),
      "one of the future": use({ claims: { iat: now + 600 } }),
      "no jti": use({ claims: { jti: undefined } }),
      "another type": use({ header: { typ: "JWT" } }),
      "no key": use({ header: { jwk: undefined } }),
      "a private key": use({ header: { jwk: { ...prover.jwk, d: "AAAA" } } }),
      "an access token": call(LIST, { headers: { authorization: `DPoP ${bound}`, dpop: bound } }),
    };
    for (const [what, response] of Object.entries(wrong))
      expect(refusalOf(await response), what).toBe("401 invalid_dpop_proof");
    const twice = await prover.proofFor("GET", LIST, { token: bound });
    const headers = { authorization: `DPoP ${bound}`, dpop: `${twice}, ${twice}` };
    expect(refusalOf(await call(LIST, { headers }))).toBe("401 invalid_dpop_proof");
  });

  // shows: oauth/bound-tokens/replay
  it("is refused with a proof that was used", async () => {
    const headers = { authorization: `DPoP ${bound}`, dpop: await prover.proofFor("GET", LIST, { token: bound }) };
    expect((await call(LIST, { headers })).status).toBe(200);
    expect(refusalOf(await call(LIST, { headers }))).toBe("401 invalid_dpop_proof");
  });

  // shows: oauth/bound-tokens/nonce
  it("needs a nonce of the platform that is at most five minutes old, and is told the next one in time", async () => {
    await use();
    const { nonce } = prover;
    for (const made of ["", "made-up", `${btoa("9999999999").replaceAll("=", "")}.AAAA`])
      expect(refusalOf(await use({ claims: { nonce: made } }))).toBe("401 use_dpop_nonce");
    const startMs = Date.now();
    vi.useFakeTimers({ now: startMs + 200_000, toFake: ["Date"] });
    const later = await use({ claims: { nonce } });
    expect(later.status).toBe(200);
    expect(later.headers.get("dpop-nonce")).not.toBe(nonce);
    expect(later.headers.get("dpop-nonce")).not.toBe(null);
    vi.useFakeTimers({ now: startMs + 301_000, toFake: ["Date"] });
    expect(refusalOf(await use({ claims: { nonce } }))).toBe("401 use_dpop_nonce");
  });

  // shows: oauth/bound-tokens/gateway
  it("goes through the gateway with its proof, and the service learns the key", async () => {
    const name = unique("svc-");
    const source = `https://${name}.example.com`;
    await put(`services/${name}`, {
      sourceUrl: source,
      proxyPath: `/${name}/v1`,
      scopes: [],
      tenant: client.tenant,
      access: "token",
    });
    await answerJson(`${source}/x`, {});
    const headers = { "plat-proof-key": "made up" };
    expect(refusalOf(await call(`/${name}/v1/x`, { token: bound, headers }))).toBe("401 invalid_token");
    expect((await prover.send(`/${name}/v1/x?q=1`, { token: bound, headers })).status).toBe(200);
    expect((await call(`/${name}/v1/x`, { token: await tokenFor(client), headers })).status).toBe(200);
    const [proven, bearer] = await requestsTo(`${source}/x`);
    expect(proven!.headers["plat-proof-key"]).toBe(prover.thumbprint);
    expect(proven!.headers).not.toHaveProperty("dpop");
    expect(bearer!.headers).not.toHaveProperty("plat-proof-key");
  });
});

describe("Codes and refresh tokens", () => {
  const redeem = async (flow: Flow, by: Prover | undefined, form: Record<string, string>) => {
    const { clientId, clientSecret } = flow.client;
    const secret: Record<string, string> = clientSecret === undefined ? {} : { client_secret: clientSecret };
    const init = { form: { client_id: clientId, ...secret, ...form } };
    return by === undefined ? call(TOKEN, init) : by.send(TOKEN, init);
  };
  const byCode = async (flow: Flow, authorization: object = {}) => ({
    grant_type: "authorization_code",
    code: await codeFor(flow, { authorization }),
    redirect_uri: REDIRECT,
    code_verifier: VERIFIER,
  });

  // shows: oauth/bound-tokens/refresh-token
  it("bind the refresh token of a client without a secret, and not that of one with a secret", async () => {
    const thief = await makeProver();
    for (const [flow, isBound] of [
      [await makePublicFlow(), true],
      [await makeFlow(), false],
    ] as const) {
      const first = await expectJson(await redeem(flow, prover, await byCode(flow)), 200);
      const refresh = { grant_type: "refresh_token", refresh_token: first.refresh_token as string };
      const stolen = [await redeem(flow, thief, refresh), await redeem(flow, undefined, refresh)];
      expect(stolen.map(({ status }) => status)).toEqual(isBound ? [400, 400] : [200, 200]);
      const next = await expectJson(await redeem(flow, prover, refresh), 200);
      expect(decodeJwt(next.access_token as string)["cnf"]).toEqual({ jkt: prover.thumbprint });
    }
  });

  // shows: oauth/bound-tokens/code
  it("bind a code to the key of dpop_jkt, or of the proof with a pushed request", async () => {
    const flow = await makePublicFlow();
    const thief = await makeProver();
    const form = await byCode(flow, { proofKey: prover.thumbprint });
    expect(await failureOf(await redeem(flow, thief, form))).toBe("400 invalid_grant");
    expect(await failureOf(await redeem(flow, undefined, form))).toBe("400 invalid_grant");
    await expectJson(await redeem(flow, prover, form), 200);
    const pushed = {
      client_id: flow.client.clientId,
      response_type: "code",
      code_challenge: CHALLENGE,
      code_challenge_method: "S256",
    };
    const par = "/oauth2/v1/par";
    expect((await prover.send(par, { form: { ...pushed, dpop_jkt: prover.thumbprint } })).status).toBe(201);
    expect(await failureOf(await prover.send(par, { form: { ...pushed, dpop_jkt: thief.thumbprint } }))).toBe(
      "400 invalid_dpop_proof",
    );
    expect(await failureOf(await call(par, { form: { ...pushed, dpop_jkt: "short" } }))).toBe("400 invalid_request");
  });

  // shows: oauth/bound-tokens/by-registration
  it("are given to a client with dpopBoundAccessTokens for a proof alone, and never by the browser", async () => {
    const app = await makeApp({
      tenant: client.tenant,
      dpopBoundAccessTokens: true,
      grantTypes: ["client_credentials", "implicit"],
    });
    const headers = { authorization: basic(app) };
    expect(await failureOf(await call(TOKEN, { form: GRANT, headers }))).toBe("400 invalid_dpop_proof");
    await expectJson(await prover.send(TOKEN, { form: GRANT, headers }), 200);
    const query = new URLSearchParams({ client_id: app.clientId, response_type: "token" }).toString();
    const answer = await call(`/oauth2/v1/authorize?${query}`);
    expect(answer.headers.get("location")).toContain("error=unauthorized_client");
  });
});
