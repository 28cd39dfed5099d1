/** Pictures of any colours as pictures of at most 256, as gifs have them. Pure and without chance: one in, one out. */
export interface IndexedPicture {
  /** RGB triples. */
  readonly palette: number[][];
  readonly indices: Uint8Array;
  /** The colour that stands for "nothing is here"; undefined where something is everywhere. */
  readonly transparentIndex: number | undefined;
}

const MAX_COLOURS = 256;

/** `pixels`: ABGR; 0 where nothing is. */
export function toIndexed(pixels: Uint32Array): IndexedPicture {
  const hasGaps = pixels.includes(0);
  const maxColours = hasGaps ? MAX_COLOURS - 1 : MAX_COLOURS;
  const { palette, indexOf } = exactPalette(pixels, maxColours) ?? cutPalette(pixels, maxColours);
  const gap = palette.length;
  const indices = new Uint8Array(pixels.length);
  for (let at = 0; at < pixels.length; at++) indices[at] = pixels[at] === 0 ? gap : indexOf(pixels[at]!);
  if (hasGaps) palette.push([0, 0, 0]);
  return { palette, indices, transparentIndex: hasGaps ? gap : undefined };
}

interface Palette {
  readonly palette: number[][];
  readonly indexOf: (colour: number) => number;
}

const red = (colour: number): number => colour & 0xff;
const green = (colour: number): number => (colour >>> 8) & 0xff;
const blue = (colour: number): number => (colour >>> 16) & 0xff;

/** The colours as they are, when they are few enough. */
function exactPalette(pixels: Uint32Array, maxColours: number): Palette | undefined {
  const found = new Map<number, number>();
  let previous = 0;
  for (const pixel of pixels) {
    if (pixel === previous || pixel === 0) continue;
    previous = pixel;
    if (found.has(pixel)) continue;
    if (found.size === maxColours) return undefined;
    found.set(pixel, found.size);
  }
  const palette = [...found.keys()].map((colour) => [red(colour), green(colour), blue(colour)]);
  return { palette, indexOf: (colour) => found.get(colour)! };
}

/** Colours are told apart by the first five bits of red, green and blue. */
const BINS = 1 << 15;
const binOf = (colour: number): number =>
  (red(colour) >> 3) | ((green(colour) >> 3) << 5) | ((blue(colour) >> 3) << 10);

/** The bins that have pixels, one after the other: number, count of pixels, mean red, green and blue. */
interface Histogram {
  readonly bins: Uint16Array;
  readonly counts: Float64Array;
  readonly means: readonly Float64Array[];
}

/** Some places in the histogram that share a colour of the palette. */
interface Box {
  readonly places: Uint16Array;
  readonly mean: readonly number[];
  /** The channel in which they differ most, and by how much: the sum of the squared differences from the mean. */
  readonly channel: number;
  readonly error: number;
}

/** Divides the colours where they differ most, at their mean, until there are enough boxes (after Wan, 1990). */
function cutPalette(pixels: Uint32Array, maxColours: number): Palette {
  const histogram = countColours(pixels);
  const boxes = [
    boxOf(
      histogram,
      histogram.bins.map((_, place) => place),
    ),
  ];
  while (boxes.length < maxColours) {
    const worst = boxes.reduce((found, box, index) => (box.error > boxes[found]!.error ? index : found), 0);
    const { places, mean, channel, error } = boxes[worst]!;
    if (error < 1) break;
    const [values, middle] = [histogram.means[channel]!, mean[channel]!];
    boxes[worst] = boxOf(
      histogram,
      places.filter((place) => values[place]! <= middle),
    );
    boxes.push(
      boxOf(
        histogram,
        places.filter((place) => values[place]! > middle),
      ),
    );
  }
  const indexOfBin = new Uint8Array(BINS);
  for (const [index, { places }] of boxes.entries())
    for (const place of places) indexOfBin[histogram.bins[place]!] = index;
  return { palette: boxes.map(({ mean }) => mean.map(Math.round)), indexOf: (colour) => indexOfBin[binOf(colour)]! };
}

function countColours(pixels: Uint32Array): Histogram {
  const counts = new Float64Array(BINS);
  const sums = [new Float64Array(BINS), new Float64Array(BINS), new Float64Array(BINS)] as const;
  // By number: this loop is hot.
  for (let at = 0; at < pixels.length; at++) {
    const pixel = pixels[at]!;
    if (pixel === 0) continue;
    const bin = binOf(pixel);
    counts[bin]! += 1;
    sums[0][bin]! += red(pixel);
    sums[1][bin]! += green(pixel);
    sums[2][bin]! += blue(pixel);
  }
  const bins = new Uint16Array(BINS).map((_, bin) => bin).filter((bin) => counts[bin] !== 0);
  return {
    bins,
    counts: Float64Array.from(bins, (bin) => counts[bin]!),
    means: sums.map((sum) => Float64Array.from(bins, (bin) => sum[bin]! / counts[bin]!)),
  };
}

function boxOf({ counts, means }: Histogram, places: Uint16Array): Box {
  const count = sumOf(places, (place) => counts[place]!);
  const mean = means.map((values) => sumOf(places, (place) => counts[place]! * values[place]!) / count);
  const errors = means.map((values, channel) =>
    sumOf(places, (place) => counts[place]! * (values[place]! - mean[channel]!) ** 2),
  );
  const error = Math.max(...errors);
  return { places, mean, channel: errors.indexOf(error), error };
}

function sumOf(places: Uint16Array, valueAt: (place: number) => number): number {
  let sum = 0;
  for (let at = 0; at < places.length; at++) sum += valueAt(places[at]!);
  return sum;
}
