/**
 * Continues an authorization request after a sign-in, at our form or at a provider. `request` is that request,
 * form-encoded. It is checked again from scratch, because it may be minutes old.
 */
import { signInTimes } from "../model/authorization.ts";
import type { AnyCall } from "../model/call.ts";
import type { FederationFailure } from "../model/provider-failure.ts";
import { withCookie } from "../sign-in/browser.ts";
import { rememberWithoutPassword } from "../sign-in/device.ts";
import { prepareSession, type NewSignIn } from "../sign-in/sessions.ts";
import type { UserRecord } from "../users/user-store.ts";
import { readRequest } from "./authorize.ts";
import type { AuthorizeDeps } from "./protocol/deps.ts";
import { refused } from "./protocol/failure.ts";
import { finish } from "./finish.ts";
import type { Identity } from "./identify.ts";
import { outsideProviderPage } from "./outside-provider.ts";
import { isExpectedUser, type AuthorizationRequest } from "./protocol/request.ts";
import { refusedAnswer } from "./protocol/response.ts";

/** A provider vouched for the user: starts a session and continues the request. */
export async function resumeSignIn(
  deps: AuthorizeDeps,
  call: AnyCall,
  { newSignIn, request: text }: { readonly newSignIn: NewSignIn; readonly request: string },
): Promise<Response> {
  const checked = await readRequest(deps, call, new URLSearchParams(text));
  if (!checked.ok) return checked.error;
  const request = checked.value;
  if (!isExpectedUser(request, newSignIn.email)) return refuseUnexpectedUser(deps, request, newSignIn.email, call);
  const reason = `user ${newSignIn.email} is unknown or disabled`;
  return (
    (await startSessionAndFinish(deps, request, newSignIn, call)) ??
    refusedAnswer(deps, request, refused("access_denied", "The user may not sign in here.", reason), call)
  );
}

/** A provider vouched for another user than the client expects. */
export function refuseUnexpectedUser(
  deps: AuthorizeDeps,
  request: AuthorizationRequest,
  email: string,
  call: AnyCall,
): Response {
  const description = "The client expects another user than the one who signed in.";
  return refusedAnswer(deps, request, refused("login_required", description, `user ${email} signed in`), call);
}

/** A provider vouched for nobody: reports the failure to the client. */
export async function refuseSignIn(
  deps: AuthorizeDeps,
  call: AnyCall,
  {
    request,
    failure: { error, reason, outsideUser: user },
  }: { readonly request: string; readonly failure: FederationFailure },
): Promise<Response> {
  const checked = await readRequest(deps, call, new URLSearchParams(request));
  if (!checked.ok) return checked.error;
  const failure = refused(error, "The sign-in failed.", reason);
  return user === undefined
    ? refusedAnswer(deps, checked.value, failure, call)
    : outsideProviderPage(deps, checked.value, { kind: "domain", user, failure }, call);
}

/**
 * Starts a session for a new sign-in. Undefined if the user does not exist or may not sign in. The row of the session
 * is written with the code; alone, if the answer is another. `known`: the user as read with the password.
 */
export async function startSessionAndFinish(
  deps: AuthorizeDeps,
  request: AuthorizationRequest,
  newSignIn: NewSignIn,
  call: AnyCall,
  known?: UserRecord,
): Promise<Response | undefined> {
  const session = await prepareSession(deps, call, newSignIn);
  const times = signInTimes({ ...newSignIn, authenticatedAtMs: call.nowMs });
  const user = known ?? (await deps.users.find(newSignIn.email));
  const binding = await deps.federation.findBinding(newSignIn.email, times);
  if (user === undefined || binding === undefined) return undefined;
  const { sid, shard } = session;
  const identity: Identity = { user, sid, shard, ...times, binding, from: "sign-in", beginning: session };
  const response = await finish(deps, request, identity, call);
  if (!(await session.start())) return undefined;
  const { methods } = newSignIn;
  const answer = withCookie(response, session.cookie);
  return methods?.includes("pwd") === true ? answer : rememberWithoutPassword(deps, call, answer, user, methods);
}
