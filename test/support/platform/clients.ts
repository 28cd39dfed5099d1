import { isSeedClient, seedClient } from "../seed.ts";
import { put } from "./operator.ts";
import { makeTenant } from "./tenants.ts";
import { unique } from "./unique.ts";

export interface TestClient {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly tenant: string;
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
