/** Where the browser names no place: dates that are read in one way alone. */
const USUAL = { en: "en-GB", de: "de-DE" } as const;

/** The place of the reader whose language is spoken: `en-US` writes dates unlike `en-GB`. `wanted`: the browser's. Pure. */
export const localeOf = (language: "en" | "de", wanted: readonly string[]): string =>
  wanted.find((tag) => tag.toLowerCase().startsWith(`${language}-`)) ?? USUAL[language];
