import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PartReader } from "../../src/media/blobs/part-reader.ts";
import { readImageHeader } from "../../src/media/images/header.ts";
import { matchesAny } from "../../src/platform/text/entity-tag.ts";
import { formatDisposition, parseFileName } from "../../src/media/model/content-disposition.ts";
import { newFileId } from "../../src/media/model/file.ts";
import { parseSizes, variantDimensions } from "../../src/media/model/sizes.ts";
import { systemRandom } from "../../src/platform/runtime/random.ts";
import { concat, exifSegment, GIF, jpegSegment, PNG_SIGNATURE, pngChunk } from "../support/images.ts";
import { runs } from "../support/model-runs.ts";

/** Generates texts of ASCII, control characters and any Unicode, including halves of surrogate pairs. */
const anyText = (maxLength: number) => {
  const anything = fc.integer({ min: 0, max: 0x10ffff });
  const unit = fc.oneof(fc.integer({ min: 0, max: 0x7f }), anything).map((code) => String.fromCodePoint(code));
  return fc.string({ unit, maxLength });
};
const side = fc.integer({ min: 1, max: 5000 });
const box = fc.record({ width: side, height: side });
const master = fc.record({ width: fc.integer({ min: 1, max: 20_000 }), height: fc.integer({ min: 1, max: 20_000 }) });

describe("sizes", () => {
  // shows: media/variant/size
  it("are read as a list without repeats, in order", () => {
    fc.assert(
      fc.property(fc.array(box, { minLength: 1, maxLength: 100 }), (boxes) => {
        const texts = boxes.map(({ width, height }) => `${width}x${height}`);
        expect(parseSizes(texts.join(","))).toEqual({ ok: true, value: [...new Set(texts)] });
      }),
    );
  });

  // shows: media/variant/size
  // shows: media/variants/sizes
  it("are read from no other text", () => {
    fc.assert(
      fc.property(anyText(30), (text) => {
        const parsed = parseSizes(text);
        const isList = text.split(",").every((item) => {
          const [, width, height] = /^([1-9]\d*)x([1-9]\d*)$/.exec(item.trim()) ?? [];
          return width !== undefined && Number(width) <= 5000 && Number(height) <= 5000;
        });
        expect(parsed.ok).toBe(isList);
      }),
    );
  });

  // shows: media/variant/clip
  // shows: media/variants/never-enlarged
  it("give a variant no larger than box and master; a clip keeps the proportions and touches a side", () => {
    fc.assert(
      fc.property(box, master, (bounds, image) => {
        for (const type of ["clip", "crop"] as const) {
          const made = variantDimensions(type, bounds, image);
          for (const length of ["width", "height"] as const) {
            expect(Number.isInteger(made[length])).toBe(true);
            expect(made[length]).toBeGreaterThanOrEqual(1);
            expect(made[length]).toBeLessThanOrEqual(Math.min(bounds[length], image[length]));
          }
        }
        const clip = variantDimensions("clip", bounds, image);
        const touches = ["width", "height"].some(
          (length) => clip[length as "width"] === Math.min(bounds[length as "width"], image[length as "width"]),
        );
        expect(touches).toBe(true);
        const skew = Math.abs(clip.width * image.height - clip.height * image.width);
        expect(skew).toBeLessThanOrEqual(Math.max(image.width, image.height));
        const crop = variantDimensions("crop", bounds, image);
        if (image.width >= bounds.width && image.height >= bounds.height) expect(crop).toEqual(bounds);
      }),
    );
  });
});

