import { fromBase64 } from "../platform/encoding.ts";
import { err, ok } from "../platform/result.ts";
import { UPRIGHT } from "./exif-orientation.ts";
import { readImageHeader, type ImageFormat } from "./image-header.ts";
import type { ImageTransformer, TransformFault, TransformRequest } from "./image-transformer.ts";
import { PartReader } from "./part-reader.ts";

/** Transforms with the Images binding. */
export function createImagesBinding(images: ImagesBinding): ImageTransformer {
  /** What the probe found; kept as a value, since a promise belongs to the request that made it. */
  let turnsByItself: boolean | undefined;
  const probe = async (): Promise<boolean | undefined> => (turnsByItself = await probeBinding(images));

  return {
    version: "images-1",
    formats: FORMATS,
    async transform(request) {
      let isTurned = true;
      if (request.header.orientation !== 1) {
        const answer = turnsByItself ?? (await probe());
        if (answer === undefined) return err("unavailable");
        isTurned = answer;
      }
      try {
        return ok(await run(images, request, isTurned));
      } catch {
        // The binding fails with texts of many kinds. Whether the image or the binding is at fault, a good image tells.
        return err<TransformFault>((await probe()) === undefined ? "unavailable" : "broken_image");
      }
    },
  };
}

/** The local binding writes no gif, and animations need more than one frame. */
const FORMATS: readonly ImageFormat[] = ["jpeg", "png"];

async function run(
  images: ImagesBinding,
  { master, header, type, target }: TransformRequest,
  isTurned: boolean,
): Promise<ReadableStream<Uint8Array>> {
  let transformer = images.input(master);
  const upright = UPRIGHT[header.orientation];
  if (!isTurned && upright !== undefined) {
    if (upright.rotate !== 0) transformer = transformer.transform({ rotate: upright.rotate });
    if (upright.mirror) transformer = transformer.transform({ flip: "h" });
  }
  // The target has the right proportions already: squeeze and cover only differ in what they do with half a pixel.
  const fit = type === "clip" ? "squeeze" : "cover";
  const format = header.format === "png" ? "image/png" : "image/jpeg";
  const result = await transformer.transform({ ...target, fit, gravity: "center" }).output({ format });
  return result.image();
}

/**
 * Transforms a good image, 16 x 8 pixels that lie on their side (EXIF orientation 6). Undefined: the binding does not
 * answer. Else whether it puts images upright by itself; versions differ, and turning twice would be as wrong as never.
 */
async function probeBinding(images: ImagesBinding): Promise<boolean | undefined> {
  const bytes = fromBase64(LYING_JPEG) ?? new Uint8Array(0);
  try {
    const result = await images.input(new Blob([bytes]).stream()).output({ format: "image/png" });
    const first = await new PartReader(result.image(), PROBE_RESULT_BYTES).next();
    const outcome = first.ok ? readImageHeader(first.value) : undefined;
    return outcome?.kind === "header" ? outcome.header.height > outcome.header.width : undefined;
  } catch {
    return undefined;
  }
}

const PROBE_RESULT_BYTES = 64 * 1024;

const LYING_JPEG =
  "/9j/4QAiRXhpZgAATU0AKgAAAAgAAQESAAMAAAABAAYAAAAAAAD/2wBDAAYEBQYFBAYGBQYHBwYIChAKCgkJChQODwwQFxQYGBcU" +
  "FhYaHSUfGhsjHBYWICwgIyYnKSopGR8tMC0oMCUoKSj/2wBDAQcHBwoIChMKChMoGhYaKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgo" +
  "KCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCj/wAARCAAIABADASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAf/xAAUEAEA" +
  "AAAAAAAAAAAAAAAAAAAA/8QAFAEBAAAAAAAAAAAAAAAAAAAABv/EABQRAQAAAAAAAAAAAAAAAAAAAAD/2gAMAwEAAhEDEQA/AJwA" +
  "HgT/2Q==";
