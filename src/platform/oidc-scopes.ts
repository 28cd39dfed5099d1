/**
 * Scopes of OpenID Connect besides `openid` (OIDC Core 5.4, 11). Libraries send them, so they are accepted without
 * effect, and no service may register them.
 */
export const IGNORED_OIDC_SCOPES: readonly string[] = ["profile", "email", "address", "phone", "offline_access"];
