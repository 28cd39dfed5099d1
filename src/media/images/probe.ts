import { fromBase64 } from "../../platform/text/encoding.ts";
import { PartReader } from "../blobs/part-reader.ts";
import { readGifStructure } from "./gif/structure.ts";
import { readImageHeader } from "./header.ts";

/**
 * Finds out what the Images binding can do by letting it do it: versions differ, and the local one can do less. Every
 * answer is undefined if the binding does not answer.
 */
export type ImagesProbe = ReturnType<typeof createImagesProbe>;

/** Formats that have an orientation. */
export type OrientedFormat = "jpeg" | "png";

export function createImagesProbe(images: ImagesBinding) {
  /** Results are stored as values, because a promise belongs to the request that made it. */
  const applied = new Map<OrientedFormat, boolean>();
  let keepsFrames: boolean | undefined;

  const probeOrientation = async (format: OrientedFormat): Promise<boolean | undefined> => {
    const made = await attempt(() => images.input(streamOf(SIDEWAYS[format])).output({ format: "image/png" }));
    const outcome = made === undefined ? undefined : readImageHeader(made);
    if (outcome?.kind !== "header") return undefined;
    const answer = outcome.header.height > outcome.header.width;
    applied.set(format, answer);
    return answer;
  };
  const isUp = async (): Promise<boolean> => (await probeOrientation("jpeg")) !== undefined;
  const probeAnimation = async (): Promise<boolean | undefined> => {
    const made = await attempt(() => images.input(streamOf(TWO_FRAMES)).output({ format: "image/gif", anim: true }));
    // Error texts vary. A good image tells whether only gifs fail, or everything.
    if (made === undefined && !(await isUp())) return undefined;
    keepsFrames = made !== undefined && readGifStructure(made, 3)?.frames.length === 2;
    return keepsFrames;
  };

  return {
    /** It transforms a good image now. */
    isUp,
    /** It applies the orientation of images in this format by itself. Turning twice would be as wrong as never. */
    appliesOrientation: async (format: OrientedFormat): Promise<boolean | undefined> =>
      applied.get(format) ?? probeOrientation(format),
    /** It writes gifs with all their frames. */
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

/** 4 x 2 pixels, red, then blue. */
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
