import { err, ok, type Result } from "../../platform/model/result.ts";
import type { AnyCall } from "../model/call.ts";
import { readParameters } from "../model/parameters.ts";
import { isRegisteredRedirectUri, redirect, withParameters } from "../model/redirect.ts";
import { brandOfClient } from "../pages/brand.ts";
import { pageContext, refusedPage, type PageRefusal } from "../pages/page.ts";
import { readCookie, fetchSite, withCookie } from "../sign-in/browser.ts";
import { endBrowserSession } from "../sign-in/sessions.ts";
import { isSignedFor, readIdTokenHint } from "../tokens/id-token.ts";
import type { PageEndpointDeps } from "./deps.ts";

/**
 * `GET` and `POST /end_session` (OIDC RP-Initiated Logout): signs the browser out.
 *
 *   invalid input ──▶ 400 page, nothing changed
 *   a form of another site, which brings no cookie ──▶ 303 to this address, where the browser sends the cookie
 *   else ──▶ session ended; 302 to `post_logout_redirect_uri`, or a 200 page
 *
 * All parameters are optional, but `post_logout_redirect_uri` needs its client. Access and refresh tokens stay valid.
 * An ID token of the session is not accepted as a hint any more (authorize/identify.ts).
 */
export async function endSession(
  deps: PageEndpointDeps,
  call: AnyCall,
  parameters: URLSearchParams,
): Promise<Response> {
  const read = await readLogout(deps, call, parameters);
  if (!read.ok) {
    const refusal = { ...read.error, uiLocales: parameters.get("ui_locales") };
    return refusedPage(deps, call, "end session", refusal);
  }
  const logout = read.value;
  const { clientId, target, state, uiLocales } = logout;
  if (call.request.method === "POST" && fetchSite(call.request) === "cross-site" && !hasSession(deps, call))
    return redirect(303, logoutAddress(deps, logout, call));
  const cookie = await endBrowserSession(deps, call);
  deps.log.info("session ended", { requestId: call.requestId, clientId });
  const answer =
    target === undefined
      ? deps.pages.signedOut(pageContext(call, uiLocales, await brandOfClient(deps, clientId, call)))
      : redirect(302, withParameters(target, state === undefined ? {} : { query: { state } }));
  return withCookie(answer, cookie);
}

interface Logout {
  /** Undefined if the request names no client. */
  readonly clientId: string | undefined;
  /** The registered `post_logout_redirect_uri`. Undefined: the browser stays on a page. */
  readonly target: string | undefined;
  readonly state: string | undefined;
  readonly uiLocales: string | undefined;
}

async function readLogout(
  deps: PageEndpointDeps,
  call: AnyCall,
  source: URLSearchParams,
): Promise<Result<Logout, PageRefusal>> {
  const fail = (detail: string, reason = detail, clientId = ""): Result<never, PageRefusal> =>
    err({ detail, reason, clientId });
  const parameters = readParameters(source, deps.names);
  if (!parameters.ok) return fail(parameters.error.description, parameters.error.reason);
  const { get } = parameters.value;

  const token = get("id_token_hint");
  const { issuer } = deps.issuerFor(call);
  const hint = token === undefined ? undefined : await readIdTokenHint(token, issuer, deps.trust, call.nowMs);
  if (hint?.ok === false) return fail("id_token_hint is not an ID token of this service.", hint.error);
  const named = get("client_id") ?? hint?.value.clientId;
  const [target, state] = [get("post_logout_redirect_uri"), get("state")];
  // Invalid UTF-8 was replaced on reading, so the response could not return the same state.
  if (state?.includes("\ufffd")) return fail("state must be UTF-8.", undefined, named ?? "");
  if (named === undefined)
    return target === undefined
      ? ok({ clientId: undefined, target, state, uiLocales: get("ui_locales") })
      : fail("post_logout_redirect_uri needs client_id or id_token_hint.");
  if (hint !== undefined && hint.value.clientId !== named) return fail("id_token_hint was issued to another client.");
  const { client } = await deps.directory.find(named, undefined, call);
  if (client === undefined)
    return fail("client_id does not name a client.", `client ${named.slice(0, 64)} is unknown or disabled`);

  if (hint !== undefined && !isSignedFor(hint.value, client))
    return fail(
      "id_token_hint is not an ID token of this service.",
      "signed as no ID token of this client is",
      client.id,
    );

  const reason = `post_logout_redirect_uri ${target?.slice(0, 200)} is not registered`;
  if (target !== undefined && !isRegisteredRedirectUri(target, client.postLogoutRedirectUris))
    return fail("post_logout_redirect_uri is not registered for this client.", reason, client.id);
  return ok({ clientId: client.id, target, state, uiLocales: get("ui_locales") });
}

const hasSession = ({ names }: PageEndpointDeps, call: AnyCall): boolean =>
  readCookie(call, "session", names) !== undefined;

/**
 * This address with the same parameters, for a form of another site. Browsers send no cookie with such a form
 * (SameSite=Lax), but they do when they follow a redirect by GET. The ID token was checked and is left out, because it
 * must not be in a URL.
 */
function logoutAddress(deps: PageEndpointDeps, { clientId, target, state, uiLocales }: Logout, call: AnyCall): string {
  const parameters = { client_id: clientId, post_logout_redirect_uri: target, state, ui_locales: uiLocales };
  const query = Object.fromEntries(
    Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  return withParameters(`${deps.pagesBase(call)}/end_session`, { query });
}
