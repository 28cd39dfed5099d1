/**
 * Scopes that OpenID Connect names besides `openid` (OIDC Core 5.4, 11): accepted without effect, as clients of others send
 * them (contract 2.2), and so of no use as a service's.
 */
export const IGNORED_OIDC_SCOPES: readonly string[] = ["profile", "email", "address", "phone", "offline_access"];
