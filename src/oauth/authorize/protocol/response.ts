import { decodeJwt } from "jose";
import type { AnyCall } from "../../model/call.ts";
import { SILENT_FAILURES } from "../../model/provider-failure.ts";
import { redirect, redirectStatus, takesForms, withParameters } from "../../model/redirect.ts";
import { pageContext, shownName } from "../../pages/page.ts";
import { isCrossSite } from "../../sign-in/browser.ts";
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
 * RFC 6749 4.1.2.1 puts it there. An error of a client that nobody registered may be a page instead.
 */
export function refusedAnswer(deps: ResponseDeps, to: Recipient, failure: AuthorizeFailure, call: AnyCall): Response {
  const { error, reason } = failure;
  const actor = to.client.id;
  // With `prompt=none` clients probe often and then ask again with a page, so these failures are no audit entries.
  if ((SILENT_FAILURES as readonly string[]).includes(error))
    deps.log.info("authorize needs a page", { requestId: call.requestId, error, reason, actor });
  else deps.noteRefusal(call, "authorize", { error, reason, actor });
  const address = refusedAddress(deps, to, failure, call);
  if (!mayLeadAway(to, call)) return heldBack(deps, to, { detail: failure.description, address }, call);
  return address === undefined
    ? formPost(deps, to, refusedParameters(deps, to, failure, call), call)
    : redirect(redirectStatus(call), address);
}

/** The client's address with the error. Undefined if the client wants it by a form. */
export function refusedAddress(
  deps: ResponseDeps,
  to: Recipient,
  failure: AuthorizeFailure,
  call: AnyCall,
): string | undefined {
  if (isPosted(to)) return undefined;
  const parameters = refusedParameters(deps, to, failure, call);
  // FAPI 2.0 has only the code flow, and its clients read only the query.
  const fragment = to.client.isFapi === true ? {} : { fragment: parameters };
  const query = (to.parameters.get("response_type") ?? "").includes("token") ? {} : { query: parameters };
  return withParameters(to.redirectUri, { ...query, ...fragment });
}

const refusedParameters = (
  deps: ResponseDeps,
  to: Recipient,
  { error, description }: AuthorizeFailure,
  call: AnyCall,
): Readonly<Record<string, string>> => ({
  error,
  error_description: description,
  ...commonParameters(deps, to, call),
});

/**
 * Anybody can make a client that nobody registered, whose wrong request would lead people from the platform's address
 * to any site (RFC 9700 4.11.2). So it leads to a device only, or on from a form that the person has just sent here.
 */
const mayLeadAway = ({ client, redirectUri }: Recipient, call: AnyCall): boolean =>
  client.unregistered === undefined ||
  !redirectUri.startsWith("https:") ||
  (call.request.method === "POST" && !isCrossSite(call));

/** The error on a page, with a link to the client unless it wants a form. */
const heldBack = (
  deps: ResponseDeps,
  { parameters, client }: Recipient,
  { detail, address }: { readonly detail: string; readonly address: string | undefined },
  call: AnyCall,
): Response =>
  deps.pages.error({
    ...contextOf(parameters, call),
    status: 400,
    kind: "request",
    detail,
    back: address === undefined ? undefined : { href: address, clientName: shownName(client) },
  });

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
    ...contextOf(parameters, call),
    action: redirectUri,
    fields,
    clientName: shownName(client),
    formTargets: [redirectUri, ...client.redirectUris],
  });

const contextOf = (parameters: Recipient["parameters"], call: AnyCall) =>
  pageContext(call, parameters.repeated.includes("ui_locales") ? undefined : parameters.get("ui_locales"));

/** A state that was sent twice is left out. */
function commonParameters(deps: ResponseDeps, { parameters }: Recipient, call: AnyCall): Record<string, string> {
  const state = parameters.repeated.includes("state") ? undefined : parameters.get("state");
  return { ...(state === undefined ? {} : { state }), iss: deps.issuerFor(call).issuer };
}
