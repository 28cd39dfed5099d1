/**
 * This file reads the blocks of a gif (GIF89a, sections 17 to 27) without decoding a pixel, so the cost of the frames
 * is known in advance. Pure; never throws.
 */
export interface GifStructure {
  readonly width: number;
  readonly height: number;
  /** The number of repeats; 0: for ever; undefined: the animation is shown once. */
  readonly repeats: number | undefined;
  /** The frames in order. The end of the file may cut off the data of the last one. */
  readonly frames: readonly GifFrame[];
  /** True if the file ends within an extension, after a frame's control, or before a frame's data. */
  readonly isCut: boolean;
}

export interface GifFrame {
  /** The position on the screen. Parts of the frame may lie outside. */
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly interlaced: boolean;
  /** The delay in hundredths of a second. */
  readonly delay: number;
  /** The change of the screen after the frame was shown. */
  readonly disposal: "keep" | "clear" | "restore";
  /** -1 if no index is transparent. */
  readonly transparentIndex: number;
  /** Three bytes for each colour: red, green, blue. */
  readonly palette: Uint8Array;
  /** The offset of the LZW data, which begins with the code size. */
  readonly dataAt: number;
}

/** The graphic control extension before a frame. */
type Control = Pick<GifFrame, "delay" | "disposal" | "transparentIndex">;

const BLOCK = { extension: 0x21, image: 0x2c } as const;
const EXTENSION = { control: 0xf9, application: 0xff } as const;
const NO_CONTROL: Control = { delay: 0, disposal: "keep", transparentIndex: -1 };
const NO_COLOURS = new Uint8Array(0);

/**
 * Reads at most `maxFrames` frames. Returns undefined if there is none. It stops at the first unknown block, as
 * browsers do. The trailer may be missing.
 */
export function readGifStructure(bytes: Uint8Array, maxFrames: number): GifStructure | undefined {
  if (bytes.length < 13) return undefined;
  const frames: GifFrame[] = [];
  let repeats: number | undefined;
  let control = NO_CONTROL;
  let isCut = false;
  let at = 13;
  const shared = paletteAt(bytes, at, byteAt(bytes, 10));
  at += shared.length;
  while (at < bytes.length && frames.length < maxFrames) {
    const kind = bytes[at];
    if (kind === BLOCK.extension) {
      const label = bytes[at + 1];
      if (label === EXTENSION.control) control = readControl(bytes, at + 3);
      if (label === EXTENSION.application) repeats ??= readRepeats(bytes, at + 2);
      at = endOfSubBlocks(bytes, at + 2);
      isCut = at > bytes.length;
    } else if (kind === BLOCK.image) {
      isCut = at + 10 >= bytes.length;
      if (isCut) break;
      const frame = readFrame(bytes, at + 1, shared, control);
      frames.push(frame);
      control = NO_CONTROL;
      at = endOfSubBlocks(bytes, frame.dataAt + 1);
    } else break;
  }
  isCut ||= at >= bytes.length && control !== NO_CONTROL;
  if (frames.length === 0) return undefined;
  return { width: u16(bytes, 6), height: u16(bytes, 8), repeats, frames, isCut };
}

function readFrame(bytes: Uint8Array, at: number, shared: Uint8Array, control: Control): GifFrame {
  const flags = byteAt(bytes, at + 8);
  const own = paletteAt(bytes, at + 9, flags);
  return {
    ...control,
    x: u16(bytes, at),
    y: u16(bytes, at + 2),
    width: u16(bytes, at + 4),
    height: u16(bytes, at + 6),
    interlaced: (flags & 0x40) !== 0,
    palette: hasPalette(flags) ? own : shared,
    dataAt: at + 9 + own.length,
  };
}

function readControl(bytes: Uint8Array, at: number): Control {
  const flags = byteAt(bytes, at);
  const disposal = (flags >> 2) & 7;
  return {
    delay: u16(bytes, at + 1),
    // Some encoders write 4 instead of 3, and browsers accept it.
    disposal: disposal === 2 ? "clear" : disposal === 3 || disposal === 4 ? "restore" : "keep",
    transparentIndex: (flags & 1) === 0 ? -1 : byteAt(bytes, at + 3),
  };
}

/** Reads the number of repeats from Netscape's extension or from `ANIMEXTS1.0`, which has the same form. */
function readRepeats(bytes: Uint8Array, at: number): number | undefined {
  const name = String.fromCharCode(...bytes.subarray(at + 1, at + 12));
  if (name !== "NETSCAPE2.0" && name !== "ANIMEXTS1.0") return undefined;
  return byteAt(bytes, at + 12) >= 3 && (byteAt(bytes, at + 13) & 7) === 1 ? u16(bytes, at + 14) : undefined;
}

const hasPalette = (flags: number): boolean => (flags & 0x80) !== 0;

function paletteAt(bytes: Uint8Array, at: number, flags: number): Uint8Array {
  return hasPalette(flags) ? bytes.subarray(at, at + 3 * (2 << (flags & 7))) : NO_COLOURS;
}

/** Returns the end of a chain. Each sub-block begins with its length; a length of zero ends the chain. */
function endOfSubBlocks(bytes: Uint8Array, start: number): number {
  let at = start;
  while (byteAt(bytes, at) !== 0) at += 1 + byteAt(bytes, at);
  return at + 1;
}

/** Returns a byte, or zero beyond the end. */
const byteAt = (bytes: Uint8Array, at: number): number => bytes[at] ?? 0;
const u16 = (bytes: Uint8Array, at: number): number => byteAt(bytes, at) | (byteAt(bytes, at + 1) << 8);
