import { randomBytes } from "node:crypto";
import * as api from "../../api/plinth.ts";
import type { Session } from "./session.ts";

export interface Client {
  readonly id: string;
  readonly secret: string;
}

/** The cast of this tour, made for each run and removed with it (clear-up.ts). */
export interface Cast {
  readonly tenant: string;
  /** Publishes and stores media. */
  readonly shop: Client;
  /** Consumes the shop's events. */
  readonly billing: Client;
  /** The id of a browser application, which has no secret. */
  readonly web: string;
  /** Signs in at the application. */
  readonly person: { readonly email: string; readonly password: string };
}

export const EVENT_TYPE = "orderPlaced";

/**
 * The name of the organization, the tenant and the role, as long as a tenant's may be: `tour`, the start in ms by base
 * 36, four random digits. Consumers of the platform's events tell a tour by it, and so does the sweep.
 */
export const newName = (): string => `tour${Date.now().toString(36)}${randomBytes(2).toString("hex")}`;
const NAME = /^tour([0-9a-z]{8})[0-9a-f]{4}$/;

/** When the tour of that name began; undefined: it is no tour's. */
export function startedMs(name: string): number | undefined {
  const [, start] = NAME.exec(name) ?? [];
  return start === undefined ? undefined : Number.parseInt(start, 36);
}

export const ORGANIZATION = "Tour organization";
export const emailOf = (tenant: string): string => `${tenant}@tour.example`;

/** Returns the operator's token. Makes nothing yet. */
export async function signInOperator(session: Session, secret: string): Promise<string> {
  session.chapter("The operator makes a tenant, clients and a user");
  return signIn(session, { id: `${session.platform}.operator`, secret }, undefined, "operator");
}

/** Refuses existing names: the tour would replace and finally remove those records. */
export async function requireNew(session: Session, token: string, name: string): Promise<void> {
  const quiet = { token, quiet: true };
  await session.expect(404, (to) => api.getOrganization(name, to), quiet);
  await session.expect(404, (to) => api.getTenant(name, to), quiet);
  await session.expect(404, (to) => api.getRole(name, to), quiet);
  await session.expect(404, (to) => api.getUser(emailOf(name), to), quiet);
  session.holds(`nothing has the name ${name} yet`, true);
}

/** The operator makes a tenant with its package, two clients, and a person with a browser application. */
export async function setUp(session: Session, operator: string, tenant: string): Promise<Cast> {
  const { platform } = session;
  const byOperator = { token: operator };
  await session.expect(201, (to) => api.putOrganization(tenant, { name: ORGANIZATION }, to), byOperator);
  await session.expect(201, (to) => api.putTenant(tenant, { organization: tenant, name: "Tour" }, to), byOperator);
  await session.expect(201, (to) => api.putSubscription(tenant, "platform", {}, to), {
    ...byOperator,
    note: "publish/subscribe and media",
  });

  const service = async (name: string, scopes: readonly string[]): Promise<Client> => {
    const id = `${tenant}.${name}`;
    const client = {
      tenant,
      confidential: true,
      grantTypes: ["client_credentials" as const],
      scopes: scopes.map((scope) => `${platform}.${scope}`),
    };
    const { data } = await session.expect(201, (to) => api.putClient(id, client, to), byOperator);
    const secret = session.given("a secret", data.clientSecret);
    session.holds(`client ${id} has a secret, shown once`, secret.length >= 32);
    return { id, secret };
  };
  const shop = await service("shop", ["pubsub_publish", "media_view", "media_manage"]);
  const billing = await service("billing", [`pubsub.topic=${tenant}.shop.*`]);

  const web = `${tenant}.web`;
  const scopes = [`${platform}.media_view`];
  const application = {
    tenant,
    confidential: false,
    redirectUris: ["http://127.0.0.1/callback"],
    grantTypes: ["authorization_code" as const, "refresh_token" as const],
    scopes,
  };
  await session.expect(201, (to) => api.putClient(web, application, to), byOperator);
  const person = { email: emailOf(tenant), password: randomBytes(12).toString("base64url") };
  const { email, password } = person;
  await session.expect(201, (to) => api.putRole(tenant, { scopes }, to), byOperator);
  await session.expect(201, (to) => api.putUser(email, { name: "Tour guest", password }, to), byOperator);
  await session.expect(201, (to) => api.putTenantMember(tenant, email, { roles: [tenant] }, to), byOperator);
  return { tenant, shop, billing, web, person };
}

/** Gets a token by client credentials. */
export async function signIn(session: Session, client: Client, scope?: string, who = client.id): Promise<string> {
  const { data } = await session.expect(
    200,
    (to) => api.getToken({ grant_type: "client_credentials", scope }, {}, to),
    { headers: { authorization: basic(client) }, note: `as ${who}` },
  );
  const { access_token: token, token_type: type, expires_in: seconds } = data;
  session.same("a bearer token for an hour", { type, seconds }, { type: "Bearer", seconds: 3600 });
  return token;
}

export const basic = ({ id, secret }: Client): string =>
  `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString("base64")}`;
