import type { Names } from "../../platform/names.ts";
import { err, ok, type Result } from "../../platform/result.ts";
import { scopeMatches } from "../../platform/scope-pattern.ts";
import type { ScopeRefusal, ScopeRequest } from "./scopes.ts";

/**
 * What a user authorized a client to do: stored with a code and with a refresh grant, narrowed by what is asked for
 * later, and checked again against memberships, roles and subscriptions whenever a token is made of it.
 */
export interface Authorization extends SignInTimes {
  /** Empty with an organization, and outside any tenant. */
  readonly tenant: string;
  /** The request named the tenant. */
  readonly tenantExplicit: boolean;
  readonly org: string;
  readonly openid: boolean;
  /** Service scopes, without those that name the tenant and without `openid`. */
  readonly scopes: readonly string[];
  /** The platform's own id of the session, never the caller's. */
  readonly sessionId: string;
  /** An ID token stood for the sign-in: what comes of this has bounds, and no refresh token is of it. */
  readonly hint?: HintBounds | undefined;
}

/** What came of an ID token hint is within the grant that the token came with, and ends when the token does. */
export interface HintBounds {
  readonly endsAtMs: number;
  /** The tenant that the grant was given for; empty outside any. */
  readonly tenant: string;
  /** The service scopes of that grant. */
  readonly scopes: readonly string[];
}

/** The scope that says where the tokens are for. */
export const placeScope = ({ tenant, org }: Pick<Authorization, "tenant" | "org">, names: Names): string =>
  names.scope(tenant !== "" ? `tenant=${tenant}` : org !== "" ? `org=${org}` : "no_tenant");

/** All of it as an answer shows it. */
export const scopeText = (authorized: Authorization, names: Names): string =>
  [placeScope(authorized, names), ...(authorized.openid ? ["openid"] : []), ...authorized.scopes].join(" ");

/** What was just granted, as what may be granted again. `scopes` are those that the answer shows. */
export const toAuthorization = (
  { scopes, ...place }: Pick<Authorization, "tenant" | "tenantExplicit" | "org" | "scopes">,
  { sessionId, hint, ...times }: Pick<Authorization, "sessionId" | "hint"> & SignInTimes,
  names: Names,
): Authorization => ({
  tenant: place.tenant,
  tenantExplicit: place.tenantExplicit,
  org: place.org,
  openid: scopes.includes("openid"),
  scopes: serviceScopes({ scopes, ...place }, names),
  sessionId,
  ...signInTimes(times),
  ...(hint === undefined ? {} : { hint }),
});

/**
 * Of the scopes that an answer shows those that are neither `openid` nor the one that says where the tokens are for.
 */
export const serviceScopes = (
  { scopes, ...place }: Pick<Authorization, "tenant" | "org" | "scopes">,
  names: Names,
): readonly string[] => scopes.filter((scope) => scope !== "openid" && scope !== placeScope(place, names));

/**
 * What may be asked for now (RFC 6749 6): no scope parameter, or one that names where the token is for alone, means all
 * that was authorized; everything named must have been authorized. No tenant means the client's parent tenant here too
 * (specification, `/token`).
 */
export function narrow(
  authorized: Authorization,
  requested: ScopeRequest,
  parentTenant: string,
  names: Names,
): Result<Pick<Authorization, "openid" | "scopes">, ScopeRefusal> {
  const place = unauthorizedPlace(authorized, requested, parentTenant);
  if (place !== undefined) return err({ scope: names.scope(place), reason: `${place} was not authorized` });
  if (requested.everything) return ok({ openid: authorized.openid, scopes: authorized.scopes });
  if (requested.openid && !authorized.openid) return err({ scope: "openid", reason: "openid was not authorized" });
  const unauthorized = requested.named.find(
    (scope) => !authorized.scopes.some((allowed) => scopeMatches(allowed, scope)),
  );
  if (unauthorized !== undefined) return err({ scope: unauthorized, reason: `${unauthorized} was not authorized` });
  return ok({ openid: requested.openid, scopes: requested.named });
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

/** When a user signed in, in ms, and by whose word. */
export interface SignInTimes {
  /** Here: the session's twelve hours are counted from it, and sign-outs are compared with it. */
  readonly authenticatedAtMs: number;
  /**
   * When the identity provider that vouched had asked the user; undefined: it did not say, or the user was asked here.
   */
  readonly provenAtMs?: number | undefined;
  /** The identity provider that vouched; undefined: the platform's own directory asked. */
  readonly provider?: string | undefined;
}

/** These of something that has more. */
export const signInTimes = ({ authenticatedAtMs, provenAtMs, provider }: SignInTimes): SignInTimes => ({
  authenticatedAtMs,
  provenAtMs,
  ...(provider === undefined ? {} : { provider }),
});

/** What `auth_time` and `max_age` mean (OIDC Core 2, 3.1.2.1): a provider's session may be much older than ours. */
export const authTimeMs = ({ authenticatedAtMs, provenAtMs }: SignInTimes): number => provenAtMs ?? authenticatedAtMs;
