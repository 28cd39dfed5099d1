import { createLocalJWKSet, exportJWK, jwtVerify, type JSONWebKeySet } from "jose";
import { beforeAll, describe, expect, it } from "vitest";
import { CHALLENGE, VERIFIER } from "../support/code.ts";
import { makeSigner } from "../../support/parties/idp/scripted-provider.ts";
import { Browser, landed } from "../../support/browser.ts";
import { call, expectJson } from "../../support/platform/call.ts";
import { OPERATOR } from "../../support/platform/operator.ts";
import { makeTenant } from "../../support/platform/tenants.ts";
import { tokenFor } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";
import { answerJson } from "../../support/outside.ts";
import { makeProver, type Prover } from "../../support/parties/prover.ts";
import { APP_URI, makeApp, signInThrough, type TestApp } from "../../support/sign-in.ts";
import { assertionOf, ISSUER, provenBy, type SigningClient } from "../../support/parties/signing-client.ts";
import { makeUser } from "../../support/users.ts";
import { failureOf } from "../support/answers.ts";

/** A client registered for the FAPI 2.0 Security Profile. */
let bank: TestApp & SigningClient;
let browser: Browser;
let prover: Prover;
beforeAll(async () => {
  const tenant = await makeTenant();
  const user = await makeUser({ tenant });
  const signer = await makeSigner("PS256");
  const app = await makeApp({
    tenant,
    securityProfile: "fapi2",
    authMethod: "private_key_jwt",
    jwks: JSON.stringify({ keys: [signer.publicJwk] }),
    grantTypes: ["authorization_code", "refresh_token"],
  });
  bank = { ...app, signer };
  browser = new Browser();
  await signInThrough(browser, await makeApp({ tenant }), user);
  prover = await makeProver();
});

const REQUEST = {
  response_type: "code",
  redirect_uri: APP_URI,
  scope: "openid",
  state: "s",
  nonce: "n",
  code_challenge: CHALLENGE,
  code_challenge_method: "S256",
};
const push = async (form: Record<string, string>, aud?: string | string[]): Promise<Response> =>
  call("/oauth2/v1/par", { form: { ...form, ...provenBy(await assertionOf(bank, aud === undefined ? {} : { aud })) } });
const encode = (text: string): string => btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const without = (name: keyof typeof REQUEST): Record<string, string> => {
  const { [name]: _left, ...rest } = REQUEST;
  return rest;
};
async function codeForm(): Promise<Record<string, string>> {
  const { request_uri } = await expectJson<{ request_uri: string }>(await push(REQUEST), 201);
  const query = new URLSearchParams({ client_id: bank.clientId, request_uri }).toString();
  const answer = landed(await browser.get(`${ISSUER}/authorize?${query}`));
  expect(answer.query.get("iss")).toBe(ISSUER);
  const code = answer.query.get("code") ?? "";
  return { grant_type: "authorization_code", code, redirect_uri: APP_URI, code_verifier: VERIFIER };
}

