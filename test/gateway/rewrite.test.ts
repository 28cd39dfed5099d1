import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRewriter, isRewritten, type Rewriter } from "../../src/gateway/rewrite/rewriter.ts";
import { itAtNight, runs } from "../support/model-runs.ts";

/** Bytes as a text with one character each. */
const bytesOf = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0));
const textOf = (bytes: Uint8Array): string => Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
const utf8 = (text: string): string => textOf(new TextEncoder().encode(text));

const escapeSlashes = (text: string): string => text.replaceAll("/", String.raw`\/`);

/**
 * The same rule as a regular expression on the whole text: characters before, spellings of the source, characters
 * after. Letters of both cases are written out, since in V8 `(?i:0(?:2c|5[b-e]))` does not match `05C`.
 */
const BEFORE = String.raw`(?<=^|[^a-zA-Z0-9+.\-/?#]|\\[bfnrt]|\\u(?!00(?:2[3bBdDeEfF]|3[\dfF]|[46][1-9a-fA-F]|[57][0-9aA]))[\da-fA-F]{4})`;
const AFTER = String.raw`(?=$|[\x00-\x20"#'),/<>?[\]^\x60{|}\x7f]|\\(?!u)|\\u00(?:[01][\da-fA-F]|2[02379cCfF]|3[cCeEfF]|5[b-eB-E]|60|7[bBcCdDfF])|&(?:quot|apos|lt|gt|#0?(?:34|39|60|62|96)|#[xX]0?(?:22|27|3[cCeE]|60));)`;
const spelled = (text: string): string =>
  text.replaceAll(/[^\w/]/g, String.raw`\$&`).replaceAll("/", String.raw`\\?\/`);
const inAnyCase = (text: string): string =>
  text.replaceAll(/[a-z]/gi, (letter) => `[${letter.toLowerCase()}${letter.toUpperCase()}]`);
function reference(source: string, target: string): (text: string) => string {
  const [, origin = "", path = ""] = /^([^:]+:\/\/[^/]+)(.*)$/s.exec(utf8(source)) ?? [];
  const pattern = new RegExp(`${BEFORE}${inAnyCase(spelled(origin))}${spelled(path)}${AFTER}`, "g");
  return (text) => text.replace(pattern, (match) => (match.includes("\\") ? escapeSlashes(target) : target));
}

/** Scans a text in chunks, each in a dirty buffer, and copies every result before the next. */
function inChunks(rewriter: Rewriter, chunks: readonly string[]): string {
  const scan = rewriter.scan();
  const next = (chunk: string, isLast: boolean): string => {
    const buffer = bytesOf("/".repeat(scan.headroom) + chunk);
    return textOf(scan.next(buffer, buffer.length, isLast));
  };
  return [...chunks.map((chunk) => next(chunk, false)), next("", true)].join("");
}

/** Cuts at these places, in any order; repeated ones make empty chunks. */
function cut(text: string, places: readonly number[]): string[] {
  const ordered = places.toSorted((a, b) => a - b);
  return [0, ...ordered].map((start, index) => text.slice(start, ordered[index] ?? text.length));
}

const TARGET = "https://api.example/catalog/v1";
/** Sources and their targets. */
const PAIRS: readonly (readonly [source: string, target: string])[] = [
  ["https://s.example/v1", TARGET],
  ["https://s.example", TARGET],
  ["http://127.0.0.1:8080/a/b/v1", TARGET],
  ["https://s.example:8443", "http://localhost:3000/s"],
  // A source that is a part of its target, and one that begins with itself.
  ["https://s.example/v1", "https://s.example/v1/public"],
  ["https://s.example/v1", "https://api.example/?of=https://s.example/v1"],
  ["http://h/http://h", TARGET],
  ["http://aaa.aa/aaa", "x:y"],
  ["HTTPS://S.Example/V1", TARGET],
  ["https://s.example/käse", TARGET],
];

