import sharp from "sharp";

/** The size of the variant. */
export const CLIP = { width: 300, height: 200 } as const;

export interface Picture {
  readonly label: string;
  readonly width: number;
  readonly height: number;
}

export const PICTURES: readonly Picture[] = [
  { label: "2 megapixels", width: 1_800, height: 1_200 },
  { label: "12 megapixels", width: 4_200, height: 2_800 },
];

/** A jpeg with as much detail as a photograph: noise at a quarter of the size, scaled up. */
export async function drawJpeg({ width, height }: Picture): Promise<Buffer> {
  const noise = { type: "gaussian", mean: 128, sigma: 40 } as const;
  const small = { width: width / 4, height: height / 4, channels: 3, background: "grey", noise } as const;
  const pixels = await sharp({ create: small }).png().toBuffer();
  return sharp(pixels).resize(width, height, { kernel: "cubic" }).jpeg({ quality: 90 }).toBuffer();
}
