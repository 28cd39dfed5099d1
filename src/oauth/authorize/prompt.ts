import { EMAIL_MAX_CHARS } from "../../platform/email.ts";
import { LEGACY_PROVIDER } from "../../platform/names.ts";
import { beginFederation } from "../federation/begin.ts";
import { isLocal } from "../model/binding.ts";
import type { AnyCall } from "../model/call.ts";
import { redirect, statusOf } from "../model/redirect.ts";
import { pageContext } from "../pages/page.ts";
import type { SignInFault } from "../pages/port.ts";
import { csrfToken, knowBrowser, withCookie } from "../sign-in/browser.ts";
import type { AuthorizeDeps } from "./deps.ts";
import { refused } from "./failure.ts";
import type { Unidentified } from "./identify.ts";
import { formTargetsOf, MAX_CARRIED_CHARS, withoutHint, type AuthorizationRequest } from "./request.ts";
import { refusedAnswer } from "./response.ts";

/** The user has to sign in: at our page, at their own provider, or not at all where the client wants nothing shown. */
export async function askToSignIn(
  request: AuthorizationRequest,
  { email, reason }: Unidentified,
  call: AnyCall,
  context: AuthorizeDeps,
): Promise<Response> {
  const local = isLocal(request.provider);
  // Of a hint that nobody can read, nobody can say whether the provider's answer is about its user.
  if (request.prompt === "none" && (local || request.meant === "unknown"))
    return refusedAnswer(request, refused("login_required", "The user has to sign in.", reason), call, context);
  return local
    ? signInPage(request, { email, fault: undefined }, call, context)
    : sendToProvider(request, call, context);
}

/** The form, empty or with what was wrong with the last one. */
export async function signInPage(
  request: AuthorizationRequest,
  shown: { readonly email: string; readonly fault: SignInFault | undefined },
  call: AnyCall,
  context: AuthorizeDeps,
): Promise<Response> {
  const { given, client, provider, scopes } = request;
  const browser = knowBrowser(call, context);
  const page = context.pages.signIn({
    ...pageContext(call, given.get("ui_locales")),
    status: shown.fault === undefined ? 200 : 400,
    action: `${context.pagesOf(call)}/sign-in`,
    hidden: { request: await carried(request, context), csrf: await csrfToken(browser.key, context) },
    email: shown.email.slice(0, EMAIL_MAX_CHARS),
    clientName: client.name,
    tenant: scopes.tenant ?? "",
    layout: provider === LEGACY_PROVIDER && given.get("display") === "popup" ? "popup" : "page",
    fault: shown.fault,
    formTargets: formTargetsOf(request),
  });
  return withCookie(page, browser.cookie);
}

async function sendToProvider(request: AuthorizationRequest, call: AnyCall, context: AuthorizeDeps): Promise<Response> {
  const waiting = await carried(request, context);
  // It waits in the database, and anybody can send one.
  if (waiting.length > MAX_CARRIED_CHARS)
    return refusedAnswer(
      request,
      refused("invalid_request", "The request is too long for this provider."),
      call,
      context,
    );
  const browser = knowBrowser(call, context);
  const expected = typeof request.meant === "object" ? request.meant.email : undefined;
  const asked = { request: waiting, browserKey: browser.key, expected };
  const address = await beginFederation(request.provider, asked, call, context);
  if (!address.ok) {
    const { error, reason } = address.error;
    return refusedAnswer(request, refused(error, "The identity provider cannot be used.", reason), call, context);
  }
  return withCookie(redirect(statusOf(call), address.value.href), browser.cookie);
}

/** The request as it goes along to where the user signs in. */
const carried = async (request: AuthorizationRequest, context: AuthorizeDeps): Promise<string> =>
  new URLSearchParams(await withoutHint(request, context)).toString();
