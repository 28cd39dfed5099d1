/**
 * Who gets which scope (contract 2.2), as pure rules.
 *
 *   scope parameter ── parseScopes ──▶ what is asked for: a tenant, openid, named service scopes
 *   client + tenant ── mayActFor ──▶ whether the token may act for the tenant
 *   what the client lists × what the tenant may use × what the user's roles hold ── grantScopes ──▶ granted, or a refusal
 *   what was authorized before + a new request ── narrow ──▶ what may be asked for now, never more than before
 *
 * A pattern is a scope, or a scope that ends in `*` and stands for every ending. Patterns stand in the lists of clients
 * and of services, and one may be asked for and granted as it is (`plat.pubsub.topic=shop.*`).
 */
import type { BuiltIn, ServiceRecord } from "../../platform/built-in.ts";
import { PATTERNS, type Names } from "../../platform/names.ts";
import { IGNORED_OIDC_SCOPES } from "../../platform/oidc-scopes.ts";
import type { Plan } from "../../platform/plans.ts";
import { err, ok, type Result } from "../../platform/result.ts";
import { scopeMatches } from "../../platform/scope-pattern.ts";

/** A scope parameter longer than this, or with more items, is refused. */
const MAX_ITEMS = 200;

export interface ScopeRequest {
  readonly tenant: string | undefined;
  readonly organization: string | undefined;
  /** Outside any tenant. A client that acts for itself gets its parent tenant then (specification, `/token`). */
  readonly noTenant: boolean;
  readonly openid: boolean;
  /** Service scopes, by name. */
  readonly named: readonly string[];
  /** No scope that is granted by name was asked for: everything that is grantable is meant. */
  readonly everything: boolean;
  /** Everything is no more than what these cover: what was authorized before. */
  readonly limitedTo?: readonly string[];
}

/** A request without a scope parameter. */
export const EVERYTHING: ScopeRequest = {
  tenant: undefined,
  organization: undefined,
  noTenant: false,
  openid: false,
  named: [],
  everything: true,
};

/** Why a scope was refused: `scope` is named to the caller, `reason` is for the log and the operator. */
export interface ScopeRefusal {
  /** Undefined: the request as a whole. */
  readonly scope: string | undefined;
  readonly reason: string;
}

export function parseScopes(parameter: string, names: Names): Result<ScopeRequest, ScopeRefusal> {
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
    named: others.filter((item) => item !== "openid" && !IGNORED_OIDC_SCOPES.includes(item)),
    everything: others.length === 0,
  });
}

/** What a client may ask for and where. */
export interface ClientRights {
  readonly id: string;
  readonly tenant: string;
  readonly service: string | undefined;
  readonly scopes: readonly string[];
}

/** What a tenant may use: essential services, its own, and those of packages that it subscribes to. */
export interface TenantRights {
  readonly id: string;
  readonly disabled: boolean;
  readonly plan: Plan;
  readonly services: readonly ServiceRecord[];
  /** Names of the services that a package brought. */
  readonly subscribed: readonly string[];
}

/** What may be used where a token is for. */
export interface PlaceRights extends Pick<TenantRights, "id" | "services"> {
  /** In a sentence, where it is no tenant: `organization north`. */
  readonly label?: string;
}

/** Whether a client may hold a token for a tenant: its own, or one whose packages include the client's service. */
export function mayActFor(client: ClientRights, tenant: TenantRights): Result<true, string> {
  if (tenant.disabled) return err(`tenant ${tenant.id} is disabled`);
  if (client.tenant === tenant.id) return ok(true);
  if (client.service === undefined)
    return err(`client ${client.id} belongs to tenant ${client.tenant} and to no service`);
  if (tenant.subscribed.includes(client.service)) return ok(true);
  return err(`tenant ${tenant.id} has no package that includes service ${client.service}`);
}

/** The scopes of the roles that a user has where the token is for. */
export interface RoleScopes {
  readonly user: string;
  readonly scopes: readonly string[];
}

/** One of what has to cover a scope that is granted; `reason` goes in front of a scope that it does not cover. */
export interface ScopeLimit {
  readonly check: "client_lists_scope" | "tenant_uses_service" | "role_holds_scope" | "user_authorized_scope";
  readonly scopes: readonly string[];
  readonly reason: string;
}

/** Whether the limit leaves the scope to be granted. */
export const admits = (limit: ScopeLimit, scope: string): boolean =>
  limit.scopes.some((allowed) => scopeMatches(allowed, scope));

/** All that a scope has to be covered by, as `grantScopes` goes through it. */
export function scopeLimits(
  request: Pick<ScopeRequest, "limitedTo">,
  client: ClientRights | undefined,
  place: PlaceRights,
  builtIn: BuiltIn,
  roles?: RoleScopes,
): readonly ScopeLimit[] {
  const offered = place.services
    .flatMap((service) => service.scopes)
    // The operator client's alone, whatever the patterns of another client or service cover.
    .filter((scope) => client?.id === builtIn.operatorClientId || !scopeMatches(scope, builtIn.adminScope));
  const limit = (check: ScopeLimit["check"], scopes: readonly string[], reason: string): ScopeLimit => ({
    check,
    scopes,
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
 * The service scopes that are granted: those named, all of them or none; else every one that the client lists, the
 * tenant may use and, in user flows, a role of the user holds.
 *
 * `client` is undefined where a user signs in without one: then nothing but the user's roles limits the scopes.
 */
export function grantScopes(
  request: Pick<ScopeRequest, "everything" | "named" | "limitedTo">,
  client: ClientRights | undefined,
  place: PlaceRights,
  builtIn: BuiltIn,
  roles?: RoleScopes,
): Result<readonly string[], ScopeRefusal> {
  const limits = scopeLimits(request, client, place, builtIn, roles);
  if (request.everything) return ok(limits.map((limit) => limit.scopes).reduce(intersect));
  for (const scope of request.named) {
    const missing = limits.find((limit) => !admits(limit, scope));
    if (missing !== undefined) return refuse(scope, `${missing.reason} ${scope}`);
  }
  return ok(request.named);
}

/** What both lists allow, each as the narrower of the two patterns. */
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
