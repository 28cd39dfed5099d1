import { EMAIL_MAX_CHARS, normalizeEmail } from "../../platform/email.ts";
import { toHex } from "../../platform/encoding.ts";
import { sha256Hex } from "../../platform/hash.ts";
import { networkOf } from "../../platform/ip-range.ts";
import { describeError } from "../../platform/log.ts";
import { randomSecret } from "../../platform/random.ts";
import { readRequest } from "../authorize/authorize.ts";
import { MAX_CARRIED_CHARS } from "../authorize/request.ts";
import type { AnyCall } from "../model/call.ts";
import { readParameters, type Parameters } from "../model/parameters.ts";
import { withParameters } from "../model/redirect.ts";
import { pageContext, refusedPage } from "../pages/page.ts";
import {
  createMac,
  CROSS_SITE_FORM,
  csrfToken,
  isCrossSite,
  recognizeBrowser,
  verifyCsrfToken,
  withCookie,
  type Browser,
} from "../sign-in/browser.ts";
import { LINK_LIFE_MS, type RecoveryDeps } from "./recovery.ts";

const ACTION = "forgot password";
const NETWORK = "mail link network";

export type FormCall = AnyCall & { readonly body: URLSearchParams };

/**
 * `POST /forgot`: from the sign-in page it asks for the address; from its own page (`send`) it answers that a link is
 * on its way, whatever the address.
 *
 *   sent from another site ──▶ 400 page
 *   the application's request is not valid any more ──▶ as `/authorize` would answer
 *   the form was made for another browser ──▶ the page again
 */
export async function forgotPassword(deps: RecoveryDeps, call: FormCall): Promise<Response> {
  const refusePage = (detail: string, reason = detail): Response =>
    refusedPage(deps, call, ACTION, { detail, reason, clientId: "" });
  if (isCrossSite(call)) return refusePage(CROSS_SITE_FORM);
  const form = readParameters(call.body, deps.names);
  if (!form.ok) return refusePage(form.error.description, form.error.reason);
  const request = form.value.get("request") ?? "";
  const locales = await localesOf(deps, call, request);
  if (!locales.ok) return locales.response;
  const browser = recognizeBrowser(deps, call);
  const email = (form.value.get("email") ?? "").slice(0, EMAIL_MAX_CHARS);
  const isOwn = await verifyCsrfToken(deps, browser.key, form.value.get("csrf"));
  const isSent = isOwn && form.value.get("send") !== undefined && email !== "";
  if (isSent) call.waitUntil(sendLink(deps, call, { email, request, browser, locales: locales.value }));
  const page = deps.pages.forgot({
    ...pageContext(call, locales.value),
    action: `${deps.pagesBase(call)}/forgot`,
    hidden: { csrf: await csrfToken(deps, browser.key), send: "1", ...(request === "" ? {} : { request }) },
    email,
    isSent,
  });
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

/** Runs after the answer, so that its time tells nobody whether the address has an account. Never throws. */
async function sendLink(
  deps: RecoveryDeps,
  call: AnyCall,
  asked: {
    readonly email: string;
    readonly request: string;
    readonly browser: Browser;
    readonly locales: string | undefined;
  },
): Promise<void> {
  const { requestId, nowMs } = call;
  const email = normalizeEmail(asked.email);
  const base = deps.mailBase(call);
  if (email === undefined) return;
  if (base === undefined) return deps.log.error("no mail sent: PUBLIC_URL is not set", { requestId });
  const token = randomSecret(deps.random);
  const network = networkOf(call.request.headers.get("cf-connecting-ip") ?? "");
  try {
    const made = await deps.mailLinks.make({
      tokenHash: await sha256Hex(token),
      email,
      browserHash: await sha256Hex(asked.browser.key),
      networkHash: toHex(await createMac(deps.sealer, NETWORK, network)),
      request: asked.request.length > MAX_CARRIED_CHARS ? "" : asked.request,
      nowMs,
      expiresAtMs: nowMs + LINK_LIFE_MS,
    });
    const about = { atMs: nowMs, requestId, actor: "", action: ACTION, subject: `users/${email}` };
    if (!made) {
      const reason = "no such user with a password, or too many links within an hour";
      return await deps.audit.note({ ...about, outcome: "refused", reason });
    }
    const link = withParameters(`${base}/reset`, { query: { token } });
    await deps.sendMail(deps.mails.reset({ ...pageContext(call, asked.locales), email, link, base }));
    await deps.audit.note({ ...about, outcome: "done", reason: "a link was sent" });
  } catch (thrown) {
    deps.log.error("mail not sent", { requestId, user: email, error: describeError(thrown) });
  }
}
