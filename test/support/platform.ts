import { env, exports } from "cloudflare:workers";
import { expectDocumented } from "./documented.ts";
import { noteAnswer, noteRequest } from "./secrets.ts";
import { isSeedClient, seedClient, seedTenant } from "./seed.ts";

/**
 * The platform as a test's own: it calls the Worker of this runtime through its public interface, makes tenants and
 * clients as an operator would, and gets tokens as a client would. Nothing is faked.
 */
export const ORIGIN = "https://plinth.test";
export const OPERATOR = { clientId: "plat.operator", clientSecret: "an-operator-secret-for-tests-only" };

export interface TestClient {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly tenant: string;
}

export interface CallInit {
  readonly method?: string;
  readonly token?: string;
  /** Sent as application/json. */
  readonly json?: unknown;
  /** Sent as a form. */
  readonly form?: Record<string, string> | URLSearchParams;
  readonly body?: BodyInit;
  readonly headers?: Record<string, string>;
}

/**
 * One request; `path` may be an absolute address too. Redirects are not followed. The answer is one that the interface
 * document has.
 */
export async function call(path: string, init: CallInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  let body: BodyInit | undefined = init.body;
  if (init.token !== undefined) headers.set("authorization", `Bearer ${init.token}`);
  if (init.json !== undefined) {
    headers.set("content-type", "application/json");
    body = JSON.stringify(init.json);
  }
  if (init.form !== undefined) body = new URLSearchParams(init.form);
  const method = init.method ?? (body === undefined ? "GET" : "POST");
  const url = new URL(path, ORIGIN);
  noteRequest(url.href, headers, body);
  const response = await exports.default.fetch(url, { method, headers, body, redirect: "manual" });
  await noteResponse(url.pathname, response);
  await expectDocumented(method, url.pathname, response, init.json);
  return response;
}

/** Addresses whose answers hand out secrets, below which others lie. */
const HANDS_OUT = /\/(oauth2|clients|subscriptions|files|services)\b/;

/** Notes the secrets that an answer hands out. Its body is left to be read. */
export async function noteResponse(path: string, response: Response): Promise<void> {
  const isJson = response.ok && HANDS_OUT.test(path) && response.headers.get("content-type") === "application/json";
  noteAnswer(response.headers, isJson ? await response.clone().text() : "");
}

/** The JSON of an answer that must have this status; anything else fails with what came. */
export async function expectJson<T = any>(response: Response, status: number): Promise<T> {
  const text = await response.text();
  if (response.status !== status) throw new Error(`expected ${status}, got ${response.status}: ${text}`);
  return JSON.parse(text) as T;
}

export const basic = (client: { clientId: string; clientSecret: string }): string =>
  `Basic ${btoa(`${encodeURIComponent(client.clientId)}:${encodeURIComponent(client.clientSecret)}`)}`;

/** A token by client credentials; `scope` as the client would send it. */
export async function tokenFor(client: { clientId: string; clientSecret: string }, scope?: string): Promise<string> {
  const form: Record<string, string> = { grant_type: "client_credentials", ...(scope === undefined ? {} : { scope }) };
  const response = await call("/oauth2/v1/token", { form, headers: { authorization: basic(client) } });
  return (await expectJson<{ access_token: string }>(response, 200)).access_token;
}

/** One token for many changes: half the time of a test goes into what it needs. */
let operator: Promise<string> | undefined;

/** A change by the operator: PUT, answered with 200 or 201. */
export async function put(path: string, json: unknown): Promise<any> {
  const send = async () =>
    call(`/admin/v1/${path}`, { method: "PUT", token: await (operator ??= tokenFor(OPERATOR)), json });
  let response = await send();
  // Tests move the clock and replace keys.
  if (response.status === 401) {
    operator = undefined;
    response = await send();
  }
  const text = await response.text();
  if (response.status !== 200 && response.status !== 201) throw new Error(`PUT ${path}: ${response.status} ${text}`);
  return text === "" ? undefined : JSON.parse(text);
}

let made = 0;
/** A name that no other test of this run uses. */
export const unique = (prefix: string): string =>
  `${prefix}${(++made).toString(36)}${Math.random().toString(36).slice(2, 7)}`;

/** A new tenant with its organization, subscribed to the built-in package unless told otherwise. */
export async function makeTenant(options: { subscribed?: boolean; tenant?: string } = {}): Promise<string> {
  const { tenant = unique("t") } = options;
  await seedTenant(tenant, options.subscribed);
  return tenant;
}

/** A service behind the gateway, at an address and a path that its name says. */
export const putService = (name: string, fields: { tenant: string; scopes?: readonly string[]; essential?: boolean }) =>
  put(`services/${name}`, {
    sourceUrl: `https://${name}.example`,
    proxyPath: `/${name}`,
    scopes: [],
    access: "token",
    ...fields,
  });

/** The shard with the files of a tenant. */
export const placeOf = (tenant: string): Promise<number | null> =>
  env.DB.prepare("SELECT shard FROM tenant_shard WHERE tenant = ?").bind(tenant).first<number>("shard");

/** A new tenant whose files lie in this shard, as if one of the same name had been there before. */
export async function makeTenantIn(shard: number, options: { subscribed?: boolean } = {}): Promise<string> {
  const tenant = unique("t");
  await env.DB.prepare("INSERT INTO tenant_shard (tenant, shard) VALUES (?, ?)").bind(tenant, shard).run();
  return makeTenant({ ...options, tenant });
}

/** Scopes of a client that publishes, consumes and stores media. */
export const ALL_SCOPES = [
  "plat.pubsub_publish",
  "plat.pubsub.topic=*",
  "plat.media_view",
  "plat.media_manage",
  "plat.media_admin",
];

/** A new client under a name that was never used; its secret, if it has one. */
export const register = async (clientId: string, registration: object): Promise<any> =>
  isSeedClient(registration)
    ? seedClient(clientId, registration)
    : (await put(`clients/${clientId}`, registration)).clientSecret;

/** A new confidential client of a tenant (a new tenant where none is given). */
export async function makeClient(
  options: { tenant?: string; scopes?: readonly string[]; clientId?: string; name?: string; service?: string } = {},
): Promise<TestClient> {
  const tenant = options.tenant ?? (await makeTenant());
  const { scopes = ALL_SCOPES, name, service } = options;
  const clientId = options.clientId ?? `${tenant}.${unique("app")}`;
  const registration = { tenant, grantTypes: ["client_credentials"], scopes, service };
  // Another client may have had a name that is given here, and left something behind.
  const isNew = options.clientId === undefined && name === undefined;
  const clientSecret = isNew
    ? await register(clientId, registration)
    : (await put(`clients/${clientId}`, { ...registration, confidential: true, name })).clientSecret;
  return { clientId, clientSecret, tenant };
}
