/**
 * A text of unknown origin, made safe to keep and to show: cut to `maxChars`, and without characters that steer what
 * shows it (line breaks and other controls, changes of direction, halves of surrogate pairs).
 */
export function harmless(text: string, maxChars: number): string {
  const cut = text.length > maxChars ? `${text.slice(0, maxChars - 1)}…` : text;
  return cut.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, "\u{FFFD}");
}
