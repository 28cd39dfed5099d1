import * as z from "zod/mini";
import { invalid } from "../http/errors/errors.ts";
import { defineRoute, json, type Route } from "../http/route.ts";
import { matching, timeMs } from "../http/input/validate.ts";
import { METERED_SERVICES, METRICS, type MetricName } from "../platform/ports/metrics.ts";
import { PATTERNS } from "../platform/model/names.ts";
import { LIMITS, startOf, STEP_NAMES, STEPS, type Step } from "./model/limits.ts";
import { PROMETHEUS_TYPE, toPrometheus } from "./prometheus.ts";
import type { MetricsReader } from "./reader.ts";
import { seriesOf } from "./series.ts";
import { createStoredNow, type StoredNowDeps } from "./stored-now.ts";

const NAMES = Object.keys(METRICS) as MetricName[];
const metricNames = z.pipe(
  z
    .string()
    .check(
      z.refine(
        (text) => text.split(",").every((name) => Object.hasOwn(METRICS, name)),
        `must be of ${NAMES.join(", ")}, several separated by commas`,
      ),
    ),
  z.transform((text) => text.split(",")),
);

const query = z.object({
  from: z.optional(timeMs),
  to: z.optional(timeMs),
  step: z.optional(z.enum(STEP_NAMES as [Step, ...Step[]])),
  tenant: z.optional(matching(PATTERNS.tenant)),
  service: z.optional(z.enum(METERED_SERVICES)),
  metric: z.optional(metricNames),
});

/** Metrics by which tenants can be ranked. A histogram has no single number. */
const RANKED = NAMES.filter((name) => METRICS[name].kind !== "histogram");
const topQuery = z.object({
  from: z.optional(timeMs),
  to: z.optional(timeMs),
  service: z.optional(z.enum(METERED_SERVICES)),
  metric: z.optional(z.enum(RANKED as [MetricName, ...MetricName[]])),
  top: z.optional(
    z.pipe(
      z
        .string()
        .check(
          z.refine(
            (text) => /^\d{1,3}$/.test(text) && Number(text) >= 1 && Number(text) <= LIMITS.topTenants,
            `must be 1 to ${LIMITS.topTenants}`,
          ),
        ),
      z.transform(Number),
    ),
  ),
});

const pointsOf = (step: Step, fromMs: number, toMs: number): number =>
  Math.ceil((toMs - startOf(step, fromMs)) / STEPS[step].ms);

/** The steps that are used if none is given, so that an answer has some hundred points. Beyond them it is a day. */
const USUAL_STEPS: readonly { readonly step: Step; readonly upToMs: number }[] = [
  { step: "minute", upToMs: 6 * STEPS.hour.ms },
  { step: "hour", upToMs: 14 * STEPS.day.ms },
];

type AskedTime = Partial<Record<"from" | "to", number | undefined>>;

/** The time that a query asks for: unless it says otherwise, the last hour. Undefined: it ends before it begins. */
function timeOf(given: AskedTime, nowMs: number): { readonly from: number; readonly to: number } | undefined {
  const to = given.to ?? nowMs;
  const from = given.from ?? to - STEPS.hour.ms;
  return from < to ? { from, to } : undefined;
}
const refuseOrder = () => invalid("invalid_query_parameter", "from", "from must be before to.");

export interface MetricsRoutesDeps extends StoredNowDeps {
  readonly reader: MetricsReader;
}

export function metricsRoutes({ reader, clock, ...counting }: MetricsRoutesDeps): readonly Route[] {
  const withStoredNow = createStoredNow({ clock, ...counting });
  return [
    defineRoute({
      method: "GET",
      path: "/metrics",
      summary: "Show what the platform or a tenant did, by minute, hour or day",
      operation: "readMetrics",
      query,
      async handle({ nowMs, query: { tenant, service, metric, ...given } }) {
        const time = timeOf(given, nowMs);
        if (time === undefined) return refuseOrder();
        const { from, to } = time;
        const step = given.step ?? USUAL_STEPS.find(({ upToMs }) => to - from <= upToMs)?.step ?? "day";
        const fromMs = startOf(step, from);
        const points = pointsOf(step, from, to);
        if (points > LIMITS.points)
          return invalid(
            "invalid_query_parameter",
            "from",
            `So many steps of a ${step} are ${points} points, more than ${LIMITS.points}: name a shorter time or a longer step.`,
          );
        const toMs = fromMs + points * STEPS[step].ms;
        const asked = { step, fromMs, toMs, metrics: metric };
        const rows = await withStoredNow(await reader.rows(tenant, step, fromMs, toMs), { ...asked, tenant });
        const series = seriesOf(rows, { ...asked, service });
        if (series.length * points > LIMITS.values)
          return invalid("invalid_query_parameter", "metric", "These are too many series: name a metric or a service.");
        return json(200, { from: fromMs, to: toMs, step, stepMs: STEPS[step].ms, tenant: tenant ?? null, series });
      },
    }),
    defineRoute({
      method: "GET",
      path: "/metrics/tenants",
      summary: "Show the busiest tenants",
      operation: "listBusiestTenants",
      query: topQuery,
      async handle({ nowMs, query: { metric = "requests", service, top = 10, ...given } }) {
        const time = timeOf(given, nowMs);
        if (time === undefined) return refuseOrder();
        const { from, to } = time;
        const isKept = (name: Step): boolean => from >= nowMs - STEPS[name].keptMs;
        const step = STEP_NAMES.find((name) => isKept(name) && pointsOf(name, from, to) <= LIMITS.topSteps);
        if (step === undefined)
          return invalid(
            "invalid_query_parameter",
            "from",
            `Name a time of at most ${LIMITS.topSteps} days, in the last two years.`,
          );
        const fromMs = startOf(step, from);
        const toMs = fromMs + pointsOf(step, from, to) * STEPS[step].ms;
        const tenants = await reader.top({ metric, service, step, fromMs, toMs, limit: top });
        const { kind, unit } = METRICS[metric];
        return json(200, { from: fromMs, to: toMs, metric, service: service ?? null, kind, unit, tenants });
      },
    }),
    defineRoute({
      method: "GET",
      path: "/metrics/prometheus",
      summary: "Show the sums since the beginning, for Prometheus",
      operation: "scrapeMetrics",
      produces: "any",
      async handle() {
        const nowMs = clock.nowMs();
        const totals = await reader.totals();
        const minutes = await reader.rows(undefined, "minute", nowMs - LIMITS.peakMs.hourly, nowMs + 1);
        return new Response(toPrometheus(totals, minutes, nowMs), { headers: { "content-type": PROMETHEUS_TYPE } });
      },
    }),
  ];
}
