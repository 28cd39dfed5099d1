import { EMAIL_MAX_CHARS } from "../../platform/text/email.ts";
import { DEFAULT_PROVIDER } from "../../platform/model/names.ts";
import { admitsStranger } from "../authorize/kept.ts";
import type { SignInFormContent } from "../authorize/prompt.ts";
import { beginFederation } from "../federation/begin.ts";
import { ADDRESS_STEP, providerOf } from "../federation/discovery.ts";
import { FOR_ACCOUNT } from "../federation/pending.ts";
import { isBoundToTenants, isLocal } from "../model/binding.ts";
import type { AnyCall } from "../model/call.ts";
import { BY_PASSKEY, BY_PASSWORD } from "../model/methods.ts";
import { readParameters } from "../model/parameters.ts";
import { redirect, redirectStatus } from "../model/redirect.ts";
import { askForPasskey, checkPasskey, type Answered } from "../passkeys/check.ts";
import { pageContext } from "../pages/page.ts";
import {
  csrfToken,
  isCrossSite,
  verifyCsrfToken,
  recognizeBrowser,
  readCookie,
  withCookie,
  CROSS_SITE_FORM,
} from "../sign-in/browser.ts";
import { rememberDevice, rememberWithoutPassword, signInByPassword } from "../sign-in/device.ts";
import { startSession, type NewSignIn, type Session } from "../sign-in/sessions.ts";
import type { AccountDeps } from "./deps.ts";
import { accountAddress, readNotice, accountErrorPage, requestedLocales } from "./notice.ts";

const ACTION = "sign in to the account";

/** The sign-in form of the account page. It leads back to that page only. */
export async function accountSignInPage(deps: AccountDeps, call: AnyCall, form: SignInFormContent): Promise<Response> {
  const { byDomain = [] } = form;
  const browser = recognizeBrowser(deps, call);
  const { notice, cookie } = readNotice(deps, call);
  const page = deps.pages.signIn({
    ...pageContext(call, requestedLocales(call)),
    status: form.fault === undefined ? 200 : 400,
    action: accountAddress(call, "/sign-in"),
    hidden: {
      csrf: await csrfToken(deps, browser.key),
      ...(byDomain.length === 0 ? {} : { step: ADDRESS_STEP }),
    },
    byPassword: byDomain.length === 0 ? undefined : addressWith(deps, call, DEFAULT_PROVIDER),
    email: form.email.slice(0, EMAIL_MAX_CHARS),
    clientName: "",
    // Only people of our own directory sign in again by this form. `signInAgain` redirects others to their provider.
    providers: form.fault === "again" ? [] : await otherProviders(deps, call),
    tenant: "",
    layout: "page",
    fault: form.fault,
    notice: form.fault === undefined ? notice : undefined,
    forgot: deps.forgotAddress(call),
    passkey: await askForPasskey(deps, call, "sign in", browser.key),
    formTargets: byDomain.map(({ issuer }) => issuer),
  });
  return withCookie(withCookie(page, browser.cookie), cookie);
}

/** The page for a provider; for our own, the form for the password. */
function addressWith({ names }: AccountDeps, call: AnyCall, provider: string): string {
  const address = new URL(accountAddress(call));
  address.searchParams.set(names.parameter("id_provider"), provider);
  return address.href;
}

async function otherProviders(deps: AccountDeps, call: AnyCall) {
  const buttons = await deps.federation.providers.buttonsFor(undefined, call.nowMs);
  return buttons.map(({ id, button }) => ({ name: button, href: addressWith(deps, call, id) }));
}

/** The first form of the page. It asks for the address alone if some provider is chosen by its domain. */
export const accountSignInForm = async (deps: AccountDeps, call: AnyCall): Promise<Response> =>
  accountSignInPage(deps, call, { email: "", fault: undefined, byDomain: await providersByDomain(deps, call) });

const providersByDomain = ({ federation }: AccountDeps, call: AnyCall) =>
  federation.providers.byDomain(undefined, call.nowMs);

/** `POST /account/sign-in`: like the sign-in form for a client (authorize/sign-in-form.ts), without a client. */
export async function accountSignIn(
  deps: AccountDeps,
  call: AnyCall & { readonly body: URLSearchParams },
): Promise<Response> {
  if (isCrossSite(call)) return accountErrorPage(deps, call, ACTION, { detail: CROSS_SITE_FORM });
  const form = readParameters(call.body, deps.names);
  if (!form.ok) {
    const { description: detail, reason } = form.error;
    return accountErrorPage(deps, call, ACTION, { detail, reason });
  }
  const email = form.value.get("email") ?? "";
  const asksAddress = form.value.get("step") === ADDRESS_STEP;
  const byDomain = asksAddress ? await providersByDomain(deps, call) : [];
  if (!(await verifyCsrfToken(deps, readCookie(call, "browser", deps.names), form.value.get("csrf")))) {
    const reason = "the form was not made for this browser";
    deps.noteRefusal(call, ACTION, { error: "invalid_request", reason, actor: "" });
    return accountSignInPage(deps, call, { email, fault: "stale", byDomain });
  }
  const credential = form.value.get("credential") ?? "";
  if (credential !== "")
    return signInByPasskey(deps, call, { challenge: form.value.get("challenge") ?? "", credential });
  if (asksAddress) {
    const provider = providerOf(email, byDomain);
    if (provider === undefined) return accountSignInPage(deps, call, { email, fault: undefined });
    return strangerToProvider(deps, call, provider.id, email);
  }
  const signedIn = await signInByPassword(deps, email, form.value.get("password") ?? "", call);
  if (signedIn.kind !== "ok") return accountSignInPage(deps, call, { email, fault: signedIn.kind });
  const response = await startAndRedirect(deps, call, {
    email: signedIn.email,
    provider: DEFAULT_PROVIDER,
    methods: BY_PASSWORD,
  });
  return response === undefined
    ? accountSignInPage(deps, call, { email, fault: "wrong" })
    : rememberDevice(deps, call, response, signedIn);
}

