import { beforeAll, describe, expect, it } from "vitest";
import { BOUNDS, METERED_SERVICES, METRICS } from "../../src/platform/ports/metrics.ts";
import { quantile } from "../../src/metrics/histogram.ts";
import type { FlushingMeter } from "../../src/metrics/meter.ts";
import { createReader } from "../../src/metrics/reader.ts";
import { createIsolate } from "../../src/platform/copies/isolate.ts";
import { systemClock } from "../../src/platform/runtime/clock.ts";
import { systemRandom } from "../../src/platform/runtime/random.ts";
import { withTimeout } from "../../src/platform/runtime/with-timeout.ts";
import { heardLog } from "../support/runtime/heard-log.ts";
import { emptyTally, counting } from "../support/counting.ts";
import { isolate, type Isolate } from "../support/isolate.ts";
import { call, expectJson } from "../support/platform/call.ts";
import { makeClient, type TestClient } from "../support/platform/clients.ts";
import { OPERATOR } from "../support/platform/operator.ts";
import { tokenFor } from "../support/platform/tokens.ts";
import { env } from "cloudflare:workers";

/** The counts that requests in isolates of their own add to the metrics. */
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

let operator: string;
beforeAll(async () => {
  operator = await tokenFor(OPERATOR);
});

const read = async (query = ""): Promise<any> =>
  expectJson(await call(`/admin/v1/metrics${query}`, { token: operator }), 200);

/** The sum of a series in the last hour. */
async function sumOf(name: string, query = ""): Promise<number> {
  const [metric, service, label] = name.split(" ");
  const { series } = await read(`?step=day&metric=${metric}${query}`);
  const found = series.find((one: any) => one.service === service && one.label === label);
  return (found?.values ?? []).reduce((sum: number, value: number) => sum + value, 0);
}

/** An isolate whose counts are sent: the first answer sends at once, and the reader knows only its own isolate. */
async function sent(own: Isolate): Promise<void> {
  await own.fetch("/admin/v1/metrics", { headers: { authorization: `Bearer ${operator}` } });
}

const bearer = (token: string): RequestInit => ({ headers: { authorization: `Bearer ${token}` } });

it("reads at the same time get all counts, not only the first of them", async () => {
  const own = isolate();
  const client = await makeClient();
  const token = await tokenFor(client);
  for (let n = 0; n < 3; n++) await own.fetch("/admin/v1/metrics", bearer(token));
  const refusals = async (): Promise<number> => {
    const path = `/admin/v1/metrics?step=day&metric=refusals&tenant=${client.tenant}`;
    const { series } = await expectJson(await own.fetch(path, bearer(operator)), 200);
    return series.flatMap(({ values }: any) => values).reduce((sum: number, value: number) => sum + value, 0);
  };
  expect(await Promise.all([refusals(), refusals(), refusals()])).toEqual([3, 3, 3]);
});

it.each(["send", "pass on"] as const)(
  "a collector that does not answer a %s delays a read by seconds only",
  async (what) => {
    const never = () => new Promise<never>(() => {});
    const stuck = { getByName: () => ({ passOn: what === "send" ? async () => {} : never }) };
    const reader = createReader({
      clock: systemClock,
      isolate: createIsolate(systemClock, systemRandom, () => {}),
      log: heardLog,
      meter: { flush: what === "send" ? never : async () => true } as unknown as FlushingMeter,
      collectors: stuck as unknown as typeof env.METRICS_COLLECTOR,
      stores: env.METRICS_STORE,
    });
    expect((await withTimeout(4_500, reader.totals())).size).toBeGreaterThan(0);
  },
);

