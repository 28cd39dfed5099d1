import { err, ok } from "../platform/result.ts";
import { GifScreen } from "./gif-screen.ts";
import { readGifStructure, type GifFrame, type GifStructure } from "./gif-structure.ts";
import { GifWriter } from "./gif-writer.ts";
import type { ImageTransformer, TransformFault, TransformRequest } from "./image-transformer.ts";
import { LIMITS } from "./limits.ts";
import { createResampler } from "./resample.ts";
import type { Dimensions } from "./sizes.ts";

/**
 * Transforms gifs, animations kept, where the Images binding does not. What a gif would cost is known from its blocks,
 * before a pixel is decoded. From then on nothing is awaited, so no two of them hold their pixels in memory at a time.
 */
export function createGifTransformer(): ImageTransformer {
  return {
    async transform(request) {
      const refusal = refuseBytes(request) ?? refuseMemory(request.header, [], request.target);
      if (refusal !== undefined) return err(refusal);
      const bytes = await readAll(request.master, request.sizeBytes);
      if (bytes === undefined) return err({ kind: "broken_image" });
      const structure = readGifStructure(bytes, MAX_FRAMES);
      if (structure === undefined) return err({ kind: "broken_image" });
      const tooMuch = refuseWork(structure) ?? refuseMemory(structure, structure.frames, request.target);
      if (tooMuch !== undefined) return err(tooMuch);
      const made = transformGif(bytes, structure, request);
      return made === undefined
        ? err({ kind: "broken_image" })
        : ok({ stream: new Blob([made]).stream(), encoder: "gif-1" });
    },
  };
}

/** One more than any that is not refused. */
const MAX_FRAMES = Math.floor(LIMITS.gifMaxPixels / LIMITS.gifFrameMinPixels) + 1;

type Refusal = Extract<TransformFault, { kind: "refused" }>;
const refused = (reason: string): Refusal => ({ kind: "refused", reason });

const refuseBytes = ({ sizeBytes }: TransformRequest): Refusal | undefined =>
  sizeBytes > LIMITS.gifMaxBytes
    ? refused(`The gif has ${sizeBytes} bytes, more than ${LIMITS.gifMaxBytes}.`)
    : undefined;

function refuseWork({ width, height, frames }: GifStructure): Refusal | undefined {
  const costs = frames.map((frame) => Math.max(width * height, frame.width * frame.height, LIMITS.gifFrameMinPixels));
  if (costs.reduce((sum, cost) => sum + cost, 0) <= LIMITS.gifMaxPixels) return undefined;
  const count = frames.length === MAX_FRAMES ? "too many" : frames.length;
  return refused(`The gif has frames (${count}) of more than ${LIMITS.gifMaxPixels / 1e6} megapixels together.`);
}

const BYTES_PER_PIXEL = 4;

/** The screen, what is kept of it to be restored, the indices of a frame, and three pictures of the result's size. */
function refuseMemory(screen: Dimensions, frames: readonly GifFrame[], target: Dimensions): Refusal | undefined {
  const screenBytes = screen.width * screen.height * BYTES_PER_PIXEL;
  const copyBytes = frames.some(({ disposal }) => disposal === "restore") ? screenBytes : 0;
  const indexBytes = Math.max(0, ...frames.map(({ width, height }) => width * height));
  const pictures = frames.length > 1 ? 3 : 1;
  const madeBytes = target.width * target.height * (BYTES_PER_PIXEL * pictures + 1);
  return screenBytes + copyBytes + indexBytes + madeBytes > LIMITS.gifMaxMemoryBytes
    ? refused(`The gif has ${screen.width} x ${screen.height} pixels, which take too much memory to be transformed.`)
    : undefined;
}

/** Undefined when fewer bytes came, or more. */
async function readAll(stream: ReadableStream<Uint8Array>, sizeBytes: number): Promise<Uint8Array | undefined> {
  const bytes = new Uint8Array(sizeBytes);
  let at = 0;
  try {
    for await (const chunk of stream) {
      if (at + chunk.byteLength > sizeBytes) return undefined;
      bytes.set(chunk, at);
      at += chunk.byteLength;
    }
  } catch {
    return undefined;
  }
  return at === sizeBytes ? bytes : undefined;
}

/** A frame that is broken ends the animation before it; a first one makes the image a broken one: undefined. */
function transformGif(
  bytes: Uint8Array,
  structure: GifStructure,
  { type, target }: TransformRequest,
): Uint8Array<ArrayBuffer> | undefined {
  const screen = new GifScreen(structure);
  const resampler = createResampler(type, structure, target);
  const writer = new GifWriter(target, structure.repeats);
  for (const [index, frame] of structure.frames.entries()) {
    const before = frame.disposal === "restore" ? screen.copy(frame) : undefined;
    if (!screen.draw(bytes, frame)) {
      if (index === 0) return undefined;
      break;
    }
    writer.add(resampler.resample(screen.pixels), frame.delay);
    if (before !== undefined) screen.restore(frame, before);
    if (frame.disposal === "clear") screen.clear(frame);
  }
  return writer.finish();
}
