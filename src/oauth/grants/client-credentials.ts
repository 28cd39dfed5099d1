import { err, ok, type Result } from "../../platform/result.ts";
import type { BuiltIn } from "../../platform/built-in.ts";
import type { Names } from "../../platform/names.ts";
import { authenticateClient, type Credentials } from "../client-auth.ts";
import type { Directory } from "../directory.ts";
import { failure, type OAuthFailure } from "../failure.ts";
import { grantScopes, mayActFor, type ScopeRefusal, type ScopeRequest } from "../scopes.ts";

/** What every grant ends in: who the token is for and what it may do. */
export interface Granted {
  readonly clientId: string;
  readonly clientName: string;
  readonly tenant: string;
  readonly tenantExplicit: boolean;
  readonly scopes: readonly string[];
  readonly recordsAsOfMs: number;
}

/**
 * A client acts for itself (RFC 6749 4.4). Without a tenant, and with `no_tenant`, its parent tenant is meant.
 * Client and tenant are one look-up, so the secret is checked with the tenant's records already at hand.
 */
export async function grantClientCredentials(
  credentials: Credentials,
  request: ScopeRequest,
  deps: { readonly directory: Directory; readonly builtIn: BuiltIn; readonly names: Names },
  nowMs: number,
): Promise<Result<Granted, OAuthFailure>> {
  const { names } = deps;
  const entry = await deps.directory.find(credentials.clientId, request.tenant, nowMs);
  const authenticated = await authenticateClient(credentials, entry);
  if (!authenticated.ok) return authenticated;
  const client = authenticated.value;
  if (!client.grantTypes.includes("client_credentials"))
    return err(
      failure(
        "unauthorized_client",
        "The client is not registered for this grant.",
        `client ${client.id}: client_credentials`,
      ),
    );

  if (request.organization !== undefined)
    return err(
      refusedScope({
        scope: names.scope(`org=${request.organization}`),
        reason: "organization scope with client_credentials",
      }),
    );
  const tenantScope = names.scope(`tenant=${request.tenant ?? client.tenant}`);
  const { tenant } = entry;
  if (tenant === undefined)
    return err(refusedScope({ scope: tenantScope, reason: `tenant ${request.tenant} is unknown` }));
  const allowed = mayActFor(client, tenant);
  if (!allowed.ok) return err(refusedScope({ scope: tenantScope, reason: allowed.error }));
  const granted = grantScopes(request, client, tenant, deps.builtIn);
  if (!granted.ok) return err(refusedScope(granted.error));
  return ok({
    clientId: client.id,
    clientName: client.name,
    tenant: tenant.id,
    tenantExplicit: request.tenant !== undefined,
    scopes: [tenantScope, ...(request.openid ? ["openid"] : []), ...granted.value],
    recordsAsOfMs: entry.asOfMs,
  });
}

/** Names the scope and not why: whether a tenant exists or subscribes is not the caller's to learn. */
export const refusedScope = ({ scope, reason }: ScopeRefusal): OAuthFailure =>
  failure(
    "invalid_scope",
    scope === undefined ? "The list of scopes is too long." : `The scope ${printable(scope)} cannot be granted.`,
    reason,
  );

/** RFC 6749 5.2: error_description is printable ASCII without quote and backslash. */
const printable = (text: string): string => text.replaceAll(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, "?").slice(0, 256);
