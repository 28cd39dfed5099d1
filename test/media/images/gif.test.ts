import { describe, expect, it, vi } from "vitest";
import { createGifTransformer } from "../../../src/media/images/gif/transformer.ts";
import { readImageHeader } from "../../../src/media/images/header.ts";
import { LIMITS } from "../../../src/media/model/limits.ts";
import { dimensionsOf, variantDimensions, type VariantType } from "../../../src/media/model/sizes.ts";
import { sha256Hex } from "../../../src/platform/secrets/hash.ts";
import { decodeGif, encodeGif, type DecodedGif } from "../../support/gifs.ts";
import { BLUE, concat, GIF, GREEN, RED, YELLOW, type Colour } from "../../support/images.ts";

const PALETTE = [RED, GREEN, BLUE, YELLOW];
const fill = (count: number, index: number): number[] => Array.from({ length: count }, () => index);

async function transform(bytes: Uint8Array<ArrayBuffer>, type: VariantType, size: string) {
  const { request, bytesRead } = requestOf(bytes, type, size);
  const result = await createGifTransformer((ms) => scheduler.wait(ms)).transform(request);
  return { result, bytesRead: bytesRead() };
}

function requestOf(bytes: Uint8Array<ArrayBuffer>, type: VariantType, size: string) {
  const outcome = readImageHeader(bytes);
  if (outcome.kind !== "header") throw new Error(outcome.kind);
  const target = variantDimensions(type, dimensionsOf(size), outcome.header);
  let read = 0;
  const master = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const chunk = bytes.subarray(read, read + 1000);
        read += chunk.byteLength;
        if (chunk.byteLength === 0) controller.close();
        else controller.enqueue(chunk.slice());
      },
    },
    { highWaterMark: 0 },
  );
  const request = { master, sizeBytes: bytes.byteLength, header: outcome.header, type, target };
  return { request, bytesRead: () => read };
}

/** Makes a gif of 64 x 64 pixels with some four thousand colours, in frames of four rows each. */
function manyColours(): Uint8Array<ArrayBuffer> {
  const frames = Array.from({ length: 16 }, (_, part) => {
    const palette = Array.from({ length: 256 }, (__, at): Colour => {
      const [x, y] = [at % 64, part * 4 + (at >> 6)];
      return [x * 4, y * 4, (x * 7 + y * 3) & 0xff];
    });
    return { x: 0, y: part * 4, width: 64, height: 4, indices: [...palette.keys()], palette };
  });
  return encodeGif(64, 64, PALETTE, frames);
}

async function made(bytes: Uint8Array<ArrayBuffer>, type: VariantType, size: string): Promise<Uint8Array> {
  const { result } = await transform(bytes, type, size);
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return new Uint8Array(await new Response(result.value.stream).arrayBuffer());
}

const reduced = async (bytes: Uint8Array<ArrayBuffer>, type: VariantType, size: string): Promise<DecodedGif> =>
  decodeGif(await made(bytes, type, size));

/** Shows the colours of a frame row by row, by their first letter. A dot is transparent. */
function drawn({ width, frames }: DecodedGif, index = 0): string {
  const { pixels, alpha } = frames[index]!;
  const letters = Array.from(alpha, (there, at) => {
    if (there === 0) return ".";
    const found = PALETTE.findIndex((colour) => colour.every((part, channel) => pixels[at * 3 + channel] === part));
    return "rgby"[found] ?? "?";
  });
  return (letters.join("").match(new RegExp(`.{${width}}`, "g")) ?? []).join(" ");
}

/** Makes each pixel a block of two by two, which a variant of half the size reduces to one pixel. */
const doubled = (rows: readonly number[][]): number[] =>
  rows.flatMap((row) => [...row.flatMap((index) => [index, index]), ...row.flatMap((index) => [index, index])]);

