import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { between, keptBy, parseSize, sizeText } from "../../console/src/pages/media/file/crop.ts";
import { fieldsOf, readable, textOf } from "../../console/src/pages/media/file/metadata.ts";
import { formatTerms, parseTerms } from "../../console/src/pages/media/files/query-terms.ts";
import { variantDimensions } from "../../src/media/model/sizes.ts";
import { parseQuery } from "../../src/media/search/query.ts";

const word = fc.string({
  minLength: 1,
  maxLength: 12,
  unit: fc.constantFrom("a", "b", ":", '"', "\\", " ", "\t", ".", "ä"),
});
const side = fc.integer({ min: 1, max: 5000 });
const size = fc.record({ width: side, height: side });

describe("the console's search by fields", () => {
  it("writes what the service reads as the same terms, whatever characters they have", () => {
    const terms = fc.uniqueArray(fc.record({ key: word, value: word }), {
      maxLength: 5,
      selector: ({ key, value }) => JSON.stringify([key, value]),
    });
    fc.assert(
      fc.property(terms, (given) => {
        const text = formatTerms(given);
        expect(parseQuery(text)).toEqual({ ok: true, value: given });
        expect(parseTerms(text)).toEqual(given);
      }),
    );
  });

  it("reads a text as the service does, or leaves it to the service", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 20, unit: fc.constantFrom("a", "b", ":", '"', "\\", " ") }), (text) => {
        const terms = parseTerms(text);
        const read = parseQuery(text);
        const distinct = (all: readonly object[]) => new Set(all.map((one) => JSON.stringify(one)));
        if (terms !== undefined && read.ok) expect(distinct(terms)).toEqual(distinct(read.value));
        else {
          const isLeft = !read.ok || read.value.some(({ key, value }) => key === "" || value === "");
          expect([text, terms === undefined]).toEqual([text, isLeft]);
        }
      }),
      { numRuns: 2_000, examples: [['"":a'], ['a:""'], ['"\\":a'], ['a:"\\"']] },
    );
  });
});

describe("the console's metadata", () => {
  it("is shown as fields where these write the same JSON again", () => {
    expect(fieldsOf('{ "album": "summer",\n"year": 2026, "sold": false}')).toEqual([
      { name: "album", text: "summer" },
      { name: "year", text: "2026" },
      { name: "sold", text: "false" },
    ]);
    for (const json of ['{"a":[1]}', '{"a":{}}', '{"a":null}', '{"a":"1"}', '{"a":1.0}', '{"a":12345678901234567890}'])
      expect([json, fieldsOf(json)]).toEqual([json, undefined]);
    expect(fieldsOf('{"a":"x","a":"y"}')).toBeUndefined();
    expect(fieldsOf("[1]")).toBeUndefined();
    expect(fieldsOf("{")).toBeUndefined();
  });

  it("is written as it was read, and shown with line breaks only where that changes nothing", () => {
    const values = fc.oneof(fc.string(), fc.boolean(), fc.integer(), fc.double({ noNaN: true }));
    fc.assert(
      fc.property(fc.dictionary(fc.string({ minLength: 1 }), values), (object) => {
        const json = JSON.stringify(object);
        const fields = fieldsOf(json);
        if (fields !== undefined) expect(textOf(fields)).toBe(json);
        expect(JSON.parse(readable(json))).toEqual(JSON.parse(json));
      }),
    );
    expect(readable('{"n":12345678901234567890}')).toBe('{"n":12345678901234567890}');
  });
});

describe("the console's crop", () => {
  it("shows the part that the service keeps: of the variant's shape, around the middle", () => {
    fc.assert(
      fc.property(size, size, (box, image) => {
        const kept = keptBy(box, image);
        const made = variantDimensions("crop", box, image);
        const scale = Math.min(1, Math.max(box.width / image.width, box.height / image.height));
        expect(Math.abs(kept.width * scale - made.width)).toBeLessThanOrEqual(1);
        expect(Math.abs(kept.height * scale - made.height)).toBeLessThanOrEqual(1);
        expect(kept.left * 2 + kept.width).toBeCloseTo(image.width, 5);
        expect(kept.top * 2 + kept.height).toBeCloseTo(image.height, 5);
      }),
    );
  });

  it("takes a frame within the image as a size that the service takes", () => {
    const image = { width: 9000, height: 600 };
    const frame = between([-50, 700], [8000, 10.4], image);
    expect(frame).toEqual({ left: 0, top: 10.4, width: 8000, height: 589.6 });
    expect(sizeText(frame)).toBe("5000x590");
    expect(parseSize(sizeText(frame))).toEqual({ width: 5000, height: 590 });
    for (const text of ["0x1", "5001x1", "1x", "x", "1x1x1"]) expect(parseSize(text)).toBeUndefined();
  });
});
