import { err } from "../../platform/result.ts";
import { createGifTransformer } from "./gif/transformer.ts";
import type { ImageTransformer } from "../model/image-transformer.ts";
import { createImagesBinding } from "./binding.ts";
import { createImagesProbe } from "./probe.ts";

/** The Images binding, and for gifs, where it does not write them with all their frames, a transformer of our own. */
export function createTransformer(images: ImagesBinding): ImageTransformer {
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
  };
}
