import { basic, call } from "./exchange.ts";
import type { Server } from "./server.ts";

export const TENANT = "bench";

/** Plinth with a tenant that has all of its services. */
export interface Platform {
  readonly server: Server;
  /** Its path prefix. */
  readonly prefix: string;
  /** Origin and prefix. */
  readonly base: string;
  /** The platform's name: the prefix of scopes and headers. */
  readonly platform: string;
  /** Calls the operator service. */
  put(path: string, json: object): Promise<any>;
  /** Makes the client `bench.<name>` at the first call. Scopes are without the platform's prefix. */
  client(name: string, scopes: readonly string[], grants?: readonly string[]): Promise<Client>;
}

export interface Client {
  readonly id: string;
  /** HTTP Basic. */
  readonly authorization: string;
  /** Gets a new token by its credentials; tokens expire. */
  token(): Promise<string>;
  /** The header with a new token. */
  authorize(): Promise<{ readonly authorization: string }>;
}

const opened = new WeakMap<Server, Promise<Platform>>();

/** Makes the tenant at the first call. */
export function openPlatform(server: Server): Promise<Platform> {
  const platform = opened.get(server) ?? open(server);
  opened.set(server, platform);
  return platform;
}

async function open(server: Server): Promise<Platform> {
  const { pathPrefix: prefix, platform, operatorSecret } = server.facts;
  const base = `${server.origin}${prefix}`;
  const clients = new Map<string, Promise<Client>>();
  const clientOf = (id: string, secret: string): Client => {
    const authorization = basic(id, secret);
    const request = { headers: { authorization }, form: { grant_type: "client_credentials" } };
    const token = async () => (await call("POST", `${base}/oauth2/v1/token`, request)).json().access_token;
    return { id, authorization, token, authorize: async () => ({ authorization: `Bearer ${await token()}` }) };
  };
  const operator = clientOf(`${platform}.operator`, operatorSecret);
  let headers = await operator.authorize();
  const put = async (path: string, json: object): Promise<any> => {
    const address = `${base}/admin/v1/${path}`;
    const send = () => {
      const content = { ...headers, "content-type": "application/json" };
      return fetch(address, { method: "PUT", headers: content, body: JSON.stringify(json) });
    };
    let response = await send();
    if (response.status === 401) {
      headers = await operator.authorize();
      response = await send();
    }
    const text = await response.text();
    if (!response.ok) throw new Error(`PUT ${path} answered ${response.status}: ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  };
  await put("organizations/bench", { name: "Bench" });
  await put(`tenants/${TENANT}`, { organization: "bench", name: "Bench" });
  await put(`tenants/${TENANT}/subscriptions/platform`, {});
  const make = async (name: string, scopes: readonly string[], grantTypes: readonly string[]): Promise<Client> => {
    const id = `bench.${name}`;
    const listed = scopes.map((scope) => `${platform}.${scope}`);
    const body = { tenant: TENANT, confidential: true, grantTypes, scopes: listed };
    return clientOf(id, (await put(`clients/${id}`, body)).clientSecret);
  };
  return {
    server,
    prefix,
    base,
    platform,
    put,
    client(name, scopes, grants = ["client_credentials"]) {
      const client = clients.get(name) ?? make(name, scopes, grants);
      clients.set(name, client);
      return client;
    },
  };
}
