import { OIDC_SCOPES } from "../../platform/model/oidc-scopes.ts";
import type { ClientRecord } from "../clients/directory-store.ts";
import type { Consent, StoredConsent } from "../consent/consent-store.ts";
import { consentRule, isAllowed, requestedConsent } from "../consent/consent.ts";
import { toScopeView } from "../consent/scope-words.ts";
import type { AnyCall } from "../model/call.ts";
import { pageContext, shownName } from "../pages/page.ts";
import type { ScopeView } from "../pages/views/consent.ts";
import { csrfToken } from "../sign-in/browser.ts";
import type { UserRecord } from "../users/user-store.ts";
import type { AuthorizeDeps } from "./protocol/deps.ts";
import { refused } from "./protocol/failure.ts";
import { prefilledEmail } from "./identify.ts";
import type { GrantedRequest } from "./issue.ts";
import { promptSignIn } from "./prompt.ts";
import { formTargets, toTextAfterSignIn } from "./protocol/request.ts";
import { refusedAnswer } from "./protocol/response.ts";

/**
 * The page on which a user allows or denies the scopes that a client requests (consent/consent.ts). Undefined if no
 * consent is needed. A user known by an ID token hint alone signs in first, since a stolen token must
 * not give consent. `stale`: the form was made for another sign-in or for other scopes than are requested now.
 */
export async function promptConsent(
  deps: AuthorizeDeps,
  { request, granted, identity }: GrantedRequest,
  { staleConsent: stale = false, allowed }: Decided,
  call: AnyCall,
): Promise<Response | undefined> {
  const { client, prompt, parameters, asksConsent } = request;
  const { user } = identity;
  const { device } = request;
  const rule = consentRule(client, user, granted);
  if (device === undefined && rule === "never") return undefined;
  const consent = requestedConsent(deps, client, granted);
  // Consent is asked for each device, since a person can be talked into typing the code of somebody else's device.
  const asksEachTime = device !== undefined || rule === "always";
  const isAsked = allowed === JSON.stringify(consent);
  if (asksEachTime && isAsked) return undefined;
  const stored = await findStored(deps, client, consent);
  if (!asksEachTime && (!asksConsent || isAsked) && isAllowed(consent, stored)) return undefined;
  const reason = `${user.email} has not given client ${client.id} consent`;
  if (stored === undefined)
    return refusedAnswer(deps, request, refused("access_denied", "The client has just been removed.", reason), call);
  if (prompt === "none")
    return refusedAnswer(deps, request, refused("consent_required", "The user has to give consent.", reason), call);
  if (identity.from === "hint")
    return promptSignIn(deps, request, { email: prefilledEmail(request, user.email), reason }, call);
  return deps.pages.consent({
    ...pageContext(call, parameters.get("ui_locales"), request.brand),
    status: stale ? 400 : 200,
    action: `${deps.pagesBase(call)}/consent`,
    hidden: {
      request: await toTextAfterSignIn(deps, request, identity.sid),
      asked: JSON.stringify(consent),
      csrf: await csrfToken(deps, consentFormKey(identity.sid, JSON.stringify(consent))),
    },
    client: { id: client.id, name: shownName(client) },
    logoUri: client.logoUri,
    tenant: { id: client.tenant, name: stored.tenantName },
    isMember: user.tenants.some(({ id }) => id === client.tenant),
    source: client.unregistered && { host: client.unregistered.host, ...destination(request.redirectUri) },
    user: user.email,
    place: placeName(consent, user),
    scopes: await scopesInWords(deps, consent, user, call.nowMs),
    showsName: consent.scopes.includes("profile"),
    device: device?.userCode,
    lasts: request.flow === "code" && client.grantTypes.includes("refresh_token"),
    fault: stale ? "stale" : undefined,
    formTargets: formTargets(request),
  });
}

/** A client that nobody registered may have no row yet, and is asked about whatever is stored. */
const findStored = async (
  { consents, unregistered }: AuthorizeDeps,
  client: ClientRecord,
  consent: Consent,
): Promise<StoredConsent | undefined> => {
  if (client.unregistered === undefined) return consents.find(consent);
  return (await unregistered.isGone(client)) ? undefined : { tenantName: "", scopes: undefined };
};

const placeName = ({ tenant, org }: Consent, { tenants, organizations }: UserRecord): string =>
  tenant !== ""
    ? (tenants.find(({ id }) => id === tenant)?.name ?? tenant)
    : (organizations.find(({ id }) => id === org)?.name ?? org);

/** Texts for scopes, only from services that are usable in the place, so that none describes another's scopes. */
async function scopesInWords(
  deps: AuthorizeDeps,
  { clientId, tenant, org, scopes }: Consent,
  { organizations }: UserRecord,
  nowMs: number,
): Promise<readonly ScopeView[]> {
  const asked = scopes.filter((scope) => !OIDC_SCOPES.includes(scope));
  const usable =
    tenant === ""
      ? organizations.find(({ id }) => id === org)?.services
      : (await deps.directory.find(clientId, tenant, { nowMs })).tenant?.services;
  const words = await deps.consents.words((usable ?? []).map(({ name }) => name));
  return asked.map((scope) => toScopeView(scope, words, deps.names));
}

/** The target of the redirect, for people: its host, or the scheme of an application on the device. */
const destination = (redirectUri: string): { readonly goesTo: string; readonly isOnDevice: boolean } => {
  const url = URL.parse(redirectUri);
  return {
    goesTo: url === null || url.host === "" ? (url?.protocol ?? redirectUri) : url.host,
    isOnDevice: url === null || url.protocol !== "https:",
  };
};

/** The decision that a form brought. */
export interface Decided {
  readonly staleConsent?: boolean;
  /** The consent that the page showed, as the form brought it back. */
  readonly allowed?: string;
}

/** Binds the form to the sign-in and to the consent that it shows. */
export const consentFormKey = (sid: string, consent: string): string => `consent to ${sid} ${consent}`;

/** Call this only for a form whose token is valid. */
export const parseConsent = (consent: string): Consent => JSON.parse(consent) as Consent;
