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
