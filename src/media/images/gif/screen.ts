import { decodeLzw } from "./lzw.ts";
import type { GifFrame, GifStructure } from "./structure.ts";

/**
 * Draws the frames of a gif over each other, as browsers do. The screen begins transparent, and cleared areas become
 * transparent. The gif's background colour has no effect.
 */
export class GifScreen {
  readonly #width: number;
  readonly #height: number;
  /** The pixels in ABGR, row by row: the bytes are red, green, blue, alpha. Alpha is 0 or 255. */
  readonly pixels: Uint32Array;

  constructor({ width, height }: GifStructure) {
    [this.#width, this.#height] = [width, height];
    this.pixels = new Uint32Array(width * height);
  }

  /** Draws a frame. False: the frame's data is broken, and nothing is drawn. */
  draw(bytes: Uint8Array, frame: GifFrame): boolean {
    const indices = new Uint8Array(frame.width * frame.height);
    const filled = decodeLzw(bytes, frame.dataAt, indices);
    if (filled === undefined) return false;
    const colours = coloursOf(frame);
    const visible = Math.max(0, Math.min(frame.width, this.#width - frame.x));
    let from = 0;
    for (const row of rowsOf(frame)) {
      if (from >= filled) return true;
      const y = frame.y + row;
      if (y < this.#height)
        this.#drawRow(indices.subarray(from, Math.min(from + visible, filled)), frame.x, y, colours);
      from += frame.width;
    }
    return true;
  }

  #drawRow(indices: Uint8Array, x: number, y: number, colours: Uint32Array): void {
    const row = this.pixels.subarray(y * this.#width + x);
    // This is the hottest loop, and a counting loop is the fastest.
    for (let at = 0; at < indices.length; at++) {
      const colour = colours[indices[at]!]!;
      if (colour !== 0) row[at] = colour;
    }
  }

  /** Copies the visible part of the frame. */
  copy(frame: GifFrame): Uint32Array[] {
    return this.#partsOf(frame).map((part) => part.slice());
  }

  restore(frame: GifFrame, copied: readonly Uint32Array[]): void {
    for (const [row, part] of this.#partsOf(frame).entries()) part.set(copied[row]!);
  }

  clear(frame: GifFrame): void {
    for (const part of this.#partsOf(frame)) part.fill(0);
  }

  #partsOf({ x, y, width, height }: GifFrame): Uint32Array[] {
    const rows = Math.max(0, Math.min(height, this.#height - y));
    const end = Math.min(x + width, this.#width);
    if (end <= x) return [];
    return Array.from({ length: rows }, (_, row) => {
      const start = (y + row) * this.#width;
      return this.pixels.subarray(start + x, start + end);
    });
  }
}

/** Returns the colours by index; 0 for the transparent index and for every index beyond the palette. */
function coloursOf({ palette, transparentIndex }: GifFrame): Uint32Array {
  const colours = new Uint32Array(256);
  for (let index = 0; index * 3 + 2 < palette.length; index++) {
    const [red, green, blue] = palette.subarray(index * 3, index * 3 + 3);
    colours[index] = (0xff000000 | (blue! << 16) | (green! << 8) | red!) >>> 0;
  }
  if (transparentIndex >= 0) colours[transparentIndex] = 0;
  return colours;
}

/** Yields the rows of a frame in the order of its data (GIF89a, appendix E). */
function* rowsOf({ height, interlaced }: GifFrame): Generator<number> {
  const passes = interlaced ? INTERLACED : PROGRESSIVE;
  for (const [start, step] of passes) for (let row = start; row < height; row += step) yield row;
}

const PROGRESSIVE = [[0, 1]] as const;
const INTERLACED = [
  [0, 8],
  [4, 8],
  [2, 4],
  [1, 2],
] as const;
