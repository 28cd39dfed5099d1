import type { BuiltIn } from "../../platform/model/built-in.ts";
import type { Names } from "../../platform/model/names.ts";
import { DEFAULT_PLAN, type Plan } from "../../platform/model/plans.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import type { ClientRecord } from "../clients/directory-store.ts";
import type { Directory } from "../clients/directory.ts";
import { consentRule } from "../consent/consent.ts";
import { oidcScopes } from "../model/authorization.ts";
import { isBoundToTenants, reaches, type Binding } from "../model/binding.ts";
import {
  grantScopes,
  mayActFor,
  type PlaceRights,
  type RoleScopes,
  type ScopeRefusal,
  type ScopeRequest,
} from "../model/granted-scopes.ts";
import type { Resource } from "../model/resource.ts";
import { hasTwoFactors, type Methods } from "../model/methods.ts";
import type { Granted } from "../tokens/issue.ts";
import type { Membership, TenantMembership, UserRecord } from "../users/user-store.ts";

/**
 * The access that a user can give a client, or get without one: the tenant or organization, and the scopes.
 *
 *   place named ──▶ that tenant or organization, if the user is a member and the client may act for it; or none
 *   none named  ──▶ `of-client`: the client's parent tenant (code flow)
 *                   `only`: the user's only tenant that the client may act for (implicit flow, password without
 *                   client, `tenant_choice`, a client that nobody registered); if there are several, the user chooses
 */
export type DefaultTenant = "of-client" | "only";
/** By the grant of a browser flow. The password grant has its own rule. */
export const DEFAULT_TENANT = { authorization_code: "of-client", implicit: "only" } as const;

export interface UserGrantRequest {
  /** Undefined: the password grant without a client. */
  readonly client: ClientRecord | undefined;
  readonly clientAuthenticated: boolean;
  readonly user: UserRecord;
  /** The binding of the identity provider that vouched. */
  readonly binding: Binding;
  readonly scopes: ScopeRequest;
  /** The services that the token is for (RFC 8707). Empty: the whole platform. */
  readonly targets?: readonly Resource[];
  readonly defaultTenant: DefaultTenant;
  /** How the user signed in. */
  readonly methods: Methods | undefined;
  /** The client's request asks for two factors. */
  readonly asksTwoFactors: boolean;
  /** The user can consent on a page (consent/consent.ts). If false, requests that need consent are refused. */
  readonly hasPages: boolean;
}

export type UserGrantRefusal =
  | PlaceRefusal
  /** Two factors are needed, and the user has shown one. */
  | { readonly kind: "second-factor"; readonly reason: string };

export type PlaceRefusal =
  | ({ readonly kind: "scope"; readonly refusal: ScopeRefusal } & BeyondProvider)
  /** The user is not a member of any suitable tenant. */
  | ({ readonly kind: "no-tenant"; readonly reason: string } & BeyondProvider)
  /** Several tenants, none named. */
  | { readonly kind: "choose"; readonly tenants: readonly Pick<Membership, "id" | "name">[] };

/** The provider that vouched is bound to other tenants. */
interface BeyondProvider {
  readonly isBeyondProvider?: true;
}

export interface UserGrantDeps {
  readonly names: Names;
  readonly builtIn: BuiltIn;
  readonly directory: Directory;
}

/** The longest scope that fits into a token. Checked before a code or a refresh token is used up. */
const MAX_SCOPE_CHARS = 4_608;

