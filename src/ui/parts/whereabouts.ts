import type { Texts } from "../texts/texts.ts";

/** Writes `Firefox, Windows`, or a text for an unknown browser. */
export function browserText(
  { browser, system }: { readonly browser: string; readonly system: string },
  { unknownBrowser }: Pick<Texts["account"], "unknownBrowser">,
): string {
  const known = [browser, system].filter((part) => part !== "").join(", ");
  return known === "" ? unknownBrowser : known;
}

/** Writes `Berlin, Germany`, or nothing if the place is unknown. */
export function placeText(
  { country, city }: { readonly country: string; readonly city: string },
  lang: string,
): string {
  // Intl throws for anything else.
  const name = !/^[A-Z]{2}$/.test(country)
    ? country
    : (new Intl.DisplayNames(lang, { type: "region" }).of(country) ?? country);
  return [city, name].filter((part) => part !== "").join(", ");
}
