import { decodeJwt } from "jose";
import type { AnyCall } from "../../model/call.ts";
import { SILENT_FAILURES } from "../../model/provider-failure.ts";
import { redirect, redirectStatus, takesForms, withParameters } from "../../model/redirect.ts";
import { pageContext, shownName } from "../../pages/page.ts";
import type { AuthorizeDeps } from "./deps.ts";
import type { AuthorizeFailure } from "./failure.ts";
import { FLOWS, FORM_POST, type ParsedRequest, type Flow } from "./parse.ts";

type ResponseDeps = Pick<AuthorizeDeps, "issuerFor" | "log" | "noteRefusal" | "pages">;

/** The part of a request that a response to the client needs. */
export type Recipient = Pick<ParsedRequest, "parameters" | "client" | "redirectUri" | "flow">;

/** Sends the code or the tokens, plus `state` as it was sent and `iss` (RFC 9207). */
export function grantedAnswer(
  deps: ResponseDeps,
  to: Recipient & { readonly flow: Flow },
  values: Readonly<Record<string, string>>,
  call: AnyCall,
): Response {
  const parameters = { ...values, ...commonParameters(deps, to, call) };
  if (isPosted(to)) return formPost(deps, to, parameters, call);
  const place = FLOWS[to.flow].mode;
  return redirect(redirectStatus(call), withParameters(to.redirectUri, { [place]: parameters }));
}

/**
 * Sends the error, by a redirect in the fragment. It is in the query too unless the request asks for a token, since
 * RFC 6749 4.1.2.1 puts it there.
 */
export function refusedAnswer(deps: ResponseDeps, to: Recipient, failure: AuthorizeFailure, call: AnyCall): Response {
  const { error, description, reason } = failure;
  const actor = to.client.id;
  // With `prompt=none` clients probe often and then ask again with a page, so these failures are no audit entries.
  if ((SILENT_FAILURES as readonly string[]).includes(error))
    deps.log.info("authorize needs a page", { requestId: call.requestId, error, reason, actor });
  else deps.noteRefusal(call, "authorize", { error, reason, actor });
  const parameters = { error, error_description: description, ...commonParameters(deps, to, call) };
  if (isPosted(to)) return formPost(deps, to, parameters, call);
  // FAPI 2.0 has only the code flow, and its clients read only the query.
  const fragment = to.client.isFapi === true ? {} : { fragment: parameters };
  const query = (to.parameters.get("response_type") ?? "").includes("token") ? {} : { query: parameters };
  return redirect(redirectStatus(call), withParameters(to.redirectUri, { ...query, ...fragment }));
}

const isPosted = ({ parameters, redirectUri }: Recipient): boolean =>
  (parameters.get("response_mode") ?? refusedMode(parameters.get("request"))) === FORM_POST &&
  !parameters.repeated.includes("response_mode") &&
  takesForms(redirectUri);

/** The response mode in a request object. The object is refused, but only it may say where the client listens. */
function refusedMode(requestObject: string | undefined): unknown {
  if (requestObject === undefined) return undefined;
  try {
    return decodeJwt(requestObject)["response_mode"];
  } catch {
    return undefined;
  }
}

const formPost = (
  deps: ResponseDeps,
  { parameters, client, redirectUri }: Recipient,
  fields: Readonly<Record<string, string>>,
  call: AnyCall,
): Response =>
  deps.pages.formPost({
    ...pageContext(call, parameters.repeated.includes("ui_locales") ? undefined : parameters.get("ui_locales")),
    action: redirectUri,
    fields,
    clientName: shownName(client),
    formTargets: [redirectUri, ...client.redirectUris],
  });

/** A state that was sent twice is left out. */
function commonParameters(deps: ResponseDeps, { parameters }: Recipient, call: AnyCall): Record<string, string> {
  const state = parameters.repeated.includes("state") ? undefined : parameters.get("state");
  return { ...(state === undefined ? {} : { state }), iss: deps.issuerFor(call).issuer };
}