/** Texts around addresses, and texts that look like one. */
const AROUND = [
  String.raw`\n \t \\ \/ \" \ \u \u00 \u003 \u003c \u003E \u002e \u0041 \u0026 \u002f \u00e4 \u0040 \u005C \u007a \u2028 \u00zz x003c u003c`,
  "&quot; &#34; &#39; &#039; &apos; &lt; &gt; &amp; &quot &q &# &#x27; &#X3C; &#x3cc; &#340; &nbsp; &;",
  String.raw`// :// http https https:// http: https:\/\/ view-source: x svn+ s.example S.EXAMPLE/v1 0 :443 @evil.example .evil`,
  "%2f /products/1?x=1#y",
]
  .flatMap((words) => words.split(" "))
  .concat("\"'`(),<>[]{}|^ \t\n\r\0\u007f/?#.:@-_~%&;=+$!*\\0aAzZ\u0080\u00e9\u00ff".split(""));

/** Pieces of a body: the source in all its spellings, its beginnings and ends, and the rest. */
const pieceOf = (source: string, target: string): fc.Arbitrary<string> => {
  const bytes = utf8(source);
  const spelling = fc
    .array(fc.boolean(), { minLength: 8, maxLength: 8 })
    .map((isEscaped) =>
      bytes.split("/").reduce((text, part, index) => `${text}${isEscaped[index % 8] ? "\\" : ""}/${part}`),
    );
  const place = fc.nat(bytes.length);
  const bySpelling = fc.oneof(
    { weight: 4, arbitrary: fc.constant(bytes) },
    { weight: 1, arbitrary: fc.constant(escapeSlashes(bytes)) },
    { weight: 2, arbitrary: spelling },
    { weight: 1, arbitrary: fc.constantFrom(bytes.toUpperCase(), bytes.toLowerCase()) },
  );
  return fc.oneof(
    { weight: 6, arbitrary: bySpelling },
    { weight: 2, arbitrary: fc.tuple(bySpelling, place).map(([text, at]) => text.slice(0, at)) },
    { weight: 1, arbitrary: fc.tuple(bySpelling, place).map(([text, at]) => text.slice(at)) },
    { weight: 1, arbitrary: fc.constantFrom(target, bytes.replace("https", "http"), bytes.replace("//", "/")) },
    { weight: 9, arbitrary: fc.constantFrom(...AROUND) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 4 }).map(textOf) },
  );
};

const anyCase = fc.constantFrom(...PAIRS).chain(([source, target]) =>
  fc.record({
    source: fc.constant(source),
    target: fc.constant(target),
    body: fc.array(pieceOf(source, target), { maxLength: 12 }).map((pieces) => pieces.join("")),
  }),
);

describe("the address in a body", () => {
  // shows: oauth/proxy-address-rewriting/source-url-to-proxy-url
  // shows: gateway/rewriting/bodies
  it("is replaced at any cut of the body", () => {
    fc.assert(
      fc.property(anyCase, fc.array(fc.nat(300), { maxLength: 8 }), ({ source, target, body }, places) => {
        const rewriter = createRewriter(source, target);
        const expected = reference(source, target)(body);
        expect(inChunks(rewriter, [body])).toBe(expected);
        expect(
          inChunks(
            rewriter,
            cut(
              body,
              places.map((place) => place % (body.length + 1)),
            ),
          ),
        ).toBe(expected);
        expect(inChunks(rewriter, body.split(""))).toBe(expected);
      }),
      { numRuns: runs(700) },
    );
  });

  itAtNight("is replaced at every cut, and every two cuts", () => {
    fc.assert(
      fc.property(anyCase, ({ source, target, body }) => {
        const rewriter = createRewriter(source, target);
        const expected = reference(source, target)(body);
        for (let first = 0; first <= body.length; first++) {
          expect(inChunks(rewriter, cut(body, [first]))).toBe(expected);
          if (body.length > 80) continue;
          for (let second = first; second <= body.length; second++)
            if (inChunks(rewriter, cut(body, [first, second])) !== expected)
              expect.fail(JSON.stringify({ source, target, body, first, second }));
        }
      }),
      { numRuns: runs(20) },
    );
  });

  it("is found in bodies larger than a piece", () => {
    const rewriter = createRewriter("https://s.example/v1", TARGET);
    const row = `{"self":"https://s.example/v1/products/1","other":"https://s.example/v10"},`;
    const body = row.repeat(3_000);
    const expected = row.replace("https://s.example/v1/", `${TARGET}/`).repeat(3_000);
    for (const size of [1_000, 4_096, 65_536]) {
      const places = Array.from({ length: Math.floor(body.length / size) }, (_, index) => (index + 1) * size);
      expect(inChunks(rewriter, cut(body, places)) === expected, `chunks of ${size}`).toBe(true);
    }
  });
});

