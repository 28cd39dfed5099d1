import { METERED_SERVICES, METRICS } from "../../src/platform/ports/metrics.ts";
import type { Entry, Named } from "../model/entry.ts";
import { int, list, obj, oneOf, orNull, ref, str, time, type Schema } from "../model/schema.ts";
import { TAGS } from "./admin-resources.ts";

const TIME: Schema = { type: "integer", minimum: 0, maximum: 999_999_999_999_999 };
const START = 1_763_000_040_000;
const NAMES = Object.keys(METRICS);
const RANKED = NAMES.filter((name) => METRICS[name as keyof typeof METRICS].kind !== "histogram");
const values = (description: string): Schema => list({ type: ["number", "null"] }, description);

/** Components of the metrics, and operations on them. */
export const METRICS_SCHEMAS: Readonly<Record<string, Named>> = {
  Metrics: {
    schema: obj({
      from: time("The start of the first step."),
      to: time("The end of the last step."),
      step: oneOf(["minute", "hour", "day"], "The length of a step; days are those of UTC."),
      stepMs: int("The length of a step in milliseconds."),
      tenant: orNull(str("The tenant; null: everybody.")),
      series: list(ref("MetricSeries"), "Series with a value in this time, sorted by name; all others are 0."),
    }),
    example: {
      from: START,
      to: START + 180_000,
      step: "minute",
      stepMs: 60_000,
      tenant: null,
      series: [{ metric: "requests", service: "media", label: "2xx", kind: "counter", unit: "1", values: [12, 0, 31] }],
    },
  },
  BusiestTenants: {
    schema: obj({
      from: time("The start of the time that was added up."),
      to: time("Its end."),
      metric: str("The metric's name.", { enum: RANKED }),
      service: orNull(oneOf(METERED_SERVICES, "The service; null: all of them.")),
      kind: oneOf(["counter", "peak"], "`peak`: the largest value of the time, not the sum."),
      unit: oneOf(["1", "bytes", "ms", "byte hours"], "The unit of the values."),
      tenants: list(
        obj({
          tenant: str("The tenant's id."),
          value: { type: "number", description: "The sum, or the largest value." },
        }),
        "The largest value first. Tenants without one are left out.",
      ),
    }),
    example: {
      from: START,
      to: START + 3_600_000,
      metric: "requests",
      service: null,
      kind: "counter",
      unit: "1",
      tenants: [{ tenant: "acmeshop", value: 51_310 }],
    },
  },
  MetricSeries: {
    schema: obj({
      metric: str("The metric's name.", { enum: NAMES }),
      service: oneOf(METERED_SERVICES, "`platform`: pages, and addresses where nothing is."),
      "label?": str("The value of the metric's label, such as the class of a status."),
      kind: oneOf(["counter", "histogram", "peak"], "`peak`: the largest value that was seen in a step."),
      unit: oneOf(["1", "bytes", "ms", "byte hours"], "The unit of the values."),
      values: values("One for each step; of a histogram, the number of its values. null: nothing was measured."),
      "mean?": values("The mean of a histogram's values."),
      "p50?": values("The median, estimated from the histogram's buckets."),
      "p95?": values("19 of 20 values are at most this."),
      "p99?": values("99 of 100 values are at most this."),
    }),
    example: {
      metric: "request_time",
      service: "oauth",
      kind: "histogram",
      unit: "ms",
      values: [120, 0],
      mean: [14, null],
      p50: [9, null],
      p95: [41, null],
      p99: [96, null],
    },
  },
};

export const METRICS_ENTRIES: Readonly<Record<string, Entry>> = {
  "GET /metrics": {
    id: "getMetrics",
    tag: TAGS.upkeep,
    about:
      "Minutes are kept for two days, hours for 90, days for two years. A number is some seconds old; it may be too " +
      "small by what an isolate counted in its last 10 s, and is never too large. Stored files and bytes are counted " +
      "once an hour; the step that is not over has what is stored now.",
    parameters: {
      from: { text: "From this time on, in ms since 1970; default: an hour before `to`.", schema: TIME },
      to: { text: "Up to this time, in ms since 1970; default: now.", schema: TIME },
      step: { text: "Default: one that gives at most some hundred points. An answer has at most 1,500." },
      tenant: { text: "Only of this tenant; default: of everybody.", example: "demo" },
      service: { text: "Only of this service." },
      metric: { text: "Only these metrics, separated by commas.", example: "requests,request_time" },
    },
    answers: { 200: { text: "The series.", json: ref("Metrics") } },
  },
  "GET /metrics/tenants": {
    id: "getBusiestTenants",
    tag: TAGS.upkeep,
    about:
      "Added up in at most 62 steps: minutes for an hour in the last two days, hours for two days in the last 90, days " +
      "for the rest. Labels are added up too: requests of every status.",
    parameters: {
      from: { text: "From this time on, in ms since 1970; default: an hour before `to`.", schema: TIME },
      to: { text: "Up to this time, in ms since 1970; default: now.", schema: TIME },
      service: { text: "Only of this service." },
      metric: { text: "Sorted by this one; default: `requests`.", example: "refusals" },
      top: { text: "How many tenants; default: 10.", schema: { type: "integer", minimum: 1, maximum: 100 } },
    },
    answers: { 200: { text: "The tenants.", json: ref("BusiestTenants") } },
  },
  "GET /metrics/prometheus": {
    id: "scrapeMetrics",
    tag: TAGS.upkeep,
    about: "The text format of Prometheus, version 0.0.4: of everybody, without tenants.",
    answers: { 200: { text: "The metrics.", mediaTypes: { "text/plain": { type: "string" } } } },
  },
};