export async function grantForUser(
  deps: UserGrantDeps,
  request: UserGrantRequest,
  nowMs: number,
): Promise<Result<Granted, UserGrantRefusal>> {
  const { client, user, scopes: requested } = request;
  const place = await findPlace(deps, request, nowMs);
  if (!place.ok) return place;
  const { tenant, org, plan, rights, roles, scope, asOfMs } = place.value;
  const reason = hasTwoFactors(request.methods) ? undefined : reasonForTwoFactors(request, place.value);
  if (reason !== undefined) return err({ kind: "second-factor", reason });
  const granted = grantScopes(requested, client, rights, deps.builtIn, roles);
  if (!granted.ok) return err({ kind: "scope", refusal: granted.error });
  const scopes = [scope, ...oidcScopes(requested), ...granted.value];
  if (scopes.join(" ").length > MAX_SCOPE_CHARS)
    return err({
      kind: "scope",
      refusal: { scope: undefined, reason: `over ${MAX_SCOPE_CHARS} characters of scopes` },
    });
  return ok({
    clientId: client?.id ?? "",
    clientName: client?.name ?? "",
    clientTenant: client?.tenant ?? "",
    clientAuthenticated: request.clientAuthenticated,
    tenant,
    tenantExplicit: requested.tenant !== undefined,
    org,
    plan,
    user: user.email,
    profile: user,
    emailVerified: user.emailVerified,
    subject: user.subject,
    scopes,
    recordsAsOfMs: asOfMs,
    userAsOfMs: user.asOfMs,
  });
}

/** Why two factors are needed; undefined: one is enough. */
function reasonForTwoFactors(
  { user, client, asksTwoFactors }: Pick<UserGrantRequest, "user" | "client" | "asksTwoFactors">,
  place: Pick<Place, "asksTwoFactors">,
): string | undefined {
  if (user.hasSecondFactor) return `${user.email} has a second factor`;
  if (client?.asksTwoFactors === true) return `client ${client.id} needs two factors`;
  if (asksTwoFactors) return "the request asks for two factors";
  return place.asksTwoFactors;
}

/** The tenant or organization of a token. */
export interface Place {
  readonly tenant: string;
  readonly org: string;
  readonly plan: Plan;
  readonly rights: PlaceRights;
  readonly roles: RoleScopes;
  /** The reason why tokens for it need two factors. */
  readonly asksTwoFactors?: string | undefined;
  /** The scope that names it. */
  readonly scope: string;
  readonly asOfMs: number;
}

/** The tenant or organization of the token, with the user's roles there. */
export async function findPlace(
  deps: UserGrantDeps,
  request: UserGrantRequest,
  nowMs: number,
): Promise<Result<Place, PlaceRefusal>> {
  const { noTenant, organization, tenant } = request.scopes;
  if (noTenant || organization !== undefined) return placeOutside(deps, request);
  const chosen = tenant ?? defaultTenant(request);
  return typeof chosen === "string" ? placeInTenant(deps, request, chosen, nowMs) : err(chosen);
}

/** An organization, or no place at all. */
function placeOutside({ names, builtIn }: UserGrantDeps, request: UserGrantRequest): Result<Place, PlaceRefusal> {
  const { client, user, binding, scopes: requested } = request;
  const { organization } = requested;
  const scope = names.scope(requested.noTenant ? "no_tenant" : `org=${organization}`);
  if (isBoundToTenants(binding)) return refusedBeyond(refusedPlace(scope, boundElsewhere(request)));
  const lacksPage = pageFault(request, { tenant: "", org: organization ?? "" });
  if (lacksPage !== undefined) return refusedPlace(scope, lacksPage);
  const outside = { tenant: "", org: "", plan: DEFAULT_PLAN, scope, asOfMs: user.asOfMs };
  if (requested.noTenant) {
    const rights = { id: "", label: "a token outside any tenant", services: [] };
    return ok({ ...outside, rights, roles: rolesIn(user, undefined) });
  }
  const membership = user.organizations.find(({ id }) => id === organization);
  if (membership === undefined)
    return refusedPlace(scope, `${user.email} is no member of organization ${organization}`);
  const services = [...builtIn.services.filter(({ essential }) => essential), ...membership.services];
  const label = `organization ${membership.id}`;
  const rights = { id: "", label, services, forOperators: client !== undefined && request.hasPages };
  const asksTwoFactors = reasonOfRole(membership, user);
  return ok({ ...outside, org: membership.id, rights, roles: rolesIn(user, membership), asksTwoFactors });
}

