import { env } from "cloudflare:workers";

/** A picture for tests. This file encodes pixels to images and decodes images to pixels. */
export interface Picture {
  readonly width: number;
  readonly height: number;
  /** The pixels in RGB, row by row. */
  readonly pixels: Uint8Array;
}

export type Colour = readonly [number, number, number];
export const RED: Colour = [220, 20, 20];
export const GREEN: Colour = [20, 180, 20];
export const BLUE: Colour = [20, 20, 220];
export const YELLOW: Colour = [230, 220, 20];

function paint(width: number, height: number, colourAt: (x: number, y: number) => Colour): Picture {
  const pixels = new Uint8Array(width * height * 3);
  for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) pixels.set(colourAt(x, y), (y * width + x) * 3);
  return { width, height, pixels };
}

/** Makes a picture with red and green above, blue and yellow below, so that each turn and mirroring is visible. */
export const quarters = (width: number, height: number): Picture =>
  paint(width, height, (x, y) => (y < height / 2 ? (x < width / 2 ? RED : GREEN) : x < width / 2 ? BLUE : YELLOW));

export const gradient = (width: number, height: number): Picture =>
  paint(width, height, (x, y) => [(x * 255) / width, (y * 255) / height, (x * 7 + y * 13) % 256]);

/** Returns the colour in the middle of each quarter: above left, above right, below left, below right. */
export function cornersOf({ width, height, pixels }: Picture): Colour[] {
  const at = (x: number, y: number): Colour => {
    const offset = (Math.floor(y * height) * width + Math.floor(x * width)) * 3;
    return [pixels[offset]!, pixels[offset + 1]!, pixels[offset + 2]!];
  };
  return [at(0.25, 0.25), at(0.75, 0.25), at(0.25, 0.75), at(0.75, 0.75)];
}

export const looksLike = (colour: Colour, expected: Colour): boolean =>
  colour.every((value, index) => Math.abs(value - expected[index]!) < 40);

export async function encodePng(
  picture: Picture,
  extraChunks: readonly Uint8Array[] = [],
): Promise<Uint8Array<ArrayBuffer>> {
  const { width, height, pixels } = picture;
  const header = new Uint8Array(13);
  new DataView(header.buffer).setUint32(0, width);
  new DataView(header.buffer).setUint32(4, height);
  header.set([8, 2, 0, 0, 0], 8);
  const raw = new Uint8Array(height * (width * 3 + 1));
  for (let y = 0; y < height; y++)
    raw.set(pixels.subarray(y * width * 3, (y + 1) * width * 3), y * (width * 3 + 1) + 1);
  const data = await pass(raw, new CompressionStream("deflate"));
  return concat(PNG_SIGNATURE, pngChunk("IHDR", header), ...extraChunks, pngChunk("IDAT", data), pngChunk("IEND"));
}

export const PNG_SIGNATURE: Uint8Array<ArrayBuffer> = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);

export function pngChunk(type: string, data: Uint8Array = new Uint8Array(0)): Uint8Array {
  const body = concat(new TextEncoder().encode(type), data);
  const frame = new Uint8Array(body.length + 8);
  const view = new DataView(frame.buffer);
  view.setUint32(0, data.length);
  frame.set(body, 4);
  view.setUint32(body.length + 4, crc32(body));
  return frame;
}

/** Reads a png as `encodePng` and the Images binding write it: 8 bits, RGB or RGBA, not interlaced. */
async function decodePng(png: Uint8Array): Promise<Picture> {
  const view = new DataView(png.buffer, png.byteOffset, png.byteLength);
  const [width, height] = [view.getUint32(16), view.getUint32(20)];
  const channels = { 2: 3, 6: 4 }[view.getUint8(25)];
  if (view.getUint8(24) !== 8 || channels === undefined || view.getUint8(28) !== 0) throw new Error("unknown png");
  const parts: Uint8Array[] = [];
  for (let at = 8; at < png.length; at += view.getUint32(at) + 12) {
    const type = String.fromCharCode(...png.subarray(at + 4, at + 8));
    if (type === "IDAT") parts.push(png.subarray(at + 8, at + 8 + view.getUint32(at)));
  }
  const raw = await pass(concat(...parts), new DecompressionStream("deflate"));
  const rows = unfilter(raw, width * channels, height, channels);
  return paint(width, height, (x, y) => {
    const at = (y * width + x) * channels;
    return [rows[at]!, rows[at + 1]!, rows[at + 2]!];
  });
}

