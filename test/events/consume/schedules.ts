import * as fc from "fast-check";
import { expect, vi } from "vitest";
import { shardFor } from "../../../src/events/model/topic.ts";
import { answerAll, forget, LARGE, newWorld, type Answer, type Call, type World } from "./consumer-model.ts";

/** The system under test: a topic, and the way to reach it. */
export interface Driver {
  readonly readers: number;
  /** Retention of events; undefined if it is longer than a schedule. */
  readonly retentionMs: number | undefined;
  /** `isolate`: one of two, whose copies of records may be old. */
  call(call: Call, isolate: number): Promise<Answer>;
  /** Evicts an object, so that it loses its memory: a reader's, or a shard's log. */
  evict(what: { readonly reader: number } | { readonly shard: number }): Promise<void>;
  /** Delay of the next answers of logs to readers, in turns of the event loop. */
  delay(turns: readonly number[]): void;
  /** Makes these shards unreachable for readers from now on. Returns those for which that is possible. */
  fail(shards: readonly number[]): readonly number[];
  /** Removes the expired events of a shard. */
  trim(shard: number): Promise<void>;
  delete(isolate: number): Promise<void>;
  /** Creates the topic. False if it exists. */
  create(isolate: number): Promise<boolean>;
}

/** A token that was never issued. */
const NO_TOKEN = "1.none";
const TENANTS = ["tenant1", "tenant2", "tenant3", "tenant5"];

/** A call before its tokens and events are known; numbers choose among them. */
type Intent = { readonly by: number; readonly isolate: number } & (
  | {
      readonly do: "publish";
      readonly tenants: readonly number[];
      readonly key: string | undefined;
      readonly isLarge: boolean;
    }
  /** Repeats the latest publish, or any reader's latest read. */
  | { readonly do: "repeat"; readonly what: "publish" | "read" }
  | {
      readonly do: "read";
      readonly numEvents: number;
      readonly ttlMs: number;
      readonly autoCommit: boolean;
      readonly key: string | undefined;
    }
  /** `back`: 0 is the latest token. */
  | { readonly do: "commit" | "extend"; readonly back: number }
  /** `keep`: number of committed events of the batch. 0 names no event; a number too large names another event. */
  | { readonly do: "release"; readonly back: number; readonly keep: number }
  | { readonly do: "seek"; readonly to: "oldest" | "newest" | { readonly event: number; readonly plusMs: number } }
);

export type Step =
  | { readonly do: "call"; readonly call: Intent }
  | { readonly do: "at once"; readonly calls: readonly Intent[]; readonly delays: readonly number[] }
  | { readonly do: "wait"; readonly ms: number }
  | { readonly do: "evict"; readonly what: "reader" | "log"; readonly which: number }
  | { readonly do: "fail"; readonly shards: readonly number[] }
  | { readonly do: "trim"; readonly shard: number }
  | { readonly do: "delete" | "create"; readonly isolate: number };

const weighted = <T>(...choices: readonly [weight: number, arbitrary: fc.Arbitrary<T>][]): fc.Arbitrary<T> =>
  fc.oneof(...choices.map(([weight, arbitrary]) => ({ weight, arbitrary })));

