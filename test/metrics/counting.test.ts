import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { createMeter } from "../../src/metrics/meter.ts";
import { decodeTenants, EVERYBODY, type ByMinute } from "../../src/metrics/model/counts.ts";
import { LIMITS, STEPS, type Step } from "../../src/metrics/model/limits.ts";
import { placeOf } from "../../src/metrics/model/places.ts";
import { MetricsStore } from "../../src/metrics/store.do.ts";
import { heardLog } from "../support/runtime/heard-log.ts";
import { unique } from "../support/platform/unique.ts";

/** Real objects, and a clock that a test moves. */
const MINUTE = STEPS.minute.ms;

function world() {
  const collector = env.METRICS_COLLECTOR.getByName(unique("collector"));
  const clock = { ms: Math.floor(Date.now() / STEPS.day.ms) * STEPS.day.ms, nowMs: () => clock.ms };
  const isolate = (fault: { lose: "nothing" | "request" | "response" } = { lose: "nothing" }) => {
    const name = unique("isolate");
    return createMeter({
      clock,
      log: heardLog,
      wait: undefined,
      async send(number, counts) {
        if (fault.lose === "request") throw new Error("the request is lost");
        await collector.add(name, number, counts);
        if (fault.lose === "response") throw new Error("the response is lost");
      },
    });
  };
  const read = async (tenant: string, step: Step, name: string): Promise<number[]> => {
    await collector.passOn();
    const store = env.METRICS_STORE.getByName(placeOf(tenant).store);
    const rows = await store.read(tenant, step, 0, clock.ms + STEPS.day.ms);
    return rows.map(({ counts }) => (JSON.parse(counts) as Record<string, number>)[name] ?? 0);
  };
  return { collector, clock, isolate, read };
}

const REQUESTS = { service: "media", label: "2xx" } as const;
const NAME = "requests media 2xx";

describe("Counts of isolates", () => {
  it("add up exactly, by tenant and for everybody", async () => {
    const { isolate, read } = world();
    const [tenant, other] = [unique("t"), unique("t")];
    const [first, second] = [isolate(), isolate()];
    const before = (await read(EVERYBODY, "day", NAME)).at(-1) ?? 0;
    for (let n = 0; n < 3; n++) first.add("requests", { ...REQUESTS, tenant });
    await first.flush();
    second.add("requests", { ...REQUESTS, tenant }, 4);
    second.add("requests", { ...REQUESTS, tenant: other });
    second.add("requests", REQUESTS);
    await second.flush();
    first.add("requests", { ...REQUESTS, tenant });
    await first.flush();
    expect(await read(tenant, "minute", NAME)).toEqual([8]);
    expect(await read(other, "hour", NAME)).toEqual([1]);
    expect((await read(EVERYBODY, "day", NAME)).at(-1)! - before).toBe(10);
  });

  it("count once if a request or a response of a batch is lost", async () => {
    const { clock, isolate, read } = world();
    const tenant = unique("t");
    const fault: { lose: "nothing" | "request" | "response" } = { lose: "request" };
    const meter = isolate(fault);
    for (const lose of ["request", "response", "response", "nothing"] as const) {
      fault.lose = lose;
      meter.add("requests", { ...REQUESTS, tenant });
      await meter.flush();
      clock.ms += 10_000;
    }
    expect(await read(tenant, "minute", NAME)).toEqual([4]);
  });

  it("keep the largest value of a peak, and each bucket of a histogram", async () => {
    const { clock, isolate, read } = world();
    const by = { service: "events", tenant: unique("t") } as const;
    const [first, second] = [isolate(), isolate()];
    first.peak("consumer_lag", by, 7);
    first.peak("consumer_lag", by, 3);
    second.peak("consumer_lag", by, 5);
    for (const ms of [0, 5, 6, 20_000]) second.observe("request_time", by, ms);
    await Promise.all([first.flush(), second.flush()]);
    clock.ms += MINUTE;
    first.peak("consumer_lag", by, 6);
    await first.flush();
    expect(await read(by.tenant, "minute", "consumer_lag events")).toEqual([7, 6]);
    expect(await read(by.tenant, "hour", "consumer_lag events")).toEqual([7]);
    for (const [bucket, count] of [
      ["5", 2],
      ["10", 1],
      ["inf", 1],
      ["sum", 20_011],
    ] as const)
      expect(await read(by.tenant, "hour", `request_time events ${bucket}`)).toEqual([count]);
  });

  it("have the same sums by minute, hour and day, in any order of the messages", async () => {
    const { clock, isolate, read } = world();
    const start = clock.ms;
    const isolates = [isolate(), isolate(), isolate()];
    const tenants = [unique("t"), unique("t")];
    const expected = new Map<string, number>();
    let chance = 11;
    const pick = (below: number): number => (chance = (chance * 48_271) % 2_147_483_647) % below;
    for (let n = 0; n < 300; n++) {
      clock.ms = start + pick(STEPS.day.ms);
      const [tenant, amount] = [tenants[pick(2)]!, pick(9)];
      const meter = isolates[pick(3)]!;
      meter.add("requests", { ...REQUESTS, tenant }, amount);
      expected.set(tenant, (expected.get(tenant) ?? 0) + amount);
      if (pick(9) === 0) await meter.flush();
    }
    clock.ms = start + STEPS.day.ms - 1;
    for (const meter of isolates) await meter.flush();
    const sum = (values: number[]): number => values.reduce((all, value) => all + value, 0);
    for (const tenant of tenants) {
      const minutes = await read(tenant, "minute", NAME);
      expect(minutes.length).toBeGreaterThan(24);
      for (const values of [minutes, await read(tenant, "hour", NAME), await read(tenant, "day", NAME)])
        expect(sum(values)).toBe(expected.get(tenant));
    }
  });
});

