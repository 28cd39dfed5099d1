/**
 * Where a sign-in comes back to, at our form or at a provider. `request` is the authorization request that it was asked
 * for, form-encoded; it is checked again from scratch, since it may have lain around for minutes.
 */
import { timesOf } from "../model/auth-times.ts";
import type { AnyCall } from "../model/call.ts";
import type { FederationFailure } from "../model/provider-failure.ts";
import { withCookie } from "../sign-in/browser.ts";
import { startSession, type NewSignIn } from "../sign-in/sessions.ts";
import { readRequest } from "./authorize.ts";
import type { AuthorizeDeps } from "./deps.ts";
import { refused } from "./failure.ts";
import { conclude } from "./finish.ts";
import type { Identity } from "./identity.ts";
import { isMeant, type AuthorizationRequest } from "./request.ts";
import { refusedAnswer } from "./response.ts";

/** A provider vouched for the user: a session begins, and the request goes on. */
export async function goOnSignedIn(
  call: AnyCall,
  { who, request: text }: { readonly who: NewSignIn; readonly request: string },
  context: AuthorizeDeps,
): Promise<Response> {
  const checked = await readRequest(call, new URLSearchParams(text), context);
  if (!checked.ok) return checked.error;
  const request = checked.value;
  if (!isMeant(request, who.email)) return anotherThanMeant(request, who.email, call, context);
  const reason = `user ${who.email} is unknown or disabled`;
  return (
    (await enter(request, who, call, context)) ??
    refusedAnswer(request, refused("access_denied", "The user may not sign in here.", reason), call, context)
  );
}

/** A provider vouched for somebody, and the client means somebody else. */
export function anotherThanMeant(
  request: AuthorizationRequest,
  email: string,
  call: AnyCall,
  context: AuthorizeDeps,
): Response {
  const description = "Another user than the client means signed in.";
  return refusedAnswer(request, refused("login_required", description, `user ${email} signed in`), call, context);
}

/** A provider vouched for nobody: the client is told. */
export async function signInFailed(
  call: AnyCall,
  { request, failure }: { readonly request: string; readonly failure: FederationFailure },
  context: AuthorizeDeps,
): Promise<Response> {
  const checked = await readRequest(call, new URLSearchParams(request), context);
  if (!checked.ok) return checked.error;
  const { error, reason } = failure;
  return refusedAnswer(checked.value, refused(error, "The sign-in did not succeed.", reason), call, context);
}

/** Begins a session for who has just signed in. Undefined: there is no such user, or none who may sign in. */
export async function enter(
  request: AuthorizationRequest,
  who: NewSignIn,
  call: AnyCall,
  context: AuthorizeDeps,
): Promise<Response | undefined> {
  const session = await startSession(call, who, context);
  if (session === undefined) return undefined;
  const times = timesOf({ ...who, authenticatedAtMs: call.nowMs });
  const user = await context.users.find(who.email);
  const binding = await context.federation.bindingOf(who.email, times);
  if (user === undefined || binding === undefined) return undefined;
  const identity: Identity = { user, sid: session.sid, ...times, binding, from: "sign-in" };
  return withCookie(await conclude(request, identity, call, context), session.cookie);
}
