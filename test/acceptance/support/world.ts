import type { Platform } from "./process/platform.ts";

/**
 * A started platform, and what its operator made for those who come from outside. Nothing here knows the platform but
 * by its addresses.
 */
export interface World {
  /** The origin. */
  readonly url: string;
  /** Where the services are: the origin and the path prefix. */
  readonly base: string;
  readonly issuer: string;
  /** Replaces a resource of the operator service; its answer. */
  put(path: string, body: unknown): Promise<any>;
  /** Any call of the operator service, whatever it answers. */
  operate(method: string, path: string, body?: unknown): Promise<Response>;
  /** All that the platform printed so far. */
  output(): string;
}

export interface User {
  readonly email: string;
  readonly password: string;
}

export interface Client {
  readonly id: string;
  /** Empty for a public client. */
  readonly secret: string;
}

export const TENANT = "acme";
export const OTHER_TENANT = "globex";
/** Of `TENANT`; the other one subscribes to it. */
export const SERVICE = "crm";
/** What every client here may ask for, and every user may give. */
export const SCOPES = ["plat.media_view", "plat.media_manage"];
/** A member of `TENANT` alone. */
export const ADA: User = { email: "ada@acme.example", password: "correct horse, Bätterie & 'staple'" };
/** A member of both tenants. */
export const BOB: User = { email: "bob@acme.example", password: "a password of Bob" };
/** Whoever signs in as this one is blocked sooner or later. */
export const EVE: User = { email: "eve@acme.example", password: "a password of Eve" };

/** Of characters that a careless way of sending them would change. */
export const AWKWARD_SECRET = "a:secret+with%41&all=sorts/of~chars?!";

export const OPERATOR_SECRET = "an-operator-secret-for-acceptance-tests";

/** A platform that was started with `OPERATOR_SECRET`. */
type Started = Pick<Platform, "url" | "output">;

/** Opens the world of a platform on which `makeWorld` made everything. */
export async function openWorld({ url, output }: Started, pathPrefix: string): Promise<World> {
  const base = `${url}${pathPrefix}`;
  const issuer = `${base}/oauth2/v1`;
  const answer = await fetch(`${issuer}/token`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`plat.operator:${OPERATOR_SECRET}`)}` },
    body: new URLSearchParams({ grant_type: "client_credentials" }),
  });
  const { access_token: token } = (await answer.json()) as { access_token: string };
  const operate = (method: string, path: string, body?: unknown): Promise<Response> => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    return fetch(`${base}/admin/v1/${path}`, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  };
  const put = async (path: string, body: unknown): Promise<any> => {
    const response = await operate("PUT", path, body);
    const text = await response.text();
    if (!response.ok) throw new Error(`PUT ${path}: ${response.status} ${text}`);
    return JSON.parse(text);
  };
  return { url, base, issuer, put, operate, output };
}

/** Makes everything on a new platform. */
export async function makeWorld(platform: Started, pathPrefix: string): Promise<World> {
  const world = await openWorld(platform, pathPrefix);
  const { put } = world;
  await put("organizations/group", { name: "The group" });
  for (const [tenant, name] of Object.entries({ [TENANT]: "Acme & Söhne", [OTHER_TENANT]: "Globex <Ltd>" })) {
    await put(`tenants/${tenant}`, { organization: "group", name });
    await put(`tenants/${tenant}/subscriptions/platform`, {});
  }
  // A client of this service may act for both tenants.
  const crm = { sourceUrl: "https://crm.example/", proxyPath: "/crm/v1", scopes: ["crm.read"], essential: false };
  await put(`services/${SERVICE}`, { ...crm, tenant: TENANT, access: "token" });
  await put("packages/crm", { version: "1", organization: "group", services: [SERVICE] });
  await put(`tenants/${OTHER_TENANT}/subscriptions/crm`, {});
  await put("roles/everything", { scopes: SCOPES });
  for (const { email, password } of [ADA, BOB, EVE]) {
    await put(`users/${email}`, { password });
    await put(`tenants/${TENANT}/members/${email}`, { roles: ["everything"] });
  }
  await put(`tenants/${OTHER_TENANT}/members/${BOB.email}`, { roles: ["everything"] });
  return world;
}

/**
 * A client of `TENANT`; confidential unless told otherwise, with the secret that the platform makes or the given one.
 */
export async function makeClient(world: World, id: string, fields: Record<string, unknown>): Promise<Client> {
  const clientId = `${TENANT}.${id}`;
  const made = await world.put(`clients/${clientId}`, {
    tenant: TENANT,
    confidential: true,
    scopes: SCOPES,
    grantTypes: ["authorization_code", "refresh_token"],
    ...fields,
  });
  return { id: clientId, secret: (fields["clientSecret"] ?? made.clientSecret ?? "") as string };
}