describe("a still gif", () => {
  // shows: media/variant/image-gif
  it("is clipped: each pixel is the average of its area; few colours stay exact", async () => {
    const indices = doubled([
      [0, 1, 2],
      [3, 0, 1],
    ]);
    const gif = encodeGif(6, 4, PALETTE, [{ width: 6, height: 4, indices }]);
    const half = await reduced(gif, "clip", "3x9");
    expect([half.width, half.height, half.frames.length, half.loop]).toEqual([3, 2, 1, null]);
    expect(drawn(half)).toBe("rgb yrg");
    const one = await reduced(gif, "clip", "1x1");
    const mean = [0, 1, 2].map((channel) =>
      Math.round(indices.reduce((sum, index) => sum + PALETTE[index]![channel]!, 0) / indices.length),
    );
    expect([...one.frames[0]!.pixels]).toEqual(mean);
  });

  it("is scaled to a size that does not divide it, by parts of pixels", async () => {
    const [black, white]: Colour[] = [
      [0, 0, 0],
      [255, 255, 255],
    ];
    const gif = encodeGif(3, 1, [black!, white!], [{ width: 3, height: 1, indices: [1, 0, 1] }]);
    // The first new pixel covers the first pixel and half of the second.
    expect([...(await reduced(gif, "clip", "2x1")).frames[0]!.pixels]).toEqual([170, 170, 170, 170, 170, 170]);
  });

  // shows: media/variant/crop
  it("is cropped around the centre, scaled or not, and never enlarged", async () => {
    const gif = encodeGif(6, 2, PALETTE, [{ width: 6, height: 2, indices: [0, 1, 2, 3, 0, 1, 3, 3, 1, 1, 2, 2] }]);
    expect(drawn(await reduced(gif, "crop", "2x2"))).toBe("by gg");
    expect(drawn(await reduced(gif, "crop", "3x9"))).toBe("byr ggb");
    expect(drawn(await reduced(gif, "crop", "50x50"))).toBe("rgbyrg yyggbb");
    expect(drawn(await reduced(gif, "clip", "50x50"))).toBe("rgbyrg yyggbb");
    const wide = encodeGif(8, 2, PALETTE, [
      { width: 8, height: 2, indices: [0, 0, 1, 1, 2, 2, 3, 3, 0, 0, 1, 1, 2, 2, 3, 3] },
    ]);
    expect(drawn(await reduced(wide, "crop", "2x1"))).toBe("gb");
  });

  it("keeps transparency; a half covered pixel is visible", async () => {
    const indices = [3, 3, 0, 3, 0, 0, 0, 3, 3, 3, 0, 3, 3, 3, 3, 0];
    const gif = encodeGif(4, 4, PALETTE, [{ width: 4, height: 4, indices, transparent: 3 }]);
    expect(drawn(await reduced(gif, "clip", "4x4"))).toBe("..r. rrr. ..r. ...r");
    expect(drawn(await reduced(gif, "clip", "2x2"))).toBe("rr .r");
  });

  it("may be interlaced", async () => {
    const rows = Array.from({ length: 9 }, (_, y) => [y % 4, (y >> 2) % 4]);
    const order = [0, 8, 4, 2, 6, 1, 3, 5, 7];
    const plain = encodeGif(2, 9, PALETTE, [{ width: 2, height: 9, indices: rows.flat() }]);
    const mixed = encodeGif(2, 9, PALETTE, [{ width: 2, height: 9, indices: order.flatMap((y) => rows[y]!) }]);
    mixed[mixed.indexOf(0x2c, 13 + 12) + 9]! |= 0x40;
    expect(drawn(await reduced(mixed, "clip", "9x9"))).toBe(drawn(await reduced(plain, "clip", "9x9")));
  });

  it("comes close to its colours if a palette cannot hold them", async () => {
    const [width, height] = [64, 64];
    const gif = manyColours();
    const last = (await reduced(gif, "clip", "64x64")).frames.at(-1)!;
    let worst = 0;
    for (let at = 0; at < width * height; at++) {
      const [x, y] = [at % width, Math.floor(at / width)];
      const expected = [x * 4, y * 4, (x * 7 + y * 3) & 0xff];
      for (const [channel, value] of expected.entries())
        worst = Math.max(worst, Math.abs(last.pixels[at * 3 + channel]! - value));
    }
    expect(worst).toBeLessThan(64);
  });

  it("gives the same bytes each time", async () => {
    const gif = encodeGif(6, 1, PALETTE, [{ width: 6, height: 1, indices: [0, 1, 2, 3, 0, 1] }]);
    expect(await made(gif, "clip", "4x4")).toEqual(await made(gif, "clip", "4x4"));
    // If these bytes change, the version of the encoder must change too, because ETags depend on it.
    expect(await sha256Hex((await made(manyColours(), "clip", "50x50")).toBase64())).toBe(
      "545e5ddf54ba5558cc3682ef127090a8f521966c8aa96f0626769ffe92f321a2",
    );
  });
});

