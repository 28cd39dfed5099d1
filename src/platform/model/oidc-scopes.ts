/** Scopes about the user (OIDC Core 5.4). With `openid`, they fill the ID token and `/userinfo`. */
export const PROFILE_SCOPES: readonly string[] = ["profile", "email"];
/** Libraries send these too (OIDC Core 5.4, 11), so they are accepted without effect. */
const IGNORED_OIDC_SCOPES: readonly string[] = ["address", "phone", "offline_access"];
/** No service may register any of these. */
export const OIDC_SCOPES: readonly string[] = ["openid", ...PROFILE_SCOPES, ...IGNORED_OIDC_SCOPES];
