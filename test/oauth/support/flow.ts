import { addressIn } from "../../support/shards.ts";
import { register } from "../../support/platform/clients.ts";
import { makeTenant } from "../../support/platform/tenants.ts";
import { unique } from "../../support/platform/unique.ts";
import { seedMember, seedUser } from "../../support/seed.ts";

/** A client with which a user signs in. */
export interface FlowClient {
  readonly clientId: string;
  /** Undefined for a public client. */
  readonly clientSecret: string | undefined;
  readonly tenant: string;
}

export interface Flow {
  readonly client: FlowClient;
  readonly email: string;
  readonly tenant: string;
  /** The name of the user's role. */
  readonly role: string;
}

export const REDIRECT = "https://app.example/callback";

export const MEDIA = ["plat.media_view", "plat.media_manage"];

export const CODE_AND_REFRESH = ["authorization_code", "refresh_token"];

export const registration = (tenant: string, more: object = {}): object => ({
  tenant,
  confidential: true,
  redirectUris: [REDIRECT],
  grantTypes: CODE_AND_REFRESH,
  scopes: MEDIA,
  ...more,
});

export async function makeFlowClient(tenant: string, more: object = {}): Promise<FlowClient> {
  const clientId = `${tenant}.${unique("app")}`;
  return { clientId, clientSecret: await register(clientId, registration(tenant, more)), tenant };
}

export async function makeUser(
  tenant: string,
  scopes: readonly string[] = MEDIA,
  home?: number,
): Promise<{ email: string; role: string }> {
  const made = () => `${unique("ada")}@users.example`;
  const email = home === undefined ? made() : addressIn(home, made);
  const role = unique("role");
  await seedUser(email);
  await seedMember(email, tenant, role, scopes);
  return { email, role };
}

/**
 * A tenant with a user and a client. `client`: fields of its registration. `home`: the shard of the user's refresh
 * grants; any, if absent.
 */
export async function makeFlow(client: object = {}, home?: number): Promise<Flow> {
  const tenant = await makeTenant();
  return { client: await makeFlowClient(tenant, client), tenant, ...(await makeUser(tenant, MEDIA, home)) };
}

export const makePublicFlow = (client: object = {}, home?: number): Promise<Flow> =>
  makeFlow({ confidential: false, ...client }, home);