const rewriter = createRewriter("https://s.example/v1", TARGET);
const inBody = (text: string, by: Rewriter = rewriter): string => textOf(by.scan().whole(bytesOf(utf8(text))));

describe("an address in a text", () => {
  // shows: oauth/proxy-address-rewriting/source-url-to-proxy-url
  // shows: gateway/rewriting/where-an-address-ends
  // shows: gateway/rewriting/json-s
  it.each([
    ['{"self":"https://s.example/v1/a"}', `{"self":"${TARGET}/a"}`],
    ["https://s.example/v1", TARGET],
    ["https://s.example/v1?x=1#y", `${TARGET}?x=1#y`],
    ["https://s.example/v1#f", `${TARGET}#f`],
    ["(https://s.example/v1)", `(${TARGET})`],
    ["https://s.example/v1, https://s.example/v1/b", `${TARGET}, ${TARGET}/b`],
    ["HTTPS://S.EXAMPLE/v1/A", `${TARGET}/A`],
    [String.raw`"https:\/\/s.example\/v1\/a"`, String.raw`"https:\/\/api.example\/catalog\/v1\/a"`],
    [String.raw`see\nhttps://s.example/v1\nand`, String.raw`see\n${TARGET}\nand`],
    [String.raw`\u003chttps://s.example/v1\u003e`, String.raw`\u003c${TARGET}\u003e`],
    ["&lt;a href=&quot;https://s.example/v1&quot;&gt;", `&lt;a href=&quot;${TARGET}&quot;&gt;`],
    ["<a href=https://s.example/v1/a>", `<a href=${TARGET}/a>`],
    ["5; url=https://s.example/v1/a", `5; url=${TARGET}/a`],
    ["„https://s.example/v1/ä“", `„${TARGET}/ä“`],
  ])("%s", (text, expected) => expect(inBody(text)).toBe(utf8(expected)));

  // shows: oauth/proxy-address-rewriting/other-addresses
  // shows: gateway/rewriting/where-an-address-ends
  // shows: gateway/rewriting/scheme
  it.each([
    "https://s.example/v10",
    "https://s.example/v1.evil",
    "https://s.example/v1-2",
    "https://s.example/v1%20",
    "https://s.example/v1&amp;x",
    String.raw`https://s.example/v1\u002e5`,
    "https://s.example/V1/a",
    "https://s.example.evil/v1",
    "https://s.example:443/v1",
    "https://s.example@evil.example/v1",
    "https://user@s.example/v1",
    "https://www.s.example/v1",
    "https://s.example//v1",
    "http://s.example/v1",
    "xhttps://s.example/v1",
    "svn+https://s.example/v1",
    "https;//s.example/v1",
    "//s.example/v1",
    "/v1/a",
    "s.example/v1",
    "https%3A%2F%2Fs.example%2Fv1",
    "https://s.example",
    "https://web.archive.example/web/2020/https://s.example/v1/a",
    String.raw`https:\/\/web.archive.example\/web\/2020\/https:\/\/s.example\/v1\/a`,
    String.raw`https://web.archive.example/web\u002fhttps://s.example/v1/a`,
    "https://relay.example/?https://s.example/v1/a",
    "https://app.example/#https://s.example/v1/a",
  ])("is not in %s", (text) => expect(inBody(text)).toBe(text));

  it("ends with host and port if it has no path", () => {
    const bare = createRewriter("https://s.example:8443", TARGET);
    expect(inBody("https://s.example:8443 https://s.example:8443/a", bare)).toBe(`${TARGET} ${TARGET}/a`);
    const others = "https://s.example https://s.example:84430 https://s.example:844 https://s.example:8443.evil";
    expect(inBody(others, bare)).toBe(others);
  });
});