function unfilter(raw: Uint8Array, stride: number, height: number, channels: number): Uint8Array {
  const rows = new Uint8Array(stride * height);
  for (let y = 0; y < height; y++) {
    const filter = raw[y * (stride + 1)]!;
    for (let x = 0; x < stride; x++) {
      const at = y * stride + x;
      const left = x >= channels ? rows[at - channels]! : 0;
      const above = y > 0 ? rows[at - stride]! : 0;
      const corner = x >= channels && y > 0 ? rows[at - stride - channels]! : 0;
      const predicted = [0, left, above, (left + above) >> 1, paeth(left, above, corner)][filter]!;
      rows[at] = raw[y * (stride + 1) + 1 + x]! + predicted;
    }
  }
  return rows;
}

function paeth(left: number, above: number, corner: number): number {
  const guess = left + above - corner;
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - above), Math.abs(guess - corner)];
  return a <= b && a <= c ? left : b <= c ? above : corner;
}

/** Encodes the picture as jpeg, with this EXIF orientation if it is not 1. */
export async function encodeJpeg(picture: Picture, orientation = 1): Promise<Uint8Array<ArrayBuffer>> {
  const jpeg = await convert(await encodePng(picture), "image/jpeg");
  return orientation === 1 ? jpeg : concat(jpeg.subarray(0, 2), exifSegment(orientation), jpeg.subarray(2));
}

/** Decodes any image that the Images binding reads. */
export const decode = async (image: Uint8Array<ArrayBuffer>): Promise<Picture> =>
  decodePng(await convert(image, "image/png"));

async function convert(image: Uint8Array<ArrayBuffer>, format: "image/png" | "image/jpeg") {
  const result = await env.IMAGES.input(new Blob([image]).stream()).output({ format });
  return new Uint8Array(await new Response(result.image()).arrayBuffer());
}

/** Makes a TIFF structure with one entry, the orientation. */
export function exif(orientation: number, littleEndian = false): Uint8Array {
  const tiff = new Uint8Array(26);
  const view = new DataView(tiff.buffer);
  view.setUint16(0, littleEndian ? 0x4949 : 0x4d4d);
  view.setUint16(2, 42, littleEndian);
  view.setUint32(4, 8, littleEndian);
  view.setUint16(8, 1, littleEndian);
  view.setUint16(10, 0x0112, littleEndian);
  view.setUint16(12, 3, littleEndian);
  view.setUint32(14, 1, littleEndian);
  view.setUint16(18, orientation, littleEndian);
  return tiff;
}

export function jpegSegment(marker: number, body: Uint8Array): Uint8Array {
  const length = body.length + 2;
  return concat(Uint8Array.of(0xff, marker, length >> 8, length & 0xff), body);
}

export const exifSegment = (orientation: number, littleEndian = false): Uint8Array =>
  jpegSegment(0xe1, concat(new TextEncoder().encode("Exif\0\0"), exif(orientation, littleEndian)));

/** A gif of one pixel. */
export const GIF: Uint8Array<ArrayBuffer> = Uint8Array.from(
  atob("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"),
  (char) => char.charCodeAt(0),
);

export function concat(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

async function pass(bytes: Uint8Array<ArrayBuffer>, through: CompressionStream | DecompressionStream) {
  const stream = new Blob([bytes]).stream().pipeThrough(through);
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return (crc ^ 0xffffffff) >>> 0;
}
