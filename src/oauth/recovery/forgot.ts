import { EMAIL_MAX_CHARS, normalizeEmail } from "../../platform/text/email.ts";
import type { Names } from "../../platform/model/names.ts";
import { readRequest } from "../authorize/authorize.ts";
import { MAX_CARRIED_CHARS } from "../authorize/protocol/request.ts";
import type { AnyCall } from "../model/call.ts";
import { redirect } from "../model/redirect.ts";
import { brandOfRequest } from "../pages/brand.ts";
import { pageContext } from "../pages/page.ts";
import { csrfToken, recognizeBrowser, verifyCsrfToken, withCookie, type Browser } from "../sign-in/browser.ts";
import { sendLink } from "./link.ts";
import type { RecoveryDeps } from "./recovery.ts";
import { readForm, type FormCall } from "../sign-in/form.ts";

/**
 * The pages for a forgotten password.
 *
 *   sign-in page ──POST /forgot──303──▶ GET /forgot: asks for the address
 *                                             └──POST /forgot with `send`──303──▶ GET /forgot: "look at your mail"
 *
 * Each page has an address of its own, so a browser goes back to it and loads it again. The address has the request of
 * the application, and what else the page shows. That is sealed for this browser, so that no history or log tells
 * the e-mail of somebody.
 */
const ACTION = "forgot password";
const shownParameter = (names: Names): string => names.parameter("forgot");

interface Shown {
  /** As typed. May be empty. */
  readonly email: string;
  readonly isSent: boolean;
}

/** `GET /forgot`: asks for the address, or says that a link is on its way. */
export async function showForgot(deps: RecoveryDeps, call: AnyCall): Promise<Response> {
  const query = new URLSearchParams(call.url.search);
  const sealed = query.get(shownParameter(deps.names)) ?? "";
  query.delete(shownParameter(deps.names));
  const request = query.has("client_id") ? query.toString() : "";
  const locales = await localesOf(deps, call, request);
  if (!locales.ok) return locales.response;
  const browser = recognizeBrowser(deps, call);
  const text = await deps.sealer.open(sealed, sealContext(browser));
  const shown = text === undefined ? { email: "", isSent: false } : (JSON.parse(text) as Shown);
  return forgotPage(deps, call, { request, locales: locales.value, browser, ...shown });
}

/**
 * `POST /forgot`: leads to the page that asks for the address. The form of that page has the field `send`, and leads to
 * the page that says that a link is on its way, for every address.
 *
 *   sent from another site ──▶ 400 page
 *   the application's request is not valid any more ──▶ the response of `/authorize` to it
 *   the form was made for another browser, or has no address ──▶ to the page that asks
 *   the address of the page would be too long ──▶ the page itself
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
  const shown = { email, isSent: isOwn && form.value.get("send") !== undefined && email !== "" };
  const address = normalizeEmail(email);
  // The link is made beside the response, so the time of the response does not tell whether the account exists.
  if (shown.isSent && address !== undefined)
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
  const kept = new URLSearchParams(request);
  // The platform has the parameters of a pushed request, and no address shows the person that its client expects.
  if (kept.has("request_uri")) kept.delete("login_hint");
  if (request === "" && locales.value !== undefined) kept.set("ui_locales", locales.value);
  kept.set(shownParameter(deps.names), await deps.sealer.seal(JSON.stringify(shown), sealContext(browser)));
  const page = `${deps.pagesBase(call)}/forgot?${kept.toString()}`;
  return page.length > MAX_CARRIED_CHARS
    ? forgotPage(deps, call, { request, locales: locales.value, browser, ...shown })
    : withCookie(redirect(303, page), browser.cookie);
}

const sealContext = ({ key }: Browser): string => `forgotten password in the browser ${key}`;

async function forgotPage(
  deps: RecoveryDeps,
  call: AnyCall,
  view: Shown & { readonly request: string; readonly locales: string | undefined; readonly browser: Browser },
): Promise<Response> {
  const { request, locales, browser, email, isSent } = view;
  const page = deps.pages.forgot({
    ...pageContext(call, locales, await brandOfRequest(deps, request, call)),
    action: `${deps.pagesBase(call)}/forgot`,
    hidden: { csrf: await csrfToken(deps, browser.key), send: "1", ...(request === "" ? {} : { request }) },
    email,
    isSent,
  });
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
    ? { ok: true, value: checked.value.parameters.get("ui_locales") }
    : { ok: false, response: checked.error };
}
