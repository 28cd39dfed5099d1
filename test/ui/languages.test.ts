import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chooseLanguage, LANGUAGES } from "../../src/ui/texts/languages.ts";
import { runs } from "../support/model-runs.ts";
import { anyText } from "../support/any-text.ts";

/** Returns all texts of a language by their path, such as `signIn.title`. */
function leaves(value: object, path = ""): Map<string, string> {
  return new Map(
    Object.entries(value).flatMap(([key, inner]: [string, unknown]) =>
      typeof inner === "string" ? [[`${path}${key}`, inner] as const] : [...leaves(inner as object, `${path}${key}.`)],
    ),
  );
}
const placeholders = (text = ""): readonly string[] => (text.match(/\{\w+\}/g) ?? []).toSorted();
/** "Code" and "Console" are words of other languages too. */
const SAME_WORDS: readonly string[] = ["device.code", "landing.console", "passkeys.section"];
const english = leaves(LANGUAGES.en);

describe.each(Object.entries(LANGUAGES))("the texts in %s", (language, texts) => {
  const found = leaves(texts);

  it("are complete, with the same placeholders", () => {
    expect([...found.keys()]).toEqual([...english.keys()]);
    for (const [key, text] of found) {
      expect(text.trim(), key).toBe(text);
      expect(text.length, key).toBeGreaterThan(1);
      expect(text, key).not.toMatch(/[<>&]|\s\s/);
      expect(placeholders(text), key).toEqual(placeholders(english.get(key)));
    }
  });

  it("are not those of another language", () => {
    const same = [...found].filter(([key, text]) => text === english.get(key)).map(([key]) => key);
    expect(same.filter((key) => !SAME_WORDS.includes(key) || language === "en")).toEqual(
      language === "en" ? [...english.keys()] : [],
    );
  });
});

it("keeps French punctuation on the line of its word", () => {
  for (const [key, text] of leaves(LANGUAGES.fr))
    expect(text, key).not.toMatch(/ [;:?!»]|« |[^\s\u00a0][;?!»]|«[^\u00a0]/);
});

describe("the language of a page", () => {
  it.each([
    [undefined, null, "en"],
    ["", "", "en"],
    // The order of ui_locales comes first.
    ["fr de", "en", "fr"],
    ["fr-CA fr en", null, "fr"],
    ["ja  zh-Hant\tde-CH-1996", "fr", "de"],
    ["DE-at", null, "de"],
    ["ja", "fr", "fr"],
    ["constructor __proto__ toString", null, "en"],
    // Accept-Language by quality, then by order.
    [undefined, "de", "de"],
    [undefined, "de-CH, fr;q=0.9, en;q=0.8", "de"],
    [undefined, "en;q=0.5, fr;q=0.8, de;q=0.7", "fr"],
    [undefined, "ja, fr;q=0.1", "fr"],
    [undefined, "fr;q=0.3,de;q=0.3", "fr"],
    [undefined, "FR-fr ; Q=0.9 , de;q=0.901", "de"],
    [undefined, "de;q=0, ja", "en"],
    [undefined, "*", "en"],
    [undefined, "en;q=0, *", "de"],
    [undefined, "ja, *;q=0.5, fr;q=0.1", "en"],
    [undefined, "en;q=0, de;q=0, fr;q=0, *", "en"],
    // Malformed ranges are ignored.
    [undefined, "de;q=2, fr;q=0.1", "fr"],
    [undefined, "de;q=x, fr;q=1.000", "fr"],
    [undefined, ";;;,,,\u0000,de_DE,fr", "fr"],
    [undefined, "constructor, __proto__;q=0.9", "en"],
  ])("ui_locales %j, Accept-Language %j → %s", (uiLocales, acceptLanguage, expected) => {
    expect(chooseLanguage(uiLocales, acceptLanguage)).toBe(expected);
  });

  it("is a supported one for any input", () => {
    const anything = fc.oneof(
      anyText(),
      fc.stringMatching(/^(([a-z]{2}|\*)(-[A-Z]{2})?(;q=[01](\.\d)?)?[, ]{1,2}){0,5}$/),
    );
    fc.assert(
      fc.property(fc.option(anything, { nil: undefined }), fc.option(anything), (uiLocales, acceptLanguage) => {
        expect(Object.keys(LANGUAGES)).toContain(chooseLanguage(uiLocales, acceptLanguage));
      }),
      { numRuns: runs(100) },
    );
  });

  it("is chosen in time linear to the header", () => {
    const startMs = performance.now();
    chooseLanguage("-".repeat(100_000), `${"a-".repeat(50_000)};q=`);
    expect(performance.now() - startMs).toBeLessThan(500);
  });
});
