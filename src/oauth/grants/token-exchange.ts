import type { Actor } from "../../http/callers/auth.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import { scopeMatches } from "../../platform/model/scope-pattern.ts";
import type { ClientRecord } from "../clients/directory-store.ts";
import { isThirdParty, isAllowed, requestedConsent } from "../consent/consent.ts";
import { failure, type OAuthFailure } from "../model/failure.ts";
import { invalidTarget, restrict, targetsOf } from "../model/resource.ts";
import { mayActFor, type ScopeRefusal, type ScopeRequest } from "../model/granted-scopes.ts";
import type { Parameters } from "../model/parameters.ts";
import type { IssuedToken } from "../tokens/issued-token.ts";
import { readServiceToken } from "../tokens/service-token.ts";
import { identifyGrantClient, refusedScope, type GrantDeps, type GrantStep } from "./grant-step.ts";

/**
 * A service acts for a person (RFC 8693): it hands in the token that the gateway gave it, and gets one of its own for
 * the same person and tenant, with fewer scopes and a shorter life.
 *
 *   subject_token ──ours, valid, for this service──▶ a person's, for a tenant ──the client may act there──▶ narrowed
 *
 * - Scopes only narrow: they are among those of the token that was handed in and those that the client lists.
 * - The services too are among those that the handed-in token is for (RFC 8707).
 * - `act` names the client, and the services that acted before it. Both tokens belong to one grant and one session, so
 *   the end of these ends both. Otherwise the new token lives for five minutes.
 * - If the caller's token alone was revoked, neither it nor the gateway's token for it is exchanged any more.
 * - A token that is bound to a key is refused, since its holder may be a thief. The gateway's token for a service is
 *   accepted, since the gateway has checked the proof.
 */
export const EXCHANGE_GRANT = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN_TYPE = "urn:ietf:params:oauth:token-type:access_token";
const SUBJECT_TYPES: readonly string[] = [ACCESS_TOKEN_TYPE, "urn:ietf:params:oauth:token-type:jwt"];
const LIFETIME_MS = 300_000;
/** The most services that act one after the other for a person. */
const MAX_ACTORS = 4;

export const tokenExchange: GrantStep = async (deps, request) => {
  const { call, parameters, scopes: requested, resources, proofKey } = request;
  const caller = await identifyGrantClient(deps, request, EXCHANGE_GRANT);
  if (!caller.ok) return caller;
  const { client, authenticated } = caller.value;
  const refuse = (error: OAuthFailure["error"], description: string, reason?: string) =>
    err(failure(error, description, reason, client.id));
  if (!authenticated || client.service === undefined)
    return refuse("unauthorized_client", "Only the client of a registered service exchanges tokens.");
  // A subject token does not say how its person signed in.
  if (client.asksTwoFactors === true)
    return refuse("unauthorized_client", "The client requires two factors, so it cannot exchange tokens.");
  const fault = parameterFault(parameters);
  if (fault !== undefined) return refuse(...fault);
  const subject = await readSubject(deps, parameters.get("subject_token") ?? "", client.service, call.nowMs);
  if (!subject.ok) return refuse("invalid_request", "subject_token is not valid for this client.", subject.error);
  const token = subject.value;
  const { tenant } = token;
  if (token.user === "" || tenant === "")
    return refuse("invalid_request", "subject_token is not of a person in a tenant.");
  const targets = await targetsOf(deps, token.audience, resources, call.nowMs);
  if (!targets.ok) return err(invalidTarget(targets.error, client.id));
  if (actorsOf(token.act) >= MAX_ACTORS) return refuse("invalid_request", "Too many services act for the person.");

  const { tenant: rights, asOfMs } = await deps.directory.find(client.id, tenant, call);
  const allowed = rights === undefined ? err(`tenant ${tenant} is unknown`) : mayActFor(client, rights);
  const place = deps.names.scope(`tenant=${tenant}`);
  if (!allowed.ok) return err(refusedScope({ scope: place, reason: allowed.error }, client.id));
  const scopes = scopesWithin(token, client, requested, place);
  if (!scopes.ok) return err(refusedScope(scopes.error, client.id));
  const given = [place, ...scopes.value];
  if (isThirdParty(client)) {
    const consent = requestedConsent(deps, client, { user: token.user, tenant, org: "", scopes: given });
    if (!isAllowed(consent, await deps.consents.find(consent)))
      return refuse(
        "invalid_grant",
        "The person has not given the client consent.",
        `${token.user} has not allowed this`,
      );
  }
  const granted = {
    clientId: client.id,
    clientName: client.name,
    clientTenant: client.tenant,
    clientAuthenticated: true,
    tenant,
    tenantExplicit: token.tenantExplicit,
    org: "",
    plan: token.plan,
    user: token.user,
    subject: token.subject,
    scopes: given,
    recordsAsOfMs: Math.min(token.recordsAsOfMs, asOfMs, caller.value.asOfMs),
    userAsOfMs: token.userAsOfMs,
    act: { sub: client.id, ...(token.act === undefined ? {} : { act: token.act }) },
  };
  return ok({
    granted: restrict(granted, targets.value, deps.names),
    sessionId: token.sessionId,
    grantId: token.grantId,
    refreshToken: undefined,
    idToken: undefined,
    proofKey,
    endsAtMs: Math.min(call.nowMs + LIFETIME_MS, token.expiresAtSec * 1000),
    issuedTokenType: ACCESS_TOKEN_TYPE,
  });
};

