import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { readImageHeader } from "../../../src/media/images/header.ts";
import { createTransformer } from "../../../src/media/images/transformer.ts";
import { decodeGif, encodeGif } from "../../support/gifs.ts";
import {
  BLUE,
  cornersOf,
  decode,
  encodeJpeg,
  encodePng,
  exif,
  GREEN,
  looksLike,
  pngChunk,
  quarters,
  RED,
  YELLOW,
} from "../../support/images.ts";
import { keysOf } from "../support/keys-of.ts";
import { mediaApp } from "../support/media-app.ts";
import { principal } from "../support/principal.ts";
import { stored } from "../support/stored-file.ts";
import { expectJson } from "../../support/platform/call.ts";

/** Makes a binding that does not apply the orientation of jpegs. The local binding does, some others do not. */
function binding(options: { isDown?: () => boolean } = {}): {
  images: ImagesBinding;
  steps: ImageTransform[];
  inputs: () => number;
} {
  const steps: ImageTransform[] = [];
  let inputs = 0;
  const images = {
    input(stream: ReadableStream<Uint8Array>) {
      inputs += 1;
      const own: ImageTransform[] = [];
      const transformer = {
        transform(step: ImageTransform) {
          own.push(step);
          steps.push(step);
          return transformer;
        },
        async output(output: ImageOutputOptions) {
          if (options.isDown?.() === true) throw new Error("injected");
          const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
          const header = readImageHeader(bytes);
          if (header.kind === "header" && header.header.format === "jpeg" && header.header.orientationField)
            bytes[header.header.orientationField.offset + 1] = 1;
          let real = env.IMAGES.input(new Blob([bytes]).stream());
          for (const step of own) real = real.transform(step);
          return real.output(output);
        },
      };
      return transformer;
    },
  };
  return { images: images as unknown as ImagesBinding, steps, inputs: () => inputs };
}

async function requestFor(orientation: number) {
  const bytes = await encodeJpeg(quarters(80, 40), orientation);
  const outcome = readImageHeader(bytes);
  if (outcome.kind !== "header") throw new Error("no image");
  const target = orientation >= 5 ? { width: 20, height: 40 } : { width: 40, height: 20 };
  const master = new Blob([bytes]).stream();
  return { master, sizeBytes: bytes.byteLength, header: outcome.header, type: "clip" as const, target };
}

describe("a binding that does not apply orientations", () => {
  it("is told the turn, once", async () => {
    const upright = { 3: [YELLOW, BLUE, GREEN, RED], 6: [BLUE, RED, YELLOW, GREEN], 8: [GREEN, YELLOW, RED, BLUE] };
    const transformer = createTransformer(binding().images);
    for (const [orientation, corners] of Object.entries(upright)) {
      const made = await transformer.transform(await requestFor(Number(orientation)));
      if (!made.ok) throw new Error(made.error.kind);
      const picture = await decode(new Uint8Array(await new Response(made.value.stream).arrayBuffer()));
      expect([picture.width, picture.height]).toEqual(orientation === "3" ? [40, 20] : [20, 40]);
      expect(cornersOf(picture).every((colour, index) => looksLike(colour, corners[index]!))).toBe(true);
    }
  });

  it("is told to mirror, which the local one does not do", async () => {
    const steps = { 2: ["h"], 4: [180, "h"], 5: [90, "h"], 7: [270, "h"], 6: [90], 1: [] };
    for (const [orientation, expected] of Object.entries(steps)) {
      const played = binding();
      await createTransformer(played.images).transform(await requestFor(Number(orientation)));
      expect(played.steps.flatMap(({ rotate, flip }) => rotate ?? flip ?? [])).toEqual(expected);
    }
  });

  it("is probed for each format, since it may turn only one of them", async () => {
    const played = binding();
    const transformer = createTransformer(played.images);
    const bytes = await encodePng(quarters(80, 40), [pngChunk("eXIf", exif(6, true))]);
    const outcome = readImageHeader(bytes);
    if (outcome.kind !== "header") throw new Error("no image");
    const master = new Blob([bytes]).stream();
    const target = { width: 20, height: 40 };
    await transformer.transform({ master, sizeBytes: bytes.byteLength, header: outcome.header, type: "clip", target });
    await transformer.transform(await requestFor(6));
    expect(played.steps.flatMap(({ rotate }) => rotate ?? [])).toEqual([90]);
  });

  it("is probed once", async () => {
    const played = binding();
    const transformer = createTransformer(played.images);
    for (let times = 0; times < 3; times++) await transformer.transform(await requestFor(6));
    expect(played.inputs()).toBe(4);
  });
});

