import type { ClientAccess, Principal } from "../../http/auth.ts";
import type { FallbackCall } from "../../http/service.ts";
import type { Registered } from "../registry/registry.ts";

/** Port to the OAuth room: a token by which one service, and nobody else, knows who calls. */
export type ServiceToken = (
  caller: Principal,
  service: Pick<Registered, "name" | "scopes">,
  origin: string,
  nowMs: number,
) => Promise<string>;

export interface ServiceTokenPorts {
  readonly access: Pick<ClientAccess, "belongsTo">;
  readonly serviceToken: ServiceToken;
}

/**
 * The `Authorization` that a service gets in the place of the caller's; undefined where that is passed on as it is. An
 * access token is good at the whole platform, so who has it acts as the caller everywhere: only a service of the
 * caller's own tenant gets it, and one that the operator lets have it (contract 8, row 2.1).
 */
export async function authorizationFor(
  caller: Principal | undefined,
  service: Registered,
  { url, nowMs }: Pick<FallbackCall, "url" | "nowMs">,
  { access, serviceToken }: ServiceTokenPorts,
): Promise<string | undefined> {
  if (caller === undefined || service.forwardAuthorization) return undefined;
  if (await isOfTenant(caller, service.tenant, access, nowMs)) return undefined;
  return `Bearer ${await serviceToken(caller, service, url.origin, nowMs)}`;
}

/** Whether the token is for the tenant, and the client the tenant's too: a service's client has tokens for its customers. */
async function isOfTenant(
  { tenant: own, tenantExplicit, user, clientId }: Principal,
  tenant: string,
  access: ServiceTokenPorts["access"],
  nowMs: number,
): Promise<boolean> {
  if (own !== tenant) return false;
  // Without a user a token that names no tenant is for the client's own.
  if (clientId === "" || (user === "" && !tenantExplicit)) return true;
  return access.belongsTo(clientId, tenant, nowMs);
}
