import { err, ok } from "../../platform/result.ts";
import { authenticateClient, noCredentials } from "../client-auth.ts";
import { failure } from "../failure.ts";
import { grantScopes, mayActFor, type ScopeRefusal } from "../scopes.ts";
import { refusedScope, type Granted, type GrantStep } from "./granted.ts";

/**
 * A client acts for itself (RFC 6749 4.4). Without a tenant, and with `no_tenant`, its parent tenant is meant.
 * Client and tenant are one look-up, so the secret is checked with the tenant's records already at hand.
 */
export const clientCredentials: GrantStep = async ({ call, credentials, scopes: request }, context) => {
  const { names } = context;
  if (credentials === undefined) return err(noCredentials());
  const entry = await context.directory.find(credentials.clientId, request.tenant, call.nowMs);
  const authenticated = await authenticateClient(credentials, entry, context.clientLimit);
  if (!authenticated.ok) return authenticated;
  const client = authenticated.value;
  const refuse = (refusal: ScopeRefusal) => err(refusedScope(refusal, client.id));
  if (!client.grantTypes.includes("client_credentials"))
    return err(
      failure(
        "unauthorized_client",
        "The client is not registered for this grant.",
        `client ${client.id}: client_credentials`,
        client.id,
      ),
    );

  if (request.organization !== undefined)
    return refuse({
      scope: names.scope(`org=${request.organization}`),
      reason: "organization scope with client_credentials",
    });
  const tenantScope = names.scope(`tenant=${request.tenant ?? client.tenant}`);
  const { tenant } = entry;
  if (tenant === undefined) return refuse({ scope: tenantScope, reason: `tenant ${request.tenant} is unknown` });
  const allowed = mayActFor(client, tenant);
  if (!allowed.ok) return refuse({ scope: tenantScope, reason: allowed.error });
  const service = grantScopes(request, client, tenant, context.builtIn);
  if (!service.ok) return refuse(service.error);
  const granted: Granted = {
    clientId: client.id,
    clientName: client.name,
    clientAuthenticated: true,
    tenant: tenant.id,
    tenantExplicit: request.tenant !== undefined,
    org: "",
    user: "",
    scopes: [tenantScope, ...(request.openid ? ["openid"] : []), ...service.value],
    recordsAsOfMs: entry.asOfMs,
    userAsOfMs: entry.asOfMs,
  };
  return ok({ granted, sessionId: undefined, grantId: undefined, refreshToken: undefined, idToken: undefined });
};
