import { PROOF_ALGS } from "../../http/callers/proof.ts";
import { PROMPTS } from "../authorize/protocol/checks.ts";
import { FLOWS, FORM_POST } from "../authorize/protocol/parse.ts";
import { ASSERTION_ALGS, MAC_ALGS } from "../clients/assertion.ts";
import { ACR_VALUES } from "../model/claims.ts";
import { FAPI_ID_TOKEN_ALG, ID_TOKEN_ALG } from "../tokens/keys/signing-key.ts";

export interface ServerDescription {
  readonly issuer: string;
  /** The base of the pages for people: the issuer, unless pages have their own host. */
  readonly pages: string;
  /** `{origin}{PATH_PREFIX}` */
  readonly publicBase: string;
  readonly scopes: readonly string[];
  /** Tags of the pages' languages (RFC 5646). */
  readonly uiLocales: readonly string[];
  readonly grantTypes: readonly string[];
  /** The platform sends mails, and so can verify addresses. */
  readonly sendsMail: boolean;
  /** A client's id may be the address of a document (unregistered/documents.ts). */
  readonly takesDocuments: boolean;
  /** Clients register themselves. */
  readonly takesRegistrations: boolean;
}

/** Claims of ID tokens (tokens/id-token.ts) and of `/userinfo` (user-info.ts). */
const CLAIMS = [
  "iss",
  "sub",
  "aud",
  "exp",
  "iat",
  "auth_time",
  "acr",
  "amr",
  "nonce",
  "at_hash",
  "email",
  "name",
  "picture",
  "locale",
  "tenant",
];
/** Each client is registered for a secret, which it sends in the header or the body, or for one kind of assertion. */
const PROOFS = ["client_secret_basic", "client_secret_post", "client_secret_jwt", "private_key_jwt"];
const PROOF_SIGNING_ALGS = [...ASSERTION_ALGS, ...MAC_ALGS];

/**
 * The server's metadata (RFC 8414, OpenID Connect Discovery, and the documents of each feature). Unsupported features
 * are stated where a missing field would mean support.
 */
export function serverMetadata({
  issuer,
  pages,
  publicBase,
  scopes,
  uiLocales,
  grantTypes,
  sendsMail,
  takesDocuments,
  takesRegistrations,
}: ServerDescription): object {
  const flows = Object.values(FLOWS);
  return {
    issuer,
    authorization_endpoint: `${pages}/authorize`,
    token_endpoint: `${issuer}/token`,
    userinfo_endpoint: `${issuer}/userinfo`,
    jwks_uri: `${issuer}/jwks`,
    revocation_endpoint: `${issuer}/revoke`,
    introspection_endpoint: `${issuer}/introspect`,
    ...(takesRegistrations ? { registration_endpoint: `${issuer}/register` } : {}),
    device_authorization_endpoint: `${issuer}/device_authorization`,
    pushed_authorization_request_endpoint: `${issuer}/par`,
    // Single clients are registered as requiring them.
    require_pushed_authorization_requests: false,
    end_session_endpoint: `${pages}/end_session`,
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
    scopes_supported: scopes,
    response_types_supported: Object.keys(FLOWS),
    response_modes_supported: [...new Set(flows.map(({ mode }) => mode)), FORM_POST],
    grant_types_supported: [...new Set([...grantTypes, ...flows.map(({ grantType }) => grantType)])],
    code_challenge_methods_supported: ["S256", "plain"],
    // `none`: clients without a secret. They must use PKCE.
    token_endpoint_auth_methods_supported: [...PROOFS, "none"],
    token_endpoint_auth_signing_alg_values_supported: PROOF_SIGNING_ALGS,
    revocation_endpoint_auth_methods_supported: [...PROOFS, "none"],
    revocation_endpoint_auth_signing_alg_values_supported: PROOF_SIGNING_ALGS,
    introspection_endpoint_auth_methods_supported: PROOFS,
    introspection_endpoint_auth_signing_alg_values_supported: PROOF_SIGNING_ALGS,
    dpop_signing_alg_values_supported: PROOF_ALGS,
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: takesDocuments,
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: [ID_TOKEN_ALG, FAPI_ID_TOKEN_ALG],
    claims_supported: [...CLAIMS, ...(sendsMail ? ["email_verified"] : [])],
    claim_types_supported: ["normal"],
    claims_parameter_supported: true,
    acr_values_supported: ACR_VALUES,
    request_parameter_supported: false,
    // A missing field would mean true (OpenID Connect Discovery 3).
    request_uri_parameter_supported: false,
    prompt_values_supported: PROMPTS,
    display_values_supported: ["page", "popup"],
    ui_locales_supported: uiLocales,
    service_documentation: `${publicBase}/docs`,
  };
}
