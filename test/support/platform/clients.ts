import { isSeedClient, seedClient } from "../seed.ts";
import { put } from "./operator.ts";
import { makeTenant } from "./tenants.ts";
import { unique } from "./unique.ts";

export interface TestClient {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly tenant: string;
}

/** The scopes of a client that publishes, consumes and stores media. */
export const ALL_SCOPES = [
  "plat.pubsub_publish",
  "plat.pubsub.topic=*",
  "plat.media_view",
  "plat.media_manage",
  "plat.media_admin",
];

/** Registers a client under an unused name. Returns its secret if it has one. */
export const register = async (clientId: string, registration: object): Promise<any> =>
  isSeedClient(registration)
    ? seedClient(clientId, registration)
    : (await put(`clients/${clientId}`, registration)).clientSecret;

/** Makes a confidential client of a tenant, which is a new one unless given. */
export async function makeClient(
  options: { tenant?: string; scopes?: readonly string[]; clientId?: string; name?: string; service?: string } = {},
): Promise<TestClient> {
  const tenant = options.tenant ?? (await makeTenant());
  const { scopes = ALL_SCOPES, name, service } = options;
  const clientId = options.clientId ?? `${tenant}.${unique("app")}`;
  const registration = { tenant, grantTypes: ["client_credentials"], scopes, service };
  // An earlier client may have had a given name, and may have left rows behind.
  const isNew = options.clientId === undefined && name === undefined;
  const clientSecret = isNew
    ? await register(clientId, registration)
    : (await put(`clients/${clientId}`, { ...registration, confidential: true, name })).clientSecret;
  return { clientId, clientSecret, tenant };
}
