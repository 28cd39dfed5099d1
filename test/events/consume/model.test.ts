import * as fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { modelRuns } from "../../support/model-runs.ts";
import { eventsApp } from "../support/events-app.ts";
import { makeTopic, payloads, type TestTopic } from "../support/test-topic.ts";
import { onTopic } from "./direct-driver.ts";
import { overHttp } from "./http-driver.ts";
import { runSchedule, schedule } from "./schedules.ts";

const app = eventsApp();
const TENANTS = ["tenant1", "tenant2", "tenant3", "tenant5"];
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

async function makeModelTopic(shards: number): Promise<TestTopic> {
  const topic = await makeTopic(app, { shards });
  for (const tenant of TENANTS) app.actsFor.add(`${topic.owner.clientId} ${tenant}`);
  return topic;
}

/** `<tenant> <number>`, numbered in the order of publishing. */
const label = (tenant: string, number: number) => `${tenant} ${number}`;
const numberOf = (payload: string) => Number(payload.split(" ")[1]);
const tenantOf = (payload: string) => payload.split(" ")[0]!;

/**
 * Random schedules of publish, read, commit, extend, release and seek, with repeated keys, alone and in parallel, with
 * passing time, evicted objects, unreachable logs, retention, and topics deleted and created again, by isolates with
 * stale caches. Every answer must be one that the model (consumer-model.ts) allows. A failure prints the seed and the
 * schedule (model-runs.ts runs it again).
 */
describe("random schedules", () => {
  // Ahead of the real time, so that no alarm comes by itself.
  const startMs = Date.now() + 86_400_000;
  // shows: events/read-and-commit/order
  // shows: events/read-and-commit/new-consumer
  it.each([
    ["of one reader on 1 shard", 1, modelRuns("EVENTS_SCHEDULES", 6), onTopic],
    ["of one reader on 2 shards", 2, modelRuns("EVENTS_SCHEDULES", 6), onTopic],
    [
      "of two readers over HTTP beside an adversary on 1 shard",
      1,
      modelRuns("EVENTS_ADVERSARY_SCHEDULES", 2),
      overHttp,
    ],
    [
      "of two readers over HTTP beside an adversary on 4 shards",
      4,
      modelRuns("EVENTS_ADVERSARY_SCHEDULES", 2),
      overHttp,
    ],
  ] as const)(
    "%s: nothing lost, nothing twice, in order, one lock, no old token",
    { timeout: 3_600_000 },
    async (_, shards, runs, on) => {
      vi.spyOn(console, "warn").mockReturnValue();
      await fc.assert(
        fc.asyncProperty(schedule, async (steps) => {
          vi.useFakeTimers({ toFake: ["Date"], now: startMs });
          await on(shards, (driver) => runSchedule(driver, shards, steps));
        }),
        runs,
      );
    },
  );
});

describe("thousands of events", () => {
  // shows: events/read-and-commit/order
  it.each([1, 4])("come on %i shard(s) in the order of each tenant, none lost, none twice", async (shards) => {
    const topic = await makeModelTopic(shards);
    let seed = 7;
    const upTo = (max: number) => 1 + ((seed = (seed * 48_271) % 2_147_483_647) % max);
    const total = 6000;
    const publishing = async () => {
      for (let published = 0, size = 0; published < total; published += size) {
        size = Math.min(upTo(300), total - published);
        const first = published;
        const events = Array.from({ length: size }, (_, at) => {
          const tenant = TENANTS[upTo(4) - 1]!;
          return { tenant, payload: label(tenant, first + at) };
        });
        await topic.put(events);
      }
    };
    const seen: string[] = [];
    const reading = async () => {
      while (seen.length < total) {
        const read = await topic.read({ numEvents: upTo(400) });
        if (read.status === 204) {
          // Without this wait, calls within one process would keep its timers from running.
          await scheduler.wait(1);
          continue;
        }
        seen.push(...payloads(read));
        expect((await topic.commit(read.token)).status).toBe(200);
      }
    };
    await Promise.all([publishing(), reading()]);
    expect(new Set(seen).size).toBe(total);
    for (const tenant of TENANTS) {
      const numbers = seen.filter((payload) => tenantOf(payload) === tenant).map(numberOf);
      expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    }
    expect((await topic.read()).status).toBe(204);
  });
});