/** The requested scopes, if both the subject token and the client have them. */
function scopesWithin(
  token: Pick<IssuedToken, "tenant" | "scopes">,
  client: ClientRecord,
  requested: ScopeRequest,
  place: string,
): Result<readonly string[], ScopeRefusal> {
  if ((requested.tenant ?? token.tenant) !== token.tenant || requested.organization !== undefined || requested.noTenant)
    return err({ scope: place, reason: "another place than that of the subject token" });
  const held = (scope: string): boolean =>
    token.scopes.some((one) => scopeMatches(one, scope)) && client.scopes.some((one) => scopeMatches(one, scope));
  const beyond = requested.openid ? "openid" : requested.named.find((scope) => !held(scope));
  if (beyond !== undefined) return err({ scope: beyond, reason: `the subject token or the client lacks ${beyond}` });
  return ok(requested.everything ? token.scopes.filter((scope) => scope !== place && held(scope)) : requested.named);
}

function parameterFault(parameters: Parameters): [OAuthFailure["error"], string] | undefined {
  if (parameters.get("subject_token") === undefined) return ["invalid_request", "subject_token is missing."];
  if (!SUBJECT_TYPES.includes(parameters.get("subject_token_type") ?? ""))
    return ["invalid_request", `subject_token_type must be ${ACCESS_TOKEN_TYPE}.`];
  if ((parameters.get("requested_token_type") ?? ACCESS_TOKEN_TYPE) !== ACCESS_TOKEN_TYPE)
    return ["invalid_request", `requested_token_type must be ${ACCESS_TOKEN_TYPE}.`];
  if (parameters.get("actor_token") !== undefined || parameters.get("actor_token_type") !== undefined)
    return ["invalid_request", "actor_token is not supported: the client itself acts."];
  if (parameters.get("audience") !== undefined)
    return ["invalid_target", "audience is not supported: name the address of a service as resource."];
  return undefined;
}

/** The token that was handed in: the gateway's for this service, or the caller's own. */
async function readSubject(
  { trust, verifier }: GrantDeps,
  token: string,
  service: string,
  nowMs: number,
): Promise<Result<IssuedToken, string>> {
  const given = await readServiceToken(token, service, trust, nowMs);
  if (given.ok) {
    if (!(await trust.ensure(nowMs, "now"))) return err("revocations cannot be read");
    return trust.isRevoked(given.value) ? err("it was revoked") : given;
  }
  const verified = await verifier.verifyNow([token], nowMs);
  if (!verified.ok) return err("revocations cannot be read");
  const [found] = verified.value;
  if (found?.ok !== true) return err(`${given.error}; ${found?.error ?? "malformed"}`);
  return found.value.proofKey === undefined ? ok(found.value) : err("it is bound to a key");
}

const actorsOf = (act: Actor | undefined): number => (act === undefined ? 0 : 1 + actorsOf(act.act));
