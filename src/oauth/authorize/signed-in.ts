/**
 * Where a sign-in comes back to, at our form or at a provider. `request` is the authorization request that it was asked
 * for, form-encoded; it is checked again from scratch, since it may have lain around for minutes.
 */
import type { AnyCall, OAuthContext } from "../context.ts";
import type { FederationFailure } from "../federation/failure.ts";
import { withCookie } from "../sign-in/browser.ts";
import { startSession } from "../sign-in/sessions.ts";
import { refusedAnswer } from "./answer.ts";
import { readRequest } from "./authorize.ts";
import { conclude } from "./conclude.ts";
import { refused } from "./failure.ts";
import type { AuthorizationRequest } from "./request.ts";

/** A provider vouched for the user: a session begins, and the request goes on. */
export async function goOnSignedIn(
  call: AnyCall,
  { email, provider, request }: { readonly email: string; readonly provider: string; readonly request: string },
  context: OAuthContext,
): Promise<Response> {
  const reason = `user ${email} is unknown or disabled`;
  const checked = await readRequest(call, new URLSearchParams(request), context);
  if (!checked.ok) return checked.error;
  return (
    (await enter(checked.value, { email, provider }, call, context)) ??
    refusedAnswer(checked.value, refused("access_denied", "The user may not sign in here.", reason), call, context)
  );
}

/** A provider vouched for nobody: the client is told. */
export async function signInFailed(
  call: AnyCall,
  { request, failure }: { readonly request: string; readonly failure: FederationFailure },
  context: OAuthContext,
): Promise<Response> {
  const checked = await readRequest(call, new URLSearchParams(request), context);
  if (!checked.ok) return checked.error;
  const { error, reason } = failure;
  return refusedAnswer(checked.value, refused(error, "The sign-in did not succeed.", reason), call, context);
}

/** Begins a session for who has just signed in. Undefined: there is no such user, or none who may sign in. */
export async function enter(
  request: AuthorizationRequest,
  who: { readonly email: string; readonly provider: string },
  call: AnyCall,
  context: OAuthContext,
): Promise<Response | undefined> {
  const session = await startSession(call, who, context);
  const user = session === undefined ? undefined : await context.users.find(who.email);
  if (session === undefined || user === undefined) return undefined;
  const identity = { user, sid: session.sid, authenticatedAtMs: call.nowMs };
  return withCookie(await conclude(request, identity, call, context), session.cookie);
}
