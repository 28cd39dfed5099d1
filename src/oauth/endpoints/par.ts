import type { Proof } from "../../http/callers/proof.ts";
import { json } from "../../http/route.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import { checkRequest } from "../authorize/protocol/checks.ts";
import { lengthFault, mostKept } from "../authorize/kept.ts";
import { parseRequest } from "../authorize/protocol/parse.ts";
import { keepPushed, newReference, PUSHED_LIFETIME_SEC } from "../authorize/pushed/pushed.ts";
import { identifyClient, noCredentials, readCredentials } from "../clients/authentication.ts";
import type { TokenCall } from "../grants/grant-step.ts";
import { failure, type OAuthFailure } from "../model/failure.ts";
import { deviceParameter, readAuthorizationParameters, readParameters } from "../model/parameters.ts";
import type { PageEndpointDeps, TokenEndpointDeps } from "./deps.ts";
import { nonceHeader, readProof } from "./proof.ts";

type ParDeps = TokenEndpointDeps & PageEndpointDeps;

/**
 * `POST /par` (RFC 9126): the client authenticates as at `/token` and sends an authorization request. The request is
 * checked as at `/authorize`. `/authorize` checks it again, because records may change in between.
 */
export async function pushRequest(deps: ParDeps, call: TokenCall): Promise<Response> {
  const proof = await readProof(deps, call);
  if (!proof.ok) return deps.refuse(call, "par", proof.error);
  const pushed = await push(deps, call, proof.value);
  if (!pushed.ok) return deps.refuse(call, "par", pushed.error);
  const body = { request_uri: pushed.value, expires_in: PUSHED_LIFETIME_SEC };
  return json(201, body, { "cache-control": "no-store", pragma: "no-cache", ...nonceHeader(proof.value) });
}

async function push(deps: ParDeps, call: TokenCall, proof: Proof | undefined): Promise<Result<string, OAuthFailure>> {
  const credentialParameters = readParameters(call.body, deps.names);
  if (!credentialParameters.ok) return credentialParameters;
  const credentials = readCredentials(call.request, credentialParameters.value);
  if (!credentials.ok) return credentials;
  if (credentials.value === undefined) return err(noCredentials());
  const entry = await deps.directory.find(credentials.value.clientId, undefined, call);
  const caller = await identifyClient(deps, credentials.value, entry, call);
  if (!caller.ok) return caller;
  const { id } = caller.value.client;
  const refuse = (error: OAuthFailure["error"], description: string, reason?: string) =>
    err(failure(error, description, reason, id));
  if (caller.value.client.unregistered !== undefined)
    return refuse("unauthorized_client", "A client that nobody registered sends its request to /authorize.");
  if (call.body.has("request_uri")) return refuse("invalid_request", "A pushed request has no request_uri.");

  const form = new URLSearchParams(call.body);
  form.set("client_id", id);
  form.delete(deviceParameter(deps.names));
  // A proof binds the code to its key, as `dpop_jkt` does (RFC 9449 10.1).
  if (proof !== undefined && ![null, proof.key].includes(form.get("dpop_jkt")))
    return refuse("invalid_dpop_proof", "dpop_jkt names another key than the proof.");
  if (proof !== undefined) form.set("dpop_jkt", proof.key);
  const { requestUri, hash } = await newReference(deps.random);
  const parameters = { ...readAuthorizationParameters(form, deps.names), pushed: hash };
  const kept = new URLSearchParams([...parameters.entries()].map(([name, value]) => [name, value]));
  const tooLong = lengthFault(kept, "name fewer scopes, or shorten other parameters");
  if (tooLong !== undefined) return refuse("invalid_request", tooLong);
  const draft = await parseRequest(deps, parameters, call);
  if (!draft.ok) return refuse("invalid_request", draft.error.detail, draft.error.reason);
  const checked = await checkRequest(deps, draft.value, call);
  if (!checked.ok) return refuse(checked.error.error, checked.error.description, checked.error.reason);
  const most = await mostKept(deps, caller.value, call);
  if (!most.ok) return most;
  const isKept = await keepPushed(deps, { hash, clientId: id, form: kept, most: most.value }, call.nowMs);
  if (isKept) return ok(requestUri);
  return refuse("invalid_client", "Client authentication failed.", "it has just been removed");
}
