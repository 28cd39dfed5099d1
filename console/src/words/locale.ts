/** The locale if the browser names no region. Its dates cannot be misread. */
const USUAL = { en: "en-GB", de: "de-DE" } as const;

/** The reader's locale for a language: `en-US` writes dates unlike `en-GB`. `wanted`: the browser's languages. Pure. */
export const localeOf = (language: "en" | "de", wanted: readonly string[]): string =>
  wanted.find((tag) => tag.toLowerCase().startsWith(`${language}-`) && isTag(tag)) ?? USUAL[language];

/** Tells whether a text is a language tag. Some browsers give a locale of the system, `en-US@posix`, which is not. */
export function isTag(text: string): boolean {
  try {
    return Intl.getCanonicalLocales(text).length === 1;
  } catch {
    return false;
  }
}