const PASSKEY_FAULT = { wrong: "passkey", blocked: "blocked", stale: "stale" } as const;

/** As on the sign-in page for a client (authorize/passkey.ts). */
async function signInByPasskey(deps: AccountDeps, call: AnyCall, answered: Answered): Promise<Response> {
  const key = readCookie(call, "browser", deps.names);
  const asked = { purpose: "sign in", key, action: `${ACTION} by passkey` } as const;
  const checked = await checkPasskey(deps, call, answered, asked);
  if (checked.kind !== "ok") return accountSignInPage(deps, call, { email: "", fault: PASSKEY_FAULT[checked.kind] });
  const { user } = checked;
  const newSignIn = { email: user.email, provider: DEFAULT_PROVIDER, methods: BY_PASSKEY };
  const response = await startAndRedirect(deps, call, newSignIn);
  return response === undefined
    ? accountSignInPage(deps, call, { email: "", fault: "passkey" })
    : rememberWithoutPassword(deps, call, response, user, BY_PASSKEY);
}

/** Redirects the browser to another identity provider. */
async function toProvider(deps: AccountDeps, call: AnyCall, provider: string, expected?: string): Promise<Response> {
  const browser = recognizeBrowser(deps, call);
  const address = await beginFederation(
    deps,
    provider,
    { request: FOR_ACCOUNT, browserKey: browser.key, expected },
    call,
  );
  if (!address.ok) return refuseAccountSignIn(deps, call, address.error);
  return withCookie(redirect(redirectStatus(call), address.value.href), browser.cookie);
}

/** The same for somebody who is not known yet: the sign-in is kept in the database, and anybody can begin one. */
export async function strangerToProvider(
  deps: AccountDeps,
  call: AnyCall,
  provider: string,
  expected?: string,
): Promise<Response> {
  if (await admitsStranger(deps, call)) return toProvider(deps, call, provider, expected);
  const reason = "too many sign-ins begin in this network";
  deps.noteRefusal(call, ACTION, { error: "temporarily_unavailable", reason, actor: "" });
  return accountSignInPage(deps, call, { email: expected ?? "", fault: "busy" });
}

/** Before a change of how the person signs in, if the sign-in is not recent. */
export const signInAgain = (deps: AccountDeps, call: AnyCall, { user, provider }: Session): Promise<Response> =>
  isLocal(provider)
    ? accountSignInPage(deps, call, { email: user.email, fault: "again" })
    : toProvider(deps, call, provider);

/** A provider vouched for the user. */
export async function enterAccount(deps: AccountDeps, call: AnyCall, newSignIn: NewSignIn): Promise<Response> {
  const fail = (reason: string): Promise<Response> =>
    refuseAccountSignIn(deps, call, { error: "access_denied", reason });
  const provider = await deps.federation.providers.find(newSignIn.provider, call.nowMs);
  if (provider !== undefined && isBoundToTenants(provider))
    return fail(`the identity provider ${newSignIn.provider} is bound to tenants`);
  const user = await deps.users.find(newSignIn.email);
  const response = user && (await startAndRedirect(deps, call, newSignIn));
  if (user === undefined || response === undefined) return fail(`user ${newSignIn.email} is unknown or disabled`);
  const { methods } = newSignIn;
  return methods?.includes("pwd") === true ? response : rememberWithoutPassword(deps, call, response, user, methods);
}

/** A provider vouched for nobody, or did not respond. */
export function refuseAccountSignIn(
  deps: AccountDeps,
  call: AnyCall,
  { error, reason }: { readonly error: string; readonly reason: string },
): Promise<Response> {
  deps.noteRefusal(call, ACTION, { error, reason, actor: "" });
  return accountSignInPage(deps, call, { email: "", fault: "provider" });
}

/** Undefined if the user does not exist or may not sign in. */
async function startAndRedirect(deps: AccountDeps, call: AnyCall, newSignIn: NewSignIn): Promise<Response | undefined> {
  const session = await startSession(deps, call, newSignIn);
  return session && withCookie(redirect(redirectStatus(call), accountAddress(call)), session.cookie);
}
