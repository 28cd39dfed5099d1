import { env } from "cloudflare:workers";
import { SignJWT, type JWTPayload } from "jose";
import { describe, expect, it } from "vitest";
import { createDeps } from "../../../src/deps.ts";
import { runSchedule } from "../../../src/schedule.ts";
import { isolate } from "../../support/isolate.ts";
import { call, expectJson } from "../../support/platform/call.ts";
import { OPERATOR, put } from "../../support/platform/operator.ts";
import { makeTenant } from "../../support/platform/tenants.ts";
import { basic, tokenFor } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";
import { makeSigner } from "../../support/parties/idp/scripted-provider.ts";
import { assertionOf, ISSUER, makeSigningClient, provenBy } from "../../support/parties/signing-client.ts";
import { GRANT, send, TOKEN } from "./asserted-request.ts";
import { failureOf } from "../support/answers.ts";

interface SecretClient {
  readonly clientId: string;
  readonly tenant: string;
  readonly clientSecret: string;
}

const fieldsFor = (tenant: string, fields: Record<string, unknown> = {}) => ({
  tenant,
  confidential: true,
  grantTypes: ["client_credentials"],
  scopes: ["plat.media_view"],
  authMethod: "client_secret_jwt",
  ...fields,
});

async function makeSecretClient(fields: Record<string, unknown> = {}): Promise<SecretClient> {
  const tenant = await makeTenant();
  const clientId = `${tenant}.${unique("app")}`;
  const { clientSecret } = await put(`clients/${clientId}`, fieldsFor(tenant, fields));
  return { clientId, tenant, clientSecret };
}

/** A valid assertion with some claims changed. */
function signedBy(
  { clientId, clientSecret }: Pick<SecretClient, "clientId" | "clientSecret">,
  claims: JWTPayload = {},
  alg = "HS256",
): Promise<string> {
  const nowSec = Math.floor(Date.now() / 1000);
  const payload = { iss: clientId, sub: clientId, aud: ISSUER, jti: unique("jti"), iat: nowSec, exp: nowSec + 60 };
  return new SignJWT(JSON.parse(JSON.stringify({ ...payload, ...claims })) as JWTPayload)
    .setProtectedHeader({ alg })
    .sign(new TextEncoder().encode(clientSecret));
}

