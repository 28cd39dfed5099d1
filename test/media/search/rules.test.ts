import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  attributesOf,
  leadingRowPath,
  metadataCondition,
  sortKey,
  TYPE_KEY,
} from "../../../src/media/metadata/attributes.ts";
import { LIMITS } from "../../../src/media/model/limits.ts";
import { parseContentTypes, parseQuery } from "../../../src/media/search/query.ts";
import { parseSort } from "../../../src/media/search/sort-parameter.ts";
import { utf8 } from "../../../src/platform/text/encoding.ts";
import { anyText } from "../../support/any-text.ts";

const quote = (text: string): string => `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
const shortText = anyText({ maxLength: 20 });

describe("q", () => {
  // shows: media/query-rules-for-q/key-value
  // shows: media/query-rules-for-q/values
  it("returns every key and value that was quoted, whatever it contains", () => {
    const terms = fc.uniqueArray(fc.record({ key: shortText, value: shortText }), {
      maxLength: LIMITS.queryTerms,
      selector: (term) => JSON.stringify([term.key, term.value]),
    });
    const space = fc.constantFrom(" ", "  ", "\t", "\n ");
    fc.assert(
      fc.property(terms, space, (given, between) => {
        const source = given.map(({ key, value }) => `${quote(key)}:${quote(value)}`).join(between);
        expect(parseQuery(source)).toEqual({ ok: true, value: given });
      }),
    );
  });

  // shows: media/query-rules-for-q/key-value
  // shows: media/query-rules-for-q/values
  it("returns bare words, and the same for each text that it accepts", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[^\s":]{1,10}$/), fc.stringMatching(/^[^\s":]{1,10}$/), (key, value) => {
        expect(parseQuery(` ${key}:${value} `)).toEqual({ ok: true, value: [{ key, value }] });
      }),
    );
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('"', "\\", ":", " ", "a", "b"), maxLength: 12 }), (source) => {
        const parsed = parseQuery(source);
        if (parsed.ok) {
          const again = parsed.value.map(({ key, value }) => `${quote(key)}:${quote(value)}`).join(" ");
          expect(parseQuery(again)).toEqual(parsed);
        } else expect(parsed.error).toMatch(/character \d+|the end/);
      }),
    );
  });

  // shows: media/query-rules-for-q/no-or-no-not
  // shows: media/query-rules-for-q/values
  it.each([
    ["", []],
    ["  ", []],
    ["a:1", [["a", "1"]]],
    ["a.b:x a.b:x", [["a.b", "x"]]],
    ['a:""', [["a", ""]]],
    [String.raw`a:"\"\\\d"`, [["a", String.raw`"\\d`]]],
    [String.raw`"k:e y":C:`, undefined],
    [String.raw`"k:e y":-1.5e3`, [["k:e y", "-1.5e3"]]],
    ["größe:ä😀", [["größe", "ä😀"]]],
    ["a", undefined],
    ["a:", undefined],
    [":a", undefined],
    ["a :1", undefined],
    ["a: 1", undefined],
    ['a:"x', undefined],
    [String.raw`a:"x\"`, undefined],
    ['a:x"y"', undefined],
    ['"":x', [["", "x"]]],
    ['""', undefined],
    ["a:1 OR b:2", undefined],
    ["NOT a:1", undefined],
  ] as const)("parses %s", (source, expected) => {
    const parsed = parseQuery(source);
    const pairs = parsed.ok ? parsed.value.map(({ key, value }) => [key, value]) : undefined;
    expect(pairs).toEqual(expected);
  });

  // shows: media/query/20-terms
  it("has at most 20 terms, without repeats", () => {
    const terms = (count: number) => Array.from({ length: count }, (_, at) => `k${at}:1`).join(" ");
    expect(parseQuery(`${terms(20)} ${terms(20)}`).ok).toBe(true);
    expect(parseQuery(terms(21))).toEqual({ ok: false, error: "has more than 20 terms" });
  });
});

describe("sort", () => {
  // shows: media/endpoints/get-p-sort
  // shows: media/sorting/name-asc-name-desc
  // shows: media/sorting/several
  it.each([
    ["", []],
    ["a", [["a", false]]],
    [
      "a:asc,b:desc",
      [
        ["a", false],
        ["b", true],
      ],
    ],
    [
      " a : desc , b ",
      [
        ["a", true],
        ["b", false],
      ],
    ],
    ['"a,b:c":desc', [["a,b:c", true]]],
    ['"":desc', [["", true]]],
    ["a:desc,a", [["a", true]]],
    ["a.b c", [["a.b c", false]]],
    ["a:", undefined],
    ["a:DESC", undefined],
    ["a:desc:asc", undefined],
    [",a", undefined],
    ["a,", undefined],
    ['"a', undefined],
    ['"a"b', undefined],
    ["a,b,c,d,e", undefined],
  ] as const)("parses %s", (source, expected) => {
    const parsed = parseSort(source);
    const wanted = expected?.map(([name, descending]) => ({ key: sortKey(name), descending }));
    expect(parsed.ok ? parsed.value : undefined).toEqual(wanted);
  });

  // shows: media/sorting/content-type-and-attributes
  it("sorts by the file's type for Content-Type, unless it is quoted", () => {
    expect(parseSort('Content-Type:desc,"Content-Type"')).toEqual({
      ok: true,
      value: [
        { key: TYPE_KEY, descending: true },
        { key: ".Content-Type", descending: false },
      ],
    });
  });
});