describe("an animation", () => {
  const square = { width: 2, height: 2, delay: 7 };
  const at = (x: number, y: number, index: number, more = {}) => ({
    ...square,
    x,
    y,
    indices: fill(4, index),
    ...more,
  });
  const background = { width: 4, height: 4, indices: fill(16, 0), delay: 300 };

  it("keeps frames, delays and repeats", async () => {
    const frames = [background, at(2, 0, 1), at(0, 2, 2, { delay: 0 })];
    for (const loop of [0, 1, 65535]) {
      const half = await reduced(encodeGif(4, 4, PALETTE, frames, loop), "clip", "2x2");
      expect(half.loop).toBe(loop);
      expect(half.frames.map(({ delay }) => delay)).toEqual([300, 7, 0]);
      expect([0, 1, 2].map((index) => drawn(half, index))).toEqual(["rr rr", "rg rr", "rg br"]);
    }
  });

  it("follows the disposal: keep, clear, restore", async () => {
    for (const [disposal, then] of [
      [0, "gr br"],
      [1, "gr br"],
      [2, ".r br"],
      [3, "rr br"],
    ] as const) {
      const frames = [background, at(0, 0, 1, { disposal }), at(0, 2, 2)];
      const half = await reduced(encodeGif(4, 4, PALETTE, frames), "clip", "2x2");
      expect([disposal, drawn(half, 1), drawn(half, 2)]).toEqual([disposal, "gr rr", then]);
    }
  });

  it("leaves nothing of a first frame that is restored or cleared", async () => {
    for (const disposal of [2, 3]) {
      const frames = [{ ...background, disposal }, at(0, 2, 2)];
      const half = await reduced(encodeGif(4, 4, PALETTE, frames), "clip", "2x2");
      expect([drawn(half, 0), drawn(half, 1)]).toEqual(["rr rr", ".. b."]);
    }
  });

  it("cuts frames at the edge of the screen, and hides those beyond it", async () => {
    const frames = [background, at(3, 3, 1), { ...at(9, 9, 2) }, at(3, 3, 2, { disposal: 3 }), at(0, 9, 1)];
    const whole = await reduced(encodeGif(4, 4, PALETTE, frames), "clip", "4x4");
    const corner = (letter: string) => `rrrr rrrr rrrr rrr${letter}`;
    expect(whole.frames.map((_, index) => drawn(whole, index))).toEqual(["r", "g", "g", "b", "g"].map(corner));
    const right = await reduced(encodeGif(4, 4, PALETTE, [background, at(5, 0, 2)]), "clip", "4x4");
    expect(drawn(right, 1)).toBe(drawn(right, 0));
  });

  it("keeps frames that change nothing", async () => {
    const half = await reduced(encodeGif(4, 4, PALETTE, [background, background], 0), "clip", "2x2");
    expect([drawn(half, 0), drawn(half, 1)]).toEqual(["rr rr", "rr rr"]);
  });
});

