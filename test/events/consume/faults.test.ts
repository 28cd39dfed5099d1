import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { TopicConsumer } from "../../../src/events/consume/topic-consumer.do.ts";
import {
  answerLost,
  breakLogs,
  failing,
  hanging,
  late,
  logsWith,
  noWaiting,
  type Fault,
  type LogCall,
} from "../support/broken-log.ts";
import { eventsApp, type EventsCall } from "../support/events-app.ts";
import { inShard } from "../support/in-shard.ts";
import { expectProblem, faults } from "../support/problem.ts";
import { makeTopic, once, payloads, type ReadAnswer, type TestTopic } from "../support/test-topic.ts";
import { objectsOf } from "../support/topic-objects.ts";

/**
 * Faults around a consumer, one at a time: the object ends between two steps; a log answers late, wrongly, never, or
 * that it is gone; a response is lost. Afterwards the client repeats its request, as real clients do. Nothing may be
 * lost, and no committed event may come again.
 */
const app = eventsApp();
const ALL = ["p1", "p2", "p3", "p4"];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
  vi.spyOn(console, "warn").mockReturnValue();
  noWaiting();
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const pass = (ms: number) => void vi.setSystemTime(Date.now() + ms);

/** A topic with four events, a millisecond apart, in turn on two shards. */
async function fourEvents(): Promise<TestTopic> {
  const topic = await makeTopic(app, { shards: 2 });
  const tenants = [inShard(0, 2, "tenant"), inShard(1, 2, "tenant")];
  for (const tenant of tenants) app.actsFor.add(`${topic.owner.clientId} ${tenant}`);
  for (const [at, payload] of ALL.entries()) {
    await topic.put({ payload, tenant: tenants[at % 2] });
    pass(1);
  }
  return topic;
}

/** Reads and commits until there is nothing more; returns the events. */
async function rest(topic: TestTopic): Promise<string[]> {
  const got: string[] = [];
  for (let reads = 0; reads < 10; reads++) {
    const read = await topic.read({ numEvents: 3 });
    if (read.status === 204) {
      expect(read.response.headers.get("link")).toBeNull();
      return got;
    }
    expect(read.status).toBe(200);
    expect((await topic.commit(read.token)).status).toBe(200);
    got.push(...payloads(read));
  }
  throw new Error("it never ends");
}

const whyNot = async (response: Response) => faults(await expectProblem(response, 409, "topic_not_locked"));
const seen = (read: ReadAnswer) => [read.events, read.token, read.response.headers.get("plat-delivery-attempt")];

/** An operation, its preparation, and its repeat by a client that got no answer. */
interface Scene {
  readonly name: string;
  readonly method: "read" | "commit" | "extend" | "release" | "seek";
  before?(topic: TestTopic): Promise<ReadAnswer | void>;
  run(topic: TestTopic, held: ReadAnswer | void): Promise<Response>;
  /** Repeats the call and checks its promise. Leaves the topic unlocked; returns the events left to read. */
  again(topic: TestTopic, held: ReadAnswer | void): Promise<readonly string[]>;
}

const readTwo = (topic: TestTopic) => topic.read({ numEvents: 2, ttlMs: 4000 });
const doneOr = async (response: Response, ...reasons: string[]) => {
  if (response.status !== 200) expect(reasons.map((why) => [`${why} token`])).toContainEqual(await whyNot(response));
};

/** Repeats a read without a key. It gets the events at once if nothing had happened, else after the lock expired. */
async function readAgain(topic: TestTopic, expected = ["p1", "p2"]): Promise<readonly string[]> {
  let read = await readTwo(topic);
  if (read.status === 409) {
    expect(Number(read.response.headers.get("retry-after"))).toBeGreaterThan(0);
    pass(4000);
    read = await readTwo(topic);
  }
  expect(payloads(read)).toEqual(expected);
  expect((await topic.commit(read.token)).status).toBe(200);
  return ALL.slice(ALL.indexOf(expected.at(-1)!) + 1);
}

const keyed = (topic: TestTopic) => topic.read({ numEvents: 2, ttlMs: 4000 }, once("k"));

