import { evictDurableObject } from "cloudflare:test";
import * as fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  eventsApp,
  makeTopic,
  objectsOf,
  payloads,
  someClient,
  type ReadAnswer,
  type TestTopic,
  type WireEvent,
} from "./events-app.ts";

const app = eventsApp();
const TENANTS = ["tenant1", "tenant2", "tenant3", "tenant5"];
afterEach(() => void vi.useRealTimers());

async function makeModelTopic(shards: number): Promise<TestTopic> {
  const topic = await makeTopic(app, { shards });
  for (const tenant of TENANTS) app.actsFor.add(`${topic.owner.clientId} ${tenant}`);
  return topic;
}

/** `<tenant> <number>`, numbered in the order of publishing. */
const label = (tenant: string, number: number) => `${tenant} ${number}`;
const numberOf = (payload: string) => Number(payload.split(" ")[1]);
const tenantOf = (payload: string) => payload.split(" ")[0]!;

type Step =
  | { readonly do: "publish"; readonly tenants: readonly number[] }
  | {
      readonly do: "read";
      readonly numEvents: number;
      readonly ttlMs: number;
      readonly autoCommit: boolean;
      readonly by: number;
    }
  | { readonly do: "commit"; readonly back: number; readonly by: number }
  | { readonly do: "parallel reads"; readonly count: number; readonly by: number }
  | { readonly do: "extend"; readonly back: number; readonly by: number }
  /** Commits the first `keep` events of the batch; none is named with 0. */
  | { readonly do: "release"; readonly back: number; readonly keep: number; readonly by: number }
  | { readonly do: "seek"; readonly to: "oldest" | "newest"; readonly by: number }
  | { readonly do: "wait"; readonly ms: number }
  | { readonly do: "evict"; readonly what: number };

const by = fc.nat(1);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("publish" as const),
      tenants: fc.array(fc.nat(3), { minLength: 1, maxLength: 8 }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("read" as const),
      numEvents: fc.integer({ min: 1, max: 6 }),
      ttlMs: fc.integer({ min: 1000, max: 4000 }),
      autoCommit: fc.boolean(),
      by,
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("commit" as const), back: fc.constantFrom(0, 0, 0, 1, 2), by }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("parallel reads" as const), count: fc.integer({ min: 2, max: 6 }), by }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("extend" as const), back: fc.constantFrom(0, 0, 1), by }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("release" as const),
      back: fc.constantFrom(0, 0, 0, 1),
      keep: fc.nat(6),
      by,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("seek" as const),
      to: fc.constantFrom("oldest" as const, "newest" as const),
      by,
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.integer({ min: 1, max: 5000 }) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("evict" as const), what: fc.nat(4) }) },
);

/** The model: each client has committed some payloads, and holds a batch until a time, or not. */
interface Reader {
  readonly committed: Set<string>;
  held: { token: string; batch: readonly WireEvent[]; untilMs: number } | undefined;
  readonly tokens: string[];
}

