import { mergeBrands } from "../../../platform/model/brand.ts";
import { err, ok, type Result } from "../../../platform/model/result.ts";
import { PROFILE_SCOPES } from "../../../platform/model/oidc-scopes.ts";
import { scopeMatches } from "../../../platform/model/scope-pattern.ts";
import { isProvider } from "../../federation/begin.ts";
import { DEVICE_GRANT } from "../../grants/device-code.ts";
import { isLocal } from "../../model/binding.ts";
import type { AnyCall } from "../../model/call.ts";
import { expectedUserParameter, promptValues, readSessionId } from "../../model/parameters.ts";
import { CODE_VERIFIER, needsPkce, type CodeChallenge } from "../../model/pkce.ts";
import { mayActFor, type ScopeRequest } from "../../model/granted-scopes.ts";
import { takesForms } from "../../model/redirect.ts";
import type { AuthorizeDeps } from "./deps.ts";
import { refused, scopeRefused, type AuthorizeFailure } from "./failure.ts";
import { FLOWS, FORM_POST, hasIdToken, type ParsedRequest } from "./parse.ts";
import { openExpectedUser, readChallenge, requestedProvider, type AuthorizationRequest } from "./request.ts";

type CheckDeps = Pick<AuthorizeDeps, "names" | "federation" | "sealer">;

/**
 * The rules of an authorization request, in the order in which they are checked. The first broken rule is the answer.
 * All of them are checked before the user is asked to sign in.
 */
type Check = (
  draft: ParsedRequest,
  deps: CheckDeps,
  call: AnyCall,
) => AuthorizeFailure | undefined | Promise<AuthorizeFailure | undefined>;

const CHECKS: readonly Check[] = [
  eachParameterOnce,
  stateIsUtf8,
  noRequestObject,
  pushedIfRequired,
  redirectUriIfRequired,
  responseTypeIsKnown,
  clientHasTheGrant,
  responseModeFitsFlow,
  challengeIsValid,
  proofKeyIsValid,
  nonceIsValid,
  promptIsValid,
  maxAgeIsANumber,
  tenantChoiceIsBoolean,
  providerIsKnown,
  sessionIdIsValid,
  scopesAreValid,
  claimsAreValid,
  resourcesAreServices,
  clientListsScopes,
  unregisteredIsNarrow,
  clientActsForTenant,
];

/** OIDC Core 3.1.2.1 sets no limit. Ours keeps codes and tokens small. */
const MAX_NONCE_CHARS = 512;
/** RFC 7636 4.2: SHA-256 in base64url. */
const S256_CHALLENGE = /^[A-Za-z0-9_-]{43}$/;
export const PROMPTS: readonly string[] = ["none", "login", "consent", "select_account"];

export async function checkRequest(
  deps: CheckDeps,
  draft: ParsedRequest,
  call: AnyCall,
): Promise<Result<AuthorizationRequest, AuthorizeFailure>> {
  for (const check of CHECKS) {
    const failure = await check(draft, deps, call);
    if (failure !== undefined) return err(failure);
  }
  return toRequest(deps, draft, call);
}

/** A parameter must not come twice, since it would be unclear which value counts (RFC 6749 3.1). */
function eachParameterOnce({ parameters }: ParsedRequest) {
  const [name] = parameters.repeated;
  return name === undefined ? undefined : refused("invalid_request", `${name} is given more than once.`);
}

function stateIsUtf8({ parameters }: ParsedRequest) {
  const state = parameters.get("state") ?? "";
  // Invalid UTF-8 was replaced on reading, so the response could not return the same state.
  return state.includes("\ufffd") ? refused("invalid_request", "state must be UTF-8.") : undefined;
}

/** OIDC Core 3.1.2.6. The server fetches nothing, so a request cannot make it call other hosts. */
function noRequestObject({ parameters }: ParsedRequest) {
  for (const name of ["request", "request_uri", "registration"] as const)
    if (parameters.get(name) !== undefined) return refused(`${name}_not_supported`, `${name} is not supported.`);
  return undefined;
}

function pushedIfRequired({ parameters, client }: ParsedRequest) {
  return client.requirePushed === true && parameters.pushed === undefined
    ? refused("invalid_request", "The client has to push its authorization requests.")
    : undefined;
}

/** FAPI 2.0 5.3.2.2 */
function redirectUriIfRequired({ parameters, client, device }: ParsedRequest) {
  return client.isFapi === true && device === undefined && parameters.get("redirect_uri") === undefined
    ? refused("invalid_request", "redirect_uri is missing.")
    : undefined;
}

function responseTypeIsKnown({ parameters, flow }: ParsedRequest) {
  if (parameters.get("response_type") === undefined) return refused("invalid_request", "response_type is missing.");
  if (flow !== undefined) return undefined;
  return refused("unsupported_response_type", `response_type must be one of: ${Object.keys(FLOWS).join(", ")}.`);
}