describe("gifs", () => {
  const gif = encodeGif(
    8,
    4,
    [RED, BLUE],
    [0, 1].map((index) => ({ width: 8, height: 4, indices: new Uint8Array(32).fill(index) })),
  );
  const request = () => ({
    master: new Blob([gif]).stream(),
    sizeBytes: gif.byteLength,
    header: { format: "gif", width: 8, height: 4, orientation: 1, orientationField: undefined } as const,
    type: "clip" as const,
    target: { width: 4, height: 2 },
  });

  /** Makes a binding that writes gifs by `write`. `outputs` has the options that it got. */
  function gifBinding(write: (input: Uint8Array) => Uint8Array<ArrayBuffer>) {
    const outputs: ImageOutputOptions[] = [];
    const images = {
      input(stream: ReadableStream<Uint8Array>) {
        const transformer = {
          transform: () => transformer,
          async output(output: ImageOutputOptions) {
            outputs.push(output);
            const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
            if (output.format !== "image/gif") return env.IMAGES.input(new Blob([bytes]).stream()).output(output);
            const made = write(bytes);
            return { image: () => new Blob([made]).stream() };
          },
        };
        return transformer;
      },
    };
    return { images: images as unknown as ImagesBinding, outputs };
  }

  it("are made by the binding if it writes all their frames, which is probed once", async () => {
    const played = gifBinding((input) => Uint8Array.from(input));
    const transformer = createTransformer(played.images);
    for (let times = 0; times < 2; times++)
      expect(await transformer.transform(request())).toMatchObject({ ok: true, value: { encoder: "images-1" } });
    expect(played.outputs).toEqual(Array.from({ length: 3 }, () => ({ format: "image/gif", anim: true })));
  });

  it("are made by the platform's own transformer if the binding writes none, or only the first frame", async () => {
    const first = encodeGif(4, 2, [RED, BLUE], [{ width: 4, height: 2, indices: new Uint8Array(8) }]);
    for (const images of [env.IMAGES, gifBinding(() => first).images]) {
      const made = await createTransformer(images).transform(request());
      if (!made.ok) throw new Error(made.error.kind);
      expect(made.value.encoder).toBe("gif-1");
      const decoded = decodeGif(new Uint8Array(await new Response(made.value.stream).arrayBuffer()));
      expect([decoded.width, decoded.height, decoded.frames.length]).toEqual([4, 2, 2]);
    }
  });

  it("are not made while the binding does not answer, since its abilities are unknown", async () => {
    let isDown = true;
    const transformer = createTransformer(binding({ isDown: () => isDown }).images);
    expect(await transformer.transform(request())).toEqual({ ok: false, error: { kind: "unavailable" } });
    isDown = false;
    expect(await transformer.transform(request())).toMatchObject({ ok: true, value: { encoder: "gif-1" } });
  });

  it("are made by the binding as soon as it writes gifs again", async () => {
    let isDown = true;
    const played = gifBinding((input) => {
      if (isDown) throw new Error("injected");
      return Uint8Array.from(input);
    });
    const transformer = createTransformer(played.images);
    for (const encoder of ["gif-1", "images-1"]) {
      const made = await transformer.transform(request());
      if (!made.ok) throw new Error(made.error.kind);
      expect(made.value.encoder).toBe(encoder);
      await made.value.stream.cancel();
      isDown = false;
    }
  });

  it("fail with a reason if the binding returns the animation unchanged", async () => {
    const app = mediaApp({ images: gifBinding((input) => Uint8Array.from(input)).images });
    const as = principal();
    const file = await stored(app, gif, { as, type: "image/gif", query: "?clip=4x4" });
    expect(await app.consume()).toEqual({ acked: 1, retried: 0 });
    const [variant] = await expectJson(await app.call(`${file.path}/variants`, { as }), 200);
    expect(variant).toMatchObject({ state: "failed", reason: expect.stringContaining("8 x 4 pixels") });
    expect(await keysOf(file.id)).toEqual([`blob/${file.id}`]);
  });
});

describe("a failure of the binding", () => {
  it("blames the image if only that fails, and the binding if everything does", async () => {
    let failures = 1;
    const once = createTransformer(binding({ isDown: () => failures-- > 0 }).images);
    expect(await once.transform(await requestFor(1))).toEqual({ ok: false, error: { kind: "broken_image" } });
    const down = createTransformer(binding({ isDown: () => true }).images);
    expect(await down.transform(await requestFor(1))).toEqual({ ok: false, error: { kind: "unavailable" } });
    expect(await down.transform(await requestFor(6))).toEqual({ ok: false, error: { kind: "unavailable" } });
  });
});
