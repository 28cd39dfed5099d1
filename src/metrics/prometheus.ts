import { BOUNDS, METERED_SERVICES, METRICS, type Metric, type MetricName } from "../platform/ports/metrics.ts";
import { BUCKETS } from "./histogram.ts";
import { parseSeriesName, seriesName, type Series } from "./model/counts.ts";
import { LIMITS } from "./model/limits.ts";
import type { Rows } from "./reader.ts";

/** The text format of Prometheus, version 0.0.4. */
export const PROMETHEUS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** Prometheus expects base units, so `ms` become seconds. `byte hours` are for bills and are left out. */
const UNITS = {
  "1": { suffix: "", factor: 1 },
  bytes: { suffix: "", factor: 1 },
  ms: { suffix: "_seconds", factor: 0.001 },
} as const;

/** Failures that alerts watch. They begin at 0, since a rate needs a value before the first failure. */
const WATCHED = [
  ["requests", "5xx"],
  ["d1_failures", ""],
] as const;
const ZEROS: readonly [string, number][] = WATCHED.flatMap(([name, label]) =>
  METERED_SERVICES.map((service): [string, number] => [seriesName(name, service, label), 0]),
);

/** `requests` → `plinth_requests_total` */
export function prometheusName(name: MetricName): string | undefined {
  const { kind, unit } = METRICS[name] as Metric;
  if (unit === "byte hours") return undefined;
  return `plinth_${name}${UNITS[unit].suffix}${kind === "counter" ? "_total" : ""}`;
}

/**
 * Renders the numbers of the whole platform; those of a tenant are only in the JSON. Counters and histograms are sums
 * since the beginning, which only grow. A peak is the last value that is not too old.
 */
export function toPrometheus(totals: Series, minutes: Rows, nowMs: number): string {
  const lines: string[] = [];
  const sums: Series = new Map([...ZEROS, ...totals]);
  for (const [name, metric] of Object.entries(METRICS) as [MetricName, Metric][]) {
    const shown = prometheusName(name);
    if (shown === undefined || metric.unit === "byte hours") continue;
    const { factor } = UNITS[metric.unit];
    const values = metric.kind === "peak" ? lastPeaks(name, minutes, nowMs) : ofMetric(name, sums);
    const type = metric.kind === "peak" ? "gauge" : metric.kind;
    lines.push(`# HELP ${shown} ${escapeHelp(metric.help)}`, `# TYPE ${shown} ${type}`);
    if (metric.kind === "histogram") lines.push(...histogramLines(shown, name, values, factor));
    else
      for (const [key, value] of values) {
        const { service = "", label = "" } = parseSeriesName(key) ?? {};
        const labels = { service, ...(metric.label === undefined ? {} : { [metric.label]: label }) };
        lines.push(`${shown}${labelText(labels)} ${scaled(value, factor)}`);
      }
  }
  return `${lines.join("\n")}\n`;
}

const ofMetric = (name: MetricName, series: Series): [string, number][] =>
  [...series].filter(([key]) => key.startsWith(`${name} `)).toSorted(([one], [other]) => (one < other ? -1 : 1));

function lastPeaks(name: MetricName, minutes: Rows, nowMs: number): [string, number][] {
  const sinceMs = nowMs - LIMITS.peakMs[(METRICS[name] as Metric).isHourly === true ? "hourly" : "usual"];
  const last: Series = new Map();
  for (const [atMs, series] of minutes)
    if (atMs >= sinceMs) for (const [key, value] of ofMetric(name, series)) last.set(key, value);
  return ofMetric(name, last);
}

/** Each bucket includes those below it, as Prometheus expects. */
function histogramLines(shown: string, name: MetricName, values: [string, number][], factor: number): string[] {
  const byKey = new Map(values);
  const services = new Set(values.map(([key]) => parseSeriesName(key)?.service ?? ""));
  return [...services].flatMap((service) => {
    const valueOf = (label: string): number => byKey.get(seriesName(name, service, label)) ?? 0;
    let below = 0;
    const buckets = BUCKETS.map((bucket, index) => {
      below += valueOf(bucket);
      const bound = BOUNDS[index];
      const le = bound === undefined ? "+Inf" : String(scaled(bound, factor));
      return `${shown}_bucket${labelText({ service, le })} ${below}`;
    });
    const labels = labelText({ service });
    return [...buckets, `${shown}_sum${labels} ${scaled(valueOf("sum"), factor)}`, `${shown}_count${labels} ${below}`];
  });
}

/** Removes the rounding errors of binary fractions. */
const scaled = (value: number, factor: number): number => Number((value * factor).toPrecision(15));

const labelText = (labels: Readonly<Record<string, string>>): string =>
  `{${Object.entries(labels)
    .map(
      ([name, value]) => `${name}="${value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")}"`,
    )
    .join(",")}}`;

const escapeHelp = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