function clientHasTheGrant({ client, flow, device }: ParsedRequest) {
  if (flow === undefined) return undefined;
  const grantType = device === undefined ? FLOWS[flow].grantType : DEVICE_GRANT;
  return client.grantTypes.includes(grantType)
    ? undefined
    : refused("unauthorized_client", `The client is not registered for the grant ${grantType}.`);
}

/** A token in a query would end up in logs and histories. A code in a fragment does not reach a server. */
function responseModeFitsFlow({ parameters, flow, redirectUri }: ParsedRequest) {
  const mode = parameters.get("response_mode");
  if (mode === undefined || flow === undefined || mode === FLOWS[flow].mode) return undefined;
  if (mode !== FORM_POST)
    return refused(
      "invalid_request",
      `response_mode must be ${FLOWS[flow].mode} or ${FORM_POST} for this response_type.`,
    );
  return takesForms(redirectUri)
    ? undefined
    : refused("invalid_request", `response_mode ${FORM_POST} needs a redirect_uri with https or http.`);
}

function challengeIsValid({ parameters, flow, client, device }: ParsedRequest) {
  // A device proves itself by its own code.
  if (flow !== "code" || device !== undefined) return undefined;
  const challenge = readChallenge(parameters);
  if (challenge === undefined) {
    if (parameters.get("code_challenge_method") !== undefined)
      return refused("invalid_request", "code_challenge_method needs a code_challenge.");
    return needsPkce(client) ? refused("invalid_request", "code_challenge is missing.") : undefined;
  }
  if (client.isFapi === true && challenge.method !== "S256")
    return refused("invalid_request", "code_challenge_method must be S256 for this client.");
  if (challenge.method !== "S256" && challenge.method !== "plain")
    return refused("invalid_request", "code_challenge_method must be S256 or plain.");
  const form = challenge.method === "S256" ? S256_CHALLENGE : CODE_VERIFIER;
  return form.test(challenge.value)
    ? undefined
    : refused(
        "invalid_request",
        challenge.method === "S256"
          ? "code_challenge must be a SHA-256 in base64url: 43 characters."
          : "code_challenge must be 43 to 128 letters, digits and - . _ ~.",
      );
}

/** RFC 9449 10. Tokens by the browser cannot be bound to a key. */
function proofKeyIsValid({ parameters, flow, client }: ParsedRequest) {
  if (client.bindsTokens === true && flow !== "code")
    return refused("unauthorized_client", "The client's tokens are bound to keys: response_type must be code.");
  const key = parameters.get("dpop_jkt");
  return key === undefined || S256_CHALLENGE.test(key)
    ? undefined
    : refused("invalid_request", "dpop_jkt must be the SHA-256 thumbprint of a key.");
}

function nonceIsValid({ parameters, flow }: ParsedRequest) {
  const nonce = parameters.get("nonce");
  if (nonce === undefined) return hasIdToken(flow) ? refused("invalid_request", "nonce is missing.") : undefined;
  return nonce.length > MAX_NONCE_CHARS
    ? refused("invalid_request", `nonce is longer than ${MAX_NONCE_CHARS} characters.`)
    : undefined;
}

function promptIsValid({ parameters }: ParsedRequest) {
  const prompts = promptValues(parameters);
  if (prompts.some((word) => !PROMPTS.includes(word)))
    return refused("invalid_request", `prompt must consist of: ${PROMPTS.join(", ")}.`);
  return prompts.includes("none") && prompts.length > 1
    ? refused("invalid_request", "prompt=none cannot be combined with other values.")
    : undefined;
}

function maxAgeIsANumber({ parameters }: ParsedRequest) {
  if (/^[0-9]+$/.test(parameters.get("max_age") ?? "0")) return undefined;
  return refused("invalid_request", "max_age must be a whole number of seconds.");
}

function tenantChoiceIsBoolean({ parameters }: ParsedRequest) {
  if (["true", "false"].includes(parameters.get("tenant_choice") ?? "false")) return undefined;
  return refused("invalid_request", "tenant_choice must be true or false.");
}

async function providerIsKnown({ parameters }: ParsedRequest, deps: CheckDeps, { nowMs }: AnyCall) {
  const provider = requestedProvider(parameters, deps.names);
  return isLocal(provider) || (await isProvider(deps, provider, nowMs))
    ? undefined
    : refused("invalid_request", `${deps.names.parameter("id_provider")} is not a registered identity provider.`);
}

function sessionIdIsValid({ parameters }: ParsedRequest, { names }: CheckDeps, { request }: AnyCall) {
  const sessionId = readSessionId(request, parameters, names);
  return sessionId.ok ? undefined : refused("invalid_request", sessionId.error.description);
}

