import { PROBLEM_TYPES, type Problem } from "../../http/errors/errors.ts";
import { RETRY_AFTER_SEC } from "../../http/callers/rate-limit.ts";
import { json } from "../../http/route.ts";
import type { ProblemRenderer } from "../../http/service.ts";

/**
 * A failure of a protocol endpoint (RFC 6749 5.2): `{error, error_description, error_uri}`. The text is generic.
 * `error_uri` leads to the advice for this error and ends with the request id, by which the operator finds `reason` in
 * the log.
 */
export interface OAuthFailure {
  readonly error: OAuthErrorCode;
  readonly description: string;
  /** The exact cause, for the log. Never sent out. */
  readonly reason: string;
  /** The caller, for the audit log: a client id, or `user <address>`. */
  readonly actor: string;
  /** The existing client that the caller named without proof. */
  readonly clientId?: string;
  /** From this time on a retry may succeed. */
  readonly retryAtMs?: number;
  /** The nonce to prove a key with. */
  readonly proofNonce?: string;
}

const STATUS = {
  invalid_request: 400,
  invalid_client: 401,
  invalid_grant: 400,
  invalid_scope: 400,
  unauthorized_client: 400,
  unsupported_grant_type: 400,
  authorization_pending: 400,
  invalid_target: 400,
  slow_down: 400,
  expired_token: 400,
  invalid_dpop_proof: 400,
  use_dpop_nonce: 400,
  unsupported_response_type: 400,
  request_not_supported: 400,
  request_uri_not_supported: 400,
  unmet_authentication_requirements: 400,
  registration_not_supported: 400,
  invalid_redirect_uri: 400,
  invalid_client_metadata: 400,
  access_denied: 400,
  server_error: 500,
  login_required: 400,
  interaction_required: 400,
  consent_required: 400,
  account_selection_required: 400,
  invalid_query_parameter: 400,
  temporarily_unavailable: 429,
} as const;

export type OAuthErrorCode = keyof typeof STATUS;

export const failure = (
  error: OAuthErrorCode,
  description: string,
  reason: string = description,
  actor = "",
): OAuthFailure => ({ error, description, reason, actor });

export function oauthError(
  refusal: OAuthFailure,
  docsUrl: string,
  { requestId, nowMs }: { readonly requestId: string; readonly nowMs: number },
  realm: string,
): Response {
  const headers: Partial<Record<OAuthErrorCode, Record<string, string>>> = {
    invalid_client: { "www-authenticate": `Basic realm="${realm}", charset="UTF-8"` },
    temporarily_unavailable: { "retry-after": String(RETRY_AFTER_SEC) },
  };
  const status = STATUS[refusal.error];
  const retry: Record<string, string> =
    refusal.retryAtMs === undefined
      ? {}
      : { "retry-after": String(Math.max(1, Math.ceil((refusal.retryAtMs - nowMs) / 1000))) };
  const nonce: Record<string, string> = refusal.proofNonce === undefined ? {} : { "dpop-nonce": refusal.proofNonce };
  const own = { ...headers[refusal.error], ...retry, ...nonce };
  const { error, description } = refusal;
  return errorAnswer({ status, error, description }, { docsUrl, requestId }, own);
}

/** Renders failures from `http/` (method, size, format) and internal ones as protocol errors. */
export const renderOAuthProblem: ProblemRenderer = (problem: Problem, docsUrl, requestId) => {
  const { status } = PROBLEM_TYPES[problem.type];
  const error =
    status === 503 || status === 429 ? "temporarily_unavailable" : status >= 500 ? "server_error" : "invalid_request";
  return errorAnswer({ status, error, description: problem.message }, { docsUrl, requestId }, {});
};

function errorAnswer(
  { status, error, description }: { readonly status: number; readonly error: string; readonly description: string },
  { docsUrl, requestId }: { readonly docsUrl: string; readonly requestId: string },
  headers: Record<string, string>,
): Response {
  const address = `${docsUrl}?error=${error}&request=${requestId}`;
  const body = { error, error_description: description, error_uri: address };
  return json(status, body, { "cache-control": "no-store", pragma: "no-cache", ...headers });
}
