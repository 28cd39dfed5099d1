import { deflateSync, crc32 } from "node:zlib";

/** Pictures to upload, each different: png files of so many pixels, made without a library. */
export interface Photograph {
  readonly name: string;
  readonly mimeType: "image/png";
  readonly buffer: Buffer;
}

export const photographs = (count: number, width = 640, height = 426): Photograph[] =>
  Array.from({ length: count }, (_, at) => ({
    name: `harbour-${String(at + 1).padStart(2, "0")}.png`,
    mimeType: "image/png",
    buffer: png(width, height, at),
  }));

/** A sky above the sea, with a sun at another place in each. */
function png(width: number, height: number, seed: number): Buffer {
  const raw = Buffer.alloc((width * 3 + 1) * height);
  const [sunX, sunY, radius] = [(0.15 + ((seed * 37) % 70) / 100) * width, height * 0.3, height * 0.09];
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const at = y * (width * 3 + 1) + 1 + x * 3;
      const isSea = y > height * 0.6;
      const isSun = (x - sunX) ** 2 + (y - sunY) ** 2 < radius ** 2;
      const shade = y / height;
      const colour = isSun
        ? [255, 224, 130]
        : isSea
          ? [20 + ((seed * 9) % 40), 90, 130 + 60 * shade]
          : [120 + 100 * shade, 170 + 40 * shade, 230 - ((seed * 13) % 50)];
      raw.set(colour, at);
    }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 2, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk("IHDR", head),
    chunk("IDAT", deflateSync(raw, { level: 6 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}
