import { METRICS, type Metric, type MetricName } from "../platform/ports/metrics.ts";
import { countOf, histogramOf, quantile } from "./histogram.ts";
import { getOrMake, parseSeriesName, seriesName } from "./model/counts.ts";
import { STEPS, type Step } from "./model/limits.ts";
import type { Rows } from "./reader.ts";

/** The values of one series, one for each step. `null`: nothing was measured, which is not 0. */
export interface ShownSeries {
  readonly metric: MetricName;
  readonly service: string;
  /** The value of the metric's label. */
  readonly label?: string;
  readonly kind: Metric["kind"];
  readonly unit: Metric["unit"];
  /** A histogram has the number of values here. */
  readonly values: readonly (number | null)[];
  readonly mean?: readonly (number | null)[];
  readonly p50?: readonly (number | null)[];
  readonly p95?: readonly (number | null)[];
  readonly p99?: readonly (number | null)[];
}

export interface Wanted {
  readonly step: Step;
  readonly fromMs: number;
  readonly toMs: number;
  /** Undefined if all are wanted. */
  readonly metrics: readonly string[] | undefined;
  readonly service: string | undefined;
}

/** Series that have a value in the period, sorted by their names. */
export function seriesOf(rows: Rows, { step, fromMs, toMs, metrics, service }: Wanted): ShownSeries[] {
  const times: number[] = [];
  for (let atMs = fromMs; atMs < toMs; atMs += STEPS[step].ms) times.push(atMs);
  const kinds = new Map<string, { metric: MetricName; service: string; labels: Set<string> }>();
  for (const series of rows.values())
    for (const name of series.keys()) {
      const parsed = parseSeriesName(name);
      if (parsed === undefined || (service !== undefined && parsed.service !== service)) continue;
      if (metrics !== undefined && !metrics.includes(parsed.metric)) continue;
      const key = seriesName(parsed.metric, parsed.service);
      getOrMake(kinds, key, () => ({ ...parsed, labels: new Set<string>() })).labels.add(parsed.label);
    }
  const valuesOf = (name: string, none: null | 0) => times.map((atMs) => rows.get(atMs)?.get(name) ?? none);
  const shown = [...kinds.values()].flatMap(({ metric, service: of, labels }): ShownSeries[] => {
    const { kind, unit } = METRICS[metric];
    const about = { metric, service: of, kind, unit };
    if (kind === "histogram") return [{ ...about, ...histogramValues(rows, times, metric, of) }];
    return [...labels].map((label) => ({
      ...about,
      ...(label === "" ? {} : { label }),
      values: valuesOf(seriesName(metric, of, label), kind === "peak" ? null : 0),
    }));
  });
  const order = ({ metric, service: of, label = "" }: ShownSeries): string => seriesName(metric, of, label);
  return shown.toSorted((one, other) => (order(one) < order(other) ? -1 : 1));
}

function histogramValues(rows: Rows, times: readonly number[], metric: MetricName, service: string) {
  const histograms = times.map((atMs) =>
    histogramOf((label) => rows.get(atMs)?.get(seriesName(metric, service, label)) ?? 0),
  );
  const shares = (share: number) => histograms.map((one) => quantile(one, share) ?? null);
  return {
    values: histograms.map(countOf),
    mean: histograms.map((one) => (countOf(one) === 0 ? null : Math.round(one.sum / countOf(one)))),
    p50: shares(0.5),
    p95: shares(0.95),
    p99: shares(0.99),
  };
}
