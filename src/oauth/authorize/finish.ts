import { DEFAULT_PROVIDER } from "../../platform/model/names.ts";
import { createCode } from "../grants/authorization-code.ts";
import { DEVICE_LIFETIME_SEC } from "../grants/device-code.ts";
import { DEFAULT_TENANT, grantForUser } from "../grants/user-grant.ts";
import { serviceScopes, signInTimes, toAuthorization } from "../model/authorization.ts";
import { isLocal } from "../model/binding.ts";
import { hasPassword } from "../model/methods.ts";
import type { AnyCall } from "../model/call.ts";
import type { ScopeRequest } from "../model/granted-scopes.ts";
import { restrict } from "../model/resource.ts";
import { type Granted, issueIdTokenAlone, issueTokens } from "../tokens/issue.ts";
import { asksTwoFactors, isUnmet, reachedAcr } from "./protocol/acr.ts";
import { promptConsent, type Decided } from "./consent.ts";
import type { AuthorizeDeps } from "./protocol/deps.ts";
import { promptSecondFactor } from "./second-factor.ts";
import { refused, scopeRefused } from "./protocol/failure.ts";
import { prefilledEmail, type Identity } from "./identify.ts";
import { outsideProviderPage } from "./outside-provider.ts";
import { FLOWS } from "./protocol/parse.ts";
import { promptSignIn } from "./prompt.ts";
import type { AuthorizationRequest } from "./protocol/request.ts";
import { grantedAnswer, refusedAnswer } from "./protocol/response.ts";
import { chooseTenant } from "./tenant-chooser.ts";

/** The user is known. Grants scopes for a tenant, asks for consent if needed, and redirects to the client. */
export async function finish(
  deps: AuthorizeDeps,
  request: AuthorizationRequest,
  identity: Identity,
  call: AnyCall,
  decided: Decided = {},
): Promise<Response> {
  const { client, flow } = request;
  const wantsTwoFactors = asksTwoFactors(request.acr, identity);
  if (isUnmet(request.acr, identity) && !wantsTwoFactors) {
    // The client may want a password, which the person can still enter.
    const byPassword = isLocal(identity.provider ?? DEFAULT_PROVIDER) && hasPassword(identity.methods);
    if (identity.from === "session" && isLocal(request.provider) && !byPassword) {
      const reason = "the client takes no such sign-in";
      return promptSignIn(deps, request, { email: prefilledEmail(request, identity.user.email), reason }, call);
    }
    const failure = refused("unmet_authentication_requirements", "The client does not take this way to sign in.");
    return refusedAnswer(deps, request, failure, call);
  }
  const scopes = identity.hint === undefined ? request.scopes : withinHint(request.scopes, identity.hint.scopes);
  const defaultTenant =
    request.tenantChoice || client.unregistered !== undefined ? "only" : DEFAULT_TENANT[FLOWS[flow].grantType];
  const grantRequest = {
    client,
    clientAuthenticated: false,
    user: identity.user,
    binding: identity.binding,
    scopes,
    targets: request.resources,
    defaultTenant,
    methods: identity.methods,
    asksTwoFactors: wantsTwoFactors,
    hasPages: true,
  } as const;
  const granted = await grantForUser(deps, grantRequest, call.nowMs);
  if (granted.ok) {
    const restricted = restrict(granted.value, request.resources, deps.names);
    if (getsNothing(request, restricted, deps.names))
      return refusedAnswer(
        deps,
        request,
        scopeRefused({ scope: request.scopes.limitedTo?.[0], reason: "no scope is left" }),
        call,
      );
    return (
      (await promptConsent(deps, request, restricted, identity, decided, call)) ??
      issue(deps, request, restricted, identity, call)
    );
  }
  const refusal = granted.error;
  if (refusal.kind === "second-factor") return promptSecondFactor(deps, request, identity, refusal.reason, call);
  if (refusal.kind !== "choose" && mayChooseAnother(request, identity)) {
    const reason = "the user who is signed in gets nothing here";
    return promptSignIn(deps, request, { email: prefilledEmail(request, identity.user.email), reason }, call);
  }
  if (refusal.kind === "choose")
    return request.prompt === "none"
      ? refusedAnswer(deps, request, refused("interaction_required", "The user has to choose a tenant."), call)
      : chooseTenant(deps, request, identity, refusal.tenants, call);
  const failure =
    refusal.kind === "scope"
      ? scopeRefused(refusal.refusal)
      : refused("access_denied", "The user is not a member of a suitable tenant.", refusal.reason);
  const answer = refusedAnswer(deps, request, failure, call);
  if (refusal.isBeyondProvider === undefined || identity.from === "hint") return answer;
  return outsideProviderPage(deps, request, { kind: "tenant", user: identity.user.email, answer }, call);
}

/** True if no scope would be left. A client that nobody registered loses scopes that are not available, but not all. */
const getsNothing = (
  { client, scopes }: AuthorizationRequest,
  granted: Granted,
  names: AuthorizeDeps["names"],
): boolean =>
  client.unregistered !== undefined && scopes.limitedTo !== undefined && serviceScopes(granted, names).length === 0;

