/**
 * A caller's own session id, in `plat-session-id`: characters that need no quotes in a header or a log. Base64 is of them,
 * in both of its spellings.
 */
export const SESSION_ID = /^[A-Za-z0-9._~+/=:@%!$*-]{1,128}$/;
