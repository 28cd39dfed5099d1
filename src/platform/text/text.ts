/**
 * Makes a text of unknown origin safe to store and show: cuts it to `maxChars` and replaces characters that could
 * manipulate the display (line breaks and other controls, changes of direction, halves of surrogate pairs).
 */
export function sanitizeForLog(text: string, maxChars: number): string {
  const cut = text.length > maxChars ? `${text.slice(0, maxChars - 1)}…` : text;
  return cut.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, "\u{FFFD}");
}

/**
 * NFKC of a text; undefined if it is longer than `maxChars`. The time grows with the square of the accents on one
 * letter: 32,000 of them take half a second, 1,000 half a millisecond. No other file normalizes.
 */
export const nfkc = (text: string, maxChars: number): string | undefined =>
  text.length > maxChars ? undefined : text.normalize("NFKC");

/** The forms of the platform's secrets: a signed token, a refresh token of a shard, or 256 bits in base64url. */
const SECRET = /(?<![\w-])(?:eyJ[\w-]+\.[\w-]+\.[\w-]*|[\w-]{44}~[\w~-]*|[\w-]{43})(?![\w-])/g;

/**
 * Shortens secrets in a caller's text, for logs: some callers put a token into a path, or a secret into the client id.
 * The beginning is kept, so that caller and operator can still identify the secret.
 */
export const redactSecrets = (text: string): string => text.replaceAll(SECRET, (secret) => `${secret.slice(0, 6)}…`);
