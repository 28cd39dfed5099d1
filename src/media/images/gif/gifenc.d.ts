/** The part of `gifenc` that is used. The package has no types of its own. */
declare module "gifenc" {
  export interface GifEncoder {
    /** The first frame writes the header too. */
    writeFrame(
      indices: Uint8Array,
      width: number,
      height: number,
      options: {
        readonly palette: number[][];
        /** -1: shown once; 0: repeated for ever; otherwise the number of repeats. */
        readonly repeat: number;
        /** Milliseconds, rounded to hundredths of a second. */
        readonly delay: number;
        /** GIF89a, 23.c.iv: 1 leaves the frame, 2 clears its area. */
        readonly dispose: number;
        readonly transparent: boolean;
        readonly transparentIndex: number;
        /** The number of bits of an index. */
        readonly colorDepth: number;
      },
    ): void;
    finish(): void;
    /** Returns a copy of the bytes since the last reset. */
    bytes(): Uint8Array<ArrayBuffer>;
    readonly stream: { reset(): void };
  }
  export function GIFEncoder(): GifEncoder;
}
