/**
 * `GET` and `POST /authorize`: the browser brings a client's request and returns to the client with a code, tokens or
 * an error.
 *
 *   request ──parse──▶ client and redirect URI ──checks──▶ valid ──identify──▶ user known ──finish──▶ response
 *      │                        │                            │                    │                      │
 *      ▼                        ▼                            ▼                    ▼                      ▼
 *   400 page          redirect with an error       sign-in page, or a     chooser or consent page
 *                     (response)                   provider (prompt)      (tenant-chooser, consent)
 *
 * Each word is a file. The server keeps no pending request: the forms of these pages and a provider's response carry
 * it, and each step checks it again. After a sign-in the request continues in `resume.ts`.
 */
import { err, ok, type Result } from "../../platform/model/result.ts";
import type { AnyCall } from "../model/call.ts";
import { readAuthorizationParameters, type Parameters } from "../model/parameters.ts";
import { redirect, withParameters } from "../model/redirect.ts";
import { refusedPage, type PageRefusal } from "../pages/page.ts";
import { readCookie, fetchSite } from "../sign-in/browser.ts";
import { findSession } from "../sign-in/sessions.ts";
import { checkRequest } from "./protocol/checks.ts";
import type { AuthorizeDeps } from "./protocol/deps.ts";
import { finish } from "./finish.ts";
import { readHint, identify } from "./identify.ts";
import { parseRequest } from "./protocol/parse.ts";
import { promptSignIn } from "./prompt.ts";
import { openPushed } from "./pushed/pushed.ts";
import {
  MAX_CARRIED_CHARS,
  ofAddress,
  toParametersWithoutHint,
  type AuthorizationRequest,
} from "./protocol/request.ts";
import { refusedAnswer } from "./protocol/response.ts";
import { readForm, type FormCall } from "../sign-in/form.ts";

/** `parameters`: the query of a GET, the form of a POST. */
export async function authorize(deps: AuthorizeDeps, call: AnyCall, parameters: URLSearchParams): Promise<Response> {
  const checked = await readRequest(deps, call, parameters);
  if (!checked.ok) return checked.error;
  const session = await findSession(deps, call);
  const hint = await readHint(deps, checked.value, session, call);
  const request = { ...checked.value, expectedUser: hint?.expectedUser ?? checked.value.expectedUser };
  const identity = identify(request, { hint, session }, call.nowMs);
  if (identity.ok) return finish(deps, request, identity.value, call);
  return (await retryByGet(deps, request, call)) ?? promptSignIn(deps, request, identity.error, call);
}

/** Returns the checked request, or the response that reports its error. */
export async function readRequest(
  deps: AuthorizeDeps,
  call: AnyCall,
  parameters: URLSearchParams,
): Promise<Result<AuthorizationRequest, Response>> {
  const refuse = (refusal: PageRefusal) =>
    err(refusedPage(deps, call, "authorize", { ...refusal, uiLocales: parameters.get("ui_locales") }));
  const opened = await openPushed(deps, readAuthorizationParameters(parameters, deps.names), call);
  if (!opened.ok) return refuse({ ...opened.error, reason: opened.error.detail, clientId: "" });
  const draft = await parseRequest(deps, opened.value, call);
  if (!draft.ok) return refuse(draft.error);
  const checked = await checkRequest(deps, draft.value, call);
  return checked.ok ? checked : err(refusedAnswer(deps, draft.value, checked.error, call));
}

/**
 * Another site's form sends no cookies (SameSite=Lax), but a redirect to GET does, so a signed-in user is recognized.
 */
async function retryByGet(
  deps: AuthorizeDeps,
  request: AuthorizationRequest,
  call: AnyCall,
): Promise<Response | undefined> {
  const bringsCookies =
    fetchSite(call.request) !== "cross-site" || readCookie(call, "session", deps.names) !== undefined;
  if (call.request.method !== "POST" || bringsCookies || request.expectedUser === "unknown") return undefined;
  const address = withParameters(`${deps.pagesBase(call)}/authorize`, {
    query: ofAddress(request, await toParametersWithoutHint(deps, request)),
  });
  return address.length > MAX_CARRIED_CHARS ? undefined : redirect(303, address);
}

/** The form of a page on the way of an authorization request, which the form carries as a field. */
export interface CarriedForm {
  readonly form: Parameters;
  readonly request: AuthorizationRequest;
}

/** `action`: its name in the log. A request that is not valid any more is answered as `/authorize` would. */
export async function readCarriedForm(
  deps: AuthorizeDeps,
  call: FormCall,
  action: string,
): Promise<Result<CarriedForm, Response>> {
  const form = readForm(deps, call, action);
  if (!form.ok) return form;
  const text = form.value.get("request");
  if (text === undefined) return err(refuseForm(deps, call, action, "request is missing."));
  const request = await readRequest(deps, call, new URLSearchParams(text));
  return request.ok ? ok({ form: form.value, request: request.value }) : request;
}

/** A 400 page. `detail`: what is wrong with the form, for the person and the log. */
export const refuseForm = (deps: AuthorizeDeps, call: FormCall, action: string, detail: string): Response =>
  refusedPage(deps, call, action, { detail, reason: detail, clientId: "" });