/** A tenant that the request names, or the default one. */
async function placeInTenant(
  deps: UserGrantDeps,
  request: UserGrantRequest,
  chosen: string,
  nowMs: number,
): Promise<Result<Place, PlaceRefusal>> {
  const { client, user, binding, targets } = request;
  const isNamed = request.scopes.tenant !== undefined;
  const scope = deps.names.scope(`tenant=${chosen}`);
  const refuse = (reason: string): Result<never, PlaceRefusal> =>
    isNamed ? refusedPlace(scope, reason) : err({ kind: "no-tenant", reason });
  if (!reaches(binding, chosen)) return refusedBeyond(refuse(boundElsewhere(request)));
  const membership = user.tenants.find(({ id }) => id === chosen);
  if (membership === undefined) return refuse(`${user.email} is no member of tenant ${chosen}`);
  const lacksPage = pageFault(request, { tenant: chosen, org: "" });
  if (lacksPage !== undefined) return refuse(lacksPage);
  // If no tenant was named, the client's own tenant came with the client.
  const own = !isNamed && chosen === client?.tenant;
  const { tenant, asOfMs } = await deps.directory.find(client?.id, own ? undefined : chosen, { nowMs });
  if (tenant?.id !== chosen) return refusedPlace(scope, `tenant ${chosen} is unknown`);
  if (client !== undefined) {
    const allowed = mayActFor(client, tenant, targets);
    if (!allowed.ok) return refusedPlace(scope, allowed.error);
  }
  return ok({
    tenant: chosen,
    org: "",
    plan: tenant.plan,
    scope,
    rights: tenant,
    roles: rolesIn(user, membership),
    asksTwoFactors:
      tenant.asksTwoFactors === true ? `tenant ${chosen} needs two factors` : reasonOfRole(membership, user),
    asOfMs,
  });
}

const rolesIn = ({ email }: UserRecord, membership: Membership | undefined): RoleScopes => ({
  user: email,
  scopes: membership?.scopes ?? [],
});

const boundElsewhere = ({ user, binding }: UserGrantRequest): string =>
  `the identity provider that vouched for ${user.email} is bound to ${binding.tenants.join(", ")}`;

/** The reason if the client needs a consent that this grant cannot ask for. */
const pageFault = (
  { client, user, hasPages }: UserGrantRequest,
  place: Pick<Place, "tenant" | "org">,
): string | undefined =>
  hasPages || consentRule(client, user, place) === "never"
    ? undefined
    : `client ${client?.id} needs the consent of ${user.email}, and this grant has no page to give it on`;

const reasonOfRole = ({ id, asksTwoFactors }: Membership, { email }: UserRecord): string | undefined =>
  asksTwoFactors ? `a role of ${email} in ${id} needs two factors` : undefined;

/** The default tenant, or the reason why there is none. */
function defaultTenant(request: UserGrantRequest): string | PlaceRefusal {
  const { client, user, binding, targets = [], defaultTenant: rule } = request;
  const isRegistered = client !== undefined && client.unregistered === undefined;
  if (rule === "of-client" && isRegistered) return client.tenant;
  const serves = ({ id, subscribed }: TenantMembership): boolean => {
    if (client === undefined) return true;
    if (isRegistered) return id === client.tenant || subscribed.includes(client.service ?? "");
    return targets.every(({ name, tenant, essential }) => essential || tenant === id || subscribed.includes(name));
  };
  const mayBeMeant = (membership: TenantMembership): boolean => reaches(binding, membership.id) && serves(membership);
  const candidates = user.tenants.filter(mayBeMeant);
  const [first, second] = candidates;
  if (first === undefined)
    return { kind: "no-tenant", reason: `${user.email} belongs to no tenant that the client may act for` };
  return second === undefined ? first.id : { kind: "choose", tenants: candidates };
}

const refusedPlace = (scope: string, reason: string): Result<never, PlaceRefusal> =>
  err({ kind: "scope", refusal: { scope, reason } });

const refusedBeyond = (refused: Result<never, PlaceRefusal>): Result<never, PlaceRefusal> =>
  refused.ok || refused.error.kind === "choose" ? refused : err({ ...refused.error, isBeyondProvider: true });
