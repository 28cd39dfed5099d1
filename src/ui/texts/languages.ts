import { de } from "./de.ts";
import { en } from "./en.ts";
import { fr } from "./fr.ts";
import type { Texts } from "./texts.ts";

/** The supported languages. The first one is the default. */
export const LANGUAGES = { en, de, fr } as const satisfies Readonly<Record<string, Texts>>;
export type Language = keyof typeof LANGUAGES;

/** English dates have the day first and the month in words, which all readers of English understand. */
const DATES: Readonly<Record<Language, string>> = { en: "en-GB", de: "de", fr: "fr" };

/** Writes `23 Nov 2026, 10:20 UTC`. It names the time zone, because the person's own is unknown. */
export function momentText(ms: number, lang: Language): string {
  const format = new Intl.DateTimeFormat(DATES[lang], { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" });
  return `${format.format(ms)} UTC`;
}

const ALL = Object.keys(LANGUAGES) as Language[];
const isLanguage = (tag: string): tag is Language => Object.hasOwn(LANGUAGES, tag);

/**
 * Returns the language of a page: the first supported one of `ui_locales` (OIDC Core 3.1.2.1: tags, best first), or
 * else the best one of `Accept-Language` (RFC 9110 12.5.4), or else English.
 */
export function chooseLanguage(uiLocales: string | undefined, acceptLanguage: string | null): Language {
  for (const tag of (uiLocales ?? "").split(/\s+/)) {
    const language = lookUp(tag);
    if (language !== undefined) return language;
  }
  return bestOf(acceptLanguage ?? "") ?? "en";
}

function bestOf(acceptLanguage: string): Language | undefined {
  const ranges = acceptLanguage.split(",").flatMap(parseRange);
  const refused = new Set(ranges.filter(({ quality }) => quality === 0).map(({ tag }) => tag));
  const wanted = ranges.filter(({ quality }) => quality > 0).toSorted((a, b) => b.quality - a.quality);
  for (const { tag } of wanted) {
    const language = tag === "*" ? ALL.find((candidate) => !refused.has(candidate)) : lookUp(tag);
    if (language !== undefined) return language;
  }
  return undefined;
}

/** Reads a range such as `de-CH;q=0.7`. A malformed text has no range. */
function parseRange(text: string): readonly { readonly tag: string; readonly quality: number }[] {
  const [, tag = "", quality = "1"] =
    /^\s*(\*|[a-z]{1,8}(?:-[a-z0-9]{1,8})*)\s*(?:;\s*q=([01](?:\.[0-9]{0,3})?)\s*)?$/i.exec(text) ?? [];
  return tag === "" ? [] : [{ tag: tag.toLowerCase(), quality: Math.min(Number(quality), 1) }];
}

/** Looks a tag up by its primary language: `de` for `de-CH-1996` (RFC 4647 3.4). */
function lookUp(tag: string): Language | undefined {
  const primary = tag.toLowerCase().split("-", 1)[0] ?? "";
  return isLanguage(primary) ? primary : undefined;
}
