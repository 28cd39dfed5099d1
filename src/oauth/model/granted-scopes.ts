/**
 * The rules that decide who gets which scope.
 *
 *   scope parameter ── parseScopes ──▶ the request: a tenant, openid, named service scopes
 *   client + tenant ── mayActFor ──▶ whether the token may act for the tenant
 *   client's list × tenant's services × user's roles ── grantScopes ──▶ granted, or a refusal
 *   earlier authorization + a new request ── narrow ──▶ scopes for the new request, never more than before
 *
 * A pattern is a scope, or a scope that ends in `*` and matches every ending. Lists of clients and services hold
 * patterns. A client can request and get a pattern as it is (`plat.pubsub.topic=shop.*`).
 *
 * The scopes of operators (`plat.admin_write`) are stricter. Only a person who signed in on a page gets them, and only
 * for an organization. Client and role must list them by name: no pattern covers them.
 */
import type { Brand } from "../../platform/model/brand.ts";
import type { BuiltIn, ServiceRecord } from "../../platform/model/built-in.ts";
import { PATTERNS, type Names } from "../../platform/model/names.ts";
import { OIDC_SCOPES, PROFILE_SCOPES } from "../../platform/model/oidc-scopes.ts";
import type { Plan } from "../../platform/model/plans.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import { covers, scopeMatches, scopesOverlap } from "../../platform/model/scope-pattern.ts";

/** Longer scope parameters are refused. */
const MAX_ITEMS = 200;

export interface ScopeRequest {
  readonly tenant: string | undefined;
  readonly organization: string | undefined;
  /** Outside any tenant. A client that acts for itself gets its parent tenant then. */
  readonly noTenant: boolean;
  readonly openid: boolean;
  /** `profile` and `email`, as far as they were asked for. They mean something with `openid` only. */
  readonly profile: readonly string[];
  /** Service scopes, by name. */
  readonly named: readonly string[];
  /** No service scope was named, so the request means all that can be granted. */
  readonly everything: boolean;
  /** Limits everything to what these cover: the earlier authorization. */
  readonly limitedTo?: readonly string[];
}

/** A request without a scope parameter. */
export const EVERYTHING: ScopeRequest = {
  tenant: undefined,
  organization: undefined,
  noTenant: false,
  openid: false,
  profile: [],
  named: [],
  everything: true,
};

/** A refused scope. `scope` is shown to the caller, `reason` is for the log and the operator. */
export interface ScopeRefusal {
  /** Undefined: the request as a whole. */
  readonly scope: string | undefined;
  readonly reason: string;
}

export function parseScopes(parameter: string, names: Names): Result<ScopeRequest, ScopeRefusal> {
  if (parameter === "") return ok(EVERYTHING);
  const items = [...new Set(parameter.split(" ").filter((item) => item !== ""))];
  if (items.length > MAX_ITEMS) return refuse(undefined, `more than ${MAX_ITEMS} scopes`);
  const malformed = items.find((item) => !PATTERNS.scope.test(item));
  if (malformed !== undefined) return refuse(malformed, "not a scope");

  const valuesOf = (prefix: string) =>
    items.filter((item) => item.startsWith(prefix)).map((item) => item.slice(prefix.length));
  const tenantPrefix = names.scope("tenant=");
  const organizationPrefix = names.scope("org=");
  const noTenantScope = names.scope("no_tenant");
  const tenants = valuesOf(tenantPrefix);
  const organizations = valuesOf(organizationPrefix);
  const noTenant = items.includes(noTenantScope);

  if (tenants.length > 1) return refuse(`${tenantPrefix}${tenants[1]}`, "two tenants in one request");
  if (organizations.length > 1)
    return refuse(`${organizationPrefix}${organizations[1]}`, "two organizations in one request");
  if (tenants.length + organizations.length + Number(noTenant) > 1)
    return refuse(
      noTenant ? noTenantScope : `${organizationPrefix}${organizations[0]}`,
      "more than one of tenant, organization, no tenant",
    );

  const tenantScopes = new Set([
    ...tenants.map((id) => tenantPrefix + id),
    ...organizations.map((id) => organizationPrefix + id),
    noTenantScope,
  ]);
  const others = items.filter((item) => !tenantScopes.has(item));
  return ok({
    tenant: tenants[0],
    organization: organizations[0],
    noTenant,
    openid: others.includes("openid"),
    profile: PROFILE_SCOPES.filter((item) => others.includes(item)),
    named: others.filter((item) => !OIDC_SCOPES.includes(item)),
    everything: others.length === 0,
  });
}

/** The scopes that a client may request, and where. */
export interface ClientRights {
  readonly id: string;
  readonly tenant: string;
  readonly service: string | undefined;
  readonly scopes: readonly string[];
  /** Nobody registered it: it belongs to no tenant. */
  readonly unregistered?: object | undefined;
}

/** The services that a tenant may use: essential ones, its own, and those of its packages. */
export interface TenantRights {
  readonly id: string;
  readonly disabled: boolean;
  readonly plan: Plan;
  /** Tokens of people need two factors. Undefined in copies of an earlier version. */
  readonly asksTwoFactors?: boolean;
  readonly brand?: Brand | undefined;
  readonly services: readonly ServiceRecord[];
  /** Names of the services that came with a package. */
  readonly subscribed: readonly string[];
}

