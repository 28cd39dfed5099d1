import { expect, it } from "vitest";
import { localeOf } from "../../console/src/words/locale.ts";

it("writes dates and numbers as where the reader lives, if that place speaks the language", () => {
  expect(localeOf("en", ["en-US", "en"])).toBe("en-US");
  expect(localeOf("en", ["de-AT", "en-IE"])).toBe("en-IE");
  expect(localeOf("de", ["de-AT", "en-IE"])).toBe("de-AT");
  expect(localeOf("en", ["en", "fr-FR"])).toBe("en-GB");
  expect(localeOf("de", [])).toBe("de-DE");
});

it("passes over what is no language tag, as a system without a language gives", () => {
  expect(localeOf("en", ["en-US@posix", "en-IE"])).toBe("en-IE");
  expect(localeOf("en", ["en-US@posix"])).toBe("en-GB");
});
