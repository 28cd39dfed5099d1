import { ColourCutter } from "./colours.ts";

/** A picture with at most 256 colours, as gifs need it. */
export interface IndexedPicture {
  /** RGB triples. */
  readonly palette: number[][];
  readonly indices: Uint8Array;
  /** The colour for transparent pixels; undefined if there are none. */
  readonly transparentIndex: number | undefined;
}

const MAX_COLOURS = 256;

/** Reduces pictures to their palette. The same picture gives the same palette. Tables are reused to keep it cheap. */
export class Indexer {
  readonly #exact = new ColourTable();
  readonly #cutter = new ColourCutter();

  /** `pixels` are ABGR, 0 if transparent. */
  toIndexed(pixels: Uint32Array): IndexedPicture {
    const hasGaps = pixels.includes(0);
    const maxColours = hasGaps ? MAX_COLOURS - 1 : MAX_COLOURS;
    const indices = new Uint8Array(pixels.length);
    const palette = this.#exact.index(pixels, maxColours, indices) ?? this.#cutter.index(pixels, maxColours, indices);
    if (!hasGaps) return { palette, indices, transparentIndex: undefined };
    const gap = palette.length;
    for (let at = 0; at < pixels.length; at++) if (pixels[at] === 0) indices[at] = gap;
    palette.push([0, 0, 0]);
    return { palette, indices, transparentIndex: gap };
  }
}

const SLOTS = 1024;

/** Finds the exact colours if they are few enough: a hash table that is at most a quarter full. */
class ColourTable {
  /** A free slot is 0. Black is not 0, because every colour has an alpha of 255. */
  private readonly colours = new Uint32Array(SLOTS);
  private readonly indexOf = new Uint8Array(SLOTS);

  /** Fills `indices` for pixels that are not transparent. Undefined: there are more than `maxColours` colours. */
  index(pixels: Uint32Array, maxColours: number, indices: Uint8Array): number[][] | undefined {
    this.colours.fill(0);
    const palette: number[][] = [];
    let [previous, index] = [0, 0];
    for (let at = 0; at < pixels.length; at++) {
      const pixel = pixels[at]!;
      if (pixel === 0) continue;
      if (pixel !== previous) {
        const slot = this.slotOf(pixel);
        if (this.colours[slot] === 0) {
          if (palette.length === maxColours) return undefined;
          this.colours[slot] = pixel;
          this.indexOf[slot] = palette.length;
          palette.push([pixel & 0xff, (pixel >>> 8) & 0xff, (pixel >>> 16) & 0xff]);
        }
        [previous, index] = [pixel, this.indexOf[slot]!];
      }
      indices[at] = index;
    }
    return palette;
  }

  /** Returns the slot of the colour, or the free slot where it belongs. */
  private slotOf(colour: number): number {
    let slot = Math.imul(colour, 0x9e3779b1) >>> 22;
    while (this.colours[slot] !== 0 && this.colours[slot] !== colour) slot = (slot + 1) % SLOTS;
    return slot;
  }
}