describe("GET /admin/v1/metrics/tenants", () => {
  const top = async (query = ""): Promise<any> =>
    expectJson(await call(`/admin/v1/metrics/tenants${query}`, { token: operator }), 200);

  // shows: operator/metrics/busiest-tenants
  it("lists the busiest tenants first, whichever object stores their counts", async () => {
    const own = isolate();
    const clients = await Promise.all(Array.from({ length: 4 }, () => makeClient()));
    // More requests than any other test makes for one tenant.
    for (const [index, client] of clients.entries()) {
      const token = await tokenFor(client);
      for (let n = 0; n <= index; n++) await own.fetch("/admin/v1/metrics", bearer(token));
    }
    await sent(own);
    const tenants = clients.map(({ tenant }) => tenant);
    const { from, to, ...told } = await top("?service=admin&metric=refusals&top=100");
    expect(told).toMatchObject({ metric: "refusals", service: "admin", kind: "counter", unit: "1" });
    expect(to - from).toBeGreaterThanOrEqual(HOUR);
    const values = told.tenants.map(({ value }: any) => value);
    expect(values).toEqual(values.toSorted((one: number, other: number) => other - one));
    const mine = told.tenants.filter(({ tenant }: any) => tenants.includes(tenant));
    expect(mine).toEqual([3, 2, 1, 0].map((index) => ({ tenant: tenants[index], value: index + 1 })));
    expect((await top("?service=admin&metric=refusals&top=2")).tenants).toEqual(told.tenants.slice(0, 2));
    expect((await top(`?metric=refusals&from=${Date.now() - 40 * 24 * HOUR}&top=100`)).tenants).toEqual(
      expect.arrayContaining(mine.slice(0, 1)),
    );
    expect((await top(`?from=${Date.now() - 9 * HOUR}&to=${Date.now() - 8 * HOUR}`)).tenants).toEqual([]);
  });

  it("shows the largest value of a peak, not a sum", async () => {
    const { kind, unit } = await top("?metric=consumer_lag");
    expect([kind, unit]).toEqual(["peak", "1"]);
  });

  it.each([
    ["metric=request_time", "must be one of requests"],
    ["metric=requests,refusals", "must be one of requests"],
    ["top=0", "must be 1 to 100"],
    ["top=101", "must be 1 to 100"],
    ["from=5&to=5", "from must be before to"],
    ["from=0", "at most 62 days"],
  ])("refuses ?%s and says why", async (query, why) => {
    const refused = await expectJson(await call(`/admin/v1/metrics/tenants?${query}`, { token: operator }), 400);
    expect(JSON.stringify(refused)).toContain(why);
  });
});

