/**
 * This file reads format, dimensions and orientation from an image's first bytes without decoding it. So a file that
 * claims to be enormous costs nothing. Pure; never throws.
 */
import type { ImageFormat, ImageHeader, OrientationField } from "../model/image-transformer.ts";
import { readOrientation } from "./exif.ts";

export type HeaderOutcome =
  | { readonly kind: "header"; readonly header: ImageHeader }
  /** The bytes end too early: the caller should read more. */
  | { readonly kind: "incomplete" }
  /** The bytes have no known format. */
  | { readonly kind: "unknown" }
  | { readonly kind: "broken" };

export function readImageHeader(bytes: Uint8Array): HeaderOutcome {
  const reader = new Reader(bytes);
  if (reader.startsWith([0xff, 0xd8, 0xff])) return readJpeg(reader);
  if (reader.startsWith(PNG_SIGNATURE)) return readPng(reader);
  if (reader.text(0, 6) === "GIF87a" || reader.text(0, 6) === "GIF89a") return readGif(reader);
  return bytes.length < PNG_SIGNATURE.length ? { kind: "incomplete" } : { kind: "unknown" };
}

const PNG_SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
const INCOMPLETE: HeaderOutcome = { kind: "incomplete" };
const BROKEN: HeaderOutcome = { kind: "broken" };

/** Reads big-endian numbers. Beyond the end it returns NaN, and most comparisons with NaN are false. */
class Reader {
  readonly bytes: Uint8Array;
  readonly view: DataView;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  has(end: number): boolean {
    return end <= this.bytes.length;
  }

  u8(at: number): number {
    return this.has(at + 1) ? this.view.getUint8(at) : NaN;
  }

  u16(at: number, littleEndian = false): number {
    return this.has(at + 2) ? this.view.getUint16(at, littleEndian) : NaN;
  }

  u32(at: number): number {
    return this.has(at + 4) ? this.view.getUint32(at) : NaN;
  }

  text(at: number, length: number): string {
    return String.fromCharCode(...this.bytes.subarray(at, at + length));
  }

  startsWith(prefix: readonly number[]): boolean {
    return prefix.every((byte, at) => this.bytes[at] === byte);
  }
}

function imageOf(
  format: ImageFormat,
  width: number,
  height: number,
  orientationField: OrientationField | undefined,
): HeaderOutcome {
  if (width === 0 || height === 0) return BROKEN;
  const orientation = orientationField?.value ?? 1;
  return { kind: "header", header: { format, width, height, orientation, orientationField } };
}

/**
 * Reads markers with a length up to the frame header (ITU T.81 annex B). It skips bytes between markers, as browsers
 * do, because some cameras and programs write them.
 */
function readJpeg(reader: Reader): HeaderOutcome {
  let orientation: OrientationField | undefined;
  let at = 2;
  for (;;) {
    while (reader.has(at + 2) && !isMarker(reader.u8(at), reader.u8(at + 1))) at += 1;
    if (!reader.has(at + 2)) return INCOMPLETE;
    const marker = reader.u8(at + 1);
    at += 2;
    if (isBareMarker(marker)) continue;
    if (marker === MARKER.startOfScan || marker === MARKER.endOfImage) return BROKEN;
    if (!reader.has(at + 2)) return INCOMPLETE;
    const length = reader.u16(at);
    if (length < 2) return BROKEN;
    const end = at + length;
    if (isFrameHeader(marker)) {
      if (!reader.has(at + 7)) return INCOMPLETE;
      return imageOf("jpeg", reader.u16(at + 5), reader.u16(at + 3), orientation);
    }
    if (!reader.has(end)) return INCOMPLETE;
    if (marker === MARKER.app1 && reader.text(at + 2, 6) === "Exif\0\0")
      orientation ??= readOrientation(reader.bytes, at + 8, end);
    at = end;
  }
}

const MARKER = { startOfScan: 0xda, endOfImage: 0xd9, app1: 0xe1 } as const;

const isMarker = (first: number, second: number): boolean => first === 0xff && second !== 0xff && second !== 0;

/** True for TEM and the restart markers, which have no length. */
const isBareMarker = (marker: number): boolean => marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7);

/** True for SOF0 to SOF15, without the other markers in that range (DHT, JPG, DAC). */
const isFrameHeader = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;

/**
 * Reads IHDR, which comes first. eXIf may stand anywhere before IEND; only the chunks before the pixels are searched.
 */
function readPng(reader: Reader): HeaderOutcome {
  if (!reader.has(24)) return INCOMPLETE;
  if (reader.u32(8) !== 13 || reader.text(12, 4) !== "IHDR") return BROKEN;
  const [width, height] = [reader.u32(16), reader.u32(20)];
  let orientation: OrientationField | undefined;
  let at = 33;
  for (;;) {
    if (!reader.has(at + 8)) return INCOMPLETE;
    const length = reader.u32(at);
    const type = reader.text(at + 4, 4);
    if (length > 0x7fffffff) return BROKEN;
    if (type === "IDAT") return imageOf("png", width, height, orientation);
    if (type === "IEND") return BROKEN;
    const end = at + 8 + length;
    if (!reader.has(end)) return INCOMPLETE;
    if (type === "eXIf") orientation ??= readOrientation(reader.bytes, at + 8, end);
    at = end + 4;
  }
}

function readGif(reader: Reader): HeaderOutcome {
  if (!reader.has(10)) return INCOMPLETE;
  return imageOf("gif", reader.u16(6, true), reader.u16(8, true), undefined);
}