/** The services that can be used in the tenant or organization of a token. */
export interface PlaceRights extends Pick<TenantRights, "id" | "services"> {
  /** For a sentence, if it is not a tenant: `organization north`. */
  readonly label?: string;
  /** A token here may have the scopes of operators. */
  readonly forOperators?: boolean;
}

/**
 * A client may hold a token for its own tenant, and for tenants whose packages include the client's service. An
 * unregistered client may hold one for tenants that use the services that the token is for.
 */
export function mayActFor(
  client: ClientRights,
  tenant: TenantRights,
  targets: readonly { readonly name: string }[] = [],
): Result<true, string> {
  if (tenant.disabled) return err(`tenant ${tenant.id} is disabled`);
  if (client.unregistered !== undefined) {
    if (targets.length === 0) return err(`client ${client.id} names no service`);
    const missing = targets.find(({ name }) => !tenant.services.some((service) => service.name === name));
    return missing === undefined ? ok(true) : err(`tenant ${tenant.id} may not use service ${missing.name}`);
  }
  if (client.tenant === tenant.id) return ok(true);
  if (client.service === undefined)
    return err(`client ${client.id} belongs to tenant ${client.tenant} and to no service`);
  if (tenant.subscribed.includes(client.service)) return ok(true);
  return err(`tenant ${tenant.id} has no package that includes service ${client.service}`);
}

/** The scopes of a user's roles in the tenant or organization. */
export interface RoleScopes {
  readonly user: string;
  readonly scopes: readonly string[];
}

/** A list that must cover a granted scope. `reason` precedes a scope that it does not cover. */
export interface ScopeLimit {
  readonly check: "client_lists_scope" | "tenant_uses_service" | "role_holds_scope" | "user_authorized_scope";
  readonly scopes: readonly string[];
  /** Scopes that no pattern covers. */
  readonly exact: readonly string[];
  readonly reason: string;
}

/** True if this limit allows the scope. */
export const admits = ({ scopes, exact }: Pick<ScopeLimit, "scopes" | "exact">, scope: string): boolean =>
  covers(scopes, scope, exact);

/** The limits of a scope, in the order in which `grantScopes` checks them. */
export function scopeLimits(
  request: Pick<ScopeRequest, "limitedTo">,
  client: ClientRights | undefined,
  place: PlaceRights,
  builtIn: BuiltIn,
  roles?: RoleScopes,
): readonly ScopeLimit[] {
  const exact = builtIn.operatorScopes;
  const people = roles !== undefined && place.forOperators === true;
  const offered = place.services
    .flatMap((service) => service.scopes)
    // The admin scope is for the operator client alone, even if patterns of other clients or services match it.
    .filter((scope) => client?.id === builtIn.operatorClientId || !scopeMatches(scope, builtIn.adminScope))
    .filter((scope) => (people && exact.includes(scope)) || !exact.some((one) => scopesOverlap(scope, one)));
  const limit = (check: ScopeLimit["check"], scopes: readonly string[], reason: string): ScopeLimit => ({
    check,
    scopes,
    exact,
    reason,
  });
  return [
    ...(client === undefined ? [] : [limit("client_lists_scope", client.scopes, `client ${client.id} does not list`)]),
    limit("tenant_uses_service", offered, `${place.label ?? `tenant ${place.id}`} may use no service that has`),
    ...(roles === undefined ? [] : [limit("role_holds_scope", roles.scopes, `no role of ${roles.user} there holds`)]),
    ...(request.limitedTo === undefined
      ? []
      : [limit("user_authorized_scope", request.limitedTo, "the user did not authorize")]),
  ];
}

/**
 * Grants the named service scopes, all of them or none. If none is named, grants every scope that the client lists, the
 * tenant may use and, in user flows, a role of the user holds.
 *
 * `client` is undefined if a user signs in without one. Then only the user's roles limit the scopes.
 */
export function grantScopes(
  request: Pick<ScopeRequest, "everything" | "named" | "limitedTo">,
  client: ClientRights | undefined,
  place: PlaceRights,
  builtIn: BuiltIn,
  roles?: RoleScopes,
): Result<readonly string[], ScopeRefusal> {
  const limits = scopeLimits(request, client, place, builtIn, roles);
  if (request.everything) {
    const met = limits.map((limit) => limit.scopes).reduce(intersect);
    return ok(met.filter((scope) => limits.every((limit) => admits(limit, scope))));
  }
  for (const scope of request.named) {
    const missing = limits.find((limit) => !admits(limit, scope));
    if (missing !== undefined) return refuse(scope, `${missing.reason} ${scope}`);
  }
  return ok(request.named);
}

/** The scopes that both lists allow, each as the narrower of two patterns. */
function intersect(listed: readonly string[], offered: readonly string[]): readonly string[] {
  const meeting = new Set<string>();
  for (const left of listed)
    for (const right of offered) {
      if (scopeMatches(left, right)) meeting.add(right);
      else if (scopeMatches(right, left)) meeting.add(left);
    }
  return [...meeting].sort();
}

const refuse = (scope: string | undefined, reason: string): Result<never, ScopeRefusal> => err({ scope, reason });
