import type { Texts } from "../texts/texts.ts";

/** `Firefox, Windows`; a word for a browser that is not known. */
export function browserText(
  { browser, system }: { readonly browser: string; readonly system: string },
  { unknownBrowser }: Pick<Texts["account"], "unknownBrowser">,
): string {
  const known = [browser, system].filter((part) => part !== "").join(", ");
  return known === "" ? unknownBrowser : known;
}

/** `Berlin, Germany`; empty if it is not known. */
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
