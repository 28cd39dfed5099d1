import sharp from "sharp";
import { dimensionsOf, variantDimensions, type Dimensions, type VariantType } from "../../src/media/model/sizes.ts";

/** The result of libvips, through sharp, for the same image. */
export interface Reference {
  /** Undefined if libvips cannot read the image. */
  readonly expected: Dimensions | undefined;
  /** The distance of a variant from libvips' result, 0 to 255; undefined if unknown. */
  difference(variant: Buffer): Promise<number | undefined>;
}

/**
 * Compares average colours of at most 8 by 8 cells, each at least 8 by 8 pixels. Resampling and jpeg compression
 * differ in details.
 */
const cellsOf = (length: number): number => Math.min(8, Math.ceil(length / 8));

export async function referenceOf(master: Buffer, type: VariantType, size: string): Promise<Reference> {
  const expected = await uprightDimensions(master).then(
    (upright) => variantDimensions(type, dimensionsOf(size), upright),
    () => undefined,
  );
  return {
    expected,
    async difference(variant) {
      if (expected === undefined) return undefined;
      const theirs = await made(master, type, expected).then(reduced, () => undefined);
      const ours = await reduced(variant);
      if (theirs === undefined) return undefined;
      if (theirs.length !== ours.length) throw new Error(`${ours.length} frames instead of ${theirs.length}`);
      return Math.max(...theirs.map((frame, index) => farthest(frame, ours[index]!)));
    },
  };
}

async function uprightDimensions(image: Buffer): Promise<Dimensions> {
  const { autoOrient, width, height, pageHeight } = await sharp(image, OPTIONS).metadata();
  return pageHeight === undefined ? (autoOrient ?? { width, height }) : { width, height: pageHeight };
}

const OPTIONS = { animated: true, failOn: "error", limitInputPixels: 100_000_000 } as const;

/** libvips' variant in the format of the master; a gif keeps all its frames. */
async function made(master: Buffer, type: VariantType, { width, height }: Dimensions): Promise<Buffer> {
  const { format } = await sharp(master, OPTIONS).metadata();
  const image = sharp(master, { ...OPTIONS, animated: format === "gif" });
  const turned = format === "gif" ? image : image.autoOrient();
  const resized = turned.resize({ width, height, fit: type === "clip" ? "fill" : "cover" });
  return (format === "gif" ? resized.gif({ keepDuplicateFrames: true }) : resized.png()).toBuffer();
}

/** Every frame as a small grid of RGB colours, multiplied by alpha, so that invisible pixels do not count. */
async function reduced(image: Buffer): Promise<Uint8Array[]> {
  const { pages = 1, width } = await sharp(image, OPTIONS).metadata();
  const rgba = await sharp(image, OPTIONS).toColourspace("srgb").ensureAlpha().raw({ depth: "uchar" }).toBuffer();
  const frameBytes = rgba.length / pages;
  return Array.from({ length: pages }, (_, page) =>
    gridOf(rgba.subarray(page * frameBytes, (page + 1) * frameBytes), { width, height: frameBytes / 4 / width }),
  );
}

function gridOf(rgba: Uint8Array, { width, height }: Dimensions): Uint8Array {
  const [columns, rows] = [cellsOf(width), cellsOf(height)];
  const sums = new Float64Array(columns * rows * 3);
  const counts = new Float64Array(columns * rows);
  for (let at = 0; at < width * height; at++) {
    const [x, y] = [at % width, Math.floor(at / width)];
    const cell = Math.floor((y * rows) / height) * columns + Math.floor((x * columns) / width);
    counts[cell]! += 1;
    for (let channel = 0; channel < 3; channel++)
      sums[cell * 3 + channel]! += (rgba[at * 4 + channel]! * rgba[at * 4 + 3]!) / 255;
  }
  return Uint8Array.from(sums, (sum, index) => Math.round(sum / counts[Math.floor(index / 3)]!));
}

const farthest = (a: Uint8Array, b: Uint8Array): number =>
  a.reduce((most, value, index) => Math.max(most, Math.abs(value - b[index]!)), 0);
