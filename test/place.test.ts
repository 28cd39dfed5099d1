import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { placeObjects } from "../src/place.ts";
import { shardsOf } from "../src/platform/storage/shards.ts";
import { MetricsCollector, PushSubscription, TopicConsumer, TopicLog } from "../src/worker.ts";
import { eventsApp } from "./events/support/events-app.ts";
import { makeTopic, payloads, topicAt } from "./events/support/test-topic.ts";

const NAMESPACES = [
  "TOPIC_LOG",
  "TOPIC_CONSUMER",
  "PUSH_SUBSCRIPTION",
  "LOGIN_ATTEMPTS",
  "GUESS_COUNTER",
  "METRICS_COLLECTOR",
  "METRICS_STORE",
  "BACKUP_JOB",
  "SHARD_DATABASE",
] as const;

describe("objects in a jurisdiction", () => {
  /**
   * The local runtime refuses `jurisdiction()`. Cloudflare answers with a namespace in which each name stands for
   * another object; so does this one, with real objects.
   */
  const elsewhere = (asked: string[]): typeof env => {
    const bindings = NAMESPACES.map((name) => {
      const namespace = env[name];
      const jurisdiction = (where: string) => ({
        getByName: (object: string, options?: { locationHint?: string }) => {
          asked.push(`${name} ${where} ${options?.locationHint}`);
          return namespace.getByName(`${where}/${object}`);
        },
      });
      return [name, { jurisdiction }];
    });
    return { ...env, ...Object.fromEntries(bindings), JURISDICTION: "eu", LOCATION_HINT: "weur" } as typeof env;
  };

  it("are others than those without, and a topic refuses events rather than begin empty", async () => {
    const asked: string[] = [];
    const placed = eventsApp(placeObjects(elsewhere(asked)));
    const topic = await makeTopic(placed);
    await topic.put([{ payload: "in the Union" }]);
    // A read would pass through the real consumer, which is told of no jurisdiction here; this asks the log.
    const seen = await placed.call(`${topic.path}/events`, { as: topic.owner });
    const { events } = await seen.json<{ events: { payload: string }[] }>();
    expect(events.map(({ payload }) => payload)).toEqual(["in the Union"]);
    expect(new Set(asked)).toEqual(new Set(["TOPIC_LOG eu weur"]));
    // The same deployment after somebody took the jurisdiction away.
    const moved = topicAt(eventsApp(placeObjects(env)), topic.owner, topic.path);
    expect((await moved.publish([{ payload: "lost" }])).status).toBe(404);
    expect((await moved.read()).status).toBe(404);
    await topic.put([{ payload: "still" }]);
  });

  it("are asked for by each namespace of the Worker", () => {
    const asked: string[] = [];
    const bindings = placeObjects(elsewhere(asked));
    for (const name of NAMESPACES) bindings[name].getByName("x");
    expect(asked).toEqual(NAMESPACES.map((name) => `${name} eu weur`));
  });

  it.each([
    ["TOPIC_LOG", TopicLog],
    ["TOPIC_CONSUMER", TopicConsumer],
    ["PUSH_SUBSCRIPTION", PushSubscription],
    ["METRICS_COLLECTOR", MetricsCollector],
  ] as const)("are asked for by the objects behind %s", async (name, Class) => {
    const asked: string[] = [];
    const stub = env[name].getByName("an object that looks around") as DurableObjectStub;
    await runInDurableObject(stub, (_, state) => {
      const { env: own } = new Class(state, elsewhere(asked)) as unknown as { env: typeof env };
      own.TOPIC_LOG.getByName("x");
    });
    expect(asked).toEqual(["TOPIC_LOG eu weur"]);
  });

  it("are refused by a runtime that has no jurisdictions", () => {
    expect(() => placeObjects({ ...env, JURISDICTION: "eu" })).toThrow("not implemented");
  });
});

it("makes a shard where it shall be, within the jurisdiction, and one without a place of its own where the others are", async () => {
  const asked: string[] = [];
  const getByName = (object: string, options?: { locationHint?: string }) => {
    asked.push(`${object} ${options?.locationHint}`);
    return env.SHARD_DATABASE.getByName(object);
  };
  const namespace = { getByName, jurisdiction: () => namespace };
  const given = { ...env, SHARD_DATABASE: namespace, OBJECT_SHARDS: "3:auto 4:apac", LOCATION_HINT: "weur" };
  const bindings = placeObjects(given as unknown as typeof env);
  for (const { db } of shardsOf(bindings).slice(3)) await db.prepare("SELECT 1").run();
  expect(new Set(asked)).toEqual(new Set(["shard-3 weur", "shard-4 apac"]));
});

it("makes objects near a hint alone", async () => {
  const topic = await makeTopic(eventsApp(placeObjects({ ...env, LOCATION_HINT: "weur" })));
  await topic.put([{ payload: "near" }]);
  // The hint is no part of the name.
  expect(payloads(await topicAt(eventsApp(), topic.owner, topic.path).read())).toEqual(["near"]);
});
