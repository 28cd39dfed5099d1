import { randomBytes } from "node:crypto";
import { ALIAS, type Credentials, type Subject } from "./plans.ts";

const TENANT = "conformance";

/** Registers, as an operator would, what the plans need: a tenant, a user and three clients. */
export async function register(
  base: string,
  operatorSecret: string,
  suite: string,
): Promise<{ readonly user: Subject; readonly clients: readonly [Credentials, Credentials, Credentials] }> {
  const token = await operatorToken(base, operatorSecret);
  const put = async (path: string, body: unknown): Promise<void> => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const response = await fetch(`${base}/admin/v1/${path}`, { method: "PUT", headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`PUT ${path}: ${response.status} ${await response.text()}`);
  };
  const user = { email: "grace@conformance.example", password: randomBytes(18).toString("base64url") };
  const callback = `${suite}/test/a/${ALIAS}/callback`;
  await put(`organizations/${TENANT}`, { name: "Conformance" });
  await put(`tenants/${TENANT}`, { organization: TENANT, name: "Conformance" });
  await put(`tenants/${TENANT}/subscriptions/platform`, {});
  await put("roles/conformance", { scopes: ["plat.media_view"] });
  await put(`users/${user.email}`, { name: "Grace Hopper", password: user.password });
  await put(`tenants/${TENANT}/members/${user.email}`, { roles: ["conformance"] });
  const client = async (name: string): Promise<Credentials> => {
    const credentials = { client_id: `${TENANT}.${name}`, client_secret: randomBytes(32).toString("base64url") };
    await put(`clients/${credentials.client_id}`, {
      tenant: TENANT,
      confidential: true,
      clientSecret: credentials.client_secret,
      redirectUris: [callback, `${callback}?dummy1=lorem&dummy2=ipsum`],
      postLogoutRedirectUris: [`${suite}/test/a/${ALIAS}/post_logout_redirect`],
      grantTypes: ["authorization_code", "refresh_token", "implicit"],
      scopes: ["plat.media_view"],
    });
    return credentials;
  };
  return { user, clients: [await client("one"), await client("two"), await client("post")] };
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