describe.each([1, 3])("random schedules on %i shard(s)", (shards) => {
  it(
    "lose nothing, repeat nothing that was committed, keep the order, and never hold two locks",
    { timeout: 60_000 },
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
          vi.useFakeTimers({ toFake: ["Date"] });
          const topic = await makeModelTopic(shards);
          const clients = [topic.owner, someClient({ scopes: ["plat.pubsub.topic=*"] })];
          const readers = clients.map((): Reader => ({ committed: new Set(), held: undefined, tokens: [] }));
          const published: string[] = [];

          const accept = (
            reader: Reader,
            read: ReadAnswer,
            limits: { numEvents: number; ttlMs: number; autoCommit: boolean },
          ) => {
            const left = published.filter((payload) => !reader.committed.has(payload));
            if (left.length === 0) {
              expect(read.status).toBe(204);
              expect(read.response.headers.get("link")).toBeNull();
              return;
            }
            expect(read.status).toBe(200);
            const batch = payloads(read);
            // As many as asked for, while there are.
            expect(batch.length).toBe(Math.min(limits.numEvents, left.length));
            // Of every tenant the oldest ones that are left, in order.
            for (const tenant of new Set(batch.map(tenantOf))) {
              const got = batch.filter((payload) => tenantOf(payload) === tenant);
              expect(got).toEqual(left.filter((payload) => tenantOf(payload) === tenant).slice(0, got.length));
            }
            if (shards === 1) expect(batch).toEqual(left.slice(0, batch.length));
            if (limits.autoCommit) for (const payload of batch) reader.committed.add(payload);
            else {
              reader.held = { token: read.token!, batch: read.events, untilMs: Date.now() + limits.ttlMs };
              reader.tokens.push(read.token!);
            }
          };

          for (const next of steps) {
            const reader = "by" in next ? readers[next.by]! : readers[0]!;
            const as = "by" in next ? clients[next.by]! : clients[0]!;
            if (reader.held !== undefined && Date.now() >= reader.held.untilMs) reader.held = undefined;
            switch (next.do) {
              case "publish": {
                const events = next.tenants.map((at, index) => {
                  const tenant = TENANTS[at]!;
                  return { tenant, payload: label(tenant, published.length + index) };
                });
                await topic.put(events);
                published.push(...events.map((event) => event.payload));
                break;
              }
              case "read": {
                const read = await topic.read(
                  { numEvents: next.numEvents, ttlMs: next.ttlMs, autoCommit: next.autoCommit },
                  { as },
                );
                if (reader.held === undefined) accept(reader, read, next);
                else expect(read.status).toBe(409);
                break;
              }
              case "parallel reads": {
                const limits = { numEvents: 2, ttlMs: 2000, autoCommit: false };
                const reads = await Promise.all(Array.from({ length: next.count }, () => topic.read(limits, { as })));
                const won = reads.filter((read) => read.status === 200);
                if (reader.held !== undefined) expect(reads.every((read) => read.status === 409)).toBe(true);
                else if (won.length === 0) for (const read of reads) accept(reader, read, limits);
                else {
                  expect(won.length).toBe(1);
                  expect(reads.filter((read) => read.status === 409).length).toBe(next.count - 1);
                  accept(reader, won[0]!, limits);
                }
                break;
              }
              case "commit": {
                const token = reader.tokens.at(-1 - next.back) ?? "none";
                const { status } = await topic.commit(token, { as });
                expect(status).toBe(token === reader.held?.token ? 200 : 409);
                if (status !== 200) break;
                for (const { payload } of reader.held!.batch) reader.committed.add(payload);
                reader.held = undefined;
                break;
              }
              case "extend": {
                const token = reader.tokens.at(-1 - next.back) ?? "none";
                const { status } = await topic.post("extend", { token, ttlMs: 3000 }, { as });
                expect(status).toBe(token === reader.held?.token ? 200 : 409);
                if (status === 200) reader.held!.untilMs = Date.now() + 3000;
                break;
              }
              case "release": {
                const token = reader.tokens.at(-1 - next.back) ?? "none";
                const kept = reader.held?.batch.slice(0, next.keep) ?? [];
                const { status } = await topic.post("release", { token, commitThrough: kept.at(-1)?.id }, { as });
                expect(status).toBe(token === reader.held?.token ? 200 : 409);
                if (status !== 200) break;
                for (const { payload } of kept) reader.committed.add(payload);
                reader.held = undefined;
                break;
              }
              case "seek": {
                const { status } = await topic.post("seek", { to: next.to }, { as });
                expect(status).toBe(reader.held === undefined ? 200 : 409);
                if (status !== 200) break;
                reader.committed.clear();
                if (next.to === "newest") for (const payload of published) reader.committed.add(payload);
                break;
              }
              case "wait":
                vi.setSystemTime(Date.now() + next.ms);
                break;
              case "evict": {
                const { consumer, logs } = await objectsOf(topic, clients[next.what % 2]);
                // An object that does not run has nothing to lose.
                await evictDurableObject([consumer, ...logs][next.what % (1 + logs.length)]!).catch(() => undefined);
              }
            }
          }

          // In the end everybody gets everything, once.
          vi.setSystemTime(Date.now() + 5000);
          for (const [at, reader] of readers.entries()) {
            const as = clients[at]!;
            reader.held = undefined;
            for (;;) {
              const limits = { numEvents: 5, ttlMs: 1000, autoCommit: false };
              const read = await topic.read(limits, { as });
              accept(reader, read, limits);
              if (read.status === 204) break;
              expect((await topic.commit(read.token, { as })).status).toBe(200);
              for (const { payload } of reader.held!.batch) reader.committed.add(payload);
              reader.held = undefined;
            }
            expect(reader.committed).toEqual(new Set(published));
          }
        }),
        { numRuns: 60 },
      );
    },
  );
});

describe("thousands of events", () => {
  it.each([1, 4])("on %i shard(s) come in the order of each tenant, none lost, none twice", async (shards) => {
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
        if (read.status === 204) continue;
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
