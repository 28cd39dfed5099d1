import type { ClientAccess, Principal } from "../../http/callers/auth.ts";
import type { FallbackCall } from "../../http/service.ts";
import type { BuiltIn } from "../../platform/model/built-in.ts";
import type { RegisteredService } from "../registry/registry.ts";

/** Port to OAuth: a token that identifies the caller to one service and is valid nowhere else. */
type ServiceToken = (
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
 * token is valid on the whole platform, and its holder can act as the caller everywhere. So only a service of the
 * caller's own tenant gets it, or one that the operator allows to. No service gets a token with operator scopes, or one
 * that was issued for named services (RFC 8707).
 */
export async function authorizationFor(
  { access, serviceToken, builtIn }: ServiceTokenDeps,
  caller: Principal | undefined,
  service: RegisteredService,
  { url, nowMs }: Pick<FallbackCall, "url" | "nowMs">,
): Promise<string | undefined> {
  if (caller === undefined) return undefined;
  const operates = [builtIn.adminScope, ...builtIn.operatorScopes].some((scope) => caller.scopes.includes(scope));
  // Services expect their address as the audience only in tokens that the gateway made.
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