function intent(maxTenants: number): fc.Arbitrary<Intent> {
  const [by, isolate] = [fc.nat(1), fc.nat(1)];
  const key = fc.constantFrom(undefined, undefined, "k1", "k2");
  const back = fc.constantFrom(0, 0, 0, 0, 1, 2, 20);
  const of = <F>(name: Intent["do"], fields: { [K in keyof F]: fc.Arbitrary<F[K]> }) =>
    fc.record({ do: fc.constant(name), by, isolate, ...fields }) as unknown as fc.Arbitrary<Intent>;
  const tenants =
    maxTenants === 1
      ? fc.tuple(fc.nat(3), fc.integer({ min: 1, max: 3 })).map(([tenant, count]) => Array(count).fill(tenant))
      : fc.array(fc.nat(3), { minLength: 1, maxLength: 6 });
  const numEvents = fc.integer({ min: 1, max: 5 });
  const ttlMs = fc.constantFrom(1000, 4000, 20_000);
  const to = fc.oneof(
    fc.constantFrom("oldest" as const, "newest" as const),
    fc.record({ event: fc.nat(30), plusMs: fc.integer({ min: -1, max: 1 }) }),
  );
  return weighted(
    [4, of("publish", { tenants, key, isLarge: fc.constant(false) })],
    // As many as a request may have, but rarely, since each costs as much as a hundred others.
    [
      1,
      of("publish", {
        tenants: tenants.map((them) => them.slice(0, 3)),
        key,
        isLarge: fc.nat(4).map((at) => at === 0),
      }),
    ],
    [2, of("repeat", { what: fc.constantFrom("publish", "read", "read") })],
    [7, of("read", { numEvents, ttlMs, autoCommit: fc.constantFrom(false, false, false, true), key })],
    [5, of("commit", { back })],
    [1, of("extend", { back })],
    [2, of("release", { back, keep: fc.nat(5) })],
    [1, of("seek", { to })],
  );
}

const isolate = fc.nat(1);
const step: fc.Arbitrary<Step> = weighted<Step>(
  [20, fc.record({ do: fc.constant("call" as const), call: intent(6) })],
  [
    4,
    fc.record({
      do: fc.constant("at once" as const),
      calls: fc.array(intent(1), { minLength: 2, maxLength: 4 }),
      delays: fc.array(fc.nat(1), { maxLength: 5 }),
    }),
  ],
  [4, fc.record({ do: fc.constant("wait" as const), ms: fc.constantFrom(1, 500, 1000, 2000, 5000, 9000) })],
  [
    3,
    fc.record({
      do: fc.constant("evict" as const),
      what: fc.constantFrom("reader" as const, "reader" as const, "log" as const),
      which: fc.nat(3),
    }),
  ],
  [1, fc.record({ do: fc.constant("fail" as const), shards: fc.subarray([0, 1, 2]) })],
  [2, fc.record({ do: fc.constant("trim" as const), shard: fc.nat(2) })],
  [1, fc.record({ do: fc.constantFrom("delete" as const, "create" as const, "create" as const), isolate })],
);

export const schedule = fc.array(step, { minLength: 4, maxLength: 26, size: "max" });

/** Runs a schedule step by step on the objects and the model; at the end every reader gets all remaining events. */
export async function runSchedule(driver: Driver, shards: number, steps: readonly Step[]): Promise<void> {
  // Several worlds are possible if the answers do not show the order.
  let worlds = [newWorld(shards, driver.readers, Date.now())];
  const asked: { publish?: Call; read?: Call } = {};
  const pass = (ms: number) => {
    for (const world of worlds) world.nowMs += ms;
    vi.setSystemTime(worlds[0]!.nowMs);
  };
  const mend = (shardsFailing: readonly number[]) => {
    const failing = driver.fail(shardsFailing);
    for (const world of worlds) world.failing = failing;
  };
  const say = async (intents: readonly Intent[]) => {
    const again = intents.length === 1 || isOneStep(asked.publish, shards) ? asked : { ...asked, publish: undefined };
    const calls = intents.map((given) => toCall(worlds[0]!, again, given, driver.readers));
    for (const call of calls) {
      if (call.do === "publish" && call.key !== undefined) asked.publish = call;
      if (call.do === "read") asked.read = call;
    }
    const seen = await Promise.all(calls.map((call, at) => driver.call(call, intents[at]!.isolate)));
    worlds = answerAll(worlds, calls, seen);
  };

  for (const next of steps) {
    const [{ exists, nowMs, readers }] = worlds as [World];
    switch (next.do) {
      case "call":
        await say([next.call]);
        break;
      case "at once":
        driver.delay(next.delays);
        await say(next.calls);
        driver.delay([]);
        break;
      case "wait":
        pass(next.ms);
        break;
      case "evict": {
        const { what, which } = next;
        await driver.evict(what === "log" ? { shard: which % shards } : { reader: which % driver.readers });
        break;
      }
      case "fail":
        // An isolate with an old copy learns from the logs that a topic is gone.
        mend(exists ? next.shards.filter((shard) => shard < shards) : []);
        break;
      case "trim": {
        const shard = next.shard % shards;
        const { retentionMs } = driver;
        // A reader that never read a shard lost nothing of it, and the model does not track each first read.
        if (retentionMs === undefined || readers.some((reader) => !reader.begun.has(shard))) break;
        await driver.trim(shard);
        for (const event of worlds.flatMap((world) => world.events))
          if (event.shard === shard && event.atMs + retentionMs <= nowMs) event.trimmed = true;
        break;
      }
      case "delete":
        if (!exists) break;
        mend([]);
        await driver.delete(next.isolate);
        for (const world of worlds) forget(world);
        break;
      case "create":
        expect(await driver.create(next.isolate)).toBe(!exists);
        for (const world of worlds) world.exists = true;
        mend([]);
    }
  }

  mend([]);
  if (!worlds[0]!.exists) return;
  pass(20_000);
  for (let by = 0; by < driver.readers; by++) await drain(driver, worlds, by);
}

