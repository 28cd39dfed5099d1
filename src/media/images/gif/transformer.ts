import { err, ok, type Result } from "../../../platform/model/result.ts";
import type { ImageTransformer, TransformFault, TransformRequest } from "../../model/image-transformer.ts";
import { LIMITS } from "../../model/limits.ts";
import type { Dimensions } from "../../model/sizes.ts";
import { GifMutex, type GifLease } from "./mutex.ts";
import { createResampler } from "./resample.ts";
import { GifScreen } from "./screen.ts";
import { readGifStructure, type GifFrame, type GifStructure } from "./structure.ts";
import { GifWriter } from "./writer.ts";

/**
 * Transforms gifs with their animation, for an Images binding that drops it. The blocks of a gif show its cost before a
 * pixel is decoded. A request holds the lease from before it reads the gif until its result is read, so only one gif is
 * in memory.
 */
export function createGifTransformer(
  wait: (ms: number) => Promise<void>,
  maxResultBytes: number = LIMITS.gifMaxResultBytes,
): ImageTransformer {
  const mutex = new GifMutex(wait);
  return {
    async transform(request) {
      const refusal = refuseBytes(request) ?? refuseMemory(request.header, [], request.target);
      if (refusal !== undefined) return err(refusal);
      const lease = await mutex.acquire();
      let stream: ReadableStream<Uint8Array> | undefined;
      try {
        const made = await make(request, maxResultBytes, lease);
        if (!made.ok) return made;
        stream = streamOf(made.value, lease);
        return ok({ stream, encoder: "gif-1" });
      } finally {
        if (stream === undefined) lease.release();
      }
    },
  };
}

type Chunks = readonly Uint8Array[];

async function make(
  request: TransformRequest,
  maxResultBytes: number,
  lease: GifLease,
): Promise<Result<Chunks, TransformFault>> {
  const bytes = await readAll(request.master, request.sizeBytes, lease);
  if (bytes === undefined) return err({ kind: "broken_image" });
  const structure = readGifStructure(bytes, MAX_FRAMES);
  if (structure === undefined) return err({ kind: "broken_image" });
  const tooMuch = refuseWork(structure) ?? refuseMemory(structure, structure.frames, request.target);
  if (tooMuch !== undefined) return err(tooMuch);
  return structure.isCut
    ? err({ kind: "broken_image" })
    : transformGif(bytes, structure, request, maxResultBytes, lease);
}

/** Returns the result as a stream. The lease ends with the stream. */
function streamOf(chunks: Chunks, lease: GifLease): ReadableStream<Uint8Array> {
  const left = chunks.values();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        await lease.spend(0);
        const { value, done } = left.next();
        if (done !== true) return controller.enqueue(value);
        lease.release();
        controller.close();
      },
      cancel: () => lease.release(),
    },
    { highWaterMark: 0 },
  );
}

/** One frame more than a gif within the limits can have. */
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
  return refused(`The gif's frames (${count}) have more than ${LIMITS.gifMaxPixels / 1e6} megapixels together.`);
}

const BYTES_PER_PIXEL = 4;

/**
 * Refuses a gif that needs too much memory: for the screen, a copy to restore it, the indices of a frame, and three
 * pictures of the result's size. The bytes of the gif and of the result have limits of their own.
 */
function refuseMemory(screen: Dimensions, frames: readonly GifFrame[], target: Dimensions): Refusal | undefined {
  const screenBytes = screen.width * screen.height * BYTES_PER_PIXEL;
  const copyBytes = frames.some(({ disposal }) => disposal === "restore") ? screenBytes : 0;
  const indexBytes = Math.max(0, ...frames.map(({ width, height }) => width * height));
  const pictures = frames.length > 1 ? 3 : 1;
  const madeBytes = target.width * target.height * (BYTES_PER_PIXEL * pictures + 1);
  return screenBytes + copyBytes + indexBytes + madeBytes > LIMITS.gifMaxMemoryBytes
    ? refused(`The gif has ${screen.width} x ${screen.height} pixels, which need too much memory.`)
    : undefined;
}

/** Reads the stream. Returns undefined if it has fewer or more bytes than `sizeBytes`. */
async function readAll(
  stream: ReadableStream<Uint8Array>,
  sizeBytes: number,
  lease: GifLease,
): Promise<Uint8Array | undefined> {
  const bytes = new Uint8Array(sizeBytes);
  let at = 0;
  try {
    for await (const chunk of stream) {
      if (at + chunk.byteLength > sizeBytes) return undefined;
      bytes.set(chunk, at);
      at += chunk.byteLength;
      await lease.spend(0);
    }
  } catch {
    return undefined;
  }
  return at === sizeBytes ? bytes : undefined;
}

/** Transforms all frames. One broken frame makes the image broken, because its animation would lose frames. */
async function transformGif(
  bytes: Uint8Array,
  structure: GifStructure,
  { type, target }: TransformRequest,
  maxResultBytes: number,
  lease: GifLease,
): Promise<Result<Chunks, TransformFault>> {
  const screen = new GifScreen(structure);
  const resampler = createResampler(type, structure, target);
  const writer = new GifWriter(target, structure.repeats);
  for (const frame of structure.frames) {
    const before = frame.disposal === "restore" ? screen.copy(frame) : undefined;
    if (!screen.draw(bytes, frame)) return err({ kind: "broken_image" });
    await lease.spend(frame.width * frame.height);
    const pixels = resampler.resample(screen.pixels);
    await lease.spend(screen.pixels.length);
    writer.add(pixels, frame.delay);
    await lease.spend(Math.max(pixels.length, LIMITS.gifFrameMinPixels));
    if (writer.sizeBytes > maxResultBytes) return err(tooLarge(maxResultBytes));
    if (before !== undefined) screen.restore(frame, before);
    if (frame.disposal === "clear") screen.clear(frame);
  }
  const chunks = writer.finish();
  return writer.sizeBytes > maxResultBytes ? err(tooLarge(maxResultBytes)) : ok(chunks);
}

const tooLarge = (maxBytes: number): Refusal => refused(`The variant would have more than ${maxBytes} bytes.`);