const SCENES: readonly Scene[] = [
  {
    name: "a first read",
    method: "read",
    run: async (topic) => (await readTwo(topic)).response,
    again: (topic) => readAgain(topic),
  },
  {
    name: "a read that has to look at the logs",
    method: "read",
    before: async (topic) => void (await topic.post("seek", { to: "oldest" })),
    run: async (topic) => (await readTwo(topic)).response,
    again: (topic) => readAgain(topic),
  },
  {
    name: "a read from memory",
    method: "read",
    before: async (topic) => void (await topic.commit((await readTwo(topic)).token)),
    run: async (topic) => (await readTwo(topic)).response,
    again: (topic) => readAgain(topic, ["p3", "p4"]),
  },
  {
    name: "a read with a key",
    method: "read",
    run: async (topic) => (await keyed(topic)).response,
    async again(topic) {
      const [first, second] = [await keyed(topic), await keyed(topic)];
      expect(payloads(first)).toEqual(["p1", "p2"]);
      expect(seen(second)).toEqual(seen(first));
      expect((await topic.commit(first.token)).status).toBe(200);
      return ["p3", "p4"];
    },
  },
  {
    name: "a read that is repeated by key",
    method: "read",
    before: keyed,
    run: async (topic) => (await keyed(topic)).response,
    async again(topic, held) {
      expect(seen(await keyed(topic))).toEqual(seen(held!));
      expect((await topic.commit(held!.token)).status).toBe(200);
      return ["p3", "p4"];
    },
  },
  {
    name: "a read that finds nothing",
    method: "read",
    before: async (topic) => void (await topic.post("seek", { to: "newest" })),
    run: async (topic) => (await readTwo(topic)).response,
    async again(topic) {
      expect((await readTwo(topic)).status).toBe(204);
      return [];
    },
  },
  {
    name: "a commit",
    method: "commit",
    before: readTwo,
    run: (topic, held) => topic.commit(held!.token),
    async again(topic, held) {
      await doneOr(await topic.commit(held!.token), "already_committed");
      expect(await whyNot(await topic.commit(held!.token))).toEqual(["already_committed token"]);
      return ["p3", "p4"];
    },
  },
  {
    name: "an extend",
    method: "extend",
    before: readTwo,
    run: (topic, held) => topic.post("extend", { token: held!.token, ttlMs: 60_000 }),
    async again(topic, held) {
      expect((await topic.post("extend", { token: held!.token, ttlMs: 60_000 })).status).toBe(200);
      pass(59_999);
      expect((await readTwo(topic)).status).toBe(409);
      expect((await topic.commit(held!.token)).status).toBe(200);
      return ["p3", "p4"];
    },
  },
  {
    name: "a release",
    method: "release",
    before: readTwo,
    run: (topic, held) => topic.post("release", { token: held!.token }),
    async again(topic, held) {
      await doneOr(await topic.post("release", { token: held!.token }), "lock_expired");
      return ALL;
    },
  },
  {
    name: "a release with commitThrough",
    method: "release",
    before: readTwo,
    run: (topic, held) => topic.post("release", { token: held!.token, commitThrough: held!.events[0]!.id }),
    async again(topic, held) {
      const body = { token: held!.token, commitThrough: held!.events[0]!.id };
      await doneOr(await topic.post("release", body), "already_committed");
      return ALL.slice(1);
    },
  },
  {
    name: "a seek to the newest",
    method: "seek",
    before: async (topic) => void (await topic.commit((await readTwo(topic)).token)),
    run: (topic) => topic.post("seek", { to: "newest" }),
    async again(topic) {
      expect((await topic.post("seek", { to: "newest" })).status).toBe(200);
      return [];
    },
  },
  {
    name: "a first seek",
    method: "seek",
    run: (topic) => topic.post("seek", { to: "oldest" }),
    async again(topic) {
      expect((await topic.post("seek", { to: "oldest" })).status).toBe(200);
      return ALL;
    },
  },
];

/**
 * Ends the consumer's object at a step, before or after a statement or a call of a log, so that memory and unwritten
 * data are lost. Returns the number of steps it had taken at the end.
 */