describe("A meter", () => {
  function sending(wait?: (ms: number) => Promise<void>) {
    const clock = { ms: 0, nowMs: () => clock.ms };
    const batches: { readonly number: number; readonly counts: ByMinute }[] = [];
    const beside: Promise<unknown>[] = [];
    let stuck: Promise<void> | undefined;
    const send = async (number: number, counts: ByMinute) => {
      batches.push({ number, counts });
      await stuck;
    };
    const meter = createMeter({ clock, log: heardLog, wait, send });
    const answer = () => meter.flushBeside((work) => void beside.push(work));
    return { clock, batches, beside, meter, answer, stick: (until: Promise<void>) => void (stuck = until) };
  }
  const count = (counts: ByMinute, tenant: string = EVERYBODY): number =>
    [...counts.values()].reduce((sum, tenants) => sum + (tenants.get(tenant)?.get(NAME) ?? 0), 0);

  it("sends after the first response, and then at most once in ten seconds", async () => {
    const { clock, batches, beside, meter, answer } = sending();
    for (let n = 0; n < 25; n++) {
      meter.add("requests", REQUESTS);
      answer();
      await Promise.all(beside);
      clock.ms += 1_000;
    }
    expect(batches.map(({ counts }) => count(counts))).toEqual([1, 10, 10]);
  });

  it("sends the last counts of a burst without another request", async () => {
    const waits: (() => void)[] = [];
    const { clock, batches, beside, meter, answer } = sending(() => new Promise((done) => waits.push(done)));
    for (let n = 0; n < 5; n++) {
      meter.add("requests", REQUESTS);
      answer();
    }
    expect([batches.length, waits.length]).toEqual([1, 1]);
    await beside[0];
    clock.ms += LIMITS.flushMs;
    waits[0]!();
    await Promise.all(beside);
    expect(batches.map(({ counts }) => count(counts))).toEqual([1, 4]);
  });

  it("repeats a batch under its number if the request that sent it was cut off", async () => {
    const { clock, batches, meter, answer, stick } = sending();
    meter.add("requests", REQUESTS);
    stick(new Promise(() => {}));
    answer();
    meter.add("requests", REQUESTS, 2);
    clock.ms += LIMITS.sendMs - 1;
    answer();
    expect(batches).toHaveLength(1);
    clock.ms += 1;
    stick(Promise.resolve());
    await meter.flush();
    expect(batches.map(({ number, counts }) => [number, count(counts)])).toEqual([
      [1, 1],
      [1, 1],
      [2, 2],
    ]);
  });

  it("counts further tenants only for everybody once a batch is full", async () => {
    const { batches, meter } = sending();
    for (let n = 0; n <= LIMITS.batchTenants; n++) meter.add("requests", { ...REQUESTS, tenant: `t${n}` });
    await meter.flush();
    const { counts } = batches[0]!;
    expect(count(counts)).toBe(LIMITS.batchTenants + 1);
    expect(count(counts, `t${LIMITS.batchTenants}`)).toBe(0);
    expect(count(counts, `t${LIMITS.batchTenants - 1}`)).toBe(1);
  });

  it.each([
    ["nobody takes them", () => Promise.reject(new Error("away"))],
    ["whoever takes them hangs", () => new Promise<void>(() => {})],
  ])("holds ten minutes while %s", async (_, away) => {
    const { clock, meter, stick, batches } = sending();
    stick(away());
    for (let minute = 0; minute < 20; minute++) {
      meter.add("requests", REQUESTS);
      await Promise.race([meter.flush(), scheduler.wait(1)]);
      clock.ms += MINUTE;
    }
    stick(Promise.resolve());
    await meter.flush();
    expect(batches.at(-1)!.counts.size).toBe(LIMITS.heldMinutes);
  });
});

