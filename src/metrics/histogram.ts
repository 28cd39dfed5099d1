import { BOUNDS } from "../platform/ports/metrics.ts";

/** The counts of a histogram's buckets, in the order of `BUCKETS`, and the sum of the values. */
export interface Histogram {
  readonly counts: readonly number[];
  readonly sum: number;
}

/** Names of the buckets, the last one without a bound. */
export const BUCKETS: readonly string[] = [...BOUNDS.map(String), "inf"];

/** Reads a histogram. `valueOf` returns the value of a label: the name of a bucket, or `sum`. */
export const histogramOf = (valueOf: (label: string) => number): Histogram => ({
  counts: BUCKETS.map(valueOf),
  sum: valueOf("sum"),
});

export const countOf = ({ counts }: Histogram): number => counts.reduce((sum, count) => sum + count, 0);

/**
 * The value that a share of all values does not exceed, estimated as if the values were spread evenly within their
 * bucket. Undefined without values. The last bucket has no end, so its start is returned, which is too low.
 */
export function quantile(histogram: Histogram, share: number): number | undefined {
  const all = countOf(histogram);
  if (all === 0) return undefined;
  let below = 0;
  for (const [index, count] of histogram.counts.entries()) {
    if (count === 0 || below + count < share * all) {
      below += count;
      continue;
    }
    const start = BOUNDS[index - 1] ?? 0;
    const end = BOUNDS[index] ?? start;
    return Math.round(start + ((end - start) * (share * all - below)) / count);
  }
  return BOUNDS.at(-1);
}
