/** Where the browser names no place: dates that are read in one way alone. */
const USUAL = { en: "en-GB", de: "de-DE" } as const;

/** The place of the reader whose language is spoken: `en-US` writes dates unlike `en-GB`. `wanted`: the browser's. Pure. */
export const localeOf = (language: "en" | "de", wanted: readonly string[]): string =>
  wanted.find((tag) => tag.toLowerCase().startsWith(`${language}-`) && isTag(tag)) ?? USUAL[language];

/** A browser without settings of its own passes on those of its system, as `en-US@posix`, which is no tag. */
export function isTag(text: string): boolean {
  try {
    return Intl.getCanonicalLocales(text).length === 1;
  } catch {
    return false;
  }
}
