import type { Dimensions, VariantType } from "./sizes.ts";

/**
 * Makes pictures smaller by the average of the area that each new pixel covers. Pictures are rows of ABGR numbers whose
 * alpha is all or nothing: a new pixel is there when half of its area is, with the average colour of that part.
 */
export interface Resampler {
  resample(pixels: Uint32Array): Uint32Array;
}

/** `target` is what `variantDimensions` gave for a master of these dimensions. */
export function createResampler(type: VariantType, master: Dimensions, target: Dimensions): Resampler {
  const scale = type === "clip" ? 0 : Math.max(target.width / master.width, target.height / master.height);
  const columns = spansOf(master.width, target.width, scale);
  const rows = spansOf(master.height, target.height, scale);
  return { resample: (pixels) => average(pixels, master.width, rows, columns) };
}

/** Which old pixels one new one covers along one axis, and how much of each. */
interface Span {
  readonly first: number;
  readonly weights: Float64Array;
}

/**
 * A crop scales the whole and cuts it around the centre, at a whole pixel of the scaled picture, so that one that is not
 * scaled stays sharp. Of an odd pixel too many more is cut in front, as libvips does. Scale 0: nothing is cut.
 */
function spansOf(length: number, count: number, scale: number): Span[] {
  const whole = scale === 0 ? count : Math.max(count, Math.round(length * scale));
  const skipped = (whole - count + 1) >> 1;
  return Array.from({ length: count }, (_, index) => {
    const [start, end] = [((index + skipped) * length) / whole, ((index + skipped + 1) * length) / whole];
    const first = Math.floor(start);
    const last = Math.min(length, Math.ceil(end)) - 1;
    const weights = Float64Array.from(
      { length: last - first + 1 },
      (__, step) => Math.min(end, first + step + 1) - Math.max(start, first + step),
    );
    return { first, weights };
  });
}

function average(pixels: Uint32Array, stride: number, rows: readonly Span[], columns: readonly Span[]): Uint32Array {
  const made = new Uint32Array(rows.length * columns.length);
  let at = 0;
  for (const row of rows) for (const column of columns) made[at++] = averageOf(pixels, stride, row, column);
  return made;
}

function averageOf(pixels: Uint32Array, stride: number, row: Span, column: Span): number {
  let covered = 0;
  let whole = 0;
  let red = 0;
  let green = 0;
  let blue = 0;
  for (let y = 0; y < row.weights.length; y++) {
    const start = (row.first + y) * stride + column.first;
    for (let x = 0; x < column.weights.length; x++) {
      const weight = row.weights[y]! * column.weights[x]!;
      const pixel = pixels[start + x]!;
      whole += weight;
      if (pixel === 0) continue;
      covered += weight;
      red += weight * (pixel & 0xff);
      green += weight * ((pixel >>> 8) & 0xff);
      blue += weight * ((pixel >>> 16) & 0xff);
    }
  }
  if (covered * 2 < whole) return 0;
  const part = (sum: number): number => Math.round(sum / covered);
  return (0xff000000 | (part(blue) << 16) | (part(green) << 8) | part(red)) >>> 0;
}