async function abortAtStep(topic: TestTopic, last: number): Promise<() => number> {
  const { consumer } = await objectsOf(topic);
  let steps = 0;
  await runInDurableObject(consumer, (instance: TopicConsumer, state) => {
    const step = () => {
      if (steps++ === last) state.abort(`step ${last}`);
    };
    const { sql } = state.storage;
    const exec = sql.exec.bind(sql);
    const stepping: typeof sql.exec = (query, ...bindings) => {
      step();
      const cursor = exec(query, ...bindings);
      step();
      return cursor as never;
    };
    sql.exec = stepping;
    const logs = logsWith(() => async (real) => {
      step();
      const answer = await real();
      step();
      return answer;
    });
    const own = instance as unknown as { env: object };
    own.env = { ...own.env, TOPIC_LOG: logs };
  });
  return () => steps;
}

describe("the object ends between two steps of", () => {
  // shows: events/read-and-commit/lock-token-cursor
  it.each(SCENES)("$name", async (scene) => {
    let ends = 0;
    for (let last = 0; ; last++) {
      const topic = await fourEvents();
      const held = await scene.before?.(topic);
      const steps = await abortAtStep(topic, last);
      const response = await scene.run(topic, held);
      if (steps() <= last) {
        // The operation took all of its steps.
        expect(response.status).toBeLessThan(300);
        break;
      }
      ends += 1;
      expect(`${last} ${response.status}`).toBe(`${last} 503`);
      const left = await scene.again(topic, held);
      expect(await rest(topic)).toEqual(left);
    }
    // An operation has a statement or a call, and can end before and after it.
    expect(ends).toBeGreaterThanOrEqual(2);
  });

  it.each(SCENES)("$name and its answer, with everything on disk", async (scene) => {
    const topic = await fourEvents();
    const held = await scene.before?.(topic);
    const real = TopicConsumer.prototype[scene.method] as (...args: unknown[]) => unknown;
    vi.spyOn(TopicConsumer.prototype, scene.method).mockImplementationOnce(async function (
      this: TopicConsumer,
      ...args: unknown[]
    ) {
      await real.apply(this, args);
      const { ctx } = this as unknown as { ctx: DurableObjectState };
      await ctx.storage.sync();
      ctx.abort("all is on disk");
    } as never);
    expect((await scene.run(topic, held)).status).toBe(503);
    const left = await scene.again(topic, held);
    expect(await rest(topic)).toEqual(left);
  });
});

describe("an answer is lost on its way to the client", () => {
  it.each(SCENES)("of $name", async (scene) => {
    const topic = await fourEvents();
    const held = await scene.before?.(topic);
    await scene.run(topic, held);
    const left = await scene.again(topic, held);
    expect(await rest(topic)).toEqual(left);
  });
});

/** Faults of a log, and the log lines they cause. */
const FAULTS: readonly (readonly [string, Fault, said: string])[] = [
  ["fails", failing, "the log is out of reach"],
  ["does not answer within 5 s", hanging, "no answer within 5000 ms"],
  ["does it, and the answer is lost", answerLost, "the answer was lost"],
  ["answers after 5 s", late, "no answer within 5000 ms"],
];

/** The calls of logs that an operation makes, and the client's response when the call to one shard fails. */
const ASKED: readonly (readonly [Scene["name"], LogCall, shard: number, told: "more" | "503" | "events"])[] = [
  ["a first read", "read", 0, "events"],
  ["a first read", "read", 1, "events"],
  ["a first read", "addConsumer", 0, "more"],
  ["a read with a key", "read", 1, "events"],
  ["a read with a key", "addConsumer", 0, "more"],
  ["a read that is repeated by key", "read", 0, "503"],
  ["a read that is repeated by key", "read", 1, "503"],
  ["a seek to the newest", "positionBefore", 0, "503"],
  ["a seek to the newest", "positionBefore", 1, "503"],
  ["a first seek", "addConsumer", 0, "503"],
];

