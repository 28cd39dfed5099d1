/** A caller's own session id, in `plat-session-id`. No character needs quotes in a log. Any base64 is accepted. */
export const SESSION_ID = /^[A-Za-z0-9._~+/=:@%!$*-]{1,128}$/;
/** The pattern in words, to follow the name of a field. */
export const SESSION_ID_RULE = "must be 1 to 128 letters, digits and . _ ~ + / = : @ % ! $ * -";