/** Each shard stores its part by itself: a parallel read may see only one part, which the model does not cover. */
const isOneStep = (publish: Call | undefined, shards: number): boolean =>
  publish?.do !== "publish" || new Set(publish.events.map(({ tenant }) => shardFor(tenant, shards))).size === 1;

/** Reads and commits until nothing is left. */
async function drain(driver: Driver, before: readonly World[], by: number): Promise<void> {
  let worlds = before;
  const read: Call = { do: "read", by, numEvents: 3, ttlMs: 1000, autoCommit: false, key: undefined };
  for (let reads = 0; ; reads++) {
    expect(reads).toBeLessThanOrEqual(worlds[0]!.events.length);
    const seen = await driver.call(read, 0);
    worlds = answerAll(worlds, [read], [seen]);
    if (seen.is !== "batch") break;
    const commit: Call = { do: "commit", by, token: seen.token! };
    worlds = answerAll(worlds, [commit], [await driver.call(commit, 1)]);
  }
  const [{ events, readers }] = worlds as [World];
  for (const event of events) if (!event.trimmed) expect(readers[by]!.done).toContain(event.id);
}

function toCall(
  world: World,
  asked: { publish?: Call | undefined; read?: Call },
  given: Intent,
  readers: number,
): Call {
  const by = given.by % readers;
  const reader = world.readers[by]!;
  const token = (back: number) => reader.tokens.at(-1 - back) ?? NO_TOKEN;
  switch (given.do) {
    case "publish": {
      const { tenants, key, isLarge } = given;
      const name = (index: number) => `${isLarge ? LARGE : ""}${world.events.length}.${index}`;
      const events = tenants.map((at, index) => ({ tenant: TENANTS[at]!, payload: name(index) }));
      return { do: "publish", by, events, key };
    }
    case "repeat":
      return asked[given.what] ?? { do: "commit", by, token: NO_TOKEN };
    case "read": {
      const { numEvents, ttlMs, autoCommit, key } = given;
      return { do: "read", by, numEvents, ttlMs, autoCommit, key };
    }
    case "commit":
      return { do: "commit", by, token: token(given.back) };
    case "extend":
      return { do: "extend", by, token: token(given.back), ttlMs: 3000 };
    case "release": {
      const batch = reader.held?.batch ?? [];
      const passed = reader.held?.passed ?? [];
      const stray = world.events.find((event) => !passed.includes(event));
      const through = given.keep === 0 ? undefined : (batch[given.keep - 1] ?? stray)?.id;
      return { do: "release", by, token: token(given.back), through };
    }
    case "seek": {
      const { to } = given;
      if (typeof to === "string") return { do: "seek", by, to };
      return { do: "seek", by, to: (world.events[to.event % world.events.length]?.atMs ?? world.nowMs) + to.plusMs };
    }
  }
}
