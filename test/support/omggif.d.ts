/** The used part of `omggif`, which has no types of its own. */
declare module "omggif" {
  export class GifWriter {
    constructor(buffer: Uint8Array, width: number, height: number, options: { loop?: number; palette?: number[] });
    addFrame(
      x: number,
      y: number,
      width: number,
      height: number,
      indices: ArrayLike<number>,
      options?: { palette?: number[]; delay?: number; disposal?: number; transparent?: number },
    ): number;
    /** Returns the size of the file in bytes. */
    end(): number;
  }
  export class GifReader {
    constructor(bytes: Uint8Array);
    readonly width: number;
    readonly height: number;
    numFrames(): number;
    /** Returns the number of repeats; null: the animation is shown once. */
    loopCount(): number | null;
    frameInfo(index: number): { x: number; y: number; width: number; height: number; delay: number; disposal: number };
    decodeAndBlitFrameRGBA(index: number, pixels: Uint8Array): void;
  }
}