/** Sends one request of a new tenant to the collector. */
async function countedOnce(meter: ReturnType<ReturnType<typeof world>["isolate"]>): Promise<string> {
  const tenant = unique("t");
  meter.add("requests", { ...REQUESTS, tenant });
  await meter.flush();
  return tenant;
}

describe("A collector", () => {
  it("passes the counts of its isolates on by its alarm", async () => {
    const { collector, isolate, clock } = world();
    const tenant = await countedOnce(isolate());
    expect(await runDurableObjectAlarm(collector)).toBe(true);
    const store = env.METRICS_STORE.getByName(placeOf(tenant).store);
    expect(await store.read(tenant, "minute", clock.ms, clock.ms + 1)).toHaveLength(1);
    await runInDurableObject(collector, (_, { storage: { sql } }) => {
      expect(sql.exec(`SELECT counts FROM sender`).toArray()).toEqual([{ counts: "" }]);
      expect(sql.exec(`SELECT * FROM message`).toArray()).toEqual([]);
    });
  });

  it("is woken by its first alarm, even if it is evicted before each batch", async () => {
    const { collector, isolate } = world();
    const alarmMs = () => runInDurableObject(collector, (_, { storage }) => storage.getAlarm());
    const meter = isolate();
    const alarms: (number | null)[] = [];
    for (let n = 0; n < 3; n++) {
      meter.add("requests", REQUESTS);
      await meter.flush();
      alarms.push(await alarmMs());
      await evictDurableObject(collector);
      await scheduler.wait(5);
    }
    expect(alarms[0]).toBeGreaterThan(Date.now());
    expect(alarms).toEqual([alarms[0], alarms[0], alarms[0]]);
  });

  it("sets another alarm if a store does not answer", async () => {
    const { collector, isolate, read } = world();
    const tenant = await countedOnce(isolate());
    const away = vi.spyOn(MetricsStore.prototype, "put").mockImplementation(() => {
      throw new Error("out of reach");
    });
    expect(await runDurableObjectAlarm(collector)).toBe(true);
    away.mockRestore();
    expect(await runInDurableObject(collector, (_, { storage }) => storage.getAlarm())).toBeGreaterThan(Date.now());
    expect(await runDurableObjectAlarm(collector)).toBe(true);
    expect(await read(tenant, "minute", NAME)).toEqual([1]);
  });

  it("passes a message on again if the response of its store is lost, and it counts once", async () => {
    const { collector, isolate, read } = world();
    const tenant = await countedOnce(isolate());
    const sealed = await runInDurableObject(collector, async (object, { storage: { sql } }) => {
      await object.passOn();
      // The next message gets the number after this one.
      return sql.exec<{ seq: number }>(`SELECT seq FROM sqlite_sequence WHERE name = 'message'`).one().seq;
    });
    expect(sealed).toBe(2);
    const store = env.METRICS_STORE.getByName(placeOf(tenant).store);
    const text = JSON.stringify([[0, JSON.stringify({ [tenant]: { [NAME]: 100 } })]]);
    for (let number = 1; number <= sealed; number++) await store.put(collector.id.toString(), number, text);
    expect(await read(tenant, "day", NAME)).toEqual([1]);
  });
});

