import { METRICS, type MetricName } from "../platform/ports/metrics.ts";
import { parseSeriesName, type Series } from "./model/counts.ts";
import { STEPS } from "./model/limits.ts";
import type { MetricsReader } from "./reader.ts";

/** The use of a tenant in a period, as on a bill. */
interface Used {
  readonly requests: number;
  readonly tokens: number;
  readonly eventsPublished: number;
  readonly eventsRead: number;
  readonly eventsPushed: number;
  readonly receivedBytes: number;
  readonly sentBytes: number;
  readonly variants: number;
  readonly storedByteHours: number;
  /** The largest values of all hours. */
  readonly mostFiles: number;
  readonly mostBytes: number;
}

export interface MonthOfUse extends Used {
  /** `2026-11` */
  readonly month: string;
  /** True if the month is over and all of its counts have arrived. */
  readonly isComplete: boolean;
  /** Days (UTC) with any use. */
  readonly days: readonly (Used & { readonly day: string })[];
}

/** The metric of each part, and the values of its label that count; without any, all do. */
const PARTS: Readonly<Record<keyof Used, { readonly metric: MetricName; readonly labels?: readonly string[] }>> = {
  requests: { metric: "requests" },
  tokens: { metric: "tokens_issued" },
  eventsPublished: { metric: "events_published" },
  eventsRead: { metric: "events_read" },
  eventsPushed: { metric: "events_pushed", labels: ["delivered"] },
  receivedBytes: { metric: "received_bytes" },
  sentBytes: { metric: "sent_bytes" },
  variants: { metric: "variants_made", labels: ["made"] },
  storedByteHours: { metric: "stored_byte_hours" },
  mostFiles: { metric: "stored_files" },
  mostBytes: { metric: "stored_bytes" },
};
const NAMES = Object.keys(PARTS) as (keyof Used)[];

/** Time after the end of a month until isolates and collectors have passed on all of its counts. */
const SETTLED_MS = STEPS.hour.ms;

/** The first millisecond of a month, `2026-11`, and of the next one. */
function boundsOf(month: string): { readonly fromMs: number; readonly toMs: number } {
  const [year = 0, number = 0] = month.split("-").map(Number);
  return { fromMs: Date.UTC(year, number - 1), toMs: Date.UTC(year, number) };
}

export async function monthOfUse(
  reader: MetricsReader,
  tenant: string,
  month: string,
  nowMs: number,
): Promise<MonthOfUse> {
  const { fromMs, toMs } = boundsOf(month);
  const rows = await reader.rows(tenant, "day", fromMs, toMs);
  const days = [...rows].map(([atMs, series]) => ({
    day: new Date(atMs).toISOString().slice(0, 10),
    ...usedIn(series),
  }));
  return { month, isComplete: nowMs >= toMs + SETTLED_MS, ...sumOf(days), days };
}

function usedIn(series: Series): Used {
  const used = nothing();
  for (const [name, value] of series) {
    const { metric, label = "" } = parseSeriesName(name) ?? {};
    const part = NAMES.find((one) => PARTS[one].metric === metric);
    if (part !== undefined && (PARTS[part].labels?.includes(label) ?? true))
      used[part] = joined(part, used[part], value);
  }
  return used;
}

function sumOf(days: readonly Used[]): Used {
  const sum = nothing();
  for (const day of days) for (const part of NAMES) sum[part] = joined(part, sum[part], day[part]);
  return sum;
}

const joined = (part: keyof Used, one: number, other: number): number =>
  METRICS[PARTS[part].metric].kind === "peak" ? Math.max(one, other) : one + other;

const nothing = (): Record<keyof Used, number> =>
  Object.fromEntries(NAMES.map((name) => [name, 0])) as Record<keyof Used, number>;