describe("a broken gif", () => {
  const frame = {
    width: 40,
    height: 40,
    indices: Array.from({ length: 1600 }, (_, at) => (Math.imul(at, 40_503) >> 7) & 3),
  };
  const still = encodeGif(40, 40, PALETTE, [frame]);

  const animation = (count: number) =>
    encodeGif(
      40,
      40,
      PALETTE,
      Array.from({ length: count }, () => ({ ...frame, delay: 5 })),
      0,
    );
  const BROKEN = { ok: false, error: { kind: "broken_image" } };

  // shows: media/variants/broken-or-over-100-megapixels
  it("is no image if it is cut off within any frame", async () => {
    for (const length of [13, 20, 25, 30, 36, 100, still.length - 30]) {
      const { result } = await transform(still.slice(0, length), "clip", "10x10");
      expect([length, result]).toEqual([length, BROKEN]);
    }
    const [two, three] = [2, 3].map((count) => animation(count));
    const start = two!.length - 1;
    // The third frame has a control extension (8 bytes), a descriptor (10) and data.
    for (const length of [1, 2, 7, 8, 9, 17, 18, 19, 20, 100].map((more) => start + more)) {
      const { result } = await transform(three!.slice(0, length), "clip", "10x10");
      expect([length - start, result]).toEqual([length - start, BROKEN]);
    }
  });

  it("is an image if its frames are complete, though its end is missing or followed by other data", async () => {
    expect((await reduced(still.slice(0, -2), "clip", "40x40")).frames).toHaveLength(1);
    const three = animation(3);
    const rest = new Uint8Array(50).fill(0x77);
    for (const bytes of [three.slice(0, -2), three.slice(0, -1), concat(three, rest), concat(three.slice(0, -1), rest)])
      expect((await reduced(bytes, "clip", "10x10")).frames).toHaveLength(3);
  });

  // shows: media/variants/broken-or-over-100-megapixels
  it("is no image if a later frame has meaningless codes", async () => {
    const bytes = animation(2);
    const data = animation(1).length - 1 + 8 + 10;
    expect([bytes[data - 10], bytes[data]]).toEqual([0x2c, 2]);
    bytes.fill(0xff, data + 2, data + 2 + bytes[data + 1]!);
    expect((await transform(bytes, "clip", "10x10")).result).toEqual(BROKEN);
  });

  it("ends without an exception, whatever its bytes", async () => {
    let seed = 1;
    const random = (below: number): number => (seed = (seed * 48_271) % 0x7fffffff) % below;
    const outcomes = new Set<string>();
    for (let times = 0; times < 500; times++) {
      const bytes = still.slice();
      for (let changes = 0; changes < 3; changes++) bytes[6 + random(bytes.length - 6)] = random(256);
      if (readImageHeader(bytes).kind !== "header") continue;
      const { result } = await transform(bytes, "crop", "9x5");
      outcomes.add(result.ok ? "made" : result.error.kind);
    }
    expect([...outcomes].filter((outcome) => outcome !== "refused").toSorted()).toEqual(["broken_image", "made"]);
  });

  it("does not loop on codes that name themselves", async () => {
    // Root codes have two bits, codes three: clear, 0, 7 (unknown), 7, 7, 7.
    const codes = [4, 0, 7, 7, 7, 7, 7, 7];
    const bits = codes.reduce((sum, code, index) => sum + code * 2 ** (index * 3), 0);
    const data = [2, 3, bits & 0xff, (bits >> 8) & 0xff, (bits >> 16) & 0xff, 0, 0x3b];
    const gif = concat(still.subarray(0, still.indexOf(0x2c, 25) + 10), Uint8Array.from(data));
    const { result } = await transform(gif, "clip", "10x10");
    expect(result).toEqual({ ok: false, error: { kind: "broken_image" } });
  });

  it("is read though its codes have more bits than its colours", async () => {
    // The codes of twelve bits are: clear, the colours 1 and 2, the end.
    const codes = [2048, 1, 2, 2049];
    const packed = codes.reduce((sum, code, index) => sum + BigInt(code) * 2n ** BigInt(index * 12), 0n);
    const data = Array.from({ length: 6 }, (_, index) => Number((packed >> BigInt(index * 8)) & 0xffn));
    const screen = encodeGif(2, 1, PALETTE, [{ width: 2, height: 1, indices: [0, 0] }]).subarray(0, 13 + 12 + 10);
    const gif = concat(screen, Uint8Array.from([11, 6, ...data, 0, 0x3b]));
    expect(drawn(await reduced(gif, "clip", "9x9"))).toBe("gb");
  });

  it("is transparent where pixels or colours of the palette are missing", async () => {
    const short = encodeGif(4, 4, PALETTE, [{ width: 4, height: 2, indices: [0, 1, 2, 3, 0, 1, 2, 3] }]);
    short[short.indexOf(0x2c, 25) + 7] = 4;
    expect(drawn(await reduced(short, "clip", "4x4"))).toBe("rgby rgby .... ....");
    const lacking = encodeGif(2, 1, [...PALETTE, ...PALETTE], [{ width: 2, height: 1, indices: [1, 7] }]);
    // The palette has four colours instead of eight.
    lacking[10] = (lacking[10]! & 0xf8) | 1;
    const fewer = concat(lacking.subarray(0, 13 + 12), lacking.subarray(13 + 24));
    expect(drawn(await reduced(fewer, "clip", "2x1"))).toBe("g.");
  });
});

