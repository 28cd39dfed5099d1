/** Colours with the same first five bits of red, green and blue share a bin. */
const BINS = 1 << 15;
const MAX_BOXES = 256;
const CHANNELS = 3;

/**
 * Quantizes colours: it divides the box whose colours differ most, at their mean, until there are enough boxes (after
 * Wan, 1990). The work depends on the pixels and the bins that they use, not on the number of bins. Fields are not
 * `#private` and loops count, because this code is hot.
 */
export class ColourCutter {
  /** By bin: the number of pixels, and the sums of red, green and blue. All are zero between two pictures. */
  private readonly binCounts = new Float64Array(BINS);
  private readonly binSums = [new Float64Array(BINS), new Float64Array(BINS), new Float64Array(BINS)] as const;
  /** The bins with pixels, sorted. The index of a bin in this list is its place. */
  private readonly bins = new Uint16Array(BINS);
  private places = 0;
  /** By place: the number of pixels, and the mean of each channel. */
  private counts = new Float64Array(0);
  private means: readonly Float64Array[] = [];
  /** The places, grouped by box, each box in the order of the bins; and space to divide a box. */
  private order = new Uint16Array(0);
  private spare = new Uint16Array(0);
  /** By box: its part of `order`, its mean colour, and the channel whose values differ most. */
  private readonly starts = new Uint16Array(MAX_BOXES);
  private readonly ends = new Uint16Array(MAX_BOXES);
  private readonly boxMeans = new Float64Array(MAX_BOXES * CHANNELS);
  private readonly channels = new Uint8Array(MAX_BOXES);
  /** By box: the sum of squared differences from the mean, in that channel. */
  private readonly errors = new Float64Array(MAX_BOXES);
  /** By bin: its box in the last picture. */
  private readonly boxOfBin = new Uint8Array(BINS);

  /** Fills `indices` for pixels that are not transparent. `pixels` are ABGR, 0 if transparent. */
  index(pixels: Uint32Array, maxColours: number, indices: Uint8Array): number[][] {
    this.count(pixels);
    this.collect();
    const boxes = this.cut(maxColours);
    for (let box = 0; box < boxes; box++)
      for (let at = this.starts[box]!; at < this.ends[box]!; at++) this.boxOfBin[this.bins[this.order[at]!]!] = box;
    for (let at = 0; at < pixels.length; at++) indices[at] = this.boxOfBin[binOf(pixels[at]!)]!;
    return Array.from({ length: boxes }, (_, box) =>
      Array.from({ length: CHANNELS }, (__, channel) => Math.round(this.boxMeans[box * CHANNELS + channel]!)),
    );
  }

  private count(pixels: Uint32Array): void {
    const [reds, greens, blues] = this.binSums;
    this.places = 0;
    for (let at = 0; at < pixels.length; at++) {
      const pixel = pixels[at]!;
      if (pixel === 0) continue;
      const bin = binOf(pixel);
      if (this.binCounts[bin] === 0) this.bins[this.places++] = bin;
      this.binCounts[bin]! += 1;
      reds[bin]! += pixel & 0xff;
      greens[bin]! += (pixel >>> 8) & 0xff;
      blues[bin]! += (pixel >>> 16) & 0xff;
    }
  }

  /** Moves the counts from the bins to the places, and empties the bins. */
  private collect(): void {
    const bins = this.bins.subarray(0, this.places).sort();
    this.counts = new Float64Array(this.places);
    this.means = this.binSums.map(() => new Float64Array(this.places));
    for (let place = 0; place < this.places; place++) {
      const bin = bins[place]!;
      const count = this.binCounts[bin]!;
      this.counts[place] = count;
      this.binCounts[bin] = 0;
      for (let channel = 0; channel < CHANNELS; channel++) {
        this.means[channel]![place] = this.binSums[channel]![bin]! / count;
        this.binSums[channel]![bin] = 0;
      }
    }
  }

  /** Divides the places into boxes, and returns the number of boxes. */
  private cut(maxBoxes: number): number {
    this.order = new Uint16Array(this.places);
    this.spare = new Uint16Array(this.places);
    for (let place = 0; place < this.places; place++) this.order[place] = place;
    this.setBox(0, 0, this.places);
    for (let boxes = 1; boxes < maxBoxes; boxes++) {
      let worst = 0;
      for (let box = 1; box < boxes; box++) if (this.errors[box]! > this.errors[worst]!) worst = box;
      if (this.errors[worst]! < 1) return boxes;
      const [start, end] = [this.starts[worst]!, this.ends[worst]!];
      const middle = this.divide(worst);
      this.setBox(worst, start, middle);
      this.setBox(boxes, middle, end);
    }
    return maxBoxes;
  }

  /** Moves the places above the mean behind the others, and returns where they begin. */
  private divide(box: number): number {
    const { order, spare } = this;
    const [start, end, channel] = [this.starts[box]!, this.ends[box]!, this.channels[box]!];
    const [values, mean] = [this.means[channel]!, this.boxMeans[box * CHANNELS + channel]!];
    let [middle, over] = [start, 0];
    for (let at = start; at < end; at++) {
      const place = order[at]!;
      if (values[place]! <= mean) order[middle++] = place;
      else spare[over++] = place;
    }
    order.set(spare.subarray(0, over), middle);
    return middle;
  }

  private setBox(box: number, start: number, end: number): void {
    const { order, counts } = this;
    this.starts[box] = start;
    this.ends[box] = end;
    let count = 0;
    for (let at = start; at < end; at++) count += counts[order[at]!]!;
    let worst = -1;
    for (let channel = 0; channel < CHANNELS; channel++) {
      const values = this.means[channel]!;
      let sum = 0;
      for (let at = start; at < end; at++) sum += counts[order[at]!]! * values[order[at]!]!;
      const mean = sum / count;
      let error = 0;
      for (let at = start; at < end; at++) {
        const difference = values[order[at]!]! - mean;
        error += counts[order[at]!]! * (difference * difference);
      }
      this.boxMeans[box * CHANNELS + channel] = mean;
      if (error <= worst) continue;
      worst = error;
      this.channels[box] = channel;
    }
    this.errors[box] = worst;
  }
}

const binOf = (colour: number): number =>
  ((colour & 0xff) >> 3) | ((((colour >>> 8) & 0xff) >> 3) << 5) | ((((colour >>> 16) & 0xff) >> 3) << 10);
