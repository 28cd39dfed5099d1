import { BOUNDS } from "../platform/ports/metrics.ts";

/** Counts of the buckets of a histogram by the name of their upper bound, and the sum of the values. */
export interface Histogram {
  readonly counts: readonly number[];
  readonly sum: number;
}

/** Names of the buckets, the last one without a bound. */
export const BUCKETS: readonly string[] = [...BOUNDS.map(String), "inf"];

/** `valueOf` returns what is counted under a label. */
export const histogramOf = (valueOf: (label: string) => number): Histogram => ({
  counts: BUCKETS.map(valueOf),
  sum: valueOf("sum"),
});

export const countOf = ({ counts }: Histogram): number => counts.reduce((sum, count) => sum + count, 0);

/**
 * The value that a share of the values does not exceed, as if they were spread evenly within their bucket; undefined
 * without values. The last bucket has no end, so the answer is its start then: at least that.
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