describe("a gif that is too large", () => {
  const tiny = { width: 1, height: 1, indices: [0] };
  const many = (count: number) => Array.from({ length: count }, () => tiny);

  it.each([
    ["a screen of 100 megapixels", screenOf(GIF, 10_000, 10_000), 0],
    [
      "frames that are many",
      encodeGif(1, 1, PALETTE, many(LIMITS.gifMaxPixels / LIMITS.gifFrameMinPixels + 1)),
      Infinity,
    ],
    ["frames of a large screen", screenOf(encodeGif(1, 1, PALETTE, many(26)), 2000, 1000), Infinity],
    ["a frame larger than the screen", frameOf(GIF, 65_535, 65_535), Infinity],
  ])("%s: is refused before a pixel is decoded", async (_, bytes, mayRead) => {
    const { result, bytesRead } = await transform(bytes, "clip", "10x10");
    expect(result).toEqual({ ok: false, error: { kind: "refused", reason: expect.stringMatching(/pixels/) } });
    expect(bytesRead).toBeLessThanOrEqual(mayRead);
  });

  it("is not read into memory", async () => {
    const { result, bytesRead } = await transform(concat(GIF, new Uint8Array(LIMITS.gifMaxBytes)), "clip", "10x10");
    expect(result).toEqual({ ok: false, error: { kind: "refused", reason: expect.stringMatching(/bytes/) } });
    expect(bytesRead).toBe(0);
  });
});

