import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { collectorNames, PLATFORM_PLACE, tenantStoreNames } from "../../src/metrics/model/places.ts";
import { isolate } from "../support/isolate.ts";
import { call, expectJson } from "../support/platform/call.ts";
import { OPERATOR } from "../support/platform/operator.ts";
import { tokenFor } from "../support/platform/tokens.ts";

/**
 * The metrics now: all counts of the Worker, read by another isolate, which has no counts of its own and makes all
 * collectors pass theirs on.
 */
export async function readMetrics(query = ""): Promise<any> {
  const token = await tokenFor(OPERATOR);
  // The Worker sends its counts before it reads.
  await expectJson(await call("/admin/v1/metrics?metric=job_age", { token }), 200);
  const response = await isolate().fetch(`/admin/v1/metrics${query}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  return expectJson(response, 200);
}

/** A series of today, `requests media 2xx`, of a tenant if one is given: its sum, or the largest value of a peak. */
export async function metricOf(name: string, tenant?: string): Promise<number> {
  const [metric, service, label] = name.split(" ");
  const { series } = await readMetrics(`?step=day&metric=${metric}${tenant === undefined ? "" : `&tenant=${tenant}`}`);
  const found = series.find((one: any) => one.service === service && one.label === label);
  const values: number[] = (found?.values ?? []).map((value: number | null) => value ?? 0);
  return found?.kind === "peak" ? Math.max(...values) : values.reduce((sum, value) => sum + value, 0);
}

/**
 * Empties all collectors and stores. They have the same names for all files, and one that slept at the beginning of
 * this file still has the rows of another. A store with an old number of a collector would ignore its new messages.
 */
async function emptyMetrics(): Promise<void> {
  const objects = [
    ...collectorNames().map((name) => env.METRICS_COLLECTOR.getByName(name)),
    ...[PLATFORM_PLACE.store, ...tenantStoreNames()].map((name) => env.METRICS_STORE.getByName(name)),
  ];
  await Promise.all(
    objects.map(async (object) => {
      const empty = () => runInDurableObject(object, (_, { storage }) => storage.deleteAll());
      // An object that runs the modules of another file ends at the first call.
      await empty().catch(empty);
    }),
  );
}

await emptyMetrics();
