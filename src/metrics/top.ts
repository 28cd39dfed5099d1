import { METRICS, type MetricName } from "../platform/ports/metrics.ts";
import { EVERYBODY, parseSeriesName } from "./model/counts.ts";
import type { Step } from "./model/limits.ts";

/** A request for the tenants with the largest sums of a counter, or the largest values of a peak. */
export interface TopAsked {
  readonly metric: MetricName;
  /** Undefined for all services together. */
  readonly service: string | undefined;
  readonly step: Step;
  readonly fromMs: number;
  readonly toMs: number;
  readonly limit: number;
}

export interface TenantValue {
  readonly tenant: string;
  readonly value: number;
}

/** Adds the packs up one at a time, so that only one is in memory. */
export function topOf(packs: Iterable<string>, { metric, service, limit }: TopAsked): TenantValue[] {
  const values = new Map<string, number>();
  for (const pack of packs)
    for (const [tenant, series] of Object.entries(JSON.parse(pack) as Record<string, Record<string, number>>)) {
      if (tenant === EVERYBODY) continue;
      for (const [name, value] of Object.entries(series)) {
        const parsed = parseSeriesName(name);
        if (parsed?.metric !== metric || (service !== undefined && parsed.service !== service)) continue;
        const before = values.get(tenant) ?? 0;
        values.set(tenant, METRICS[metric].kind === "peak" ? Math.max(before, value) : before + value);
      }
    }
  return largest(
    [...values].map(([tenant, value]) => ({ tenant, value })),
    limit,
  );
}

/** The largest values first, equal ones by the tenant's name. */
export const largest = (values: readonly TenantValue[], limit: number): TenantValue[] =>
  values.toSorted((one, other) => other.value - one.value || (one.tenant < other.tenant ? -1 : 1)).slice(0, limit);