describe("a transformation", () => {
  /** Counts the waits by their length. They take no time. */
  function counted(pause = () => scheduler.wait(0)) {
    const waits = new Map<number, number>();
    const wait = (ms: number): Promise<void> => {
      waits.set(ms, (waits.get(ms) ?? 0) + 1);
      return pause();
    };
    return { waits, transformer: createGifTransformer(wait) };
  }
  const next = () => requestOf(GIF, "clip", "10x10");

  it("lets the isolate do other work, the more often the longer it takes", async () => {
    const { waits, transformer } = counted();
    const frames = Array.from({ length: 130 }, () => ({ width: 1, height: 1, indices: [0] }));
    const { request } = requestOf(encodeGif(1, 1, PALETTE, frames), "clip", "1x1");
    expect((await transformer.transform(request)).ok).toBe(true);
    // 130 frames of 16,384 pixels each have a little more than two million.
    expect([...waits]).toEqual([[0, 2]]);
  });

  it("reads the next gif only after the result of the first is read or cancelled", async () => {
    for (const letGo of [
      (stream: ReadableStream<Uint8Array>) => new Response(stream).arrayBuffer(),
      (stream: ReadableStream<Uint8Array>) => stream.cancel(),
    ]) {
      const { waits, transformer } = counted();
      const first = await transformer.transform(next().request);
      const { request, bytesRead } = next();
      const second = transformer.transform(request);
      await vi.waitUntil(() => (waits.get(50) ?? 0) > 5);
      expect(bytesRead()).toBe(0);
      await letGo(first.ok ? first.value.stream : expect.fail());
      expect((await second).ok).toBe(true);
      expect(bytesRead()).toBe(GIF.byteLength);
    }
  });

  it("lets the next one start after it fails: refused, broken, or cut off", async () => {
    const { waits, transformer } = counted();
    const brokenOff = new ReadableStream<Uint8Array>({ start: (controller) => controller.error(new Error("gone")) });
    for (const request of [
      requestOf(frameOf(GIF, 65_535, 65_535), "clip", "10x10").request,
      requestOf(GIF.slice(0, 20), "clip", "10x10").request,
      { ...next().request, master: brokenOff },
    ])
      expect((await transformer.transform(request)).ok).toBe(false);
    expect((await transformer.transform(next().request)).ok).toBe(true);
    expect(waits).toEqual(new Map());
  });

  it("is waited for at most a minute after its request was cancelled", async () => {
    const { waits, transformer } = counted(() => Promise.resolve());
    await transformer.transform(next().request);
    expect((await transformer.transform(next().request)).ok).toBe(true);
    expect(waits.get(50)).toBe(LIMITS.gifLeaseMs / 50);
  });

  it("is followed by one of several that waited when it is lost", async () => {
    const { transformer } = counted(() => Promise.resolve());
    await transformer.transform(next().request);
    const waiting = [next(), next()].map(({ request, bytesRead }) => ({
      done: transformer.transform(request),
      bytesRead,
    }));
    const first = await waiting[0]!.done;
    expect(waiting.map(({ bytesRead }) => bytesRead())).toEqual([GIF.byteLength, 0]);
    await (first.ok ? first.value.stream.cancel() : expect.fail());
    expect((await waiting[1]!.done).ok).toBe(true);
  });

  it("is refused if its result is too large, in the last frame or before", async () => {
    const frame = { width: 1, height: 1, indices: [0] };
    const whole = (await made(encodeGif(1, 1, PALETTE, [frame, frame]), "clip", "1x1")).byteLength;
    for (const maxBytes of [10, whole - 1, whole]) {
      const { request } = requestOf(encodeGif(1, 1, PALETTE, [frame, frame]), "clip", "1x1");
      const result = await createGifTransformer((ms) => scheduler.wait(ms), maxBytes).transform(request);
      const refusal = { kind: "refused", reason: `The variant would have more than ${maxBytes} bytes.` };
      expect(result.ok ? "made" : result.error).toEqual(maxBytes === whole ? "made" : refusal);
    }
  });
});

function screenOf(gif: Uint8Array, width: number, height: number): Uint8Array<ArrayBuffer> {
  const bytes = gif.slice();
  new DataView(bytes.buffer).setUint16(6, width, true);
  new DataView(bytes.buffer).setUint16(8, height, true);
  return bytes;
}

function frameOf(gif: Uint8Array, width: number, height: number): Uint8Array<ArrayBuffer> {
  const bytes = gif.slice();
  const at = bytes.indexOf(0x2c, 13 + 6);
  new DataView(bytes.buffer).setUint16(at + 5, width, true);
  new DataView(bytes.buffer).setUint16(at + 7, height, true);
  return bytes;
}
