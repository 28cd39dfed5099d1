import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { readImageHeader } from "../../src/media/image-header.ts";
import { createImagesBinding } from "../../src/media/images-binding.ts";
import { BLUE, cornersOf, decode, encodeJpeg, GREEN, looksLike, quarters, RED, YELLOW } from "../support/images.ts";

/** The local binding turns images by itself; this one, as others do, leaves that to the caller. */
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
          if (header.kind === "header" && header.header.orientationField !== undefined)
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
  return { master: new Blob([bytes]).stream(), header: outcome.header, type: "clip" as const, target };
}

describe("a binding that does not turn images", () => {
  it("is told how, once", async () => {
    const upright = { 3: [YELLOW, BLUE, GREEN, RED], 6: [BLUE, RED, YELLOW, GREEN], 8: [GREEN, YELLOW, RED, BLUE] };
    const transformer = createImagesBinding(binding().images);
    for (const [orientation, corners] of Object.entries(upright)) {
      const made = await transformer.transform(await requestFor(Number(orientation)));
      if (!made.ok) throw new Error(made.error);
      const picture = await decode(new Uint8Array(await new Response(made.value).arrayBuffer()));
      expect([picture.width, picture.height]).toEqual(orientation === "3" ? [40, 20] : [20, 40]);
      expect(cornersOf(picture).every((colour, index) => looksLike(colour, corners[index]!))).toBe(true);
    }
  });

  it("is told to mirror too (which the local one does not do)", async () => {
    const steps = { 2: ["h"], 4: [180, "h"], 5: [90, "h"], 7: [270, "h"], 6: [90], 1: [] };
    for (const [orientation, expected] of Object.entries(steps)) {
      const played = binding();
      await createImagesBinding(played.images).transform(await requestFor(Number(orientation)));
      expect(played.steps.flatMap(({ rotate, flip }) => rotate ?? flip ?? [])).toEqual(expected);
    }
  });

  it("is probed once", async () => {
    const played = binding();
    const transformer = createImagesBinding(played.images);
    for (let times = 0; times < 3; times++) await transformer.transform(await requestFor(6));
    expect(played.inputs()).toBe(4);
  });
});

describe("a binding that fails", () => {
  it("for one image: the image is broken; for all: it is unavailable", async () => {
    let failures = 1;
    const once = createImagesBinding(binding({ isDown: () => failures-- > 0 }).images);
    expect(await once.transform(await requestFor(1))).toEqual({ ok: false, error: "broken_image" });
    const down = createImagesBinding(binding({ isDown: () => true }).images);
    expect(await down.transform(await requestFor(1))).toEqual({ ok: false, error: "unavailable" });
    expect(await down.transform(await requestFor(6))).toEqual({ ok: false, error: "unavailable" });
  });
});
