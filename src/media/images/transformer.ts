import { err, ok } from "../../platform/model/result.ts";
import type { ImageTransformer, ImageTransformers, TransformRequest } from "../model/image-transformer.ts";
import { UPRIGHT } from "./exif.ts";
import { createGifTransformer } from "./gif/transformer.ts";
import { createImagesProbe, OUTPUT, type ImagesProbe } from "./probe.ts";

/**
 * Transforms with the Images binding, or, for gifs, with our own transformer if the binding does not keep animations.
 */
export function createTransformer(images: ImagesBinding): ImageTransformers {
  const probe = createImagesProbe(images);
  const binding = createImagesBinding(images, probe);
  const own = createGifTransformer((ms) => scheduler.wait(ms));
  return {
    async transform(request) {
      if (request.header.format !== "gif") return binding.transform(request);
      const keepsAnimations = await probe.keepsAnimations();
      if (keepsAnimations === undefined) return err({ kind: "unavailable" });
      return (keepsAnimations ? binding : own).transform(request);
    },
    isUp: probe.isUp,
  };
}

/** Transforms with the Images binding. */
function createImagesBinding(images: ImagesBinding, probe: ImagesProbe): ImageTransformer {
  return {
    async transform(request) {
      const { format, orientation } = request.header;
      const isUpright = orientation === 1 || format === "gif" ? true : await probe.appliesOrientation(format);
      if (isUpright === undefined) return err({ kind: "unavailable" });
      try {
        return ok({ stream: await run(images, request, isUpright), encoder: "images-1" });
      } catch {
        // Error texts vary. A good image of the format shows whether the image or the binding is at fault.
        return err((await probe.isUp(format)) ? { kind: "broken_image" } : { kind: "unavailable" });
      }
    },
  };
}

async function run(
  images: ImagesBinding,
  { master, header, type, target }: TransformRequest,
  isUpright: boolean,
): Promise<ReadableStream<Uint8Array>> {
  let transformer = images.input(master);
  const upright = UPRIGHT[header.orientation];
  if (!isUpright && upright !== undefined) {
    if (upright.rotate !== 0) transformer = transformer.transform({ rotate: upright.rotate });
    if (upright.mirror) transformer = transformer.transform({ flip: "h" });
  }
  // The target has the right proportions; squeeze and cover differ only in how they treat half a pixel.
  const fit = type === "clip" ? "squeeze" : "cover";
  const result = await transformer.transform({ ...target, fit, gravity: "center" }).output(OUTPUT[header.format]);
  return result.image();
}