describe.each(FAULTS)("a log that %s", (_, fault, said) => {
  it.each(ASKED)("in %s: %s of shard %i", async (name, call, shard, told) => {
    const scene = SCENES.find((one) => one.name === name)!;
    const topic = await fourEvents();
    const held = await scene.before?.(topic);
    const { consumer } = await objectsOf(topic);
    const mend = await breakLogs(consumer, (asked, of) => (asked === call && of === shard ? fault : undefined));
    const warn = vi.spyOn(console, "warn").mockReturnValue();
    const response = await scene.run(topic, held);
    const lines = warn.mock.calls.map(([line]) => JSON.parse(String(line)) as { event: string });
    expect(lines).toContainEqual(
      expect.objectContaining({ event: "topic log failed", shard, error: expect.stringContaining(said) }),
    );
    if (told === "503") await expectProblem(response, 503, "service_temporarily_unavailable");
    else if (told === "more") {
      expect(response.status).toBe(204);
      expect(response.headers.get("link")).toContain('rel="more"');
    } else {
      // The events of the other shard come, and the lock is only on them.
      const body = (await response.json()) as { token: string; events: { payload: string }[] };
      expect(body.events.map((event) => event.payload)).toEqual(shard === 0 ? ["p2", "p4"] : ["p1", "p3"]);
      expect((await topic.post("release", { token: body.token })).status).toBe(200);
    }
    await mend();
    const left = await scene.again(topic, held);
    expect(await rest(topic)).toEqual(left);
  });

  it("in a read of every shard: a client that follows rel=more gets the events when the logs are back", async () => {
    const topic = await fourEvents();
    let answers = 0;
    const { consumer } = await objectsOf(topic);
    // Every shard recovers at another time.
    await breakLogs(consumer, (_asked, shard) => (answers++ < 4 + 3 * shard ? fault : undefined));
    const got: string[] = [];
    let reads = 0;
    for (let next: string | undefined = `${topic.path}/read`; next !== undefined; reads++) {
      expect(reads).toBeLessThan(20);
      const init: EventsCall = { as: topic.owner, json: { numEvents: 1, autoCommit: true } };
      const response: Response = await app.call(next, init);
      if (response.status === 200) {
        const { events } = (await response.json()) as { events: { payload: string }[] };
        got.push(...events.map((event) => event.payload));
      } else {
        expect(response.status).toBe(204);
        next = /<([^>]+)>; rel="more"/.exec(response.headers.get("link") ?? "")?.[1];
      }
    }
    expect(got.toSorted()).toEqual(ALL);
  });

  // shows: events/read-and-commit/204-with-rel-more
  it.each(["read", "addConsumer"] as const)(
    "in %s, permanently: following rel=more ends in 503, and the events come when the logs are back",
    async (call) => {
      const topic = await fourEvents();
      const { consumer } = await objectsOf(topic);
      const mend = await breakLogs(consumer, (asked) => (asked === call ? fault : undefined));
      const statuses: number[] = [];
      while (statuses.at(-1) !== 503 && statuses.length < 20) {
        const { response } = await topic.read();
        statuses.push(response.status);
        expect(response.headers.has("link")).toBe(response.status === 204);
        expect(response.headers.has("retry-after")).toBe(response.status === 503);
      }
      expect(statuses).toEqual([204, 204, 204, 204, 503]);
      expect((await topic.read()).status).toBe(503);
      await mend();
      expect(await rest(topic)).toEqual(ALL);
    },
  );
});

describe("a log that says that it is gone while its topic is being deleted", () => {
  const gone: Fault = () => Promise.resolve("gone");
  const goneRead: Fault = () => Promise.resolve({ kind: "gone" });
  it.each([
    ...ASKED.map(([name, call, shard]) => [name, call, shard] as const),
    ["a release with commitThrough", "timeOf", 0] as const,
  ])("answers 404 in %s: %s of shard %i", async (name, call, shard) => {
    const scene = SCENES.find((one) => one.name === name)!;
    const topic = await fourEvents();
    const held = await scene.before?.(topic);
    const { consumer, logs } = await objectsOf(topic);
    if (call === "timeOf") await logs[shard]!.close();
    else
      await breakLogs(consumer, (asked, of) =>
        asked === call && of === shard ? (call === "read" ? goneRead : gone) : undefined,
      );
    await expectProblem(await scene.run(topic, held), 404, "element_resource_non_existing");
  });
});
