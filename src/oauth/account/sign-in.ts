import { EMAIL_MAX_CHARS } from "../../platform/email.ts";
import { DEFAULT_PROVIDER } from "../../platform/names.ts";
import { beginFederation } from "../federation/begin.ts";
import { FOR_ACCOUNT } from "../federation/pending.ts";
import { isBoundToTenants } from "../model/binding.ts";
import type { AnyCall } from "../model/call.ts";
import { readParameters } from "../model/form.ts";
import { redirect, statusOf } from "../model/redirect.ts";
import { pageContext } from "../pages/page.ts";
import type { SignInFault } from "../pages/port.ts";
import {
  csrfToken,
  isFromElsewhere,
  isOwnForm,
  knowBrowser,
  readCookie,
  withCookie,
  FROM_ELSEWHERE,
} from "../sign-in/browser.ts";
import { rememberDevice, signInHere } from "../sign-in/device.ts";
import { startSession, type NewSignIn } from "../sign-in/sessions.ts";
import type { AccountDeps } from "./deps.ts";
import { accountAddress, readNotice, refusedAtAccount, uiLocalesOf } from "./notice.ts";

const ACTION = "sign in to the account";

/** The form for somebody who is not signed in. It leads back to the page and nowhere else. */
export async function accountSignInPage(
  call: AnyCall,
  shown: { readonly email: string; readonly fault: SignInFault | undefined },
  context: AccountDeps,
): Promise<Response> {
  const browser = knowBrowser(call, context);
  const { notice, cookie } = readNotice(call, context);
  const page = context.pages.signIn({
    ...pageContext(call, uiLocalesOf(call)),
    status: shown.fault === undefined ? 200 : 400,
    action: accountAddress(call, "/sign-in"),
    hidden: { csrf: await csrfToken(browser.key, context) },
    email: shown.email.slice(0, EMAIL_MAX_CHARS),
    clientName: "",
    tenant: "",
    layout: "page",
    fault: shown.fault,
    notice: shown.fault === undefined ? notice : undefined,
    formTargets: [],
  });
  return withCookie(withCookie(page, browser.cookie), cookie);
}

/** `POST /account/sign-in`: as the form of the sign-in page (authorize/sign-in-form.ts), with no client behind it. */
export async function accountSignIn(
  call: AnyCall & { readonly body: URLSearchParams },
  context: AccountDeps,
): Promise<Response> {
  if (isFromElsewhere(call)) return refusedAtAccount(call, ACTION, { detail: FROM_ELSEWHERE }, context);
  const form = readParameters(call.body, context.names);
  if (!form.ok) {
    const { description: detail, reason } = form.error;
    return refusedAtAccount(call, ACTION, { detail, reason }, context);
  }
  const email = form.value.get("email") ?? "";
  if (!(await isOwnForm(readCookie(call, "browser", context.names), form.value.get("csrf"), context))) {
    const reason = "the form was not made for this browser";
    context.noteRefusal(call, ACTION, { error: "invalid_request", reason, actor: "" });
    return accountSignInPage(call, { email, fault: "stale" }, context);
  }
  const signedIn = await signInHere(email, form.value.get("password") ?? "", call, context);
  if (signedIn.kind !== "ok") return accountSignInPage(call, { email, fault: signedIn.kind }, context);
  const entered = await enter(call, { email: signedIn.email, provider: DEFAULT_PROVIDER }, context);
  return entered === undefined
    ? accountSignInPage(call, { email, fault: "wrong" }, context)
    : rememberDevice(call, entered, signedIn, context);
}

/** Sends the browser to sign in at another identity provider. */
export async function signInAtProvider(call: AnyCall, provider: string, context: AccountDeps): Promise<Response> {
  const browser = knowBrowser(call, context);
  const address = await beginFederation(provider, { request: FOR_ACCOUNT, browserKey: browser.key }, call, context);
  if (!address.ok) return accountSignInFailed(call, address.error, context);
  return withCookie(redirect(302, address.value.href), browser.cookie);
}

/** A provider vouched for the user. */
export async function enterAccount(call: AnyCall, who: NewSignIn, context: AccountDeps): Promise<Response> {
  const fail = (reason: string): Promise<Response> =>
    accountSignInFailed(call, { error: "access_denied", reason }, context);
  const provider = await context.federation.providers.find(who.provider, call.nowMs);
  if (provider !== undefined && isBoundToTenants(provider))
    return fail(`the identity provider ${who.provider} is bound to tenants`);
  return (await enter(call, who, context)) ?? fail(`user ${who.email} is unknown or disabled`);
}

/** A provider vouched for nobody, or could not be asked. */
export function accountSignInFailed(
  call: AnyCall,
  { error, reason }: { readonly error: string; readonly reason: string },
  context: AccountDeps,
): Promise<Response> {
  context.noteRefusal(call, ACTION, { error, reason, actor: "" });
  return accountSignInPage(call, { email: "", fault: "provider" }, context);
}

/** Undefined: there is no such user, or none who may sign in. */
async function enter(call: AnyCall, who: NewSignIn, context: AccountDeps): Promise<Response | undefined> {
  const session = await startSession(call, who, context);
  return session && withCookie(redirect(statusOf(call), accountAddress(call)), session.cookie);
}
