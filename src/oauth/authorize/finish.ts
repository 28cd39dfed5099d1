import { DEFAULT_PROVIDER } from "../../platform/model/names.ts";
import { DEFAULT_TENANT, grantForUser, type UserGrantRefusal } from "../grants/user-grant.ts";
import { serviceScopes } from "../model/authorization.ts";
import { isLocal } from "../model/binding.ts";
import { hasPassword } from "../model/methods.ts";
import type { AnyCall } from "../model/call.ts";
import type { ScopeRequest } from "../model/granted-scopes.ts";
import { restrict } from "../model/resource.ts";
import type { Granted } from "../tokens/issue.ts";
import { asksTwoFactors, isUnmet } from "./protocol/acr.ts";
import { promptConsent, type Decided } from "./consent.ts";
import type { AuthorizeDeps } from "./protocol/deps.ts";
import { promptSecondFactor } from "./second-factor.ts";
import { refused, scopeRefused } from "./protocol/failure.ts";
import { prefilledEmail, type Identity } from "./identify.ts";
import { issue } from "./issue.ts";
import { outsideProviderPage } from "./outside-provider.ts";
import { FLOWS } from "./protocol/parse.ts";
import { promptSignIn } from "./prompt.ts";
import type { AuthorizationRequest } from "./protocol/request.ts";
import { refusedAnswer } from "./protocol/response.ts";
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
  if (isUnmet(request.acr, identity) && !wantsTwoFactors) return refuseSignIn(deps, request, identity, call);
  const granted = await grantForUser(
    deps,
    {
      client,
      clientAuthenticated: false,
      user: identity.user,
      binding: identity.binding,
      scopes: identity.hint === undefined ? request.scopes : withinHint(request.scopes, identity.hint.scopes),
      targets: request.resources,
      defaultTenant:
        request.tenantChoice || client.unregistered !== undefined ? "only" : DEFAULT_TENANT[FLOWS[flow].grantType],
      methods: identity.methods,
      asksTwoFactors: wantsTwoFactors,
      hasPages: true,
    },
    call.nowMs,
  );
  if (!granted.ok) return answerRefusal(deps, request, identity, granted.error, call);
  const restricted = restrict(granted.value, request.resources, deps.names);
  if (getsNothing(request, restricted, deps.names)) {
    const failure = scopeRefused({ scope: request.scopes.limitedTo?.[0], reason: "no scope is left" });
    return refusedAnswer(deps, request, failure, call);
  }
  const access = { request, granted: restricted, identity };
  return (await promptConsent(deps, access, decided, call)) ?? issue(deps, access, call);
}

/** The client takes no sign-in of this kind. It may want a password, which the person can still enter. */
async function refuseSignIn(
  deps: AuthorizeDeps,
  request: AuthorizationRequest,
  identity: Identity,
  call: AnyCall,
): Promise<Response> {
  const byPassword = isLocal(identity.provider ?? DEFAULT_PROVIDER) && hasPassword(identity.methods);
  if (identity.from === "session" && isLocal(request.provider) && !byPassword)
    return signInAgain(deps, request, identity, "the client takes no such sign-in", call);
  const failure = refused("unmet_authentication_requirements", "The client does not take this way to sign in.");
  return refusedAnswer(deps, request, failure, call);
}

/** The user gets nothing here. Shows the page on which that can change, or else tells the client. */
async function answerRefusal(
  deps: AuthorizeDeps,
  request: AuthorizationRequest,
  identity: Identity,
  refusal: UserGrantRefusal,
  call: AnyCall,
): Promise<Response> {
  if (refusal.kind === "second-factor") return promptSecondFactor(deps, { request, identity }, refusal, call);
  if (refusal.kind === "choose")
    return request.prompt === "none"
      ? refusedAnswer(deps, request, refused("interaction_required", "The user has to choose a tenant."), call)
      : chooseTenant(deps, request, identity, refusal.tenants, call);
  if (mayChooseAnother(request, identity))
    return signInAgain(deps, request, identity, "the user who is signed in gets nothing here", call);
  const failure =
    refusal.kind === "scope"
      ? scopeRefused(refusal.refusal)
      : refused("access_denied", "The user is not a member of a suitable tenant.", refusal.reason);
  if (refusal.isBeyondProvider === undefined || identity.from === "hint")
    return refusedAnswer(deps, request, failure, call);
  return outsideProviderPage(deps, request, { kind: "tenant", user: identity.user.email, failure }, call);
}

function signInAgain(
  deps: AuthorizeDeps,
  request: AuthorizationRequest,
  { user }: Identity,
  reason: string,
  call: AnyCall,
): Promise<Response> {
  return promptSignIn(deps, request, { email: prefilledEmail(request, user.email), reason }, call);
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
