/**
 * Metrics: what the platform did, counted without a write to D1.
 *
 *   a request, a job, a push run ── meter.ts, in memory ──→ at most every 10 s: one call
 *     ──→ MetricsCollector (one of eight, the same for an isolate): adds up the batches of its isolates
 *     ──→ MetricsStore (one for everybody, sixteen for the tenants): packs by minute, hour and day
 *
 * Both calls are numbered, and a repeat counts once. Counts in the memory of an isolate are lost when it ends, so a
 * number may be too small by some 10 s of an isolate, and is never too large. Stored files and bytes come from D1:
 * sampling.ts counts them once an hour, and stored-now.ts at a request for the current step.
 */
import type { Route } from "../http/route.ts";
import type { Clock } from "../platform/runtime/clock.ts";
import type { Log } from "../platform/runtime/log.ts";
import { randomId, type Random } from "../platform/runtime/random.ts";
import type { Isolate } from "../platform/copies/isolate.ts";
import type { MetricsCollector } from "./collector.do.ts";
import { createMeter, type FlushingMeter } from "./meter.ts";
import { hashOf, collectorName } from "./model/places.ts";
import { createReader } from "./reader.ts";
import { metricsRoutes } from "./routes.ts";
import { sampleStored, type StoredByTenant } from "./sampling.ts";
import { roundTripsByShard } from "./shard-load.ts";
import type { MetricsStore } from "./store.do.ts";
import type { CountStored } from "./stored-now.ts";
import { metricsObjects, type MetricsObjects } from "./transfer.ts";
import { monthOfUse, type MonthOfUse } from "./usage.ts";

export interface MeteringDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly collectors: DurableObjectNamespace<MetricsCollector>;
  readonly wait: ((ms: number) => Promise<void>) | undefined;
}

/** The meter of this isolate. The isolate gets a name at its first send. */
export function createMetering({ clock, random, log, collectors, wait }: MeteringDeps): FlushingMeter {
  let isolate: string | undefined;
  return createMeter({
    clock,
    log,
    wait,
    async send(number, counts) {
      isolate ??= randomId(random);
      await collectors.getByName(collectorName(hashOf(isolate))).add(isolate, number, counts);
    },
  });
}

export interface MetricsDeps extends Pick<MeteringDeps, "clock" | "log" | "collectors"> {
  readonly isolate: Isolate;
  readonly meter: FlushingMeter;
  readonly stores: DurableObjectNamespace<MetricsStore>;
  readonly storedByTenant: StoredByTenant;
  readonly countStored: CountStored;
}

export interface Metrics {
  /** For operators, below the address of their service. */
  readonly routes: readonly Route[];
  /** The use of a tenant in a month, `2026-11`, so far. */
  monthOfUse(tenant: string, month: string, nowMs: number): Promise<MonthOfUse>;
  /** Round trips to the database of each shard, in the last hour. */
  roundTripsByShard(nowMs: number): Promise<ReadonlyMap<number, number>>;
  /** The stores as pages, for a backup. */
  readonly objects: MetricsObjects;
  /** Counts the files and bytes of each tenant, unless that is done for this hour. */
  sample(nowMs: number): Promise<void>;
}

/** Reads the counts of all isolates. */
export function createMetrics(deps: MetricsDeps): Metrics {
  const reader = createReader(deps);
  return {
    routes: metricsRoutes({ ...deps, reader }),
    monthOfUse: (tenant, month, nowMs) => monthOfUse(reader, tenant, month, nowMs),
    roundTripsByShard: (nowMs) => roundTripsByShard(reader, nowMs),
    objects: metricsObjects(deps.stores),
    sample: (nowMs) => sampleStored(deps, nowMs),
  };
}