function scopesAreValid({ scopes }: ParsedRequest) {
  return scopes.ok ? undefined : scopeRefused(scopes.error);
}

function claimsAreValid({ claims }: ParsedRequest) {
  return claims.ok ? undefined : refused(claims.error.error, claims.error.description);
}

function resourcesAreServices({ resources }: ParsedRequest) {
  return resources.ok ? undefined : refused("invalid_target", resources.error);
}

/** No user can grant a scope that the client does not list, so refuse it before the sign-in. */
function clientListsScopes({ scopes, client }: ParsedRequest) {
  const named = scopes.ok ? scopes.value.named : [];
  const scope = named.find((name) => !client.scopes.some((listed) => scopeMatches(listed, name)));
  return scope === undefined
    ? undefined
    : scopeRefused({ scope, reason: `client ${client.id} does not list ${scope}` });
}

/** A client that nobody registered asks for little (unregistered/unregistered.ts). */
function unregisteredIsNarrow({ parameters, client, scopes, resources }: ParsedRequest, { names }: CheckDeps) {
  if (client.unregistered === undefined) return undefined;
  if (!resources.ok || resources.value.length === 0 || resources.value.some(({ isBuiltIn }) => isBuiltIn))
    return refused(
      "invalid_target",
      "A client that nobody registered has to name services behind the gateway by resource.",
    );
  if (readChallenge(parameters)?.method !== "S256")
    return refused("invalid_request", "code_challenge_method must be S256 for this client.");
  const { organization, noTenant = false } = scopes.ok ? scopes.value : {};
  const place = organization === undefined ? (noTenant ? "no_tenant" : undefined) : `org=${organization}`;
  return place === undefined
    ? undefined
    : scopeRefused({ scope: names.scope(place), reason: "a client that nobody registered acts within tenants" });
}

function clientActsForTenant({ scopes, client, tenant, resources }: ParsedRequest, { names }: CheckDeps) {
  const tenantId = scopes.ok ? scopes.value.tenant : undefined;
  if (tenantId === undefined) return undefined;
  const targets = resources.ok ? resources.value : [];
  const allowed = tenant === undefined ? err(`tenant ${tenantId} is unknown`) : mayActFor(client, tenant, targets);
  return allowed.ok ? undefined : scopeRefused({ scope: names.scope(`tenant=${tenantId}`), reason: allowed.error });
}

/** Scopes as a limit: clients that do not know the platform ask for everything that a service lists. */
const asLimit = (scopes: ScopeRequest): ScopeRequest =>
  scopes.named.length === 0 ? scopes : { ...scopes, named: [], everything: true, limitedTo: scopes.named };

/** Builds the request from the values that the checks accepted. */
async function toRequest(
  deps: CheckDeps,
  { parameters, client, tenant, asOfMs, redirectUri, flow, device, scopes, claims, resources }: ParsedRequest,
  call: AnyCall,
): Promise<Result<AuthorizationRequest, AuthorizeFailure>> {
  const { names } = deps;
  const sessionId = readSessionId(call.request, parameters, names);
  if (flow === undefined || !scopes.ok || !claims.ok || !resources.ok || !sessionId.ok)
    throw new Error("the checks accepted an invalid request");
  const prompts = promptValues(parameters);
  const expected = parameters.get(expectedUserParameter(names));
  const maxAge = parameters.get("max_age");
  return ok({
    parameters,
    client,
    clientAsOfMs: asOfMs,
    // The checks admitted the tenant, so no client can show the brand of a tenant that it does not act for.
    brand: mergeBrands(client.brand, tenant?.brand),
    redirectUri,
    flow,
    device,
    scopes: {
      ...(client.unregistered === undefined ? scopes.value : asLimit(scopes.value)),
      openid: scopes.value.openid || hasIdToken(flow),
      profile: PROFILE_SCOPES.filter((scope) => [...scopes.value.profile, ...claims.value.scopes].includes(scope)),
    },
    resources: resources.value,
    acr: claims.value.acr,
    challenge: flow === "code" ? (readChallenge(parameters) as CodeChallenge | undefined) : undefined,
    nonce: parameters.get("nonce"),
    expectedUser: expected === undefined ? undefined : await openExpectedUser(deps, expected),
    prompt: (["none", "login", "select_account"] as const).find((word) => prompts.includes(word)),
    tenantChoice: parameters.get("tenant_choice") === "true",
    asksConsent: prompts.includes("consent"),
    maxAgeMs: maxAge === undefined ? undefined : Number(maxAge) * 1000,
    provider: requestedProvider(parameters, names),
    callerSessionId: sessionId.value,
  });
}
