import { createLocalJWKSet, jwtVerify, type JSONWebKeySet } from "jose";
import { beforeAll, describe, expect, it } from "vitest";
import { CHALLENGE, VERIFIER } from "../user-flow.ts";
import { Browser, landed } from "../../support/browser.ts";
import { call, expectJson, makeTenant, OPERATOR, tokenFor } from "../../support/platform.ts";
import { makeProver, type Prover } from "../../support/prover.ts";
import { makeSigner } from "../../support/scripted-provider.ts";
import { APP_URI, makeApp, signInThrough, type TestApp } from "../../support/sign-in.ts";
import { assertionOf, ISSUER, provenBy, type SigningClient } from "../../support/signing-client.ts";
import { makeUser } from "../../support/users.ts";

/** A client that keeps to the FAPI 2.0 Security Profile. */
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
const errorOf = async (response: Response): Promise<string> =>
  `${response.status} ${(await response.json<{ error: string }>()).error}`;
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
    expect(await errorOf(await push(without("code_challenge")))).toBe("400 invalid_request");
    const plain = { ...REQUEST, code_challenge: VERIFIER, code_challenge_method: "plain" };
    expect(await errorOf(await push(plain))).toBe("400 invalid_request");
    expect(await errorOf(await push(without("redirect_uri")))).toBe("400 invalid_request");
    expect(await errorOf(await push({ ...REQUEST, response_type: "token" }))).toBe("400 unauthorized_client");
    for (const aud of [`${ISSUER}/token`, `${ISSUER}/par`, [ISSUER]])
      expect(await errorOf(await push(REQUEST, aud))).toBe("401 invalid_client");
    const direct = new URLSearchParams({ ...REQUEST, client_id: bank.clientId }).toString();
    const answer = landed(await browser.get(`${ISSUER}/authorize?${direct}`));
    expect(answer.query.get("error")).toBe("invalid_request");
    expect(answer.fragment.size).toBe(0);
    const unproven = { ...(await codeForm()), ...provenBy(await assertionOf(bank)) };
    expect(await errorOf(await call("/oauth2/v1/token", { form: unproven }))).toBe("400 invalid_dpop_proof");
    const weak = { ...bank, signer: await makeSigner("RS256", bank.signer.kid) };
    expect(
      await errorOf(await call("/oauth2/v1/par", { form: { ...REQUEST, ...provenBy(await assertionOf(weak)) } })),
    ).toBe("401 invalid_client");
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
