import { MAX_TOKEN_CHARS } from "../http/auth.ts";
import type { Call } from "../http/route.ts";
import { json } from "../http/route.ts";
import { randomId, type Random } from "../platform/random.ts";
import { err, ok, type Result } from "../platform/result.ts";
import type { OAuthContext } from "./context.ts";
import { noCredentials, readCredentials } from "./client-auth.ts";
import { failure, type OAuthFailure } from "./failure.ts";
import { readParameters, type Parameters } from "./form.ts";
import { grantClientCredentials, refusedScope, type Granted } from "./grants/client-credentials.ts";
import { parseScopes } from "./scopes.ts";
import { ACCESS_TOKEN_LIFETIME_SEC, issueAccessToken } from "./tokens/access-token.ts";

/**
 * `POST /token`: form → parameters → scopes → the grant's own step → token. A grant cannot skip a shared check.
 * An answer that was lost costs nothing: the client asks again, and the token that it never saw expires.
 */
export async function token(
  call: Call<unknown, unknown, URLSearchParams, undefined>,
  context: OAuthContext,
): Promise<Response> {
  const granted = await grant(call.request, call.body, context, call.nowMs);
  if (!granted.ok) return context.refuse(call, "token refused", granted.error);
  const { scopes, clientId, tenant, sessionId } = granted.value;
  const tokenId = randomId(context.random);
  const accessToken = await issueAccessToken(
    { ...granted.value, org: "", user: "", tokenId, grantId: tokenId },
    context.issuerOf(call),
    context.trust,
    call.nowMs,
  );
  if (accessToken.length > MAX_TOKEN_CHARS)
    return context.refuse(
      call,
      "token refused",
      failure("invalid_scope", "A token cannot hold so many scopes: name fewer."),
    );
  if (context.trust.wantsRefresh(call.nowMs)) call.after(context.trust.ensure(call.nowMs, "recent"));
  context.log.info("token issued", { requestId: call.requestId, clientId, tenant, tokenId, sessionId });
  const body = {
    token_type: "Bearer",
    access_token: accessToken,
    expires_in: ACCESS_TOKEN_LIFETIME_SEC,
    scope: scopes.join(" "),
  };
  return json(200, body, { "cache-control": "no-store", pragma: "no-cache" });
}

interface WithSession extends Granted {
  readonly sessionId: string;
}

async function grant(
  request: Request,
  form: URLSearchParams,
  context: OAuthContext,
  nowMs: number,
): Promise<Result<WithSession, OAuthFailure>> {
  const parameters = readParameters(form);
  if (!parameters.ok) return parameters;
  const grantType = parameters.value.get("grant_type");
  if (grantType === undefined) return err(failure("invalid_request", "grant_type is missing."));
  const credentials = readCredentials(request, parameters.value);
  if (!credentials.ok) return credentials;
  const scopes = parseScopes(parameters.value.get("scope") ?? "", context.names);
  if (!scopes.ok) return err(refusedScope(scopes.error));
  const sessionId = readSessionId(request, parameters.value, context);
  if (!sessionId.ok) return sessionId;
  switch (grantType) {
    case "client_credentials": {
      if (credentials.value === undefined) return err(noCredentials());
      const granted = await grantClientCredentials(credentials.value, scopes.value, context, nowMs);
      return granted.ok ? ok({ ...granted.value, sessionId: sessionId.value }) : granted;
    }
    default:
      return err(
        failure("unsupported_grant_type", "This grant_type is not supported.", `grant_type ${grantType.slice(0, 64)}`),
      );
  }
}

const SESSION_ID = /^[A-Za-z0-9._~-]{1,128}$/;

/** The caller's session id by header or parameter, else a new one (specification, `/token`). */
function readSessionId(
  request: Request,
  parameters: Parameters,
  context: { readonly names: OAuthContext["names"]; readonly random: Random },
): Result<string, OAuthFailure> {
  const name = context.names.header("session-id");
  const given = request.headers.get(name) || parameters.get(name);
  if (given === undefined) return ok(randomId(context.random));
  return SESSION_ID.test(given)
    ? ok(given)
    : err(failure("invalid_request", `${name} must match ${SESSION_ID.source}.`));
}
