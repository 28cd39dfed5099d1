import { nfkc } from "./text.ts";

/** The longest address that mail can be sent to (RFC 5321 4.5.3.1). */
export const EMAIL_MAX_CHARS = 254;

/**
 * One spelling for an account (contract 2.6): trimmed, NFKC, lower case. Undefined when it is no e-mail address.
 * The check is of the shape alone; whether mail arrives is for a message to find out. What cannot be seen (a space without
 * width, a change of direction) is refused: two accounts would look like one.
 */
export function normalizeEmail(text: string): string | undefined {
  const email = nfkc(text.trim(), EMAIL_MAX_CHARS)?.toLowerCase();
  if (email === undefined || email.length > EMAIL_MAX_CHARS) return undefined;
  const shaped = /^[^\s@\p{Cc}\p{Cf}]{1,64}@[^\s@\p{Cc}\p{Cf}]+\.[^\s@.\p{Cc}\p{Cf}]+$/u.test(email);
  return shaped && email.isWellFormed() ? email : undefined;
}