describe("A client of FAPI 2.0", () => {
  // shows: oauth/fapi-2.0/whole-flow
  it("gets bound tokens and an ID token by ES256 for a request that it pushed", async () => {
    const form = await codeForm();
    const send = async () =>
      prover.send("/oauth2/v1/token", { form: { ...form, ...provenBy(await assertionOf(bank)) } });
    const first = await send();
    const tokens = await expectJson(first.status === 401 ? await send() : first, 200);
    expect(tokens.token_type).toBe("DPoP");
    const keys = await expectJson<JSONWebKeySet>(await call("/oauth2/v1/jwks"), 200);
    const read = await jwtVerify(tokens.id_token as string, createLocalJWKSet(keys), { algorithms: ["ES256"] });
    expect(read.payload["nonce"]).toBe("n");
    const query = new URLSearchParams({ id_token_hint: tokens.id_token as string }).toString();
    expect((await new Browser().get(`${ISSUER}/end_session?${query}`)).status).toBe(200);
  });

  // shows: oauth/fapi-2.0/refused
  it("is refused whatever is less", async () => {
    expect(await failureOf(await push(without("code_challenge")))).toBe("400 invalid_request");
    const plain = { ...REQUEST, code_challenge: VERIFIER, code_challenge_method: "plain" };
    expect(await failureOf(await push(plain))).toBe("400 invalid_request");
    expect(await failureOf(await push(without("redirect_uri")))).toBe("400 invalid_request");
    expect(await failureOf(await push({ ...REQUEST, response_type: "token" }))).toBe("400 unauthorized_client");
    for (const aud of [`${ISSUER}/token`, `${ISSUER}/par`, [ISSUER]])
      expect(await failureOf(await push(REQUEST, aud))).toBe("401 invalid_client");
    const direct = new URLSearchParams({ ...REQUEST, client_id: bank.clientId }).toString();
    const answer = landed(await browser.get(`${ISSUER}/authorize?${direct}`));
    expect(answer.query.get("error")).toBe("invalid_request");
    expect(answer.fragment.size).toBe(0);
    const unproven = { ...(await codeForm()), ...provenBy(await assertionOf(bank)) };
    expect(await failureOf(await call("/oauth2/v1/token", { form: unproven }))).toBe("400 invalid_dpop_proof");
    const weak = { ...bank, signer: await makeSigner("RS256", bank.signer.kid) };
    expect(
      await failureOf(await call("/oauth2/v1/par", { form: { ...REQUEST, ...provenBy(await assertionOf(weak)) } })),
    ).toBe("401 invalid_client");
  });

  // shows: oauth/fapi-2.0/forbidden
  it("is refused by its name alone, and by a weak key", async () => {
    const named = { ...REQUEST, client_id: bank.clientId };
    expect(await failureOf(await call("/oauth2/v1/par", { form: named }))).toBe("401 invalid_client");
    // An RSA key of 1024 bits is too weak (5.4.1). Libraries refuse to sign with it.
    const algorithm = {
      name: "RSA-PSS",
      modulusLength: 1024,
      publicExponent: new Uint8Array([1, 0, 1]),
      hash: "SHA-256",
    };
    const weak = (await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"])) as CryptoKeyPair;
    const publicJwk = { ...(await exportJWK(weak.publicKey)), kid: "weak", alg: "PS256" };
    const token = await tokenFor(OPERATOR);
    const path = `/admin/v1/clients/${bank.clientId}`;
    const stored = await expectJson(await call(path, { token }), 200);
    const jwks = JSON.stringify({ keys: [bank.signer.publicJwk, publicJwk] });
    const register = (fields: object) => call(path, { method: "PUT", token, json: { ...stored, ...fields } });
    expect((await register({ jwks })).status).toBe(400);
    const jwksUri = `https://${unique("weak")}.test/jwks`;
    await answerJson(jwksUri, JSON.parse(jwks) as object);
    expect((await register({ jwks: "", jwksUri })).status).toBe(200);
    const nowSec = Math.floor(Date.now() / 1000);
    const claims = { iss: bank.clientId, sub: bank.clientId, aud: ISSUER, jti: "weak", exp: nowSec + 60 };
    const signed = [{ alg: "PS256", kid: "weak" }, claims].map((part) => encode(JSON.stringify(part))).join(".");
    const salted = { name: "RSA-PSS", saltLength: 32 };
    const signature = await crypto.subtle.sign(salted, weak.privateKey, new TextEncoder().encode(signed));
    const assertion = `${signed}.${encode(String.fromCharCode(...new Uint8Array(signature)))}`;
    const form = { ...REQUEST, ...provenBy(assertion) };
    expect(await failureOf(await call("/oauth2/v1/par", { form }))).toBe("401 invalid_client");
    await expectJson(await push(REQUEST), 201);
    expect((await register({})).status).toBe(200);
    await expectJson(await push(REQUEST), 201);
  });

  // shows: oauth/fapi-2.0/forbidden
  it("redeems a code once, and keeps its refresh token", async () => {
    const form = await codeForm();
    const send = async (sent: Record<string, string>) => {
      const ask = async () =>
        prover.send("/oauth2/v1/token", { form: { ...sent, ...provenBy(await assertionOf(bank)) } });
      const first = await ask();
      return first.status === 401 ? ask() : first;
    };
    const tokens = await expectJson(await send(form), 200);
    const again = { grant_type: "refresh_token", refresh_token: tokens.refresh_token as string };
    for (let times = 0; times < 3; times++)
      expect((await expectJson(await send(again), 200)).refresh_token ?? tokens.refresh_token).toBe(
        tokens.refresh_token,
      );
    expect(await failureOf(await send(form))).toBe("400 invalid_grant");
    expect((await prover.send("/oauth2/v1/userinfo", { token: tokens.access_token as string })).status).toBe(401);
  });

  // shows: oauth/fapi-2.0/registration
  it("is registered with a key, https, and the code flow alone", async () => {
    const token = await tokenFor(OPERATOR);
    const path = `/admin/v1/clients/${bank.clientId}`;
    const stored = await expectJson(await call(path, { token }), 200);
    expect(stored.securityProfile).toBe("fapi2");
    const wrong: Record<string, unknown>[] = [
      { authMethod: "client_secret", jwks: "" },
      { grantTypes: ["implicit"] },
      { grantTypes: ["password"] },
      { redirectUris: ["http://127.0.0.1/callback"] },
      { redirectUris: ["com.example.app:/callback"] },
    ];
    for (const fields of wrong)
      expect((await call(path, { method: "PUT", token, json: { ...stored, ...fields } })).status).toBe(400);
  });
});
