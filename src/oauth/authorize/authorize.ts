/**
 * `GET` and `POST /authorize` (specification; contract 2.4): the browser comes with a client's request, and goes back to
 * the client with a code, tokens or an error.
 *
 *   request ──parse──▶ who asks, where to answer ──checks──▶ checked ──identify──▶ user known ──finish──▶ granted ──▶ issued
 *      │                        │                               │                    │                      │
 *      ▼                        ▼                               ▼                    ▼                      ▼
 *   400 page          back with an error           sign-in page, or a     chooser, where several   consent page, where a
 *                     (response)                   provider (prompt)      tenants could be meant   stranger asks (consent,
 *                                                                         (tenant-chooser)         consent-form)
 *
 * Each word is a file. No request waits here: the forms of these pages and a provider's answer bring it along, and
 * it is checked from scratch each time. Whoever signed in comes back in by `resume.ts`.
 */
import { err, type Result } from "../../platform/result.ts";
import type { AnyCall } from "../model/call.ts";
import { readGiven } from "../model/parameters.ts";
import { redirect, withParameters } from "../model/redirect.ts";
import { refusedPage } from "../pages/page.ts";
import { readCookie, siteOf } from "../sign-in/browser.ts";
import { findSession } from "../sign-in/sessions.ts";
import { checkRequest } from "./checks.ts";
import type { AuthorizeDeps } from "./deps.ts";
import { conclude } from "./finish.ts";
import { readHint } from "./hint.ts";
import { identify } from "./identify.ts";
import { readDraft } from "./parse.ts";
import { askToSignIn } from "./prompt.ts";
import { MAX_CARRIED_CHARS, withoutHint, type AuthorizationRequest } from "./request.ts";
import { refusedAnswer } from "./response.ts";

/** `parameters`: the query of a GET, the form of a POST. */
export async function authorize(call: AnyCall, parameters: URLSearchParams, context: AuthorizeDeps): Promise<Response> {
  const checked = await readRequest(call, parameters, context);
  if (!checked.ok) return checked.error;
  const session = await findSession(call, context);
  const hint = await readHint(checked.value, session, call, context);
  const request = { ...checked.value, meant: hint?.meant ?? checked.value.meant };
  const identity = identify(request, { hint, session }, call.nowMs);
  if (identity.ok) return conclude(request, identity.value, call, context);
  return (await comeByGet(request, call, context)) ?? askToSignIn(request, identity.error, call, context);
}

/** The checked request, or the answer that says what is wrong with it. */
export async function readRequest(
  call: AnyCall,
  parameters: URLSearchParams,
  context: AuthorizeDeps,
): Promise<Result<AuthorizationRequest, Response>> {
  const draft = await readDraft(readGiven(parameters, context.names), call, context);
  if (!draft.ok) {
    const refusal = { ...draft.error, uiLocales: parameters.get("ui_locales") };
    return err(refusedPage(call, "authorize", refusal, context));
  }
  const checked = await checkRequest(draft.value, call, context);
  return checked.ok ? checked : err(refusedAnswer(draft.value, checked.error, call, context));
}

/** Another site's form brings no cookies (SameSite=Lax), a GET that follows does: perhaps the user is signed in. */
async function comeByGet(
  request: AuthorizationRequest,
  call: AnyCall,
  context: AuthorizeDeps,
): Promise<Response | undefined> {
  const bringsCookies =
    siteOf(call.request) !== "cross-site" || readCookie(call, "session", context.names) !== undefined;
  if (call.request.method !== "POST" || bringsCookies || request.meant === "unknown") return undefined;
  const address = withParameters(`${context.pagesOf(call)}/authorize`, {
    query: await withoutHint(request, context),
  });
  return address.length > MAX_CARRIED_CHARS ? undefined : redirect(303, address);
}