describe("file names", () => {
  it("survive upload and download", () => {
    fc.assert(
      fc.property(
        anyText(60).map((text) => text.toWellFormed()),
        (text) => {
          const name = parseFileName(formatDisposition("attachment", text));
          const kept = text
            .split(/[/\\]/)
            .at(-1)!
            .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "")
            .trim();
          expect(name).toBe(/^\.*$/.test(kept) ? undefined : kept);
        },
      ),
    );
  });

  it("are harmless from any header, and give a harmless header", () => {
    fc.assert(
      fc.property(anyText(400), (text) => {
        for (const header of [
          text,
          `attachment; filename="${text}`,
          `x; filename*=UTF-8''${text}`,
          `;filename=${text}`,
        ]) {
          const name = parseFileName(header);
          if (name === undefined) continue;
          expect(new TextEncoder().encode(name).length).toBeLessThanOrEqual(255);
          expect(name).not.toMatch(/[/\\\p{Cc}]/u);
          expect(name.isWellFormed()).toBe(true);
          expect(formatDisposition("inline", name)).toMatch(
            /^inline; filename="[\x20-\x7e]*"(?:; filename\*=UTF-8''[A-Za-z0-9%!._~-]+)?$/,
          );
        }
      }),
    );
  });

  it.each([
    ['attachment; filename="a b.txt"', "a b.txt"],
    ["attachment; filename=plain.txt", "plain.txt"],
    ['attachment; FILENAME="C:\\\\temp\\\\x.doc"', "x.doc"],
    ["attachment; filename=\"old.txt\"; filename*=utf-8'de'%e2%82%ac.txt", "€.txt"],
    ["attachment; filename*=UTF-8''%ff; filename=fallback.txt", "fallback.txt"],
    ["attachment; filename*=ISO-8859-1''%fc.txt", undefined],
    ['attachment; filename="a;filename=b.txt"', "a;filename=b.txt"],
    ['attachment; filename="\\"q\\".txt"', '"q".txt'],
    ["attachment; filename=..", undefined],
    ["attachment", undefined],
    ["", undefined],
    [null, undefined],
  ])("are read from %s", (header, name) => expect(parseFileName(header)).toBe(name));

  it.each([
    [`${"a".repeat(300)}.pdf`, `${"a".repeat(251)}.pdf`],
    [`${"a".repeat(251)}.pdf`, `${"a".repeat(251)}.pdf`],
    // Each of these characters has four bytes, and two units of UTF-16.
    [`${"😀".repeat(100)}.jpeg`, `${"😀".repeat(62)}.jpeg`],
    [`x${"ä".repeat(200)}.😀`, `x${"ä".repeat(124)}.😀`],
    [`${"a".repeat(250)} b.txt`, `${"a".repeat(250)}.txt`],
    ["a".repeat(300), "a".repeat(255)],
    [`a.${"b".repeat(300)}`, `a.${"b".repeat(253)}`],
    [`${"a".repeat(300)}.one. two`, "a".repeat(255)],
    [`.${"b".repeat(16)}`, `.${"b".repeat(16)}`],
  ])("of more than 255 bytes are cut before the extension: %s", (given, kept) => {
    expect(parseFileName(formatDisposition("attachment", given))).toBe(kept);
  });
});

describe("entity tags", () => {
  const opaque = fc.string({ unit: fc.constantFrom("a", "b", ",", "W", "/", " ", "*"), maxLength: 6 });

  it("match a list that has the tag, weak ones only in weak comparison", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(opaque, fc.boolean()), { minLength: 1, maxLength: 5 }), opaque, (tags, wanted) => {
        const list = tags.map(([tag, isWeak]) => `${isWeak ? "W/" : ""}"${tag}"`).join(", ");
        expect(matchesAny(list, `"${wanted}"`, "weak")).toBe(tags.some(([tag]) => tag === wanted));
        expect(matchesAny(list, `"${wanted}"`, "strong")).toBe(tags.some(([tag, isWeak]) => tag === wanted && !isWeak));
      }),
    );
  });

  it("never throw, and match only * and the tag itself", () => {
    fc.assert(
      fc.property(anyText(30), (text) => {
        if (text.trim() !== "*" && !text.includes("secret")) expect(matchesAny(text, '"secret"', "weak")).toBe(false);
      }),
    );
    expect(matchesAny("secret", '"secret"', "weak")).toBe(true);
  });
});

