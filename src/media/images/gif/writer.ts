import { GIFEncoder } from "gifenc";
import type { Dimensions } from "../../model/sizes.ts";
import { Indexer } from "./palette.ts";

/**
 * Writes an animation, or a picture that stands still. What does not change from one frame to the next is written as
 * transparent, which packs well, unless something disappears: then the screen is cleared in between.
 */
export class GifWriter {
  readonly #size: Dimensions;
  /** For `gifenc`: -1 once, 0 for ever, else how often again. */
  readonly #repeat: number;
  readonly #encoder = GIFEncoder();
  readonly #indexer = new Indexer();
  /** Written when it is known what comes after it. */
  #waiting: Frame | undefined;
  /** What is on the screen when the waiting frame is drawn. */
  #before: Uint32Array | undefined;
  /** What was written, frame by frame: one buffer for all would be copied as it grows. */
  readonly #chunks: Uint8Array[] = [];
  /** Of the frames that were written so far. */
  sizeBytes = 0;

  constructor(size: Dimensions, repeats: number | undefined) {
    this.#size = size;
    this.#repeat = repeats ?? -1;
  }

  /** `pixels`: ABGR, the whole picture; 0 where nothing is. `delay`: hundredths of a second. */
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
      // In milliseconds.
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

/** Whether something is where nothing will be. */
function disappears(pixels: Uint32Array, next: Uint32Array): boolean {
  for (let at = 0; at < pixels.length; at++) if (pixels[at] !== 0 && next[at] === 0) return true;
  return false;
}

/** What is new in `pixels`, put into `before`, which is not needed any more: pictures are large. */
function changes(before: Uint32Array | undefined, pixels: Uint32Array): Uint32Array {
  if (before === undefined) return pixels;
  for (let at = 0; at < pixels.length; at++) before[at] = pixels[at] === before[at] ? 0 : pixels[at]!;
  return before;
}
