/**
 * A caller's own session id, in `plat-session-id`: no character needs quotes in a header or a log. Takes any base64.
 */
export const SESSION_ID = /^[A-Za-z0-9._~+/=:@%!$*-]{1,128}$/;
/** The same in words, for who sends another one. */
export const SESSION_ID_RULE = "must be 1 to 128 letters, digits and . _ ~ + / = : @ % ! $ * -";
