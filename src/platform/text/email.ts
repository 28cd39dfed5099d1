import { nfkc } from "./text.ts";

/** The longest address that mail can be sent to (RFC 5321 4.5.3.1). */
export const EMAIL_MAX_CHARS = 254;

/**
 * The one spelling of an account: trimmed, NFKC, lower case. Undefined if it is not an e-mail address, by its shape;
 * only a message can show that mail arrives. Invisible characters (a zero-width space, a change of direction) are
 * refused, since two accounts would look like one.
 */
export function normalizeEmail(text: string): string | undefined {
  const email = nfkc(text.trim(), EMAIL_MAX_CHARS)?.toLowerCase();
  if (email === undefined || email.length > EMAIL_MAX_CHARS) return undefined;
  const shaped = /^[^\s@\p{Cc}\p{Cf}]{1,64}@[^\s@\p{Cc}\p{Cf}]+\.[^\s@.\p{Cc}\p{Cf}]+$/u.test(email);
  return shaped && email.isWellFormed() ? email : undefined;
}
