import type { ClientAccess, Principal } from "../../http/callers/auth.ts";
import type { FallbackCall } from "../../http/service.ts";
import type { BuiltIn } from "../../platform/model/built-in.ts";
import type { RegisteredService } from "../registry/registry.ts";

/** Port to OAuth: a token that identifies the caller to one service and is worth nothing anywhere else. */
export type ServiceToken = (
  caller: Principal,
  service: Pick<RegisteredService, "name" | "scopes">,
  origin: string,
  nowMs: number,
) => Promise<string>;

export interface ServiceTokenDeps {
  readonly access: Pick<ClientAccess, "belongsTo">;
  readonly serviceToken: ServiceToken;
  readonly builtIn: Pick<BuiltIn, "adminScope" | "operatorScopes">;
}

/**
 * The `Authorization` that a service gets instead of the caller's; undefined if it gets the caller's own. An access
 * token is good at the whole platform, and its holder acts as the caller everywhere. So only a service of the
 * caller's own tenant gets it, and a service that the operator lets have it. No service gets a token that can change
 * the platform, or one that was issued for named services (RFC 8707).
 */
export async function authorizationFor(
  { access, serviceToken, builtIn }: ServiceTokenDeps,
  caller: Principal | undefined,
  service: RegisteredService,
  { url, nowMs }: Pick<FallbackCall, "url" | "nowMs">,
): Promise<string | undefined> {
  if (caller === undefined) return undefined;
  const operates = [builtIn.adminScope, ...builtIn.operatorScopes].some((scope) => caller.scopes.includes(scope));
  // A service knows its own address as the audience of no token but the gateway's.
  const isRestricted = caller.audience !== undefined;
  if (
    !operates &&
    !isRestricted &&
    (service.forwardAuthorization || (await isOfTenant(access, caller, service.tenant, nowMs)))
  )
    return undefined;
  return `Bearer ${await serviceToken(caller, service, url.origin, nowMs)}`;
}

/** True if token and client both belong to the tenant: a service's client also gets tokens for its customers. */
async function isOfTenant(
  access: ServiceTokenDeps["access"],
  { tenant: own, tenantExplicit, user, clientId }: Principal,
  tenant: string,
  nowMs: number,
): Promise<boolean> {
  if (own !== tenant) return false;
  // A token without a user that names no tenant is for the client's own tenant.
  if (clientId === "" || (user === "" && !tenantExplicit)) return true;
  return access.belongsTo(clientId, tenant, nowMs);
}
