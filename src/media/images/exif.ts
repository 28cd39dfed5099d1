import type { OrientationField } from "../model/image-transformer.ts";

const TAG_ORIENTATION = 0x0112;
const TYPE_SHORT = 3;
const ENTRY_BYTES = 12;

/**
 * Searches the first directory of the TIFF structure from `start` to `end`. A malformed structure has no orientation.
 */
export function readOrientation(bytes: Uint8Array, start: number, end: number): OrientationField | undefined {
  if (end - start < 8) return undefined;
  const tiff = new DataView(bytes.buffer, bytes.byteOffset + start, end - start);
  const littleEndian = tiff.getUint16(0) === 0x4949;
  if ((!littleEndian && tiff.getUint16(0) !== 0x4d4d) || tiff.getUint16(2, littleEndian) !== 42) return undefined;
  const directory = tiff.getUint32(4, littleEndian);
  if (directory + 2 > tiff.byteLength) return undefined;
  const entries = tiff.getUint16(directory, littleEndian);
  for (let index = 0; index < entries; index++) {
    const entry = directory + 2 + index * ENTRY_BYTES;
    if (entry + ENTRY_BYTES > tiff.byteLength) return undefined;
    if (tiff.getUint16(entry, littleEndian) !== TAG_ORIENTATION) continue;
    const value = tiff.getUint16(entry + 8, littleEndian);
    const valid = tiff.getUint16(entry + 2, littleEndian) === TYPE_SHORT && value >= 1 && value <= 8;
    return valid ? { value, offset: start + entry + 8, littleEndian } : undefined;
  }
  return undefined;
}

/** The steps that make an image of this orientation upright: turn it clockwise, then mirror it left to right. */
export const UPRIGHT: Readonly<Record<number, { readonly rotate: 0 | 90 | 180 | 270; readonly mirror: boolean }>> = {
  1: { rotate: 0, mirror: false },
  2: { rotate: 0, mirror: true },
  3: { rotate: 180, mirror: false },
  4: { rotate: 180, mirror: true },
  5: { rotate: 90, mirror: true },
  6: { rotate: 90, mirror: false },
  7: { rotate: 270, mirror: true },
  8: { rotate: 270, mirror: false },
};

/** True for orientations from 5 on: these images lie on their side, and upright their width and height are swapped. */
export const isSideways = (orientation: number): boolean => orientation >= 5;
