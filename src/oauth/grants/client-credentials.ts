import type { BuiltIn } from "../../platform/model/built-in.ts";
import type { Names } from "../../platform/model/names.ts";
import { randomId } from "../../platform/runtime/random.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import { authenticateClient, noCredentials } from "../clients/authentication.ts";
import type { ClientRecord } from "../clients/directory-store.ts";
import type { Entry } from "../clients/directory.ts";
import {
  EVERYTHING,
  grantScopes,
  mayActFor,
  type ScopeRefusal,
  type ScopeRequest,
  type TenantRights,
} from "../model/granted-scopes.ts";
import { restrict } from "../model/resource.ts";
import type { Granted } from "../tokens/issue.ts";
import { grantFault, refusedScope, type GrantStep } from "./grant-step.ts";

/**
 * A client acts for itself (RFC 6749 4.4). Without a tenant, and with `no_tenant`, it acts for its parent tenant. One
 * lookup finds client and tenant, so the secret is checked with the tenant's records at hand.
 */
export const clientCredentials: GrantStep = async (
  deps,
  { call, credentials, scopes: request, resources, proofKey },
) => {
  if (credentials === undefined) return err(noCredentials());
  const entry = await deps.directory.find(credentials.clientId, request.tenant, call);
  const authenticated = await authenticateClient(deps, credentials, entry, call);
  if (!authenticated.ok) return authenticated;
  const client = authenticated.value;
  const fault = grantFault(client, "client_credentials", proofKey);
  if (fault !== undefined) return err(fault);

  const granted = grantForClient(client, entry, request, deps);
  if (!granted.ok) return err(refusedScope(granted.error, client.id));
  return ok({
    granted: restrict(granted.value, resources, deps.names),
    sessionId: randomId(deps.random),
    grantId: undefined,
    refreshToken: undefined,
    idToken: undefined,
  });
};

interface Rules {
  readonly names: Names;
  readonly builtIn: BuiltIn;
}

/** The access that a client gets for itself. `entry` must have been looked up with the tenant of the request. */
export function grantForClient(
  client: ClientRecord,
  entry: Entry,
  request: ScopeRequest,
  { names, builtIn }: Rules,
): Result<Granted, ScopeRefusal> {
  const place = placeOfClient(client, entry, request, names);
  if (!place.ok) return place;
  const tenant = place.value;
  const service = request.everything
    ? everythingOf(entry, client, tenant, builtIn)
    : grantScopes(request, client, tenant, builtIn);
  if (!service.ok) return service;
  return ok({
    clientId: client.id,
    clientName: client.name,
    clientTenant: client.tenant,
    clientAuthenticated: true,
    tenant: tenant.id,
    tenantExplicit: request.tenant !== undefined,
    org: "",
    plan: tenant.plan,
    user: "",
    subject: client.id,
    scopes: [names.scope(`tenant=${tenant.id}`), ...(request.openid ? ["openid"] : []), ...service.value],
    recordsAsOfMs: entry.asOfMs,
    userAsOfMs: entry.asOfMs,
  });
}

/** Most requests name no scope, and a copy of records serves many of them. */
const everything = new WeakMap<Entry, Result<readonly string[], ScopeRefusal>>();

function everythingOf(
  entry: Entry,
  client: ClientRecord,
  tenant: TenantRights,
  builtIn: BuiltIn,
): Result<readonly string[], ScopeRefusal> {
  const known = everything.get(entry);
  if (known !== undefined) return known;
  const scopes = grantScopes(EVERYTHING, client, tenant, builtIn);
  everything.set(entry, scopes);
  return scopes;
}

/** The tenant of a client's own token. */
export function placeOfClient(
  client: ClientRecord,
  { tenant }: Entry,
  request: ScopeRequest,
  names: Names,
): Result<TenantRights, ScopeRefusal> {
  const refuse = (scope: string, reason: string) => err({ scope: names.scope(scope), reason });
  if (request.organization !== undefined)
    return refuse(`org=${request.organization}`, "organization scope with client_credentials");
  const scope = `tenant=${request.tenant ?? client.tenant}`;
  if (tenant === undefined) return refuse(scope, `tenant ${request.tenant ?? client.tenant} is unknown`);
  const allowed = mayActFor(client, tenant);
  return allowed.ok ? ok(tenant) : refuse(scope, allowed.error);
}
