import type { AuthorizeError } from "../../oauth/authorize/protocol/failure.ts";
import type { OAuthErrorCode } from "../../oauth/model/failure.ts";

/** Each `error` of the OAuth endpoints (RFC 6749 4.1.2.1 and 5.2, OIDC Core 3.1.2.6) with advice for developers. */
export const PROTOCOL_ERRORS = {
  invalid_request: "A parameter is missing, malformed or sent twice: the description names it.",
  invalid_client:
    "Send the client's id and secret by HTTP Basic or in the form. A client without a secret sends only `client_id`. The audit log tells the operator the exact cause.",
  invalid_grant:
    "The code, refresh token, address or password is wrong or has expired. A code lives 60 s, works once, and needs its `redirect_uri` and `code_verifier`. Let the user sign in again.",
  invalid_scope:
    "The scope that the description names cannot be granted: the client has to list it, the tenant to own its service or subscribe to it, and a user to have a role with it.",
  unauthorized_client:
    "Ask the operator to register the client for this grant. Only a token's own client can revoke it.",
  unsupported_grant_type: "Use one of `grant_types_supported` in the metadata.",
  unsupported_response_type: "Use one of `response_types_supported` in the metadata.",
  access_denied: "The user may not sign in this way, or is not a member of the tenant.",
  login_required: "Nobody is signed in: repeat the request without `prompt=none`.",
  interaction_required: "The user has to make a choice: repeat the request without `prompt=none`.",
  consent_required: "The user's identity provider asks for consent: repeat the request without `prompt=none`.",
  account_selection_required:
    "The user's identity provider asks for an account: repeat the request without `prompt=none`.",
  request_not_supported: "Send the parameters themselves.",
  unmet_authentication_requirements: "Do not mark acr as essential, or request one of acr_values_supported.",
  request_uri_not_supported: "Send the parameters themselves.",
  registration_not_supported: "The operator registers clients.",
  invalid_redirect_uri: "`redirect_uris` has to list addresses with https, or with http on the person's own device.",
  invalid_client_metadata: "The description names the field of the registration that is wrong.",
  invalid_query_parameter: "`/tokeninfo` needs one valid `access_token`.",
  invalid_token: "The access token is malformed, expired or revoked, or has no user although one is needed.",
  authorization_pending: "The person has not decided yet: ask again after the interval.",
  invalid_target:
    "`resource` has to be the address of a service here that takes access tokens, and one of those that were authorized. A client that nobody registered has to send one. Leave out `audience`.",
  slow_down: "Wait five seconds longer between two requests from now on.",
  expired_token: "Nobody decided in time: begin again with `/device_authorization`.",
  invalid_dpop_proof:
    "Sign a new proof for each request: method, address, time, the token's hash, by the key that the token is bound to.",
  use_dpop_nonce: "Sign the proof again with the nonce of the header `DPoP-Nonce`.",
  temporarily_unavailable: "Try again after `Retry-After` seconds.",
  server_error: "Report the request id at the end of `error_uri`: with it the operator finds the cause in the log.",
} as const satisfies Record<OAuthErrorCode | AuthorizeError | "invalid_token", string>;
