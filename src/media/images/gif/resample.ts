import type { Dimensions, VariantType } from "../../model/sizes.ts";

/**
 * Makes pictures smaller: a new pixel has the average colour of the area that it covers. Pixels are ABGR with an alpha
 * of 0 or 255. A new pixel is visible if at least half of its area is visible, and then has the average colour of that
 * half.
 */
export interface Resampler {
  resample(pixels: Uint32Array): Uint32Array;
}

/** `target` is the result of `variantDimensions` for a master of these dimensions. */
export function createResampler(type: VariantType, master: Dimensions, target: Dimensions): Resampler {
  const scale = type === "clip" ? 0 : Math.max(target.width / master.width, target.height / master.height);
  const columns = spansOf(master.width, target.width, scale);
  const rows = spansOf(master.height, target.height, scale);
  return { resample: (pixels) => average(pixels, master.width, rows, columns) };
}

/**
 * The weights of the old pixels that each new pixel covers along one axis. The weights of the new pixel n begin at the
 * old pixel `firsts[n]` and are the items `offsets[n]` to `offsets[n + 1]` of one array, which is fast to read.
 */
interface Spans {
  readonly count: number;
  readonly firsts: Uint32Array;
  readonly offsets: Uint32Array;
  readonly weights: Float64Array;
}

/**
 * Returns the spans of one axis. A crop scales the picture and cuts it around the centre, at a whole pixel, so that an
 * unscaled picture stays sharp. An odd pixel is cut at the front, as libvips does. Scale 0: nothing is cut.
 */
function spansOf(length: number, count: number, scale: number): Spans {
  const whole = scale === 0 ? count : Math.max(count, Math.round(length * scale));
  const skipped = (whole - count + 1) >> 1;
  const [firsts, offsets] = [new Uint32Array(count), new Uint32Array(count + 1)];
  const weights: number[] = [];
  for (let index = 0; index < count; index++) {
    const [start, end] = [((index + skipped) * length) / whole, ((index + skipped + 1) * length) / whole];
    const first = Math.floor(start);
    const last = Math.min(length, Math.ceil(end)) - 1;
    for (let old = first; old <= last; old++) weights.push(Math.min(end, old + 1) - Math.max(start, old));
    firsts[index] = first;
    offsets[index + 1] = weights.length;
  }
  return { count, firsts, offsets, weights: Float64Array.from(weights) };
}

function average(pixels: Uint32Array, stride: number, rows: Spans, columns: Spans): Uint32Array {
  const made = new Uint32Array(rows.count * columns.count);
  let at = 0;
  for (let row = 0; row < rows.count; row++)
    for (let column = 0; column < columns.count; column++)
      made[at++] = averageOf(pixels, stride, rows, row, columns, column);
  return made;
}

function averageOf(
  pixels: Uint32Array,
  stride: number,
  rows: Spans,
  row: number,
  columns: Spans,
  column: number,
): number {
  let covered = 0;
  let whole = 0;
  let red = 0;
  let green = 0;
  let blue = 0;
  const [left, right] = [columns.offsets[column]!, columns.offsets[column + 1]!];
  const bottom = rows.offsets[row + 1]!;
  let start = rows.firsts[row]! * stride + columns.firsts[column]!;
  for (let y = rows.offsets[row]!; y < bottom; y++, start += stride) {
    const height = rows.weights[y]!;
    for (let x = left; x < right; x++) {
      const weight = height * columns.weights[x]!;
      const pixel = pixels[start + x - left]!;
      whole += weight;
      if (pixel === 0) continue;
      covered += weight;
      red += weight * (pixel & 0xff);
      green += weight * ((pixel >>> 8) & 0xff);
      blue += weight * ((pixel >>> 16) & 0xff);
    }
  }
  if (covered * 2 < whole) return 0;
  const abgr = (Math.round(blue / covered) << 16) | (Math.round(green / covered) << 8) | Math.round(red / covered);
  return (0xff000000 | abgr) >>> 0;
}
