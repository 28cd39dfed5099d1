import { ok } from "@oazapfts/runtime";
import * as api from "../../api/plinth.ts";
import type { Command, Invocation } from "../command-line/command.ts";
import { printRows } from "../command-line/listing.ts";
import { printRecord } from "../command-line/print.ts";
import type { Column } from "../terminal/table.ts";
import { UsageError } from "../terminal/usage-error.ts";
import { formatBytes, formatTime, readTime } from "../terminal/values.ts";

type Query = NonNullable<Parameters<typeof api.getMetrics>[0]>;
type Step = api.Metrics["step"];
const STEPS: readonly Step[] = ["minute", "hour", "day"];
const HOUR_MS = 3_600_000;

type Row = {
  readonly metric: string;
  readonly service: string;
  readonly label: string;
  readonly value: string;
};

const COLUMNS: readonly Column<Row>[] = ["metric", "service", "label", "value"];

type TenantRow = { readonly tenant: string; readonly value: string };

const TENANT_COLUMNS: readonly Column<TenantRow>[] = ["tenant", "value"];

export const metricsCommand: Command = {
  words: ["metrics"],
  summary: "Show what the platform did in the last hour, or a tenant, or in another time.",
  args: [],
  options: [
    { flag: "since", value: "<time>", help: "from this time on: 45m, 2h, 7d (ago), or 2026-11-22T04:44:20Z" },
    { flag: "until", value: "<time>", help: "up to then" },
    { flag: "tenant", value: "<tenant>", help: "only of this tenant" },
    { flag: "service", value: "<service>", help: "oauth, events, media, gateway, admin or platform" },
    { flag: "metric", value: "<names>", help: "only these, separated by commas: requests,request_time" },
    { flag: "top", value: "<n>", help: "the busiest tenants by one metric (requests), at most 100" },
    { flag: "step", value: "<step>", help: "minute, hour or day: the length of a step in --json" },
  ],
  notes: [
    "A value is the sum over the time; of a peak such as consumer_lag, the largest value. With --json there is a " +
      "value for each step. Minutes are kept for two days, hours for 90, days for two years.",
  ],
  examples: [
    "metrics",
    "metrics --since 7d --tenant acmeshop",
    "metrics --service events --metric events_published,consumer_lag --json",
    "metrics --top 10 --since 30m",
    "metrics --top 5 --metric refusals --service events",
  ],
  async run(invocation) {
    const { options, io, client } = invocation;
    const nowMs = io.nowMs();
    const time = (flag: string): number | undefined => {
      const text = options.value(flag);
      return text === undefined ? undefined : readTime(text, `--${flag}`, nowMs);
    };
    const step = options.value("step");
    if (step !== undefined && !STEPS.includes(step as Step))
      throw new UsageError(`--step takes minute, hour or day, not ${step}.`);
    const to = time("until") ?? nowMs;
    const from = time("since") ?? to - HOUR_MS;
    const top = options.value("top");
    if (top !== undefined) return showTop(invocation, { from, to, top });
    const query: Query = {
      $from: from,
      to,
      step: step as Step | undefined,
      tenant: options.value("tenant"),
      service: options.value("service") as Query["service"],
      metric: options.value("metric"),
    };
    const found = await ok(api.getMetrics(query, (await client()).opts));
    if (options.has("json")) return printRecord(invocation, found);
    await printRows(found.series.map(toRow), {
      io,
      asJson: false,
      columns: COLUMNS,
      limit: Infinity,
      nouns: "metrics",
    });
    io.err(`from ${formatTime(found.from)} to ${formatTime(found.to)}\n`);
  },
};

/** The busiest tenants. */
async function showTop(
  invocation: Invocation,
  { from, to, top }: { readonly from: number; readonly to: number; readonly top: string },
): Promise<void> {
  const { options, io, client } = invocation;
  for (const other of ["tenant", "step"])
    if (options.value(other) !== undefined) throw new UsageError(`--top compares tenants, without --${other}.`);
  if (!/^\d{1,3}$/.test(top)) throw new UsageError(`--top takes a number, not ${top}.`);
  const query = {
    $from: from,
    to,
    service: options.value("service"),
    metric: options.value("metric"),
    top: Number(top),
  } as Parameters<typeof api.getBusiestTenants>[0];
  const found = await ok(api.getBusiestTenants(query, (await client()).opts));
  if (options.has("json")) return printRecord(invocation, found);
  const rows = found.tenants.map(({ tenant, value }) => ({ tenant, value: shownIn(found.unit, value) }));
  await printRows(rows, { io, asJson: false, columns: TENANT_COLUMNS, limit: Infinity, nouns: "tenants" });
  io.err(`${found.metric} from ${formatTime(found.from)} to ${formatTime(found.to)}\n`);
}

const shownIn = (unit: string, value: number): string =>
  unit === "bytes" ? formatBytes(value) : `${value.toLocaleString("en")}${unit === "1" ? "" : ` ${unit}`}`;

function toRow({ metric, service, label = "", kind, unit, values, p50 = [], p95 = [] }: api.MetricSeries): Row {
  const grouped = (count: number): string => count.toLocaleString("en");
  const known = values.filter((value) => value !== null);
  const most = (of: readonly (number | null)[]): number => Math.max(0, ...of.filter((value) => value !== null));
  const sum = known.reduce((all, value) => all + value, 0);
  const value =
    kind === "histogram"
      ? `${grouped(sum)} in all; in the slowest step half up to ${most(p50)} ${unit}, 95 % up to ${most(p95)} ${unit}`
      : shownIn(unit, kind === "peak" ? most(values) : sum);
  return { metric, service, label, value };
}
