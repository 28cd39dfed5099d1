import type { Proof } from "../../http/callers/proof.ts";
import { json } from "../../http/route.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import { readCredentials } from "../clients/authentication.ts";
import { authorizationCodeGrant } from "../grants/authorization-code.ts";
import { clientCredentials } from "../grants/client-credentials.ts";
import { DEVICE_GRANT, deviceCodeGrant } from "../grants/device-code.ts";
import { refusedScope, type GrantOutcome, type GrantStep, type TokenCall } from "../grants/grant-step.ts";
import { passwordGrant } from "../grants/password.ts";
import { refreshTokenGrant } from "../grants/refresh-token.ts";
import { failure, type OAuthFailure } from "../model/failure.ts";
import { readParameters, readSessionId } from "../model/parameters.ts";
import { findResources, joinResources } from "../model/resource.ts";
import { parseScopes } from "../model/granted-scopes.ts";
import { EXCHANGE_GRANT, tokenExchange } from "../grants/token-exchange.ts";
import { type Issue, issueTokens } from "../tokens/issue.ts";
import type { TokenEndpointDeps } from "./deps.ts";
import { nonceHeader, readProof } from "./proof.ts";

const GRANTS: Readonly<Record<string, GrantStep>> = {
  client_credentials: clientCredentials,
  authorization_code: authorizationCodeGrant,
  refresh_token: refreshTokenGrant,
  password: passwordGrant,
  [DEVICE_GRANT]: deviceCodeGrant,
  [EXCHANGE_GRANT]: tokenExchange,
};
export const GRANT_TYPES: readonly string[] = Object.keys(GRANTS);

/** `POST /token`: form → shared checks → the grant's own step → tokens. No grant can skip a shared check. */
export async function token(deps: TokenEndpointDeps, call: TokenCall): Promise<Response> {
  const outcome = await grant(deps, call);
  if (!outcome.ok) return refuse(deps, call, outcome.error);
  const { granted, refreshToken, issuedTokenType, proof } = outcome.value;
  const issued = await issueTokens(deps, outcome.value, call);
  if (!issued.ok) return refuse(deps, call, issued.error);
  const body = {
    token_type: proof === undefined ? "Bearer" : "DPoP",
    access_token: issued.value.accessToken,
    expires_in: issued.value.expiresInSec,
    scope: granted.scopes.join(" "),
    ...(issuedTokenType === undefined ? {} : { issued_token_type: issuedTokenType }),
    ...(refreshToken === undefined ? {} : { refresh_token: refreshToken }),
    ...(issued.value.idToken === undefined ? {} : { id_token: issued.value.idToken }),
  };
  return json(200, body, { "cache-control": "no-store", pragma: "no-cache", ...nonceHeader(proof) });
}

function refuse(deps: TokenEndpointDeps, call: TokenCall, refusal: OAuthFailure): Response {
  deps.meter.add("tokens_refused", { service: "oauth", label: refusal.error });
  return deps.refuse(call, "token", refusal);
}

async function grant(
  deps: TokenEndpointDeps,
  call: TokenCall,
): Promise<
  Result<GrantOutcome & Pick<Issue, "callerSessionId" | "grant"> & { readonly proof: Proof | undefined }, OAuthFailure>
> {
  const parameters = readParameters(call.body, deps.names);
  if (!parameters.ok) return parameters;
  const grantType = parameters.value.get("grant_type");
  if (grantType === undefined) return err(failure("invalid_request", "grant_type is missing."));
  const credentials = readCredentials(call.request, parameters.value);
  if (!credentials.ok) return credentials;
  const scopes = parseScopes(parameters.value.get("scope") ?? "", deps.names);
  if (!scopes.ok) return err(refusedScope(scopes.error));
  const callerSessionId = readSessionId(call.request, parameters.value, deps.names);
  if (!callerSessionId.ok) return callerSessionId;
  const step = Object.hasOwn(GRANTS, grantType) ? GRANTS[grantType] : undefined;
  if (step === undefined)
    return err(
      failure("unsupported_grant_type", "This grant_type is not supported.", `grant_type ${grantType.slice(0, 64)}`),
    );
  const resources = await findResources(deps, joinResources(call.body.getAll("resource")), call);
  if (!resources.ok) return err(failure("invalid_target", resources.error));
  const proof = await readProof(deps, call);
  if (!proof.ok) return proof;
  const proofKey = proof.value?.key;
  const request = {
    call,
    parameters: parameters.value,
    credentials: credentials.value,
    scopes: scopes.value,
    resources: resources.value,
    proofKey,
  };
  const outcome = await step(deps, request);
  if (!outcome.ok) return outcome;
  const shared = { callerSessionId: callerSessionId.value, grant: grantType, proof: proof.value, proofKey };
  return ok({ ...outcome.value, ...shared });
}
