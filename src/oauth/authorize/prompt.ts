import { EMAIL_MAX_CHARS } from "../../platform/text/email.ts";
import { DEFAULT_PROVIDER, LEGACY_PROVIDER } from "../../platform/model/names.ts";
import { beginFederation } from "../federation/begin.ts";
import { ADDRESS_STEP, providerOf } from "../federation/discovery.ts";
import type { OfferedProvider } from "../federation/federation-store.ts";
import { isLocal } from "../model/binding.ts";
import type { AnyCall } from "../model/call.ts";
import { BY_PASSKEY } from "../model/methods.ts";
import { withValues } from "../model/parameters.ts";
import { askForPasskey } from "../passkeys/check.ts";
import { redirect, redirectStatus } from "../model/redirect.ts";
import { pageContext, shownName } from "../pages/page.ts";
import type { SignInFault } from "../pages/views/sign-in.ts";
import { csrfToken, recognizeBrowser, withCookie } from "../sign-in/browser.ts";
import { isUnmet } from "./protocol/acr.ts";
import type { AuthorizeDeps } from "./protocol/deps.ts";
import { refused } from "./protocol/failure.ts";
import type { Unidentified } from "./identify.ts";
import { admitsStranger, TOO_MANY_OF_NETWORK } from "./kept.ts";
import { addressWithProvider } from "./outside-provider.ts";
import {
  formTargets,
  MAX_CARRIED_CHARS,
  toParametersWithoutHint,
  type AuthorizationRequest,
} from "./protocol/request.ts";
import { refusedAnswer } from "./protocol/response.ts";

/**
 * Asks the user to sign in, here or at the provider that the client named. With `prompt=none` the client gets an error.
 */
export async function promptSignIn(
  deps: AuthorizeDeps,
  request: AuthorizationRequest,
  { email, reason }: Unidentified,
  call: AnyCall,
): Promise<Response> {
  const local = isLocal(request.provider);
  // With an unreadable hint, the provider's user could not be compared with the expected one.
  if (request.prompt === "none" && (local || request.expectedUser === "unknown"))
    return refusedAnswer(deps, request, refused("login_required", "The user has to sign in.", reason), call);
  return local ? signInForm(deps, request, email, call) : sendToProvider(deps, request, call);
}

/** The form: only for the address if that may lead to a provider, else for the password too. */
async function signInForm(
  deps: AuthorizeDeps,
  request: AuthorizationRequest,
  email: string,
  call: AnyCall,
): Promise<Response> {
  const byDomain = await providersByDomain(deps, request, call);
  return signInPage(deps, request, { email, fault: undefined, byDomain }, call);
}

/** The providers bound to domains. Empty if the request names a provider, even our own. */
export const providersByDomain = async (
  deps: AuthorizeDeps,
  { parameters, scopes, client }: AuthorizationRequest,
  call: AnyCall,
): Promise<readonly OfferedProvider[]> =>
  parameters.get(deps.names.parameter("id_provider")) === undefined
    ? deps.federation.providers.byDomain(scopes.tenant ?? client.tenant, call.nowMs)
    : [];

/** Leads from the form for the address to the provider of its domain, or to the form for the password. */
export async function discoverProvider(
  deps: AuthorizeDeps,
  request: AuthorizationRequest,
  email: string,
  call: AnyCall,
): Promise<Response> {
  const provider = providerOf(email, await providersByDomain(deps, request, call));
  if (provider === undefined) return signInPage(deps, request, { email, fault: undefined }, call);
  // No address of ours shows the person, and the pending sign-in keeps the choice.
  const chosen = { [deps.names.parameter("id_provider")]: provider.id, login_hint: email };
  const parameters = withValues(request.parameters, chosen);
  return sendToProvider(deps, { ...request, provider: provider.id, parameters }, call);
}

