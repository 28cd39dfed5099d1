import { de } from "./de.ts";
import { en } from "./en.ts";
import { fr } from "./fr.ts";
import type { Texts } from "./texts.ts";

/** The first one is the default. */
export const LANGUAGES = { en, de, fr } as const satisfies Readonly<Record<string, Texts>>;
export type Language = keyof typeof LANGUAGES;

/** English dates are day first, with the month in words: whoever reads English reads them alike. */
const DATES: Readonly<Record<Language, string>> = { en: "en-GB", de: "de", fr: "fr" };

/** `23 Nov 2026, 10:20 UTC`. Names the time zone, since the person's own is not known. */
export function momentText(ms: number, lang: Language): string {
  const format = new Intl.DateTimeFormat(DATES[lang], { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" });
  return `${format.format(ms)} UTC`;
}

const ALL = Object.keys(LANGUAGES) as Language[];
const isLanguage = (tag: string): tag is Language => Object.hasOwn(LANGUAGES, tag);

/**
 * The language of a page: the first supported one of `ui_locales` (OIDC Core 3.1.2.1: tags, best first), else the best
 * one of `Accept-Language` (RFC 9110 12.5.4), else English.
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

/** `de-CH;q=0.7` → one range; malformed text → none. */
function parseRange(text: string): readonly { readonly tag: string; readonly quality: number }[] {
  const [, tag = "", quality = "1"] =
    /^\s*(\*|[a-z]{1,8}(?:-[a-z0-9]{1,8})*)\s*(?:;\s*q=([01](?:\.[0-9]{0,3})?)\s*)?$/i.exec(text) ?? [];
  return tag === "" ? [] : [{ tag: tag.toLowerCase(), quality: Math.min(Number(quality), 1) }];
}

/** Shortens an unsupported tag: `de-CH-1996` → `de-CH` → `de` (RFC 4647 3.4). */
function lookUp(tag: string): Language | undefined {
  const primary = tag.toLowerCase().split("-", 1)[0] ?? "";
  return isLanguage(primary) ? primary : undefined;
}