describe("GET /admin/v1/metrics", () => {
  let client: TestClient;
  let token: string;
  beforeAll(async () => {
    client = await makeClient();
    token = await tokenFor(client);
  });

  // shows: operator/metrics/exact
  it("counts answers and refusals of isolates exactly, by tenant and by service", async () => {
    const [first, second] = [isolate(), isolate()];
    const of = `&tenant=${client.tenant}`;
    const before = await sumOf("requests events 4xx");
    for (let n = 0; n < 3; n++) expect((await first.fetch("/pubsub/v1/topics", bearer(token))).status).toBe(200);
    for (let n = 0; n < 2; n++) expect((await second.fetch("/pubsub/v1/topics", bearer(token))).status).toBe(200);
    expect((await second.fetch("/admin/v1/tenants", bearer(token))).status).toBe(403);
    expect((await second.fetch("/pubsub/v1/topics")).status).toBe(401);
    expect((await second.fetch("/pubsub/v1/nothing", bearer(token))).status).toBe(404);
    await sent(first);
    await sent(second);
    expect(await sumOf("requests events 2xx", of)).toBe(5);
    expect(await sumOf("requests admin 4xx", of)).toBe(1);
    expect(await sumOf("refusals admin insufficient_permissions", of)).toBe(1);
    // Without a token the tenant is not known.
    expect(await sumOf("requests events 4xx", of)).toBe(0);
    expect((await sumOf("requests events 4xx")) - before).toBe(1);
    expect(await sumOf("refusals platform element_resource_non_existing")).toBeGreaterThan(0);
  });

  it("needs no call of D1 for counting, and one call of an object in ten seconds", async () => {
    const counted = counting(env);
    let sends = 0;
    const METRICS_COLLECTOR = new Proxy(env.METRICS_COLLECTOR, {
      get(target, name) {
        if (name === "getByName") sends += 1;
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    const own = isolate({ ...counted.env, METRICS_COLLECTOR });
    for (let n = 0; n < 2; n++) await own.fetch("/pubsub/v1/nothing", bearer(token));
    counted.reset();
    sends = 0;
    for (let n = 0; n < 20; n++) await own.fetch("/pubsub/v1/nothing", bearer(token));
    expect(counted.tally).toEqual(emptyTally());
    expect(sends).toBe(0);
  });

  it("has the round trips and rows of D1, by service", async () => {
    const own = isolate();
    const of = async (name: string) => sumOf(name);
    const before = [await of("d1_round_trips events"), await of("d1_rows_read events")];
    await own.fetch("/pubsub/v1/topics", bearer(token));
    await sent(own);
    expect((await of("d1_round_trips events")) - before[0]!).toBeGreaterThanOrEqual(1);
    expect((await of("d1_rows_read events")) - before[1]!).toBeGreaterThanOrEqual(0);
  });

  // shows: operator/metrics/empty
  it("has no series without values", async () => {
    const empty = await read("?tenant=nobodyhere");
    expect(empty.series).toEqual([]);
    expect(empty).toMatchObject({ step: "minute", tenant: "nobodyhere", stepMs: MINUTE });
    expect(empty.to - empty.from).toBeGreaterThanOrEqual(HOUR);
  });

  it("has a value for each whole step of the requested period", async () => {
    const to = Date.now();
    const {
      from,
      to: end,
      series,
    } = await read(`?from=${to - 10 * MINUTE - 1}&to=${to}&metric=requests&service=events`);
    expect(from % MINUTE).toBe(0);
    expect(from).toBeLessThanOrEqual(to - 10 * MINUTE - 1);
    expect(end).toBeGreaterThanOrEqual(to);
    expect(series.length).toBeGreaterThan(0);
    for (const one of series) {
      expect(one).toMatchObject({ metric: "requests", service: "events", kind: "counter", unit: "1" });
      expect(one.values).toHaveLength((end - from) / MINUTE);
    }
  });

  it("estimates percentiles of the time of requests", async () => {
    const { series } = await read("?metric=request_time&service=events&step=hour");
    expect(series).toHaveLength(1);
    const [{ values, mean, p50, p99 }] = series;
    const at = values.findLastIndex((count: number) => count > 0);
    expect(p50[at]).toBeLessThanOrEqual(p99[at]);
    expect(mean[at]).toBeGreaterThanOrEqual(0);
    expect(BOUNDS).toContain(quantile({ counts: [...BOUNDS.map(() => 0), 1], sum: 20_000 }, 0.5));
    // Ten values up to 5, ten up to 10: the median is where the first bucket ends.
    expect(quantile({ counts: [10, 10], sum: 100 }, 0.5)).toBe(5);
    expect(quantile({ counts: [10, 10], sum: 100 }, 0.75)).toBe(8);
    expect(quantile({ counts: [0, 0], sum: 0 }, 0.5)).toBeUndefined();
  });

  it.each([
    ["from=5&to=5", "from must be before to"],
    [`from=0&to=${1501 * MINUTE}&step=minute`, "1501 points"],
    ["step=week", "must be one of minute, hour, day"],
    ["metric=requests,nothing", "must be of requests"],
    ["service=other", "must be one of oauth"],
    ["from=yesterday", "must be a time in milliseconds"],
    ["tenant=NO", "must be 3 to 16 small letters and digits"],
  ])("refuses ?%s and says why", async (query, why) => {
    const refused = await expectJson(await call(`/admin/v1/metrics?${query}`, { token: operator }), 400);
    expect(JSON.stringify(refused)).toContain(why);
  });

  it("uses hours for a week and days for a year, unless a step is given", async () => {
    const to = Date.now();
    expect((await read(`?from=${to - 7 * 24 * HOUR}`)).step).toBe("hour");
    expect((await read(`?from=${to - 365 * 24 * HOUR}`)).step).toBe("day");
    expect((await read(`?from=${to - 24 * HOUR}&step=minute`)).step).toBe("minute");
  });
});

describe("GET /admin/v1/metrics/prometheus", () => {
  // shows: operator/metrics/prometheus
  it("is the text format 0.0.4 of Prometheus, with sums that only grow", async () => {
    const scrape = async () => {
      // Each request needs an isolate of its own: an isolate makes collectors pass on only once in two seconds.
      const response = await isolate().fetch("/admin/v1/metrics/prometheus", bearer(operator));
      expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
      return parse(await response.text());
    };
    const first = await scrape();
    await isolate().fetch("/admin/v1/tenants", bearer(operator));
    const second = await scrape();
    expect([...first.types.keys()]).toHaveLength(Object.keys(METRICS).length - 1);
    expect(first.types.get("plinth_requests_total")).toBe("counter");
    expect(first.types.get("plinth_request_time_seconds")).toBe("histogram");
    expect(first.types.get("plinth_consumer_lag")).toBe("gauge");
    const series = 'plinth_requests_total{service="admin",status="2xx"}';
    expect(second.samples.get(series)).toBeGreaterThan(first.samples.get(series)!);
    for (const [name, type] of first.types)
      if (type !== "gauge")
        for (const [key, value] of first.samples)
          if (key.startsWith(name)) expect(second.samples.get(key), key).toBeGreaterThanOrEqual(value);
  });

  it("has the failures that alerts watch before the first one, since a rate needs a value before it", async () => {
    const response = await isolate().fetch("/admin/v1/metrics/prometheus", bearer(operator));
    const { samples } = parse(await response.text());
    for (const service of METERED_SERVICES) {
      expect(samples.get(`plinth_requests_total{service="${service}",status="5xx"}`)).toBe(0);
      expect(samples.get(`plinth_d1_failures_total{service="${service}"}`)).toBe(0);
    }
  });

  it("is only for operators", async () => {
    expect((await call("/admin/v1/metrics/prometheus")).status).toBe(401);
  });
});

/** Reads the text format. Throws if `promtool check metrics` would refuse it. */
function parse(text: string): { types: Map<string, string>; samples: Map<string, number> } {
  const [types, samples, helped] = [new Map<string, string>(), new Map<string, number>(), new Set<string>()];
  const buckets = new Map<string, { le: number; value: number }[]>();
  expect(text.endsWith("\n")).toBe(true);
  let current = "";
  for (const line of text.slice(0, -1).split("\n")) {
    const [, keyword, name = "", rest = ""] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? [];
    if (keyword === "HELP") {
      expect(helped.has(name), line).toBe(false);
      helped.add(name);
      current = name;
    } else if (keyword === "TYPE") {
      expect(name, line).toBe(current);
      expect(["counter", "gauge", "histogram"]).toContain(rest);
      expect(name.endsWith("_total"), line).toBe(rest === "counter");
      expect(name, line).toMatch(/^[a-z][a-z0-9_]*$/);
      expect(name, line).not.toMatch(/_(ms|hours|count|sum|bucket|info)(_total)?$/);
      types.set(name, rest);
    } else {
      const sample = /^([a-z0-9_]+)\{((?:[a-z_]+="[^"\\\n]*",?)+)\} (\S+)$/.exec(line);
      expect(sample, line).not.toBeNull();
      const [, of = "", labels = "", value = ""] = sample!;
      expect(of === current || (types.get(current) === "histogram" && of.startsWith(`${current}_`)), line).toBe(true);
      expect(Number.isFinite(Number(value)) && Number(value) >= 0, line).toBe(true);
      const key = `${of}{${labels}}`;
      expect(samples.has(key), line).toBe(false);
      samples.set(key, Number(value));
      const le = /,?le="([^"]+)"/.exec(labels);
      if (le === null) continue;
      const whole = `${current}{${labels.replace(le[0], "")}}`;
      const bound = le[1] === "+Inf" ? Infinity : Number(le[1]);
      buckets.set(whole, [...(buckets.get(whole) ?? []), { le: bound, value: Number(value) }]);
    }
  }
  for (const [whole, found] of buckets) {
    expect(found.at(-1)!.le, whole).toBe(Infinity);
    expect(found.map(({ le }) => le)).toEqual(found.map(({ le }) => le).toSorted((one, other) => one - other));
    expect(found.map(({ value }) => value)).toEqual(
      found.map(({ value }) => value).toSorted((one, other) => one - other),
    );
    expect(samples.get(whole.replace("{", "_count{"))).toBe(found.at(-1)!.value);
    expect(samples.get(whole.replace("{", "_sum{"))).toBeGreaterThanOrEqual(0);
  }
  expect(buckets.size).toBeGreaterThan(0);
  return { types, samples };
}

describe("metrics whose object restarts", () => {
  it("are 503, to be asked for again, and missing among the shards", async () => {
    const away = () => Promise.reject(Object.assign(new Error("reset"), { durableObjectReset: true }));
    const stores = { getByName: () => ({ read: away, top: away, readTotals: away }) };
    const { fetch } = isolate({ METRICS_STORE: stores as never });
    for (const page of ["metrics", "metrics/tenants", "metrics/prometheus"]) {
      const { status, headers } = await fetch(`/admin/v1/${page}`, bearer(operator));
      expect([page, status, Number(headers.get("retry-after")) > 0]).toEqual([page, 503, true]);
    }
    const shards = await expectJson<any[]>(await fetch("/admin/v1/shards", bearer(operator)), 200);
    expect(new Set(shards.map(({ roundTrips }) => roundTrips))).toEqual(new Set([null]));
  });
});
