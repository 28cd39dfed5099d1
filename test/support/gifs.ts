import { GifReader, GifWriter } from "omggif";
import type { Colour, Picture } from "./images.ts";

/** Gifs for tests, written and read by a codec that the platform does not use. */
export interface GifFrameInput {
  readonly x?: number;
  readonly y?: number;
  readonly width: number;
  readonly height: number;
  readonly indices: ArrayLike<number>;
  /** The delay in hundredths of a second. */
  readonly delay?: number;
  /** The disposal (GIF89a, 23.c.iv): 0 or 1 keeps, 2 clears, 3 restores. */
  readonly disposal?: number;
  readonly transparent?: number;
  readonly palette?: readonly Colour[];
}

export function encodeGif(
  width: number,
  height: number,
  palette: readonly Colour[],
  frames: readonly GifFrameInput[],
  loop?: number,
): Uint8Array<ArrayBuffer> {
  const pixels = frames.reduce((sum, frame) => sum + frame.width * frame.height, 0);
  const buffer = new Uint8Array(2048 + frames.length * 1024 + pixels * 2);
  const writer = new GifWriter(buffer, width, height, {
    palette: numbersOf(palette),
    ...(loop === undefined ? {} : { loop }),
  });
  for (const { x = 0, y = 0, indices, palette: own, ...frame } of frames)
    writer.addFrame(x, y, frame.width, frame.height, indices, {
      ...frame,
      ...(own === undefined ? {} : { palette: numbersOf(own) }),
    });
  return buffer.slice(0, writer.end());
}

/** Returns the colours as numbers, filled up to a power of two, which the codec needs. */
function numbersOf(palette: readonly Colour[]): number[] {
  const numbers = palette.map(([red, green, blue]) => (red << 16) | (green << 8) | blue);
  while (numbers.length < 2 || (numbers.length & (numbers.length - 1)) !== 0) numbers.push(0);
  return numbers;
}

export interface DecodedGif {
  readonly width: number;
  readonly height: number;
  readonly loop: number | null;
  readonly frames: readonly DecodedFrame[];
}

interface DecodedFrame extends Picture {
  readonly delay: number;
  /** 0 or 255 for each pixel of the screen after this frame. */
  readonly alpha: Uint8Array;
}

/** Returns the screen after each frame. It reads frames that are as large as the screen, and disposals 1 and 2. */
export function decodeGif(bytes: Uint8Array): DecodedGif {
  const reader = new GifReader(bytes);
  const { width, height } = reader;
  const screen = new Uint8Array(width * height * 4);
  const frames = Array.from({ length: reader.numFrames() }, (_, index): DecodedFrame => {
    const { delay, disposal, ...place } = reader.frameInfo(index);
    if (place.x !== 0 || place.y !== 0 || place.width !== width || place.height !== height || disposal === 3)
      throw new Error("unknown gif");
    reader.decodeAndBlitFrameRGBA(index, screen);
    const [pixels, alpha] = [new Uint8Array(width * height * 3), new Uint8Array(width * height)];
    for (let at = 0; at < alpha.length; at++) {
      pixels.set(screen.subarray(at * 4, at * 4 + 3), at * 3);
      alpha[at] = screen[at * 4 + 3]!;
    }
    if (disposal === 2) screen.fill(0);
    return { width, height, delay, pixels, alpha };
  });
  return { width, height, loop: reader.loopCount(), frames };
}
