import { GIFEncoder } from "gifenc";
import type { Dimensions } from "../../model/sizes.ts";
import { Indexer } from "./palette.ts";

/**
 * Writes an animation or a still picture. Pixels that equal the frame before are written as transparent, which
 * compresses well. If visible pixels become transparent, the screen is cleared before the next frame.
 */
export class GifWriter {
  readonly #size: Dimensions;
  /** The value for `gifenc`: -1: once; 0: for ever; otherwise the number of repeats. */
  readonly #repeat: number;
  readonly #encoder = GIFEncoder();
  readonly #indexer = new Indexer();
  /** A frame is written when the next one is known, because that decides its disposal. */
  #waiting: Frame | undefined;
  /** The screen before the waiting frame is drawn. */
  #before: Uint32Array | undefined;
  /** The written bytes, a chunk for each frame, because one growing buffer would be copied again and again. */
  readonly #chunks: Uint8Array[] = [];
  /** The size of all chunks. */
  sizeBytes = 0;

  constructor(size: Dimensions, repeats: number | undefined) {
    this.#size = size;
    this.#repeat = repeats ?? -1;
  }

  /** `pixels` are the whole picture in ABGR, 0 if transparent. `delay` is in hundredths of a second. */
  add(pixels: Uint32Array, delay: number): void {
    this.#flush(pixels);
    this.#waiting = { pixels, delay };
  }

  finish(): readonly Uint8Array[] {
    this.#flush(undefined);
    this.#encoder.finish();
    this.#keepWritten();
    return this.#chunks;
  }

  #keepWritten(): void {
    const chunk = this.#encoder.bytes();
    this.#encoder.stream.reset();
    this.#chunks.push(chunk);
    this.sizeBytes += chunk.byteLength;
  }

  #flush(next: Uint32Array | undefined): void {
    if (this.#waiting === undefined) return;
    const { pixels, delay } = this.#waiting;
    const clears = next !== undefined && disappears(pixels, next);
    const { palette, indices, transparentIndex } = this.#indexer.toIndexed(changes(this.#before, pixels));
    this.#encoder.writeFrame(indices, this.#size.width, this.#size.height, {
      palette,
      repeat: this.#repeat,
      delay: delay * 10,
      dispose: clears ? DISPOSE.clear : DISPOSE.keep,
      transparent: transparentIndex !== undefined,
      transparentIndex: transparentIndex ?? 0,
      colorDepth: Math.max(2, Math.ceil(Math.log2(palette.length))),
    });
    this.#keepWritten();
    this.#before = clears ? undefined : pixels;
    this.#waiting = undefined;
  }
}

interface Frame {
  readonly pixels: Uint32Array;
  readonly delay: number;
}

const DISPOSE = { keep: 1, clear: 2 } as const;

/** True if a visible pixel becomes transparent. */
function disappears(pixels: Uint32Array, next: Uint32Array): boolean {
  for (let at = 0; at < pixels.length; at++) if (pixels[at] !== 0 && next[at] === 0) return true;
  return false;
}

/**
 * Returns the changed pixels. It writes them into `before`, which nobody needs any more, because pictures are large.
 */
function changes(before: Uint32Array | undefined, pixels: Uint32Array): Uint32Array {
  if (before === undefined) return pixels;
  for (let at = 0; at < pixels.length; at++) before[at] = pixels[at] === before[at] ? 0 : pixels[at]!;
  return before;
}
