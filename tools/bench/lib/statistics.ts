/** A figure over the rounds. */
export interface Figure {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** Undefined if a round has no value. */
export function figure(values: readonly (number | undefined)[]): Figure | undefined {
  const known = values.filter((value) => value !== undefined).toSorted((a, b) => a - b);
  const [min] = known;
  const max = known.at(-1);
  if (min === undefined || max === undefined || known.length < values.length) return undefined;
  const middle = known.length >> 1;
  const median = known.length % 2 === 1 ? known[middle]! : (known[middle - 1]! + known[middle]!) / 2;
  return { median, min, max };
}

/** The nearest-rank percentile of sorted values. */
export const percentile = (sorted: Float64Array, share: number): number =>
  sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;

export const medianOf = (values: readonly number[]): number => percentile(Float64Array.from(values).sort(), 0.5);

export const times = ({ median, min, max }: Figure, factor: number): Figure => ({
  median: median * factor,
  min: min * factor,
  max: max * factor,
});

export const whole = (value: number): string => Math.round(value).toLocaleString("en");

/** `median (lowest–highest)` */
export const spread = ({ median, min, max }: Figure, format: (value: number) => string): string =>
  `${format(median)} (${format(min)}–${format(max)})`;
