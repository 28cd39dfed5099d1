import * as fc from "fast-check";

/**
 * Random texts of Unicode. `webUrl` and the units `binary` and `grapheme` of fast-check make like ones, but build
 * tables of up to a million entries, which takes a second in each runtime.
 */
interface Length {
  readonly minLength?: number;
  readonly maxLength?: number;
}

const FIRST_SURROGATE = 0xd800;
const SURROGATES = 0x800;
const LAST_CODE_POINT = 0x10ffff;

/** Any code point but surrogates, half of them ASCII or near it. */
const codePoint = fc
  .oneof(fc.nat(0x17f), fc.nat(LAST_CODE_POINT - SURROGATES))
  .map((number) => String.fromCodePoint(number < FIRST_SURROGATE ? number : number + SURROGATES));

/** Visible characters, some of them of several code points. */
const glyph = fc.oneof(
  fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
  fc.integer({ min: 0xc0, max: 0x17f }).map((code) => String.fromCharCode(code)),
  fc.integer({ min: 0x4e00, max: 0x9fff }).map((code) => String.fromCharCode(code)),
  fc.constantFrom("e\u0301", "🇩🇪", "👩‍👩‍👧", "ก็", "ﬁ", "İ", "ß", "नि", "😀"),
);

/** Any well-formed text. */
export const anyText = (length: Length = {}) => fc.string({ unit: codePoint, ...length });

/** Text that a person could write. */
export const writtenText = (length: Length = {}) => fc.string({ unit: glyph, ...length });

/** Web addresses with any path and query. */
export const webAddress = () =>
  fc
    .tuple(fc.constantFrom("https", "http"), fc.domain(), writtenText({ maxLength: 8 }), fc.option(writtenText()))
    .map(([scheme, domain, path, query]) => {
      const url = new URL(`${scheme}://${domain}/${encodeURIComponent(path)}`);
      if (query !== null) url.searchParams.set("q", query);
      return url.href;
    });
