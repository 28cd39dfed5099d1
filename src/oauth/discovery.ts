/**
 * What this server can do, as machines read it (RFC 8414, OpenID Connect Discovery). It names only what is there:
 * an endpoint appears with the issue that builds it.
 */
export function serverMetadata(issuer: string, scopes: readonly string[]): object {
  return {
    issuer,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/jwks`,
    revocation_endpoint: `${issuer}/revoke`,
    scopes_supported: scopes,
    response_types_supported: [],
    grant_types_supported: ["client_credentials"],
    token_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post"],
    revocation_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post"],
    subject_types_supported: ["public"],
  };
}
