import { generateKeyPairSync, randomBytes } from "node:crypto";
import { ALIAS, type Credentials, type KeyHolder, type Registered, type Subject } from "./plans.ts";

const TENANT = "conformance";

/** Has the clients of FAPI 2.0. Its members are others than the users. */
const BANK = "bank";

/** Registers, as an operator would, what the plans need. */
export async function register(
  base: string,
  operatorSecret: string,
  suite: string,
  relay: string,
): Promise<Registered> {
  const token = await operatorToken(base, operatorSecret);
  const put = async (path: string, body: unknown): Promise<void> => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const response = await fetch(`${base}/admin/v1/${path}`, { method: "PUT", headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`PUT ${path}: ${response.status} ${await response.text()}`);
  };
  const callback = `${suite}/test/a/${ALIAS}/callback`;
  const redirectUris = [callback, `${callback}?dummy1=lorem&dummy2=ipsum`];
  await put(`organizations/${TENANT}`, { name: "Conformance" });
  for (const tenant of [TENANT, BANK]) {
    await put(`tenants/${tenant}`, { organization: TENANT, name: tenant });
    await put(`tenants/${tenant}/subscriptions/platform`, {});
  }
  await put("roles/conformance", { scopes: ["plat.media_view"] });
  const person = async (email: string, name: string): Promise<Subject> => {
    const password = randomBytes(18).toString("base64url");
    await put(`users/${email}`, { name, password });
    await put(`tenants/${TENANT}/members/${email}`, { roles: ["conformance"] });
    return { email, password };
  };
  const client = async (name: string, more: object = {}): Promise<Credentials> => {
    const credentials = { client_id: `${TENANT}.${name}`, client_secret: randomBytes(32).toString("base64url") };
    await put(`clients/${credentials.client_id}`, {
      tenant: TENANT,
      confidential: true,
      clientSecret: credentials.client_secret,
      redirectUris,
      postLogoutRedirectUris: [`${suite}/test/a/${ALIAS}/post_logout_redirect`],
      grantTypes: ["authorization_code", "refresh_token", "implicit"],
      scopes: ["plat.media_view"],
      ...more,
    });
    return credentials;
  };
  const keyHolder = async (name: string): Promise<KeyHolder> => {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const marks = { kid: name, use: "sig", alg: "ES256" };
    const keys = [{ ...publicKey.export({ format: "jwk" }), ...marks }];
    const id = `${BANK}.${name}`;
    await put(`clients/${id}`, {
      tenant: BANK,
      confidential: true,
      authMethod: "private_key_jwt",
      jwks: JSON.stringify({ keys }),
      securityProfile: "fapi2",
      redirectUris,
      grantTypes: ["authorization_code", "refresh_token"],
      scopes: [],
    });
    const jwks = { keys: [{ ...privateKey.export({ format: "jwk" }), ...marks }] };
    return { client_id: id, scope: "openid profile plat.no_tenant", jwks, dpop_signing_alg: "ES256" };
  };
  return {
    user: await person("grace@conformance.example", "Grace Hopper"),
    refuser: await person("henry@conformance.example", "Henry Ford"),
    clients: [await client("one"), await client("two"), await client("post")],
    toldOfLogout: await client("told", { backchannelLogoutUri: `${relay}/test/a/${ALIAS}/backchannel_logout` }),
    keyHolders: [await keyHolder("first"), await keyHolder("second")],
  };
}

async function operatorToken(base: string, secret: string): Promise<string> {
  const response = await fetch(`${base}/oauth2/v1/token`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`plat.operator:${encodeURIComponent(secret)}`)}` },
    body: new URLSearchParams({ grant_type: "client_credentials" }),
  });
  if (!response.ok) throw new Error(`the operator gets no token: ${response.status} ${await response.text()}`);
  return ((await response.json()) as { access_token: string }).access_token;
}
