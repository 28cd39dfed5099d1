import { err, ok, type Result } from "../../platform/model/result.ts";
import type { Caller } from "../clients/authentication.ts";
import type { UserRecord } from "../users/user-store.ts";
import { requestedConsent, isAllowed, consentRule } from "../consent/consent.ts";
import { narrow, type Authorization, type Narrowed } from "../model/authorization.ts";
import { failure, type OAuthFailure } from "../model/failure.ts";
import type { ScopeRefusal, ScopeRequest } from "../model/granted-scopes.ts";
import { invalidTarget, restrict, targetsOf } from "../model/resource.ts";
import type { Granted } from "../tokens/issue.ts";
import { refusedScope, type GrantDeps, type TokenRequest } from "./grant-step.ts";
import { grantForUser, type UserGrantRefusal } from "./user-grant.ts";

/** An authorization from an earlier request. */
export interface Authorized {
  readonly email: string;
  /** Undefined if unknown or disabled. */
  user(): Promise<UserRecord | undefined>;
  readonly authorization: Authorization;
}

export interface Reauthorized {
  readonly granted: Granted;
  /** The bounds of later tokens of the grant: never more than this request asked for. */
  readonly authorization: Authorization;
}

/**
 * Grants again what a user authorized earlier, as far as it is requested and still valid. The user, memberships, roles
 * and subscriptions are checked as in a new sign-in.
 *
 *   no scope requested ──▶ everything authorized that is still available
 *   scopes requested   ──▶ exactly these, or a refusal that names one
 *   the user's membership is gone, or the sign-in is not valid any more ──▶ the grant is not valid
 */
export async function reauthorize(
  deps: GrantDeps,
  caller: Caller,
  { email, authorization, user: findUser }: Authorized,
  { scopes: requested, resources }: Pick<TokenRequest, "scopes" | "resources">,
  nowMs: number,
): Promise<Result<Reauthorized, OAuthFailure>> {
  const { client, authenticated, asOfMs } = caller;
  const narrowed = narrow(authorization, requested, client.tenant, deps.names);
  if (!narrowed.ok) return err(refusedScope(narrowed.error, client.id));
  const targets = await targetsOf(deps, authorization.resources, resources, nowMs);
  if (!targets.ok) return err(invalidTarget(targets.error, client.id));
  const user = await findUser();
  if (user === undefined) return err(invalidGrant(`user ${email} is unknown or disabled`, client.id));
  if (authorization.authenticatedAtMs <= user.signedOutAtMs)
    return err(invalidGrant(`the sign-in of ${email} counts no more`, client.id));
  const binding = await deps.federation.findBinding(email, authorization);
  if (binding === undefined)
    return err(invalidGrant(`what ${authorization.provider} said of ${email} counts no more`, client.id));

  const scopes = toScopeRequest(authorization, narrowed.value, requested.everything);
  const granted = await grantForUser(
    deps,
    {
      client,
      clientAuthenticated: authenticated,
      user,
      binding,
      scopes,
      targets: targets.value,
      defaultTenant: "of-client",
      methods: authorization.methods,
      asksTwoFactors: false,
      hasPages: true,
    },
    nowMs,
  );
  if (!granted.ok) return err(toFailure(granted.error, requested, client.id));
  if (consentRule(client, user, granted.value) !== "never") {
    const consent = requestedConsent(deps, client, granted.value);
    if (!isAllowed(consent, await deps.consents.find(consent)))
      return err(invalidGrant(`${email} does not allow the client this, or no more`, client.id));
  }
  const tenantExplicit = authorization.tenantExplicit || requested.tenant !== undefined;
  const recordsAsOfMs = Math.min(granted.value.recordsAsOfMs, asOfMs);
  return ok({
    granted: { ...restrict(granted.value, targets.value, deps.names), tenantExplicit, recordsAsOfMs },
    authorization: { ...authorization, ...narrowed.value, tenantExplicit },
  });
}

/** The scope request that would get the same authorization. */
const toScopeRequest = (
  { tenant, org }: Authorization,
  { openid, profile, scopes }: Narrowed,
  everything: boolean,
): ScopeRequest => ({
  tenant: tenant === "" ? undefined : tenant,
  organization: org === "" ? undefined : org,
  noTenant: tenant + org === "",
  openid,
  profile,
  named: scopes,
  everything,
  limitedTo: scopes,
});

/** A refusal names a scope only if the caller named it. Otherwise the grant itself is not valid. */
function toFailure(refusal: UserGrantRefusal, requested: ScopeRequest, clientId: string): OAuthFailure {
  if (refusal.kind === "second-factor") return invalidGrant(`${refusal.reason}: the sign-in had one`, clientId);
  if (refusal.kind !== "scope") return invalidGrant(refusal.kind, clientId);
  return isNamed(refusal.refusal, requested)
    ? refusedScope(refusal.refusal, clientId)
    : invalidGrant(refusal.refusal.reason, clientId);
}

const isNamed = ({ scope }: ScopeRefusal, requested: ScopeRequest): boolean =>
  scope === undefined ||
  requested.named.includes(scope) ||
  requested.tenant !== undefined ||
  requested.organization !== undefined ||
  requested.noTenant;

/** Any fault of a code or a refresh token: one text for the caller, the reason for the operator. */
export const invalidGrant = (reason: string, clientId: string): OAuthFailure =>
  failure("invalid_grant", "The grant is not valid, has expired, was used already or was revoked.", reason, clientId);
