import { nfkc } from "./text.ts";

/** Maximum length of an address that mail can be sent to (RFC 5321 4.5.3.1). */
export const EMAIL_MAX_CHARS = 254;

/**
 * Normalizes an address, so that an account has one spelling: trimmed, NFKC, lower case. Undefined if the text does not
 * have the form of an address. Invisible characters (a zero-width space, a change of direction) are refused, since two
 * accounts would look the same.
 */
export function normalizeEmail(text: string): string | undefined {
  const email = nfkc(text.trim(), EMAIL_MAX_CHARS)?.toLowerCase();
  if (email === undefined || email.length > EMAIL_MAX_CHARS) return undefined;
  const shaped = /^[^\s@\p{Cc}\p{Cf}]{1,64}@[^\s@\p{Cc}\p{Cf}]+\.[^\s@.\p{Cc}\p{Cf}]+$/u.test(email);
  return shaped && email.isWellFormed() ? email : undefined;
}
