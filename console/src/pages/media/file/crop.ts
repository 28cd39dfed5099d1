/** Sizes in pixels of an image, and the part of it that a variant keeps. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

export interface Rect extends Size {
  readonly left: number;
  readonly top: number;
}

const MAX_SIDE = 5_000;

export const parseSize = (text: string): Size | undefined => {
  const [, width, height] = /^([1-9]\d{0,3})x([1-9]\d{0,3})$/.exec(text) ?? [];
  const size = { width: Number(width), height: Number(height) };
  return width === undefined || size.width > MAX_SIDE || size.height > MAX_SIDE ? undefined : size;
};

/** The rectangle between two points, within the image. */
export function between(from: readonly [number, number], to: readonly [number, number], image: Size): Rect {
  const within = (value: number, limit: number) => Math.min(limit, Math.max(0, value));
  const [x1, x2] = [within(from[0], image.width), within(to[0], image.width)];
  const [y1, y2] = [within(from[1], image.height), within(to[1], image.height)];
  return { left: Math.min(x1, x2), top: Math.min(y1, y2), width: Math.abs(x2 - x1), height: Math.abs(y2 - y1) };
}

/** The part of the image that a crop keeps: as much around the middle as fits the shape of the size, unenlarged. */
export function keptBy({ width, height }: Size, image: Size): Rect {
  const scale = Math.min(1, Math.max(width / image.width, height / image.height));
  const kept = { width: Math.min(image.width, width / scale), height: Math.min(image.height, height / scale) };
  return { ...kept, left: (image.width - kept.width) / 2, top: (image.height - kept.height) / 2 };
}

export const sizeText = ({ width, height }: Size): string => {
  const side = (length: number) => Math.min(MAX_SIDE, Math.max(1, Math.round(length)));
  return `${side(width)}x${side(height)}`;
};