export interface SignInFormContent {
  readonly email: string;
  readonly fault: SignInFault | undefined;
  /** The form asks for the address alone, since it may lead to one of these. Absent or empty: for the password too. */
  readonly byDomain?: readonly OfferedProvider[];
}

/** The sign-in form, empty or with the error of the last attempt. */
export async function signInPage(
  deps: AuthorizeDeps,
  request: AuthorizationRequest,
  form: SignInFormContent,
  call: AnyCall,
): Promise<Response> {
  const { parameters, client, provider, scopes } = request;
  const { byDomain = [] } = form;
  const browser = recognizeBrowser(deps, call);
  const page = deps.pages.signIn({
    ...pageContext(call, parameters.get("ui_locales"), request.brand),
    status: form.fault === undefined ? 200 : 400,
    action: `${deps.pagesBase(call)}/sign-in`,
    hidden: {
      request: await encodeRequest(deps, request),
      csrf: await csrfToken(deps, browser.key),
      ...(byDomain.length === 0 ? {} : { step: ADDRESS_STEP }),
    },
    byPassword: byDomain.length === 0 ? undefined : await addressWithProvider(deps, request, DEFAULT_PROVIDER, call),
    email: form.email.slice(0, EMAIL_MAX_CHARS),
    clientName: shownName(client),
    logoUri: client.logoUri,
    providers: await otherProviders(deps, request, call),
    tenant: scopes.tenant ?? "",
    layout: provider === LEGACY_PROVIDER && parameters.get("display") === "popup" ? "popup" : "page",
    fault: form.fault,
    forgot: deps.forgotAddress(call),
    passkey: takesPasskeys(request) ? await askForPasskey(deps, call, "sign in", browser.key) : undefined,
    formTargets: [...formTargets(request), ...byDomain.map(({ issuer }) => issuer)],
  });
  return withCookie(page, browser.cookie);
}

/** A client that insists on the password takes no passkey. */
const takesPasskeys = ({ acr }: AuthorizationRequest): boolean =>
  !isUnmet(acr, { authenticatedAtMs: 0, methods: BY_PASSKEY });

/** Links that send the same request again, for another provider. An expected user stays sealed in it. */
async function otherProviders(deps: AuthorizeDeps, request: AuthorizationRequest, call: AnyCall) {
  const { scopes, client } = request;
  const buttons = await deps.federation.providers.buttonsFor(scopes.tenant ?? client.tenant, call.nowMs);
  return Promise.all(
    buttons.map(async ({ id, button }) => ({
      name: button,
      href: await addressWithProvider(deps, request, id, call),
    })),
  );
}

async function sendToProvider(deps: AuthorizeDeps, request: AuthorizationRequest, call: AnyCall): Promise<Response> {
  const encoded = await encodeRequest(deps, request);
  // The pending request is stored in the database, and anybody can send one.
  if (encoded.length > MAX_CARRIED_CHARS)
    return refusedAnswer(deps, request, refused("invalid_request", "The request is too long for this provider."), call);
  if (!(await admitsStranger(deps, call)))
    return refusedAnswer(deps, request, refused("temporarily_unavailable", TOO_MANY_OF_NETWORK), call);
  const browser = recognizeBrowser(deps, call);
  const expected = typeof request.expectedUser === "object" ? request.expectedUser.email : undefined;
  const pending = { request: encoded, browserKey: browser.key, expected };
  const address = await beginFederation(deps, request.provider, pending, call);
  if (!address.ok) {
    const { error, reason } = address.error;
    return refusedAnswer(deps, request, refused(error, "The identity provider cannot be used.", reason), call);
  }
  return withCookie(redirect(redirectStatus(call), address.value.href), browser.cookie);
}

/** Encodes the request for the form or the pending sign-in. */
const encodeRequest = async (deps: AuthorizeDeps, request: AuthorizationRequest): Promise<string> =>
  new URLSearchParams(await toParametersWithoutHint(deps, request)).toString();
