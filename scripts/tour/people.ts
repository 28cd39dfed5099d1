import { randomBytes, randomInt } from "node:crypto";
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
  /** The id of a browser application, which has no secret. */
  readonly web: string;
  /** Signs in at it. */
  readonly person: { readonly email: string; readonly password: string };
}

export const EVENT_TYPE = "orderPlaced";

/** The operator makes a tenant with its package, two services' clients, and a person with a browser application. */
export async function setUp(session: Session, operatorSecret: string): Promise<Cast> {
  const { platform } = session;
  session.chapter("The operator makes a tenant, clients and a user");
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

  const web = `${tenant}.web`;
  const scopes = [`${platform}.media_view`];
  await put(`clients/${web}`, {
    tenant,
    confidential: false,
    redirectUris: ["http://127.0.0.1/callback"],
    postLogoutRedirectUris: [],
    grantTypes: ["authorization_code", "refresh_token"],
    scopes,
  });
  const person = { email: `${tenant}@tour.example`, password: randomBytes(12).toString("base64url") };
  await put(`roles/${tenant}`, { scopes });
  await put(`users/${person.email}`, { name: "Tour guest", password: person.password });
  await put(`tenants/${tenant}/members/${person.email}`, { roles: [tenant] });
  return { tenant, shop, billing, web, person };
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