describe("A client with client_secret_jwt", () => {
  // shows: oauth/clients-that-sign/client_secret_jwt
  it("signs by its secret for /token, /introspect and /revoke", async () => {
    const client = await makeSecretClient();
    for (const aud of [ISSUER, `${ISSUER}/token`, [ISSUER, "https://other.example"]])
      await expectJson(await send(await signedBy(client, { aud })), 200);
    const token = (await expectJson(await send(await signedBy(client)), 200)).access_token as string;
    const shown = await send(await signedBy(client), { token }, "/oauth2/v1/introspect");
    expect(await expectJson(shown, 200)).toMatchObject({ active: true, client_id: client.clientId });
    await expectJson(await send(await signedBy(client), { token }, "/oauth2/v1/revoke"), 200);
    expect((await call(`/oauth2/v1/tokeninfo?access_token=${token}`)).status).toBe(400);
  });

  // shows: oauth/clients-that-sign/once
  it("uses each assertion once, in all isolates together", async () => {
    const assertion = await signedBy(await makeSecretClient());
    const body = new URLSearchParams({ ...GRANT, ...provenBy(assertion) });
    const answers = await Promise.all([isolate(), isolate()].map((one) => one.fetch(TOKEN, { method: "POST", body })));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 401]);
  });

  // shows: oauth/clients-that-sign/client_secret_jwt-refused
  it("is refused with another secret, algorithm or claim", async () => {
    const client = await makeSecretClient();
    const other = await makeSecretClient();
    const now = Math.floor(Date.now() / 1000);
    const wrong: Record<string, string> = {
      "the secret of another client": await signedBy({ ...client, clientSecret: other.clientSecret }),
      HS512: await signedBy(client, {}, "HS512"),
      "no algorithm": (await signedBy(client)).replace(/^[^.]+/, btoa('{"alg":"none"}').replaceAll("=", "")),
      "a key of its own": await assertionOf({ ...client, signer: await makeSigner() }),
      "another audience": await signedBy(client, { aud: "https://other.example" }),
      "another issuer": await signedBy(client, { iss: other.clientId }),
      "no jti": await signedBy(client, { jti: undefined }),
      "an end that is past": await signedBy(client, { exp: now - 300 }),
      "an end in a day": await signedBy(client, { exp: now + 86_400 }),
    };
    for (const [what, assertion] of Object.entries(wrong))
      expect(await failureOf(await send(assertion)), what).toBe("401 invalid_client");
  });

  // shows: oauth/clients-that-sign/client_secret_jwt-alone
  it("never sends its secret, and no other client signs by one", async () => {
    const client = await makeSecretClient();
    expect(await failureOf(await call(TOKEN, { form: GRANT, headers: { authorization: basic(client) } }))).toBe(
      "401 invalid_client",
    );
    const form = { ...GRANT, client_id: client.clientId, client_secret: client.clientSecret };
    expect(await failureOf(await call(TOKEN, { form }))).toBe("401 invalid_client");
    const plain = await makeSecretClient({ authMethod: "client_secret" });
    await expectJson(await call(TOKEN, { form: GRANT, headers: { authorization: basic(plain) } }), 200);
    expect(await failureOf(await send(await signedBy(plain)))).toBe("401 invalid_client");
    // A public key is not accepted as a secret, whatever the header says.
    const signing = await makeSigningClient();
    const publicKey = JSON.stringify({ keys: [signing.signer.publicJwk] });
    expect(await failureOf(await send(await signedBy({ ...signing, clientSecret: publicKey })))).toBe(
      "401 invalid_client",
    );
  });

  // shows: oauth/clients-that-sign/client_secret_jwt-rotation
  it("signs by the old secret for a day more after a new one was made", async () => {
    const client = await makeSecretClient();
    const token = await tokenFor(OPERATOR);
    const rotate = () => call(`/admin/v1/clients/${client.clientId}/secret`, { method: "POST", token });
    const { clientSecret } = await expectJson<{ clientSecret: string }>(await rotate(), 201);
    for (const secret of [client.clientSecret, clientSecret])
      await expectJson(await send(await signedBy({ ...client, clientSecret: secret })), 200);
    // The third secret ends the first.
    const newest = await expectJson<{ clientSecret: string }>(await rotate(), 201);
    for (const secret of [clientSecret, newest.clientSecret])
      await expectJson(await send(await signedBy({ ...client, clientSecret: secret })), 200);
    expect(await failureOf(await send(await signedBy(client)))).toBe("401 invalid_client");
    // The old one ends after the day.
    await env.DB.prepare("UPDATE client_secret SET expires_at = ?2 WHERE client = ?1 AND expires_at IS NOT NULL")
      .bind(client.clientId, Date.now() - 1)
      .run();
    const later = isolate();
    const ask = async (secret: string) => {
      const assertion = await signedBy({ ...client, clientSecret: secret });
      const body = new URLSearchParams({ ...GRANT, ...provenBy(assertion) });
      return (await later.fetch(TOKEN, { method: "POST", body })).status;
    };
    expect(await ask(newest.clientSecret)).toBe(200);
    expect(await ask(clientSecret)).toBe(401);
  });

  // shows: oauth/clients-that-sign/client_secret_jwt-sealed
  it("has its secret sealed, shown once, and sealed anew under a new key", async () => {
    const client = await makeSecretClient();
    const rows = () =>
      env.DB.prepare("SELECT digest, sealed FROM client_secret WHERE client = ?1")
        .bind(client.clientId)
        .all<{ digest: string; sealed: string }>();
    const [row] = (await rows()).results;
    expect(row?.sealed).toMatch(/^t1\./);
    expect(JSON.stringify(row)).not.toContain(client.clientSecret);
    const token = await tokenFor(OPERATOR);
    const shown = await (await call(`/admin/v1/clients/${client.clientId}`, { token })).text();
    expect(shown).not.toContain(client.clientSecret);

    const keys = { ...env, SEAL_KEYS: `t9:${btoa("\x09".repeat(32))},${env.SEAL_KEYS}` };
    await runSchedule(createDeps(keys), Date.now());
    const [again] = (await rows()).results;
    expect(again?.sealed).toMatch(/^t9\./);
    const body = async () => new URLSearchParams({ ...GRANT, ...provenBy(await signedBy(client)) });
    expect((await isolate(keys).fetch(TOKEN, { method: "POST", body: await body() })).status).toBe(200);
    // Without the key the client is refused, and nobody else notices.
    expect((await isolate(env).fetch(TOKEN, { method: "POST", body: await body() })).status).toBe(401);
    // A row that is copied to another client proves nothing.
    const other = await makeSecretClient();
    await env.DB.prepare("UPDATE client_secret SET sealed = ?2 WHERE client = ?1")
      .bind(other.clientId, again?.sealed ?? "")
      .run();
    const forged = await signedBy({ ...other, clientSecret: client.clientSecret });
    const init = { method: "POST", body: new URLSearchParams({ ...GRANT, ...provenBy(forged) }) };
    expect((await isolate(keys).fetch(TOKEN, init)).status).toBe(401);
    await env.DB.prepare("DELETE FROM client_secret WHERE client IN (?1, ?2)")
      .bind(client.clientId, other.clientId)
      .run();
  });

  // shows: oauth/clients-that-sign/client_secret_jwt-registration
  it("gets a secret by its registration, and another one when the way changes", async () => {
    const client = await makeSecretClient();
    const path = `clients/${client.clientId}`;
    const first = (await expectJson(await send(await signedBy(client)), 200)).access_token as string;
    const alive = async (token: string) => (await call(`/oauth2/v1/tokeninfo?access_token=${token}`)).status;
    // The same registration again changes nothing.
    expect(await put(path, fieldsFor(client.tenant))).not.toHaveProperty("clientSecret");
    expect(await put(path, fieldsFor(client.tenant, { clientSecret: client.clientSecret }))).toBeDefined();
    expect(await alive(first)).toBe(200);
    // A new secret in the registration ends the old one and its tokens.
    const clientSecret = "s".repeat(32);
    await put(path, fieldsFor(client.tenant, { clientSecret }));
    expect(await alive(first)).toBe(400);
    expect(await failureOf(await send(await signedBy(client)))).toBe("401 invalid_client");
    await expectJson(await send(await signedBy({ ...client, clientSecret })), 200);
    // A change of the method makes a new secret: a hash cannot be sealed, and the old secret must not be sent.
    const plain = await put(path, fieldsFor(client.tenant, { authMethod: "client_secret" }));
    await expectJson(
      await call(TOKEN, { form: GRANT, headers: { authorization: basic({ ...client, ...plain }) } }),
      200,
    );
    const signs = await put(path, fieldsFor(client.tenant));
    await expectJson(await send(await signedBy({ ...client, ...signs })), 200);
    expect(await failureOf(await send(await signedBy({ ...client, ...plain })))).toBe("401 invalid_client");

    const token = await tokenFor(OPERATOR);
    const wrong: Record<string, unknown>[] = [
      { clientSecret: "s".repeat(31) },
      { confidential: false },
      { securityProfile: "fapi2", redirectUris: ["https://app.example/back"] },
    ];
    for (const fields of wrong) {
      const answer = await call(`/admin/v1/${path}`, { method: "PUT", token, json: fieldsFor(client.tenant, fields) });
      expect(answer.status, JSON.stringify(fields)).toBe(400);
    }
  });

  it("is explained as /token treats it, as is one with private_key_jwt", async () => {
    const token = await tokenFor(OPERATOR);
    for (const { clientId } of [await makeSecretClient(), await makeSigningClient()]) {
      const explained = await call(`/admin/v1/explain?client=${clientId}&scope=plat.media_view`, { token });
      expect(await expectJson(explained, 200)).toMatchObject({ granted: true });
    }
  });
});
