import { fromBase64 } from "../../platform/text/encoding.ts";
import { PartReader } from "../blobs/part-reader.ts";
import type { ImageFormat } from "../model/image-transformer.ts";
import { readGifStructure } from "./gif/structure.ts";
import { readImageHeader } from "./header.ts";

/**
 * Finds the abilities of the Images binding by trying them: versions differ, and the local one can do less. Every
 * answer is undefined if the binding does not answer.
 */
export type ImagesProbe = ReturnType<typeof createImagesProbe>;

/** The formats that have an orientation. */
export type OrientedFormat = "jpeg" | "png";

export const OUTPUT: Readonly<Record<ImageFormat, ImageOutputOptions>> = {
  jpeg: { format: "image/jpeg" },
  png: { format: "image/png" },
  gif: { format: "image/gif", anim: true },
};

export function createImagesProbe(images: ImagesBinding) {
  /** Results are stored as values, because a promise is bound to the request that created it. */
  const applied = new Map<OrientedFormat, boolean>();
  let keepsFrames: boolean | undefined;

  const probeOrientation = async (format: OrientedFormat): Promise<boolean | undefined> => {
    const made = await attempt(() => images.input(streamOf(SIDEWAYS[format])).output(OUTPUT[format]));
    const outcome = made === undefined ? undefined : readImageHeader(made);
    if (outcome?.kind !== "header") return undefined;
    const answer = outcome.header.height > outcome.header.width;
    applied.set(format, answer);
    return answer;
  };
  const makeGif = () => attempt(() => images.input(streamOf(TWO_FRAMES)).output(OUTPUT.gif));
  const isUp = async (format: ImageFormat): Promise<boolean> =>
    (await (format === "gif" ? makeGif() : probeOrientation(format))) !== undefined;
  const probeAnimation = async (): Promise<boolean | undefined> => {
    const made = await makeGif();
    // Error texts vary. A good image shows whether only gifs fail or everything does.
    if (made === undefined && !(await isUp("jpeg"))) return undefined;
    // It may make gifs again later, and larger ones than our transformer does.
    if (made === undefined) return false;
    keepsFrames = readGifStructure(made, 3)?.frames.length === 2;
    return keepsFrames;
  };

  return {
    /** True if the binding transforms a good image of this format now. */
    isUp,
    /**
     * True if the binding applies the orientation of this format by itself; then the caller must not turn the image.
     */
    appliesOrientation: async (format: OrientedFormat): Promise<boolean | undefined> =>
      applied.get(format) ?? probeOrientation(format),
    /** True if the binding writes gifs with all their frames. */
    keepsAnimations: async (): Promise<boolean | undefined> => keepsFrames ?? probeAnimation(),
  };
}

async function attempt(transform: () => Promise<ImageTransformationResult>): Promise<Uint8Array | undefined> {
  try {
    const made = await new PartReader((await transform()).image(), PROBE_RESULT_BYTES).next();
    return made.ok ? made.value : undefined;
  } catch {
    return undefined;
  }
}

const streamOf = (base64: string): ReadableStream<Uint8Array> =>
  new Blob([fromBase64(base64) ?? new Uint8Array(0)]).stream();

const PROBE_RESULT_BYTES = 64 * 1024;

/** A gif of 4 x 2 pixels with a red frame and a blue one. */
const TWO_FRAMES =
  "R0lGODlhBAACAJAAAP8AAAAA/yH/C05FVFNDQVBFMi4wAwEAAAAh+QQACgAAACwAAAAABAACAAACA4RvBQAh+QQACgAAACwAAAAABAACAID/" +
  "AAAAAP8CA4xvBQA7";

/** Good images of 16 x 8 pixels that lie on their side (EXIF orientation 6). */
const SIDEWAYS: Readonly<Record<OrientedFormat, string>> = {
  jpeg:
    "/9j/4QAiRXhpZgAATU0AKgAAAAgAAQESAAMAAAABAAYAAAAAAAD/2wBDAAYEBQYFBAYGBQYHBwYIChAKCgkJChQODwwQFxQYGBcU" +
    "FhYaHSUfGhsjHBYWICwgIyYnKSopGR8tMC0oMCUoKSj/2wBDAQcHBwoIChMKChMoGhYaKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgo" +
    "KCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCj/wAARCAAIABADASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAf/xAAUEAEA" +
    "AAAAAAAAAAAAAAAAAAAA/8QAFAEBAAAAAAAAAAAAAAAAAAAABv/EABQRAQAAAAAAAAAAAAAAAAAAAAD/2gAMAwEAAhEDEQA/AJwA" +
    "HgT/2Q==",
  png:
    "iVBORw0KGgoAAAANSUhEUgAAABAAAAAICAIAAAB/FOjAAAAAGmVYSWZNTQAqAAAACAABARIAAwAAAAEABgAAAAAAANZnS2kAAAATSURBVBjTY+A6" +
    "IUcSYhjVQAsNANzdeAFSPfogAAAAAElFTkSuQmCC",
};
