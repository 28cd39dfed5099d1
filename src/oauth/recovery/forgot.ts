import { EMAIL_MAX_CHARS, normalizeEmail } from "../../platform/text/email.ts";
import { readRequest } from "../authorize/authorize.ts";
import { MAX_CARRIED_CHARS } from "../authorize/protocol/request.ts";
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
 * `POST /forgot`: shows the page that asks for the address. The form of that page has the field `send`. Its response
 * says that a link is on its way, for every address.
 *
 *   sent from another site ──▶ 400 page
 *   the application's request is not valid any more ──▶ the response of `/authorize` to it
 *   the form was made for another browser, or has no address ──▶ the page again
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
    ...pageContext(call, locales.value, await brandOfRequest(deps, request, call)),
    action: `${deps.pagesBase(call)}/forgot`,
    hidden: { csrf: await csrfToken(deps, browser.key), send: "1", ...(request === "" ? {} : { request }) },
    email,
    isSent,
  });
  // The link is made beside the response, so the time of the response does not tell whether the account exists.
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

/** Returns the languages of the application's request, or the response if the request is not valid any more. */
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
