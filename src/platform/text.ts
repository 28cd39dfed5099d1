/**
 * A text of unknown origin, made safe to keep and to show: cut to `maxChars`, and without characters that steer what
 * shows it (line breaks and other controls, changes of direction, halves of surrogate pairs).
 */
export function sanitizeForLog(text: string, maxChars: number): string {
  const cut = text.length > maxChars ? `${text.slice(0, maxChars - 1)}…` : text;
  return cut.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, "\u{FFFD}");
}

/**
 * NFKC of a text that is short enough; undefined of a longer one. The time that it takes grows with the square of the
 * accents on one letter: 32,000 of them are half a second, 1,000 are half a millisecond. Nothing else here normalizes.
 */
export const nfkc = (text: string, maxChars: number): string | undefined =>
  text.length > maxChars ? undefined : text.normalize("NFKC");

/** What this platform hands out as a secret: a signed token, or 256 bits in base64url. */
const SECRET = /(?<![\w-])(?:eyJ[\w-]+\.[\w-]+\.[\w-]*|[\w-]{43})(?![\w-])/g;

/**
 * A text that a caller had a part in, for logs. People put a token into a path, or a client's secret where its id
 * belongs: of what looks like one only the beginning is kept, by which the two of them can still find it.
 */
export const redactSecrets = (text: string): string => text.replaceAll(SECRET, (secret) => `${secret.slice(0, 6)}…`);