describe("image headers", () => {
  const png = (width: number, height: number) => {
    const header = new Uint8Array(13);
    new DataView(header.buffer).setUint32(0, width);
    new DataView(header.buffer).setUint32(4, height);
    return concat(PNG_SIGNATURE, pngChunk("IHDR", header), pngChunk("tEXt", new Uint8Array(9)), pngChunk("IDAT"));
  };
  const jpeg = (width: number, height: number, orientation: number, littleEndian: boolean) => {
    const frame = Uint8Array.of(8, height >> 8, height & 255, width >> 8, width & 255, 3);
    return concat(
      Uint8Array.of(0xff, 0xd8),
      jpegSegment(0xe0, new Uint8Array(14)),
      exifSegment(orientation, littleEndian),
      Uint8Array.of(0xff),
      jpegSegment(0xc4, new Uint8Array(20)),
      jpegSegment(0xc2, frame),
    );
  };
  const length = fc.integer({ min: 1, max: 65_535 });

  it("give dimensions and orientation as written", () => {
    fc.assert(
      fc.property(
        length,
        length,
        fc.integer({ min: 1, max: 8 }),
        fc.boolean(),
        (width, height, orientation, little) => {
          expect(readImageHeader(jpeg(width, height, orientation, little))).toMatchObject({
            kind: "header",
            header: { format: "jpeg", width, height, orientation },
          });
          expect(readImageHeader(png(width, height))).toMatchObject({
            kind: "header",
            header: { format: "png", width, height, orientation: 1 },
          });
        },
      ),
    );
    expect(readImageHeader(GIF)).toMatchObject({ kind: "header", header: { format: "gif", width: 1, height: 1 } });
  });

  it("are incomplete, and nothing else, if they are cut", () => {
    for (const image of [png(3, 4), jpeg(3, 4, 6, false), GIF]) {
      let end = 0;
      while (readImageHeader(image.slice(0, end)).kind === "incomplete") end += 1;
      expect(readImageHeader(image.slice(0, end)).kind).toBe("header");
    }
  });

  it("never throw on random bytes, and on good images with changed bytes", () => {
    const starts = [
      new Uint8Array(0),
      PNG_SIGNATURE,
      Uint8Array.of(0xff, 0xd8, 0xff),
      GIF.slice(0, 6),
      png(9, 9),
      jpeg(9, 9, 3, true),
    ];
    fc.assert(
      fc.property(
        fc.constantFrom(...starts),
        fc.uint8Array({ maxLength: 200 }),
        fc.array(fc.tuple(fc.nat(300), fc.nat(255)), { maxLength: 8 }),
        (start, rest, changes) => {
          const bytes = concat(start, rest);
          for (const [at, value] of changes) if (at < bytes.length) bytes[at] = value;
          expect(["header", "incomplete", "unknown", "broken"]).toContain(readImageHeader(bytes).kind);
        },
      ),
      { numRuns: runs(1_000) },
    );
  });

  it("are broken with sides of zero, and upright with an unknown orientation", () => {
    expect(readImageHeader(png(0, 4)).kind).toBe("broken");
    expect(readImageHeader(jpeg(4, 0, 1, false)).kind).toBe("broken");
    for (const orientation of [0, 9, 65_535])
      expect(readImageHeader(jpeg(4, 4, orientation, false))).toMatchObject({ header: { orientation: 1 } });
  });
});

describe("the part reader", () => {
  it("makes parts of one size, the last one shorter, that join to the stream", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.uint8Array({ maxLength: 40 })),
        fc.integer({ min: 1, max: 50 }),
        async (chunks, size) => {
          const stream = new ReadableStream<Uint8Array>({
            start(controller) {
              for (const chunk of chunks) controller.enqueue(chunk);
              controller.close();
            },
          });
          const reader = new PartReader(stream, size);
          const parts: Uint8Array[] = [];
          while (!reader.ended) {
            const part = await reader.next();
            if (!part.ok) throw new Error("interrupted");
            parts.push(part.value);
          }
          const sizes = parts.map((part) => part.length);
          expect(sizes.slice(0, -1).every((length) => length === size)).toBe(true);
          expect(sizes.at(-1)).toBeLessThanOrEqual(size);
          expect([...concat(...parts)]).toEqual([...concat(...chunks)]);
          expect(parts.length).toBe(Math.max(1, Math.ceil(concat(...chunks).length / size)));
        },
      ),
    );
  });
});

// shows: media/shapes/file-id
it("file ids have time and database, and differ", () => {
  const ids = Array.from({ length: 100 }, () => newFileId(Date.UTC(2026, 0, 1), systemRandom, 0));
  expect(new Set(ids).size).toBe(100);
  for (const id of ids) expect(id).toMatch(/^6955b90000[0-9a-f]{14}$/);
});
