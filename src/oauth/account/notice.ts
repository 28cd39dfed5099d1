import type { AnyCall } from "../model/call.ts";
import { redirect, redirectStatus, withParameters } from "../model/redirect.ts";
import { refusedPage } from "../pages/page.ts";
import { ACCOUNT_NOTICES, type AccountNotice } from "../pages/views/account.ts";
import { readRawCookie, deleteCookie, setCookie, withCookie } from "../sign-in/browser.ts";
import type { AccountDeps } from "./deps.ts";

export const ACCOUNT_BASE = "/account";

/** An address of the page or of its forms, in the language of the current URL. */
export function accountAddress(call: Pick<AnyCall, "publicBase" | "url">, path = ""): string {
  const wish = requestedLocales(call);
  return withParameters(
    `${call.publicBase}${ACCOUNT_BASE}${path}`,
    wish === undefined ? {} : { query: { ui_locales: wish } },
  );
}

export const requestedLocales = ({ url }: Pick<AnyCall, "url">): string | undefined =>
  url.searchParams.get("ui_locales") ?? undefined;

/** 400 to a person who can only go back to the page. */
export const accountErrorPage = (
  deps: AccountDeps,
  call: AnyCall,
  action: string,
  { detail, reason = detail }: { readonly detail: string; readonly reason?: string },
): Response =>
  refusedPage(deps, call, action, { kind: "account", detail, reason, clientId: "", account: accountAddress(call) });

/**
 * Redirects to the page after a form, so a reload repeats nothing. A cookie carries the notice: in the URL, anybody
 * could forge one with a link.
 */
export function redirectToAccount(
  { names }: Pick<AccountDeps, "names">,
  call: AnyCall,
  notice: AccountNotice | undefined,
): Response {
  const cookie = notice === undefined ? undefined : setCookie(call, "notice", notice, names);
  return withCookie(redirect(redirectStatus(call), accountAddress(call)), cookie);
}

/** The result of the previous form, and the cookie that deletes it from the browser. */
export function readNotice(
  { names }: Pick<AccountDeps, "names">,
  call: AnyCall,
): { readonly notice: AccountNotice | undefined; readonly cookie: string | undefined } {
  const text = readRawCookie(call, "notice", names);
  const cookie = text === undefined ? undefined : deleteCookie(call, "notice", names);
  return { notice: ACCOUNT_NOTICES.find((known) => known === text), cookie };
}
