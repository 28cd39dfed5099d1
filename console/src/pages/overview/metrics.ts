import type { MetricSeries, Metrics } from "../../../../api/plinth.ts";
import type { ChartSeries } from "../../components/chart.tsx";

export type Span = "hour" | "day" | "month";
export const SPANS: readonly Span[] = ["hour", "day", "month"];

/** The length of each span, and its steps. The platform keeps minutes for two days and hours for 90 days. */
export const SPAN = {
  hour: { ms: 3_600_000, step: "minute" },
  day: { ms: 86_400_000, step: "hour" },
  month: { ms: 30 * 86_400_000, step: "day" },
} as const;

/** The metrics of the page. One request reads them all. */
export const METRICS = [
  "requests",
  "request_time",
  "tokens_issued",
  "tokens_refused",
  "events_published",
  "events_read",
  "events_pushed",
  "stored_files",
  "stored_bytes",
] as const;

type Metric = MetricSeries["metric"];
type Value = number | null;

export const timesOf = ({ from, to, stepMs }: Metrics): readonly number[] =>
  Array.from({ length: Math.round((to - from) / stepMs) }, (_, at) => from + at * stepMs);

const seriesOf = ({ series }: Metrics, metric: Metric): readonly MetricSeries[] =>
  series.filter((one) => one.metric === metric);

/** The sum of a metric over the whole time. */
export function sumOf(metrics: Metrics, metric: Metric, label?: (label: string) => boolean): number {
  let sum = 0;
  for (const one of seriesOf(metrics, metric))
    if (label === undefined || label(one.label ?? "")) for (const value of one.values) sum += value ?? 0;
  return sum;
}

/** The sums of a metric over the whole time, by label, the largest first. */
export function sumsByLabel(metrics: Metrics, metric: Metric): readonly (readonly [label: string, sum: number])[] {
  const sums = new Map<string, number>();
  for (const { label = "", values } of seriesOf(metrics, metric))
    for (const value of values) sums.set(label, (sums.get(label) ?? 0) + (value ?? 0));
  return [...sums].filter(([, sum]) => sum > 0).toSorted(([, one], [, other]) => other - one);
}

/** The sum of the last measured values of all services. */
export function lastOf(metrics: Metrics, metric: Metric): number | undefined {
  const last = seriesOf(metrics, metric).map(({ values }) => values.findLast((value) => value !== null));
  const known = last.filter((value): value is number => typeof value === "number");
  return known.length === 0 ? undefined : known.reduce((sum, value) => sum + value, 0);
}

/** The highest 95th percentile of any service at any time. */
export function slowestOf(metrics: Metrics): number | undefined {
  const all = seriesOf(metrics, "request_time").flatMap(({ p95 = [] }) => p95);
  const known = all.filter((value): value is number => value !== null);
  return known.length === 0 ? undefined : Math.max(...known);
}

/** A line for each service. */
export const byService = (
  metrics: Metrics,
  metric: Metric,
  valuesOf: (one: MetricSeries) => readonly Value[] = ({ values }) => values,
): readonly ChartSeries[] => grouped(seriesOf(metrics, metric), ({ service }) => service, valuesOf, metrics);

/** A line for each of these metrics. */
export const byMetric = (
  metrics: Metrics,
  names: readonly (readonly [metric: Metric, name: string])[],
): readonly ChartSeries[] =>
  names.map(([metric, name]) => {
    const [line] = grouped(
      seriesOf(metrics, metric),
      () => name,
      ({ values }) => values,
      metrics,
    );
    return line ?? { name, values: timesOf(metrics).map(() => 0) };
  });

/** Converts counts of each step to rates. */
export const aSecond = ({ stepMs }: Metrics, lines: readonly ChartSeries[]): readonly ChartSeries[] =>
  lines.map(({ name, values }) => ({
    name,
    values: values.map((value) => (value === null ? null : (1_000 * value) / stepMs)),
  }));

function grouped(
  all: readonly MetricSeries[],
  nameOf: (one: MetricSeries) => string,
  valuesOf: (one: MetricSeries) => readonly Value[],
  metrics: Metrics,
): readonly ChartSeries[] {
  const steps = timesOf(metrics).length;
  const lines = new Map<string, Value[]>();
  for (const one of all) {
    const line = lines.get(nameOf(one)) ?? Array.from({ length: steps }, () => (one.kind === "counter" ? 0 : null));
    lines.set(nameOf(one), line);
    for (const [at, value] of valuesOf(one).entries()) if (value !== null) line[at] = (line[at] ?? 0) + value;
  }
  return [...lines].map(([name, values]) => ({ name, values }));
}

/** A smaller lag does not count as a backlog. */
export const SMALL_LAG = 100;

/** The largest lag of the last quarter of the time, if it is well above that of the rest; else undefined. */
export function doesLagGrow(metrics: Metrics): number | undefined {
  const values = seriesOf(metrics, "consumer_lag").map((one) => one.values);
  const most = (from: number, to: number): number =>
    Math.max(0, ...values.flatMap((all) => all.slice(from, to).map((value) => value ?? 0)));
  const count = timesOf(metrics).length;
  const lately = most(Math.floor(0.75 * count), count);
  return lately >= SMALL_LAG && lately > 1.5 * most(0, Math.floor(0.75 * count)) ? lately : undefined;
}
