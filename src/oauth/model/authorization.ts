import { OIDC_SCOPES, PROFILE_SCOPES } from "../../platform/model/oidc-scopes.ts";
import type { Names } from "../../platform/model/names.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import { scopeMatches } from "../../platform/model/scope-pattern.ts";
import type { ScopeRefusal, ScopeRequest } from "./granted-scopes.ts";
import type { Methods } from "./methods.ts";

/** The time of a sign-in, in ms, the provider that vouched, and the methods. */
export interface SignInTimes {
  /** The sign-in here. Session lifetime and sign-outs refer to it. */
  readonly authenticatedAtMs: number;
  /** The time at which the vouching provider asked the user. Undefined: not stated, or the user was asked here. */
  readonly provenAtMs?: number | undefined;
  /** The identity provider that vouched. Undefined: the platform's own directory. */
  readonly provider?: string | undefined;
  /** The kind of the sign-in, for a client that asked for it. */
  readonly acr?: string | undefined;
  readonly methods?: Methods | undefined;
}

/** Picks these times from a larger object. */
export const signInTimes = ({ authenticatedAtMs, provenAtMs, provider, acr, methods }: SignInTimes): SignInTimes => ({
  authenticatedAtMs,
  provenAtMs,
  ...(provider === undefined ? {} : { provider }),
  ...(acr === undefined ? {} : { acr }),
  ...(methods === undefined ? {} : { methods }),
});

/**
 * The time behind `auth_time` and `max_age` (OIDC Core 2, 3.1.2.1). A provider's session can be much older than ours.
 */
export const authTimeMs = ({ authenticatedAtMs, provenAtMs }: SignInTimes): number => provenAtMs ?? authenticatedAtMs;

/**
 * The access that a user authorized for a client. Stored with a code and with a refresh grant. Later requests can
 * narrow it, and each new token checks it again against memberships, roles and subscriptions.
 */
export interface Authorization extends SignInTimes {
  /** Empty with an organization, and outside any tenant. */
  readonly tenant: string;
  /** The request named the tenant. */
  readonly tenantExplicit: boolean;
  readonly org: string;
  readonly openid: boolean;
  /** `profile` and `email`, if authorized with `openid`. Undefined in records of earlier versions. */
  readonly profile?: readonly string[];
  /** Service scopes, without `openid` and without the scope that names the tenant. */
  readonly scopes: readonly string[];
  /** Public paths of the services that tokens are for (resource.ts). Undefined: the whole platform. */
  readonly resources?: readonly string[] | undefined;
  /** The platform's own session id, never the caller's. */
  readonly sessionId: string;
  /**
   * The thumbprint of a key that has to prove itself (RFC 9449): to redeem the code, or to use the refresh token of a
   * client without a secret.
   */
  readonly proofKey?: string | undefined;
  /** The sign-in was an ID token hint: the tokens have these bounds, and there is no refresh token. */
  readonly hint?: HintBounds | undefined;
}

/** The bounds of tokens that are issued for an ID token hint: the grant that its token was part of. */
export interface HintBounds {
  readonly endsAtMs: number;
  /** The tenant of the grant. Empty outside any. */
  readonly tenant: string;
  /** The service scopes of that grant. */
  readonly scopes: readonly string[];
}

/** The scope that names the tenant or organization of the tokens. */
export const placeScope = ({ tenant, org }: Pick<Authorization, "tenant" | "org">, names: Names): string =>
  names.scope(tenant !== "" ? `tenant=${tenant}` : org !== "" ? `org=${org}` : "no_tenant");

/** The scopes of OpenID Connect that were authorized. */
export const oidcScopes = ({ openid, profile = [] }: Pick<Authorization, "openid" | "profile">): readonly string[] =>
  openid ? ["openid", ...profile] : [];

/** The scopes as a response shows them. */
export const scopeText = (authorized: Authorization, names: Names): string =>
  [placeScope(authorized, names), ...oidcScopes(authorized), ...authorized.scopes].join(" ");

/** Turns a granted access into one that can be granted again. `scopes`: as the response shows them. */
export const toAuthorization = (
  {
    scopes,
    audience,
    ...place
  }: Pick<Authorization, "tenant" | "tenantExplicit" | "org" | "scopes"> & { readonly audience?: readonly string[] },
  { sessionId, hint, ...times }: Pick<Authorization, "sessionId" | "hint"> & SignInTimes,
  names: Names,
): Authorization => ({
  tenant: place.tenant,
  tenantExplicit: place.tenantExplicit,
  org: place.org,
  openid: scopes.includes("openid"),
  profile: PROFILE_SCOPES.filter((scope) => scopes.includes(scope)),
  scopes: serviceScopes({ scopes, ...place }, names),
  sessionId,
  ...(audience === undefined ? {} : { resources: audience }),
  ...signInTimes(times),
  ...(hint === undefined ? {} : { hint }),
});

/** The scopes of a response without those of OpenID Connect and the one that names the tenant or organization. */
export const serviceScopes = (
  { scopes, ...place }: Pick<Authorization, "tenant" | "org" | "scopes">,
  names: Names,
): readonly string[] => scopes.filter((scope) => !OIDC_SCOPES.includes(scope) && scope !== placeScope(place, names));

/** The part of an authorization that a later request gets. */
export type Narrowed = Required<Pick<Authorization, "openid" | "profile" | "scopes">>;

/**
 * Checks a later request against the authorization (RFC 6749 6). A request without scopes, or with only the scope that
 * names the tenant, means everything authorized. Any scope that is named must have been authorized. `no_tenant` means
 * the client's parent tenant here too.
 */
export function narrow(
  authorized: Authorization,
  requested: ScopeRequest,
  parentTenant: string,
  names: Names,
): Result<Narrowed, ScopeRefusal> {
  const place = unauthorizedPlace(authorized, requested, parentTenant);
  if (place !== undefined) return err({ scope: names.scope(place), reason: `${place} was not authorized` });
  const { openid, profile = [], scopes } = authorized;
  if (requested.everything) return ok({ openid, profile, scopes });
  if (requested.openid && !openid) return err({ scope: "openid", reason: "openid was not authorized" });
  const unauthorized = requested.named.find((scope) => !scopes.some((allowed) => scopeMatches(allowed, scope)));
  if (unauthorized !== undefined) return err({ scope: unauthorized, reason: `${unauthorized} was not authorized` });
  return ok({
    openid: requested.openid,
    // Libraries send the same scopes with each request. Earlier versions ignored these, so none is refused.
    profile: requested.openid ? requested.profile.filter((scope) => profile.includes(scope)) : [],
    scopes: requested.named,
  });
}

function unauthorizedPlace(
  authorized: Authorization,
  requested: ScopeRequest,
  parentTenant: string,
): string | undefined {
  if (requested.tenant !== undefined && requested.tenant !== authorized.tenant) return `tenant=${requested.tenant}`;
  if (requested.organization !== undefined && requested.organization !== authorized.org)
    return `org=${requested.organization}`;
  const outside = authorized.tenant + authorized.org === "";
  if (requested.noTenant && !outside && authorized.tenant !== parentTenant) return "no_tenant";
  return undefined;
}
