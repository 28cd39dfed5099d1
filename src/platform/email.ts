/** The longest address that mail can be sent to (RFC 5321 4.5.3.1). */
export const EMAIL_MAX_CHARS = 254;

/**
 * One spelling for an account (contract 2.6): trimmed, NFKC, lower case. Undefined when it is no e-mail address.
 * The check is of the shape alone; whether mail arrives is for a message to find out.
 */
export function normalizeEmail(text: string): string | undefined {
  const email = text.trim().normalize("NFKC").toLowerCase();
  const shaped = /^[^\s@\p{Cc}]{1,64}@[^\s@\p{Cc}]+\.[^\s@.\p{Cc}]+$/u.test(email);
  return shaped && email.length <= EMAIL_MAX_CHARS && email.isWellFormed() ? email : undefined;
}