describe("an address in a header", () => {
  // shows: oauth/proxy-address-rewriting/header-link
  // shows: oauth/proxy-address-rewriting/header-location
  // shows: gateway/rewriting/link-location
  it.each([
    ["https://s.example/v1/a?b#c", `${TARGET}/a?b#c`],
    ["HTTPS://S.EXAMPLE/v1", TARGET],
    [
      '<https://s.example/v1/a>; rel="next",<https://s.example/v1?p=2>; rel=last; anchor="https://s.example/v1"',
      `<${TARGET}/a>; rel="next",<${TARGET}?p=2>; rel=last; anchor="${TARGET}"`,
    ],
    ["< https://s.example/v1 >", `< ${TARGET} >`],
    ["https://s.example/v1?of=https://s.example/v1/a", `${TARGET}?of=https://s.example/v1/a`],
  ])("%s", (value, expected) => expect(rewriter.header(value)).toBe(expected));

  // shows: oauth/proxy-address-rewriting/other-addresses
  it.each([
    "https://else.example/login?back=https://s.example/v1/x",
    "/login?back=https://s.example/v1/x",
    "https://else.example/a,https://s.example/v1/x",
    "https://else.example/(https://s.example/v1/x)",
    "<https://else.example/?a;b=https://s.example/v1/x>; rel=next",
    "</a'https://s.example/v1/x'>; rel=next",
    "https://s.example/v10",
    "//s.example/v1",
  ])("is not in %s", (value) => expect(rewriter.header(value)).toBe(value));
});

describe("the part that is held back", () => {
  it.each([
    ["abc ", ""],
    ["abc h", "h"],
    ["abc xh", ""],
    ["abc https://s.exa", "https://s.exa"],
    ["abc https://s.exb", ""],
    [String.raw`abc https:\/\/s.example\/v`, String.raw`https:\/\/s.example\/v`],
    ["https://s.example/v1", "https://s.example/v1"],
    ["https://s.example/v1/", ""],
    ["https://s.example/v1&quo", "https://s.example/v1&quo"],
    ["https://s.example/v1&amp;", ""],
    [String.raw`https://s.example/v1\u00`, String.raw`https://s.example/v1\u00`],
    ["https://s.example/w https://s.example/v1/a h", "h"],
    ["https://s.example/w https://s.example/v1/h", ""],
    ["https://s.example/w https://s.example/v1/wh", ""],
  ])("%s", (text, held) => {
    const scan = rewriter.scan();
    const buffer = bytesOf(" ".repeat(scan.headroom) + text);
    const passed = textOf(scan.next(buffer, buffer.length, false));
    expect(passed).toBe(rewriteAll(text.slice(0, text.length - held.length)));
    const rest = new Uint8Array(scan.headroom);
    expect(textOf(scan.next(rest, rest.length, true))).toBe(rewriteAll(held));
  });
  const rewriteAll = reference("https://s.example/v1", TARGET);
});

describe("the types that are rewritten", () => {
  it.each([
    "application/json",
    "Text/HTML; Charset=UTF-8",
    "text/plain ;charset=iso-8859-1",
    'text/plain; charset="utf-8"',
  ])("%s", (type) => expect(isRewritten(type)).toBe(true));
  it.each([
    undefined,
    "",
    "application/octet-stream",
    "application/hal+json",
    "text/event-stream",
    "text/plainer",
    "application/json; charset=utf-16le",
    'text/html; a=b; charset="UTF-32"',
  ])("do not include %s", (type) => expect(isRewritten(type)).toBe(false));
});
