import { randomInt } from "node:crypto";
import type { Session } from "./session.ts";

export interface Client {
  readonly id: string;
  readonly secret: string;
}

/** Who plays in this tour: new with each run, so a tour never meets what an earlier one left. */
export interface Cast {
  readonly tenant: string;
  /** Publishes and stores media. */
  readonly shop: Client;
  /** Consumes what the shop publishes. */
  readonly billing: Client;
}

export const EVENT_TYPE = "orderPlaced";

/** The operator makes an organization, a tenant and two clients, and subscribes the tenant to the built-in package. */
export async function setUp(session: Session, operatorSecret: string): Promise<Cast> {
  const { platform } = session;
  session.chapter("The operator makes a tenant with two clients");
  const operator = await signIn(session, { id: `${platform}.operator`, secret: operatorSecret }, undefined, "operator");

  const tenant = `tour${Date.now().toString(36)}${randomInt(36).toString(36)}`;
  const put = async (path: string, json: unknown, note?: string): Promise<any> =>
    (await session.call(201, "PUT", `/admin/v1/${path}`, { token: operator, json, note })).json();
  await put(`organizations/${tenant}`, { name: "Tour organization" });
  await put(`tenants/${tenant}`, { organization: tenant, name: "Tour" });
  await put(`tenants/${tenant}/subscriptions/platform`, {}, "publish/subscribe and media");

  const client = async (name: string, scopes: readonly string[]): Promise<Client> => {
    const id = `${tenant}.${name}`;
    const made = await put(`clients/${id}`, {
      tenant,
      confidential: true,
      redirectUris: [],
      postLogoutRedirectUris: [],
      grantTypes: ["client_credentials"],
      scopes: scopes.map((scope) => `${platform}.${scope}`),
    });
    session.holds(`client ${id} has a secret, shown once`, /^.{32,}$/.test(made.clientSecret));
    return { id, secret: made.clientSecret as string };
  };
  const shop = await client("shop", ["pubsub_publish", "media_view", "media_manage"]);
  const billing = await client("billing", [`pubsub.topic=${tenant}.shop.*`]);
  return { tenant, shop, billing };
}

/** A token by client credentials. */
export async function signIn(session: Session, client: Client, scope?: string, who = client.id): Promise<string> {
  const answer = await session.call(200, "POST", "/oauth2/v1/token", {
    headers: { authorization: basic(client) },
    form: { grant_type: "client_credentials", ...(scope === undefined ? {} : { scope }) },
    note: `as ${who}`,
  });
  const { access_token: token, token_type: type, expires_in: seconds } = answer.json();
  session.same("a bearer token for an hour", { type, seconds }, { type: "Bearer", seconds: 3600 });
  return token as string;
}

export const basic = ({ id, secret }: Client): string =>
  `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString("base64")}`;
