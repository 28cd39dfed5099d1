import { EMAIL_MAX_CHARS, normalizeEmail } from "../../platform/text/email.ts";
import { readRequest } from "../authorize/authorize.ts";
import { MAX_CARRIED_CHARS } from "../authorize/request.ts";
import type { AnyCall } from "../model/call.ts";
import { type Parameters } from "../model/parameters.ts";
import { brandOfRequest } from "../pages/brand.ts";
import { pageContext } from "../pages/page.ts";
import { csrfToken, recognizeBrowser, verifyCsrfToken, withCookie } from "../sign-in/browser.ts";
import { sendLink } from "./link.ts";
import type { RecoveryDeps } from "./recovery.ts";
import { readForm, type FormCall } from "../sign-in/form.ts";

const ACTION = "forgot password";

/**
 * `POST /forgot`: from the sign-in page it asks for the address; from its own page (`send`) it answers that a link is
 * on its way, whatever the address.
 *
 *   sent from another site ──▶ 400 page
 *   the application's request is not valid any more ──▶ as `/authorize` would answer
 *   the form was made for another browser ──▶ the page again
 */
export async function forgotPassword(deps: RecoveryDeps, call: FormCall): Promise<Response> {
  const form = readForm(deps, call, ACTION);
  if (!form.ok) return form.error;
  const request = form.value.get("request") ?? "";
  const locales = await localesOf(deps, call, request);
  if (!locales.ok) return locales.response;
  const browser = recognizeBrowser(deps, call);
  const email = (form.value.get("email") ?? "").slice(0, EMAIL_MAX_CHARS);
  const isOwn = await verifyCsrfToken(deps, browser.key, form.value.get("csrf"));
  const isSent = isOwn && form.value.get("send") !== undefined && email !== "";
  const address = normalizeEmail(email);
  const page = deps.pages.forgot({
    ...pageContext(call, locales.value, await brandOfRequest(deps, request, call.nowMs)),
    action: `${deps.pagesBase(call)}/forgot`,
    hidden: { csrf: await csrfToken(deps, browser.key), send: "1", ...(request === "" ? {} : { request }) },
    email,
    isSent,
  });
  // Beside the answer, which is made: its time tells nobody whether the address has an account.
  if (isSent && address !== undefined)
    call.waitUntil(
      sendLink(deps, call, {
        purpose: "reset",
        email: address,
        browserKey: browser.key,
        request: request.length > MAX_CARRIED_CHARS ? "" : request,
        locales: locales.value,
        action: ACTION,
      }),
    );
  return withCookie(page, browser.cookie);
}

/** The language of the application's request, if there is one and it is still valid. */
async function localesOf(
  deps: RecoveryDeps,
  call: AnyCall,
  request: string,
): Promise<
  { readonly ok: true; readonly value: string | undefined } | { readonly ok: false; readonly response: Response }
> {
  if (request === "") return { ok: true, value: call.url.searchParams.get("ui_locales") ?? undefined };
  const checked = await readRequest(deps, call, new URLSearchParams(request));
  return checked.ok
    ? { ok: true, value: (checked.value.parameters satisfies Parameters).get("ui_locales") }
    : { ok: false, response: checked.error };
}
