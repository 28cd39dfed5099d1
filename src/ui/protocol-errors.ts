import type { AuthorizeError } from "../oauth/authorize/failure.ts";
import type { OAuthErrorCode } from "../oauth/model/failure.ts";

/** Every `error` of the OAuth endpoints (RFC 6749 4.1.2.1 and 5.2, OIDC Core 3.1.2.6) and what a developer does about it. */
export const PROTOCOL_ERRORS = {
  invalid_request: "A parameter is missing, malformed or given twice: the description names it.",
  invalid_client:
    "Send the client's id and secret by HTTP Basic, or in the form. A client without a secret sends `client_id` alone; the operator sees which client was meant.",
  invalid_grant:
    "The code, refresh token, address or password is not good, or not any more. A code lives 60 s, works once, and needs the `redirect_uri` and the `code_verifier` that belong to it. Let the user sign in again.",
  invalid_scope:
    "The scope that the description names cannot be granted here: the client has to list it, the tenant to own or subscribe to its service, and a user to have a role with it.",
  unauthorized_client: "The operator registers the client for this grant; a token is revoked by its own client alone.",
  unsupported_grant_type: "`grant_types_supported` of the metadata says which ones there are.",
  unsupported_response_type: "`response_types_supported` of the metadata says which ones there are.",
  access_denied: "The user may not sign in like this, or is a member of no tenant that is meant.",
  login_required: "Nobody is signed in: ask again without `prompt=none`.",
  interaction_required: "The user has to choose something: ask again without `prompt=none`.",
  consent_required: "The user's identity provider wants to ask something: ask again without `prompt=none`.",
  account_selection_required: "The user's identity provider wants to ask something: ask again without `prompt=none`.",
  request_not_supported: "Send the parameters themselves.",
  request_uri_not_supported: "Send the parameters themselves.",
  registration_not_supported: "Clients are registered by the operator.",
  invalid_query_parameter: "`/tokeninfo` needs one `access_token` that is valid now.",
  invalid_token: "The access token is none, has expired, was revoked, or is of no user where one is needed.",
  temporarily_unavailable: "Try again after `Retry-After` seconds.",
  server_error: "Report the request id at the end of `error_uri`: the operator finds the cause in the log by it.",
} as const satisfies Record<OAuthErrorCode | AuthorizeError | "invalid_token", string>;
