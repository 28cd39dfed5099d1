import { parseSeriesName } from "./model/counts.ts";
import { STEPS } from "./model/limits.ts";
import type { MetricsReader } from "./reader.ts";

/** Round trips of all services to each shard, in the last hour. */
export async function roundTripsByShard({ rows }: MetricsReader, nowMs: number): Promise<ReadonlyMap<number, number>> {
  const trips = new Map<number, number>();
  for (const series of (await rows(undefined, "minute", nowMs - STEPS.hour.ms, nowMs + 1)).values())
    for (const [name, value] of series) {
      const parsed = parseSeriesName(name);
      if (parsed?.metric !== "shard_round_trips") continue;
      const shard = Number(parsed.label);
      trips.set(shard, (trips.get(shard) ?? 0) + value);
    }
  return trips;
}
