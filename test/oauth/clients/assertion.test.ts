import { SignJWT, type JWTPayload } from "jose";
import { afterEach, describe, expect, it, vi } from "vitest";
import { toBase64Url, utf8 } from "../../../src/platform/text/encoding.ts";
import { isolate } from "../../support/isolate.ts";
import { answerJson, requestsTo } from "../../support/outside.ts";
import { call, expectJson } from "../../support/platform/call.ts";
import { makeClient } from "../../support/platform/clients.ts";
import { put, OPERATOR } from "../../support/platform/operator.ts";
import { basic, tokenFor } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";
import { makeSigner } from "../../support/parties/idp/scripted-provider.ts";
import {
  assertionOf,
  ASSERTION_TYPE,
  ISSUER,
  makeSigningClient,
  provenBy,
} from "../../support/parties/signing-client.ts";
import { GRANT, send, TOKEN } from "./asserted-request.ts";
import { failureOf } from "../support/answers.ts";

afterEach(() => {
  vi.useRealTimers();
});

describe("A client with private_key_jwt", () => {
  // shows: oauth/clients-that-sign/private_key_jwt
  // shows: oauth/clients-that-sign/audience
  it("authenticates by an assertion for the issuer, the token endpoint or the endpoint that is asked", async () => {
    const client = await makeSigningClient();
    for (const aud of [ISSUER, `${ISSUER}/token`, [ISSUER, "https://other.example"]])
      await expectJson(await send(await assertionOf(client, { aud })), 200);
    const token = (await expectJson(await send(await assertionOf(client), { client_id: client.clientId }), 200))
      .access_token as string;
    for (const aud of [ISSUER, `${ISSUER}/token`, `${ISSUER}/introspect`]) {
      const shown = await send(await assertionOf(client, { aud }), { token }, "/oauth2/v1/introspect");
      expect(await expectJson(shown, 200)).toMatchObject({ active: true, client_id: client.clientId });
    }
    await expectJson(await send(await assertionOf(client), { token }, "/oauth2/v1/revoke"), 200);
  });

  it.each(["PS256", "RS256", "EdDSA"])("signs with %s too", async (alg) => {
    const client = await makeSigningClient({}, await makeSigner(alg));
    await expectJson(await send(await assertionOf(client, {}, { typ: "client-authentication+jwt" })), 200);
  });

  // shows: oauth/clients-that-sign/once
  it("uses each assertion once, in all isolates together", async () => {
    const client = await makeSigningClient();
    const assertion = await assertionOf(client);
    const body = new URLSearchParams({ ...GRANT, ...provenBy(assertion) });
    const answers = await Promise.all(
      [isolate(), isolate(), isolate()].map((one) => one.fetch(TOKEN, { method: "POST", body })),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 401, 401]);
    // Another client may choose the same jti.
    const jti = unique("jti");
    for (const one of [client, await makeSigningClient()])
      await expectJson(await send(await assertionOf(one, { jti })), 200);
  });

  // shows: oauth/clients-that-sign/refused
  it("is refused with any claim that does not fit", async () => {
    const client = await makeSigningClient();
    const now = Math.floor(Date.now() / 1000);
    const wrong: Record<string, JWTPayload> = {
      "another issuer": { iss: "someone.else" },
      "another audience": { aud: "https://other.example" },
      "the origin as audience": { aud: new URL(ISSUER).origin },
      "no audience": { aud: undefined },
      "no jti": { jti: undefined },
      "no end": { exp: undefined },
      "an end that is past": { exp: now - 300 },
      "an end in a day": { exp: now + 86_400 },
      // Over a minute (FAPI 2.0 5.3.2.1); the test may take some seconds.
      "a beginning that is too far off": { nbf: now + 75 },
      "an issue that is too far off": { iat: now + 75 },
    };
    for (const [what, claims] of Object.entries(wrong))
      expect(await failureOf(await send(await assertionOf(client, claims))), what).toBe("401 invalid_client");
    // Clocks may differ by some seconds.
    await expectJson(await send(await assertionOf(client, { iat: now + 10, nbf: now + 10 })), 200);
  });

  // shows: oauth/clients-that-sign/refused
  it("is refused with a key, an algorithm or a type that does not fit", async () => {
    const client = await makeSigningClient();
    const stranger = { ...client, signer: await makeSigner() };
    const sameKid = { ...client, signer: { ...stranger.signer, kid: client.signer.kid } };
    const forged = [
      await assertionOf(stranger),
      await assertionOf(sameKid),
      await assertionOf(stranger, {}, { jwk: stranger.signer.publicJwk, kid: undefined }),
      await assertionOf(client, {}, { typ: "at+jwt" }),
      await assertionOf(client, {}, { typ: "dpop+jwt" }),
      (await assertionOf(client)).replace(/^[^.]+/, btoa('{"alg":"none"}').replaceAll("=", "")),
      await new SignJWT({ jti: "x", sub: client.clientId, iss: client.clientId, aud: ISSUER, exp: 9e9 })
        .setProtectedHeader({ alg: "HS256" })
        .sign(new TextEncoder().encode(JSON.stringify({ keys: [client.signer.publicJwk] }))),
      "not.a.token",
    ];
    for (const [index, assertion] of forged.entries())
      expect(await failureOf(await send(assertion)), String(index)).toBe("401 invalid_client");
  });

  it("is refused if it names no client by a text, and costs the isolate nothing", async () => {
    const at = isolate();
    const client = await makeSigningClient();
    const sendAt = async (assertion: string): Promise<number> =>
      (await at.fetch(TOKEN, { method: "POST", body: new URLSearchParams({ ...GRANT, ...provenBy(assertion) }) }))
        .status;
    const part = (json: object): string => toBase64Url(utf8(JSON.stringify(json)));
    for (const sub of [["a"], {}, 1, true, null, "", "\ud800", "\0", "c".repeat(10_000)])
      expect([sub, await sendAt(`${part({ alg: "ES256" })}.${part({ sub, iss: sub })}.AAAA`)]).toEqual([sub, 401]);
    expect(await sendAt(await assertionOf(client))).toBe(200);
  });

  // shows: oauth/clients-that-sign/one-way
  it("has no other way, and no other client has this one", async () => {
    const client = await makeSigningClient();
    const bySecret = await makeClient();
    const asAnother = await assertionOf({ ...client, clientId: bySecret.clientId });
    expect(await failureOf(await send(asAnother))).toBe("401 invalid_client");
    const authorization = basic({ clientId: client.clientId, clientSecret: "s".repeat(40) });
    expect(await failureOf(await call(TOKEN, { form: GRANT, headers: { authorization } }))).toBe("401 invalid_client");
    expect(await failureOf(await call(TOKEN, { form: { ...GRANT, client_id: client.clientId } }))).toBe(
      "401 invalid_client",
    );
    const both = { form: { ...GRANT, ...provenBy(await assertionOf(client)) } };
    expect(await failureOf(await call(TOKEN, { ...both, headers: { authorization } }))).toBe("400 invalid_request");
    expect(await failureOf(await send(await assertionOf(client), { client_secret: "s" }))).toBe("400 invalid_request");
    expect(await failureOf(await send(await assertionOf(client), { client_id: bySecret.clientId }))).toBe(
      "400 invalid_request",
    );
    const halves: Record<string, string>[] = [
      { client_assertion: await assertionOf(client) },
      { client_assertion_type: ASSERTION_TYPE, client_id: client.clientId },
      { ...provenBy(await assertionOf(client)), client_assertion_type: "urn:other" },
    ];
    for (const half of halves)
      expect(await failureOf(await call(TOKEN, { form: { ...GRANT, ...half } }))).toBe("400 invalid_request");
  });

  // shows: oauth/clients-that-sign/jwks_uri
  it("may have its keys at an address, which is asked again for a new key, but not for each made-up one", async () => {
    const [first, second] = [await makeSigner(), await makeSigner()];
    const jwksUri = `https://${unique("keys")}.test/jwks`;
    await answerJson(jwksUri, { keys: [first.publicJwk] });
    const client = await makeSigningClient({ jwksUri }, first);
    await expectJson(await send(await assertionOf(client)), 200);
    const moved = { ...client, signer: second };
    await answerJson(jwksUri, { keys: [first.publicJwk, second.publicJwk] });
    for (let guess = 0; guess < 3; guess++)
      expect(await failureOf(await send(await assertionOf(moved)))).toBe("401 invalid_client");
    expect(await requestsTo(jwksUri)).toHaveLength(1);
    const worker = isolate();
    const body = new URLSearchParams({ ...GRANT, ...provenBy(await assertionOf(moved)) });
    expect((await worker.fetch(TOKEN, { method: "POST", body })).status).toBe(200);
  });

  // shows: oauth/clients-that-sign/jwks_uri
  it("keeps the keys of an address that does not answer for ten minutes, whatever strangers send", async () => {
    const signer = await makeSigner();
    const jwksUri = `https://${unique("keys")}.test/jwks`;
    await answerJson(jwksUri, { keys: [signer.publicJwk] });
    const client = await makeSigningClient({ jwksUri }, signer);
    await expectJson(await send(await assertionOf(client)), 200);
    await answerJson(jwksUri, {}, { status: 500 });
    await requestsTo(jwksUri);
    const beganAtMs = Date.now();
    const later = (sec: number) => vi.useFakeTimers({ now: beganAtMs + sec * 1000, toFake: ["Date"] });
    for (const sec of [31, 35, 62, 400]) {
      later(sec);
      const madeUp = { ...client, signer: await makeSigner() };
      expect(await failureOf(await send(await assertionOf(madeUp)))).toBe("401 invalid_client");
      await expectJson(await send(await assertionOf(client)), 200);
    }
    // Once in 30 s it is asked.
    expect(await requestsTo(jwksUri)).toHaveLength(3);
    later(601);
    expect(await failureOf(await send(await assertionOf(client)))).toBe("401 invalid_client");
  });

  // shows: oauth/clients-that-sign/registration
  it("is registered with public keys in one place and without a secret", async () => {
    const client = await makeSigningClient();
    const token = await tokenFor(OPERATOR);
    const path = `/admin/v1/clients/${client.clientId}`;
    const stored = await expectJson(await call(path, { token }), 200);
    expect(stored).toMatchObject({ authMethod: "private_key_jwt", jwksUri: "" });
    expect((await call(`${path}/secret`, { method: "POST", token })).status).toBe(409);
    const secretKey = JSON.stringify({ keys: [{ ...client.signer.publicJwk, d: "AA" }] });
    const wrong: Record<string, unknown>[] = [
      { jwks: "" },
      { jwksUri: "https://keys.example/jwks" },
      { jwks: "{}" },
      { jwks: secretKey },
      { jwks: JSON.stringify({ keys: [{ kty: "oct", k: "AA" }] }) },
      { jwks: "", jwksUri: "http://keys.example/jwks" },
      { jwks: "", jwksUri: "https://10.0.0.1/jwks" },
      { confidential: false },
      { clientSecret: "s".repeat(40) },
      { authMethod: "tls_client_auth" },
    ];
    for (const fields of wrong)
      expect((await call(path, { method: "PUT", token, json: { ...stored, ...fields } })).status).toBe(400);
  });

  // shows: oauth/clients-that-sign/registration
  it("keeps its tokens if a key is added, and loses them if one is removed", async () => {
    const client = await makeSigningClient();
    const issue = async () => (await expectJson(await send(await assertionOf(client)), 200)).access_token as string;
    const info = async (token: string) => (await call(`/oauth2/v1/tokeninfo?access_token=${token}`)).status;
    const register = async (keys: object[]) =>
      put(`clients/${client.clientId}`, {
        tenant: client.tenant,
        confidential: true,
        grantTypes: ["client_credentials"],
        scopes: ["plat.media_view"],
        authMethod: "private_key_jwt",
        jwks: JSON.stringify({ keys }),
      });
    const token = await issue();
    const next = await makeSigner();
    await register([client.signer.publicJwk, next.publicJwk]);
    expect(await info(token)).toBe(200);
    await register([next.publicJwk]);
    expect(await info(token)).toBe(400);
    expect(await failureOf(await send(await assertionOf(client)))).toBe("401 invalid_client");
    await expectJson(await send(await assertionOf({ ...client, signer: next })), 200);
  });
});