/** Limits the scopes of a hint to those of its grant. */
const withinHint = (scopes: ScopeRequest, limitedTo: readonly string[]): ScopeRequest => ({
  ...scopes,
  limitedTo,
  profile: scopes.profile.filter((scope) => limitedTo.includes(scope)),
});

/** The client asked for an account choice, and the user has not made one in this request. */
const mayChooseAnother = ({ prompt, expectedUser }: AuthorizationRequest, { from }: Identity): boolean =>
  prompt === "select_account" && expectedUser === undefined && from === "session";

const USED = refused("invalid_request", "The pushed request was used, or has expired.");

async function issue(
  deps: AuthorizeDeps,
  request: AuthorizationRequest,
  granted: Granted,
  { user, sid: sessionId, shard, hint, beginning, ...signIn }: Identity,
  call: AnyCall,
): Promise<Response> {
  const { client, flow, nonce, challenge, callerSessionId } = request;
  const times = { ...signIn, acr: reachedAcr(request.acr, signIn) };
  const { requestId } = call;
  const { device } = request;
  const reference = request.parameters.pushed;
  const pushed = reference === undefined ? undefined : deps.pushedRequests.use(reference, call.nowMs);
  const { issuer } = deps.issuerFor(call);
  const asTold = { sid: sessionId, clientId: client.id, email: user.email, subject: granted.subject, issuer };
  const toldOfLogout = client.isToldOfLogout === true ? [asTold] : [];
  if (flow === "code") {
    const bounds = hint && { endsAtMs: hint.endsAtMs, tenant: hint.tenant, scopes: hint.scopes };
    const proofKey = request.parameters.get("dpop_jkt");
    const authorization = {
      ...toAuthorization(granted, { sessionId, hint: bounds, ...times }, deps.names),
      ...(proofKey === undefined ? {} : { proofKey }),
    };
    // Stored as sent: `/token` must receive the same text, or none if none was sent here (RFC 6749 4.1.3).
    const redirectUri = request.parameters.get("redirect_uri");
    const code = await createCode(
      deps,
      {
        clientId: client.id,
        email: user.email,
        shard,
        redirectUri,
        challenge,
        nonce,
        grantId: hint?.grantId,
        authorization,
        ...(device === undefined ? {} : { lifetimeMs: DEVICE_LIFETIME_SEC * 1000 }),
      },
      call.nowMs,
      {
        beginning,
        beside: toldOfLogout.flatMap((told) => deps.logouts.rememberStatements(told, shard)),
        // The request of a device ends with the decision.
        pushed: device === undefined ? pushed : undefined,
      },
    );
    if (code === "used") return refusedAnswer(deps, request, USED, call);
    const beside = pushed === undefined ? [] : [pushed.statement];
    const allowed =
      code !== "gone" && (device === undefined || (await deps.devices.decide(device.hash, code, call.nowMs, beside)));
    if (!allowed) {
      const failure = refused("access_denied", "The client, the user or the session has just been removed.");
      return refusedAnswer(deps, request, failure, call);
    }
    const { tenant } = granted;
    deps.log.info("code issued", {
      requestId,
      clientId: client.id,
      user: user.email,
      tenant,
      sessionId,
      callerSessionId,
    });
    return grantedAnswer(deps, request, device === undefined ? { code: code.text } : { allowed: "true" }, call);
  }
  if (beginning !== undefined && !(await beginning.start()))
    return refusedAnswer(deps, request, refused("access_denied", "The user may not sign in here."), call);
  for (const told of toldOfLogout) await deps.logouts.remember(told, shard);
  const recordsAsOfMs = Math.min(granted.recordsAsOfMs, request.clientAsOfMs);
  const idToken = { ...signInTimes(times), nonce };
  const of = {
    granted: { ...granted, recordsAsOfMs },
    grant: "implicit",
    sessionId,
    callerSessionId,
    grantId: hint?.grantId,
    hint,
  };
  // Last, since a failure leaves the request to the next attempt, and tokens that nobody has seen.
  const isUsed = async (): Promise<boolean> => pushed !== undefined && !(await pushed.take());
  if (flow === "id_token") {
    const alone = await issueIdTokenAlone(deps, { ...of, idToken }, call);
    return (await isUsed())
      ? refusedAnswer(deps, request, USED, call)
      : grantedAnswer(deps, request, { id_token: alone }, call);
  }
  const issued = await issueTokens(deps, { ...of, idToken: flow === "token" ? undefined : idToken }, call);
  if (!issued.ok) {
    const { description, reason } = issued.error;
    return refusedAnswer(deps, request, refused("invalid_scope", description, reason), call);
  }
  if (await isUsed()) return refusedAnswer(deps, request, USED, call);
  const tokens = {
    access_token: issued.value.accessToken,
    token_type: "bearer",
    expires_in: String(issued.value.expiresInSec),
    scope: granted.scopes.join(" "),
    ...(issued.value.idToken === undefined ? {} : { id_token: issued.value.idToken }),
  };
  return grantedAnswer(deps, request, tokens, call);
}