describe("A store", () => {
  it("deletes minutes after two days, hours after 90 and days after two years", async () => {
    const store = env.METRICS_STORE.getByName(unique("store"));
    const tenant = unique("t");
    const nowMs = Date.now();
    const put = (number: number, atMs: number) =>
      store.put("test", number, JSON.stringify([[atMs, JSON.stringify({ [tenant]: { [NAME]: 1 } })]]));
    await put(1, nowMs);
    await runInDurableObject(store, (_, { storage: { sql } }) => {
      for (const step of ["minute", "hour", "day"] as const)
        for (const ageMs of [STEPS[step].keptMs - STEPS[step].ms, STEPS[step].keptMs + 2 * STEPS[step].ms])
          sql.exec(
            `INSERT INTO pack VALUES (?, ?, ?, ?)`,
            step,
            placeOf(tenant).group,
            nowMs - ageMs,
            JSON.stringify({ [tenant]: { [NAME]: 1 } }),
          );
    });
    await runDurableObjectAlarm(store);
    for (const step of ["minute", "hour", "day"] as const)
      expect(await store.read(tenant, step, 0, nowMs + 1), step).toHaveLength(2);
    // A message that is older than the minutes still counts for its day.
    await put(2, nowMs - 3 * STEPS.day.ms);
    expect(await store.read(tenant, "minute", 0, nowMs + 1)).toHaveLength(2);
    expect(await store.read(tenant, "day", 0, nowMs + 1)).toHaveLength(3);
  });

  it("takes no new tenants into a full pack, and loses none that it has", async () => {
    const store = env.METRICS_STORE.getByName(unique("store"));
    const tenant = "tenant0";
    const { group } = placeOf(tenant);
    const late = Array.from({ length: 500 }, (_, n) => `tenant${n + 1}`).find((one) => placeOf(one).group === group)!;
    const nowMs = Date.now();
    await store.put("test", 1, JSON.stringify([[nowMs, JSON.stringify({ [tenant]: { [NAME]: 1 } })]]));
    await runInDurableObject(store, (_, { storage: { sql } }) => {
      const full = JSON.stringify({ [tenant]: { [NAME]: 1 }, filling: { x: "y".repeat(LIMITS.packChars) } });
      sql.exec(`UPDATE pack SET counts = ? WHERE step = 'day' AND grp = ?`, full, group);
    });
    const both = JSON.stringify({ [tenant]: { [NAME]: 1 }, [late]: { [NAME]: 1 } });
    await store.put("test", 2, JSON.stringify([[nowMs, both]]));
    const [day] = await store.read(tenant, "day", 0, nowMs + 1);
    expect(JSON.parse(day!.counts)).toEqual({ [NAME]: 2 });
    await runInDurableObject(store, (_, { storage: { sql } }) => {
      const { counts } = sql
        .exec<{ counts: string }>(`SELECT counts FROM pack WHERE step = 'day' AND grp = ?`, group)
        .one();
      expect([...decodeTenants(counts).keys()]).toEqual([tenant, "filling"]);
    });
  });
});