describe("content-type", () => {
  // shows: media/endpoints/get-p-content-type
  it.each([
    ["image/png", ["image/png"]],
    [" image/png , text/plain; charset=utf-8", ["image/png", "text/plain; charset=utf-8"]],
    ['a/b;c="d,e",f/g', ['a/b;c="d,e"', "f/g"]],
    // A bare plus in an address is read as a space.
    ["image/svg xml", ["image/svg+xml"]],
    [" application/vnd.a b c , image/svg xml ; a=b", ["application/vnd.a+b+c", "image/svg+xml ; a=b"]],
    ["image / png", undefined],
    ["image/png image/gif", undefined],
    ["svg xml", undefined],
    ['a/b; c="d e"', ['a/b; c="d e"']],
    ["a/b; c=d e", undefined],
    ["", undefined],
    ["image", undefined],
    ["image/*,", ["image/*"]],
    [Array(21).fill("a/b").join(","), undefined],
  ] as const)("parses %s", (source, expected) => {
    const parsed = parseContentTypes(source);
    expect(parsed.ok ? parsed.value : undefined).toEqual(expected);
  });
});

describe("attributes", () => {
  const of = (metadata: unknown, type = "a/b") => attributesOf(JSON.stringify(metadata), type);

  // shows: media/query/keys
  it("are paths and values; arrays give their elements, null gives nothing", () => {
    const metadata = { s: "x", n: 1.5, t: true, z: null, o: { p: { q: "r" } }, "o.p": [1, [2, { q: 3 }], null, 1] };
    expect(of(metadata, "Text/Plain ; charset=UTF-8").rows).toEqual([
      [".s", "x", 1],
      [".n", 1.5, 1],
      [".t", "true", 1],
      [".o.p.q", "r", 1],
      [".o.p", 1, 1],
      [".o.p", 2, 0],
      [".o.p.q", 3, 0],
      ["#type", "text/plain;charset=utf-8", 1],
      ["#type", "text/plain", 0],
      ["#keys", expect.stringMatching(/^[\w-]{22}$/), 0],
    ]);
  });

  const rowsOf = (metadata: string) => attributesOf(metadata, "a/b").rows.filter(([key]) => key.startsWith("."));

  it.each([
    [
      `{"a": 1.50}`,
      [
        [".a", 1.5, 1],
        [".a", "1.50", 0],
      ],
    ],
    [
      `{"a": 1e3}`,
      [
        [".a", 1000, 1],
        [".a", "1e3", 0],
      ],
    ],
    [
      `{"a": -0}`,
      [
        [".a", -0, 1],
        [".a", "-0", 0],
      ],
    ],
    [
      `{"a": 1.5, "b": 9007199254740991}`,
      [
        [".a", 1.5, 1],
        [".b", 9007199254740991, 1],
      ],
    ],
    // JavaScript writes this number in the same way, but other texts are read as the same number.
    [
      `{"a": 9007199254740992}`,
      [
        [".a", 9007199254740992, 1],
        [".a", "9007199254740992", 0],
      ],
    ],
    [
      `{"a": 12345678901234567890}`,
      [
        [".a", 12345678901234567000, 1],
        [".a", "12345678901234567890", 0],
      ],
    ],
    // A file sorts by a value, not by its spelling. The same text as a value of its own does count.
    [
      `{"a": 1e999, "b": "1e999"}`,
      [
        [".a", "1e999", 0],
        [".b", "1e999", 1],
      ],
    ],
    [
      `{"a": [1e999, "x"]}`,
      [
        [".a", "1e999", 0],
        [".a", "x", 1],
      ],
    ],
    [`{"a": [1e999, "1e999"]}`, [[".a", "1e999", 1]]],
    [
      `{"a": ["1.50", 1.50, 1.5]}`,
      [
        [".a", "1.50", 1],
        [".a", 1.5, 0],
      ],
    ],
    // The last of repeated members counts, with its spelling.
    [
      `{"a": 1.50, "a": 2.50}`,
      [
        [".a", 2.5, 1],
        [".a", "2.50", 0],
      ],
    ],
    [
      `{"__proto__": 1.0, "toJSON": {"source": 2.0}}`,
      [
        [".__proto__", 1, 1],
        [".__proto__", "1.0", 0],
        [".toJSON.source", 2, 1],
        [".toJSON.source", "2.0", 0],
      ],
    ],
  ] as const)("%s: are the number, and its text if that differs", (metadata, rows) => {
    expect(rowsOf(metadata)).toEqual(rows);
  });

  it("find a number by the text that was sent; long integers by nothing else", () => {
    const digits = fc.stringMatching(/^[1-9][0-9]{0,24}$/);
    const fraction = fc.stringMatching(/^(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?$/);
    fc.assert(
      fc.property(fc.boolean(), digits, fraction, (minus, whole, rest) => {
        const text = `${minus ? "-" : ""}${whole}${rest}`;
        const values = rowsOf(`{"a":${text}}`).map(([, value]) => value);
        expect(metadataCondition("a", text).values.some((value) => values.includes(value))).toBe(true);
      }),
    );
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }), fc.integer({ min: -3, max: 3 }), (id, off) => {
        const other = (id + BigInt(off)).toString();
        const values = rowsOf(`{"a":${id}}`).map(([, value]) => value);
        expect(metadataCondition("a", other).values.some((value) => values.includes(value))).toBe(off === 0);
      }),
      {
        examples: [
          [2n ** 53n, 1],
          [2n ** 53n - 1n, 1],
          [2n ** 53n + 1n, -1],
          [12345678901234567890n, 1],
        ],
      },
    );
  });

  // shows: media/query/64-attributes-256-bytes
  it("have at most 64 rows for any JSON, texts of limited length, one leading row a key, and find all pairs", () => {
    fc.assert(
      fc.property(fc.dictionary(anyText(), fc.jsonValue({ depthSize: "small" })), (metadata) => {
        const { rows, at, unindexed } = of(metadata);
        const indexed = rows.filter(([key]) => key.startsWith("."));
        expect(indexed.length).toBeLessThanOrEqual(64);
        for (const [key, value] of rows)
          for (const text of [key, String(value)]) expect(utf8(text).byteLength).toBeLessThanOrEqual(256 + 1 + 22);
        const keys = [...new Set(indexed.map(([key]) => key))];
        expect(indexed.filter(([, , leads]) => leads === 1).map(([key]) => key)).toEqual(keys);
        for (const key of keys) {
          const label = leadingRowPath(key).slice('$.at."'.length, -1);
          expect(rows[at[label]!]).toEqual(indexed.find(([other]) => other === key));
        }
        expect(rows.some(([key]) => key === "#more")).toBe(unindexed !== null);
        expect(new Set(rows.map(([key, value]) => JSON.stringify([key, value]))).size).toBe(rows.length);
      }),
    );
  });

  it("keep cut values distinct, and cut them between characters", () => {
    const [long, other] = [`${"ä".repeat(127)}😀x`, `${"ä".repeat(127)}😀y`];
    const valueOf = (text: string) => of({ a: text }).rows[0]![1] as string;
    expect(valueOf(long)).not.toBe(valueOf(other));
    expect(valueOf(long).split("\u0001")).toEqual(["ä".repeat(127), expect.stringMatching(/^[\w-]{22}$/)]);
    expect(valueOf("ä".repeat(128))).toBe("ä".repeat(128));
    expect(metadataCondition("a", long).values).toEqual([valueOf(long)]);
  });

  it("find pairs beyond the index by their digest", () => {
    const many = Object.fromEntries(Array.from({ length: 70 }, (_, at) => [`k${at}`, at]));
    const { rows, unindexed } = of({ ...many, ["k".repeat(257)]: "x" });
    expect(rows.filter(([key]) => key.startsWith(".k"))).toHaveLength(64);
    const digests = unindexed!.split(" ");
    expect(digests).toHaveLength(7);
    expect(metadataCondition("k69", "69").digests).toContain(digests[5]);
    expect(metadataCondition("k".repeat(257), "x").digests).toContain(digests[6]);
    expect(metadataCondition("k69", "70").digests.some((digest) => digests.includes(digest))).toBe(false);
  });

  // shows: media/query/numbers-and-booleans
  it("match a text, and the number or boolean that it spells", () => {
    for (const [text, values] of [
      ["9", ["9", 9]],
      ["-0.5", ["-0.5", -0.5]],
      ["9.0", ["9.0"]],
      ["1e3", ["1e3"]],
      ["9007199254740991", ["9007199254740991", 9007199254740991]],
      ["9007199254740992", ["9007199254740992"]],
      ["Infinity", ["Infinity"]],
      ["null", ["null"]],
      ["", [""]],
      ["true", ["true"]],
    ] as const)
      expect(metadataCondition("a", text).values).toEqual(values);
  });
});
