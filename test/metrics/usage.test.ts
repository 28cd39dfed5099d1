import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { sampleStored, type StoredByTenant, type StoredOfTenant } from "../../src/metrics/sampling.ts";
import { createDeps } from "../../src/deps.ts";
import { makeFile, makeTopic } from "../fuzz/belongings.ts";
import { isolate } from "../support/isolate.ts";
import { call, expectJson } from "../support/platform/call.ts";
import { makeClient, type TestClient } from "../support/platform/clients.ts";
import { OPERATOR } from "../support/platform/operator.ts";
import { tokenFor } from "../support/platform/tokens.ts";
import { metricOf, readMetrics } from "./metrics-support.ts";

/** The use of a tenant in a month, from which its bill is made. */
const HOUR = 3_600_000;
const thisMonth = (): string => new Date().toISOString().slice(0, 7);

async function usageOf(tenant: string): Promise<any> {
  await readMetrics();
  const headers = { authorization: `Bearer ${await tokenFor(OPERATOR)}` };
  return expectJson(await isolate().fetch(`/admin/v1/tenants/${tenant}/usage?month=${thisMonth()}`, { headers }), 200);
}

describe("GET /admin/v1/tenants/{id}/usage?month=", () => {
  let client: TestClient;
  let sizeBytes: number;
  beforeAll(async () => {
    client = await makeClient();
    const token = await tokenFor(client);
    const { path } = await makeTopic(token);
    await call(`${path}/publish`, { token, json: [{ payload: "1" }, { payload: "2" }] });
    await call(`${path}/read`, { token, json: { numEvents: 2, autoCommit: true } });
    await makeFile(token, "files", "text");
    sizeBytes = "some content".length;
  });

  // shows: operator/metrics/usage
  it("has the use of the tenant, in total and by day", async () => {
    const { used, files } = await usageOf(client.tenant);
    expect(files).toBe(1);
    expect(used).toMatchObject({
      month: thisMonth(),
      isComplete: false,
      // The token, its topic, the publish, the read, the file and its commit.
      requests: 6,
      tokens: 1,
      eventsPublished: 2,
      eventsRead: 2,
      eventsPushed: 0,
    });
    expect(used.receivedBytes).toBeGreaterThan(sizeBytes);
    expect(used.sentBytes).toBeGreaterThan(0);
    expect(used.days).toHaveLength(1);
    const { days: _, month: __, isComplete: ___, ...sum } = used;
    expect(used.days[0]).toEqual({ day: new Date().toISOString().slice(0, 10), ...sum });
  });

  it("has stored bytes once for each hour, however often the cron runs", async () => {
    const { metrics } = createDeps(env);
    const hourMs = Math.floor(Date.now() / HOUR) * HOUR;
    for (const atMs of [hourMs, hourMs + 300_000, hourMs + 600_000]) await metrics.sample(atMs);
    expect((await usageOf(client.tenant)).used).toMatchObject({
      storedByteHours: sizeBytes,
      mostFiles: 1,
      mostBytes: sizeBytes,
    });
    // The previous hour: in the last hour of a day, the next one is of tomorrow and not read.
    await metrics.sample(hourMs - HOUR);
    expect(await metricOf("stored_byte_hours media", client.tenant)).toBe(2 * sizeBytes);
    expect(await metricOf("stored_bytes media")).toBeGreaterThanOrEqual(sizeBytes);
  });

  // shows: operator/metrics/stored-now
  it("has the files and bytes stored now in the current step, before any full hour", async () => {
    const uploader = await makeClient();
    const token = await tokenFor(uploader);
    const ofNow = async (tenant: string, query = ""): Promise<(number | null)[][]> =>
      (await readMetrics(`?tenant=${tenant}&metric=stored_files,stored_bytes${query}`)).series.map(({ values }: any) =>
        values.slice(-2),
      );
    expect(await ofNow(uploader.tenant)).toEqual([]);
    await makeFile(token, "files", "text");
    for (const step of ["minute", "hour", "day"])
      expect(
        (await ofNow(uploader.tenant, `&step=${step}`)).map((values) => values.at(-1)),
        step,
      ).toEqual([sizeBytes, 1]);
    expect(await metricOf("stored_files media")).toBeGreaterThanOrEqual(2);
    const yesterday = Date.now() - 24 * HOUR;
    expect(await readMetrics(`?tenant=${uploader.tenant}&from=${yesterday - HOUR}&to=${yesterday}`)).toMatchObject({
      series: [],
    });
  });

  it("counts a page of tenants once if a run breaks off and the next one finishes it", async () => {
    const stored: StoredOfTenant[] = [
      { tenant: "abroken", files: 1, bytes: 5 },
      { tenant: "zbroken", files: 2, bytes: 7 },
    ];
    let fails = true;
    const storedByTenant = async (from: string, before: string) => {
      if (from === "m" && fails) throw new Error("broken off");
      return stored.filter(({ tenant }) => tenant >= from && tenant < before);
    };
    const deps = { collectors: env.METRICS_COLLECTOR, storedByTenant };
    const atMs = Date.now() - 5 * HOUR;
    await expect(sampleStored(deps, atMs)).rejects.toThrow("broken off");
    fails = false;
    await sampleStored(deps, atMs);
    const of = async (tenant: string) =>
      (await readMetrics(`?from=${atMs - HOUR}&step=hour&metric=stored_byte_hours&tenant=${tenant}`)).series[0].values;
    const sum = (values: number[]) => values.reduce((all, value) => all + value, 0);
    expect(sum(await of("abroken"))).toBe(5);
    expect(sum(await of("zbroken"))).toBe(7);
  });

  it("counts hours without an answer by the next count, but none before the first", async () => {
    const tenant = "missed";
    let bytes = 5;
    const answers = async (from: string) => (from === "m" ? [{ tenant, files: 1, bytes }] : []);
    const refuses = () => Promise.reject(new Error("a shard is away"));
    const at = (hours: number) => Date.now() - (60 - hours) * HOUR;
    const sample = (hours: number, storedByTenant: StoredByTenant) =>
      sampleStored({ collectors: env.METRICS_COLLECTOR, storedByTenant }, at(hours));
    await sample(0, answers);
    for (const hours of [1, 2]) await expect(sample(hours, refuses)).rejects.toThrow("a shard is away");
    bytes = 7;
    for (let run = 0; run < 2; run++) await sample(3, answers);
    const query = `?from=${at(-30)}&to=${at(4)}&step=hour&metric=stored_byte_hours&tenant=${tenant}`;
    const { values } = (await readMetrics(query)).series[0];
    expect(values.filter((value: number) => value > 0)).toEqual([5, 7, 7, 7]);
  });

  it("is complete an hour after the end of the month, and not before", async () => {
    const month = thisMonth();
    const nextMonth = Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)), 1);
    const { metrics } = createDeps(env);
    expect(await metrics.monthOfUse(client.tenant, month, nextMonth + HOUR - 1)).toMatchObject({ isComplete: false });
    expect(await metrics.monthOfUse(client.tenant, month, nextMonth + HOUR)).toMatchObject({ isComplete: true });
  });

  it("is there for a deleted tenant, and 404 for one that never existed", async () => {
    const token = await tokenFor(OPERATOR);
    const gone = await makeClient();
    await tokenFor(gone);
    for (const path of [
      `clients/${gone.clientId}`,
      `tenants/${gone.tenant}/subscriptions/platform`,
      `tenants/${gone.tenant}`,
    ])
      expect((await call(`/admin/v1/${path}`, { method: "DELETE", token })).status, path).toBeLessThan(300);
    expect(await usageOf(gone.tenant)).toMatchObject({ files: 0, used: { tokens: 1 } });
    expect((await call(`/admin/v1/tenants/${gone.tenant}/usage`, { token })).status).toBe(404);
    expect((await call(`/admin/v1/tenants/neverwas/usage?month=${thisMonth()}`, { token })).status).toBe(404);
  });

  it.each([
    ["2026-13", "must be a month, such as 2026-11"],
    ["2099-01", "has not begun"],
    ["2020-01", "too long ago"],
  ])("refuses the month %s and says why", async (month, why) => {
    const token = await tokenFor(OPERATOR);
    const refused = await call(`/admin/v1/tenants/${client.tenant}/usage?month=${month}`, { token });
    expect(JSON.stringify(await expectJson(refused, 400))).toContain(why);
  });
});
