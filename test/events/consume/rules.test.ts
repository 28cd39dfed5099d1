import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  withoutCommitted,
  countBatch,
  deliveryCount,
  type DeliveryCounts,
} from "../../../src/events/consume/delivery-counts.ts";
import {
  commit,
  extend,
  lockedForMs,
  release,
  repeated,
  seek,
  acquire,
  unread,
  type ConsumerState,
  type Outcome,
} from "../../../src/events/consume/lock.ts";
import { PrefetchBuffer } from "../../../src/events/consume/prefetch-buffer.ts";
import type { Segment } from "../../../src/events/log/segments.ts";
import { runs } from "../../support/model-runs.ts";

const MAX_OUTCOMES = 4;

type Step =
  | {
      readonly do: "read";
      readonly count: number;
      readonly ttlMs: number;
      readonly autoCommit: boolean;
      readonly key: string | undefined;
    }
  /** `back` 0 is the latest token that was issued. */
  | { readonly do: "commit" | "extend"; readonly back: number }
  /** Commits the first `keep` events. -1 names no event; one too many names an event outside the batch. */
  | { readonly do: "release"; readonly back: number; readonly keep: number }
  | { readonly do: "seek"; readonly to: number }
  /** Below 0, the clock is set back. */
  | { readonly do: "wait"; readonly ms: number };

interface Batch {
  readonly token: string;
  readonly count: number;
  readonly fromMs: number;
  readonly untilMs: number;
}

const back = fc.nat(5);
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant("read" as const),
    count: fc.integer({ min: 1, max: 5 }),
    ttlMs: fc.integer({ min: 1, max: 20 }),
    autoCommit: fc.boolean(),
    key: fc.constantFrom(undefined, undefined, "k1", "k2"),
  }),
  fc.record({ do: fc.constantFrom("commit" as const, "extend" as const), back }),
  fc.record({ do: fc.constant("release" as const), back, keep: fc.integer({ min: -1, max: 6 }) }),
  fc.record({ do: fc.constant("seek" as const), to: fc.nat(30) }),
  fc.record({ do: fc.constant("wait" as const), ms: fc.oneof(fc.nat(15), fc.integer({ min: -50, max: -1 })) }),
);

describe("the lock's rules", () => {
  // shows: events/lock-on-a-topic/unlocked-read-200-autocommit-false-or-omitted
  it("agree with a model in which a batch is a range of numbers that is held or not", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60, size: "max" }), (steps) => {
        let state: ConsumerState = seek(unread(1), [0], MAX_OUTCOMES);
        let nowMs = 1000;
        // The model: the end of the committed events, the held batch and its lock, and the fate of every token.
        let committed = 0;
        let held: (Batch & { readonly by: Step }) | undefined;
        const ends = new Map<string, Outcome["end"]>();
        const tokens: string[] = [];
        const finish = (end: Outcome["end"], count: number) => {
          ends.set(held!.token, end);
          committed += count;
          held = undefined;
        };

        for (const [index, next] of steps.entries()) {
          if (next.do === "wait") nowMs += next.ms;
          const locked = held !== undefined && nowMs >= held.fromMs && nowMs < held.untilMs;
          expect(lockedForMs(state, nowMs)).toBe(locked ? held!.untilMs - nowMs : 0);
          // An expired lock stays until another one replaces it: if the clock is set back, it is valid again.
          if (!locked && held !== undefined && (next.do === "read" || next.do === "seek")) finish("lock_expired", 0);

          if (next.do === "read") {
            const { ttlMs, autoCommit, count: numEvents, key } = next;
            const again = repeated(state, { key, numEvents, ttlMs, autoCommit }, nowMs);
            const by = held?.by.do === "read" ? held.by : undefined;
            if (!locked || key === undefined || key !== by?.key) expect(again).toBeUndefined();
            else if (autoCommit || numEvents !== by.count || ttlMs !== by.ttlMs) expect(again).toBe("other_request");
            else
              expect(again).toMatchObject({
                token: held!.token,
                batch: [[0, committed + held!.count]],
                keyed: { attempt: 7 },
              });
          }
          if (next.do === "read" && !locked) {
            const { ttlMs, autoCommit, count, key } = next;
            const batch = [[0, committed + count]] as const;
            const keyed = key === undefined ? undefined : { key, numEvents: count, ttlMs, attempt: 7 };
            const given = { batch, ttlMs, autoCommit, nonce: `n${index}`, keyed };
            state = acquire(state, given, nowMs, MAX_OUTCOMES);
            if (autoCommit) committed += count;
            else {
              held = { token: state.lock!.token, count, fromMs: nowMs, untilMs: nowMs + ttlMs, by: next };
              expect(tokens).not.toContain(held.token);
              tokens.push(held.token);
            }
          } else if (next.do === "seek" && !locked) {
            state = seek(state, [next.to], MAX_OUTCOMES);
            committed = next.to;
          } else if ("back" in next) {
            const token = tokens.at(-1 - next.back) ?? "never issued";
            const through = next.do === "release" && next.keep >= 0 ? committed + next.keep : undefined;
            const outcome =
              next.do === "commit"
                ? commit(state, token, nowMs, MAX_OUTCOMES)
                : next.do === "extend"
                  ? extend(state, token, 30, nowMs)
                  : release(
                      state,
                      token,
                      through === undefined ? through : { shard: 0, seq: through },
                      nowMs,
                      MAX_OUTCOMES,
                    );
            if (held === undefined || !locked || token !== held.token) {
              expect(outcome.kind).toBe("not_locked");
              const why = outcome.kind === "not_locked" ? outcome.why : undefined;
              if (token === held?.token) expect(why).toBe("lock_expired");
              // The last few are kept; older ones may be dropped.
              else if (why !== "unknown_token")
                expect(why).toBe(
                  ends.get(token) === "released"
                    ? through === undefined
                      ? "lock_expired"
                      : "already_committed"
                    : ends.get(token),
                );
              else if (token !== "never issued")
                expect(tokens.length - tokens.indexOf(token)).toBeGreaterThan(MAX_OUTCOMES);
            } else if (next.do === "release" && through !== undefined && (next.keep === 0 || next.keep > held.count)) {
              expect(outcome.kind).toBe("not_in_batch");
            } else {
              expect(outcome.kind).toBe("done");
              if (outcome.kind === "done") state = outcome.state;
              if (next.do === "release")
                finish(
                  next.keep < 0 ? "lock_expired" : next.keep === held.count ? "already_committed" : "released",
                  Math.max(0, next.keep),
                );
              else if (next.do === "commit") finish("already_committed", held.count);
              else held = { ...held, fromMs: nowMs, untilMs: nowMs + 30 };
            }
          }
          expect(state.cursor).toEqual([committed]);
          expect(state.outcomes.length).toBeLessThanOrEqual(MAX_OUTCOMES);
        }
      }),
      { numRuns: runs(700) },
    );
  });

  it("release a batch of several shards in delivery order", () => {
    const batch = [
      [1, 3],
      [0, 2],
      [1, 5],
      [2, 1],
    ] as const;
    const start = seek(unread(3), [0, 2, 0], MAX_OUTCOMES);
    const locked = acquire(start, { batch, ttlMs: 1000, autoCommit: false, nonce: "n" }, 0, MAX_OUTCOMES);
    const cursorAfter = (shard: number, seq: number) => {
      const outcome = release(locked, "1.n", { shard, seq }, 0, MAX_OUTCOMES);
      return outcome.kind === "done" ? outcome.state.cursor : outcome.kind;
    };
    expect(cursorAfter(1, 3)).toEqual([0, 3, 0]);
    expect(cursorAfter(0, 1)).toEqual([1, 3, 0]);
    expect(cursorAfter(1, 4)).toEqual([2, 4, 0]);
    expect(cursorAfter(2, 1)).toEqual([2, 5, 1]);
    for (const [shard, seq] of [
      [1, 2],
      [1, 6],
      [0, 3],
      [2, 2],
      [3, 1],
    ] as const)
      expect(cursorAfter(shard, seq)).toBe("not_in_batch");
  });

  // shows: events/lock-on-a-topic/locked-ttlms-over
  it("end a lock at the millisecond of its expiry", () => {
    const state = acquire(
      unread(1),
      { batch: [[0, 1]], ttlMs: 1000, autoCommit: false, nonce: "n" },
      5000,
      MAX_OUTCOMES,
    );
    const { token } = state.lock!;
    expect(lockedForMs(state, 5999)).toBe(1);
    expect(commit(state, token, 5999, MAX_OUTCOMES).kind).toBe("done");
    expect(lockedForMs(state, 6000)).toBe(0);
    expect(commit(state, token, 6000, MAX_OUTCOMES)).toEqual({ kind: "not_locked", why: "lock_expired" });
  });

  it("do not hold a lock for as long as the clock was set back", () => {
    const batch = [[0, 1]] as const;
    const hourMs = 3_600_000;
    const taken = acquire(unread(1), { batch, ttlMs: 1000, autoCommit: false, nonce: "n" }, hourMs, MAX_OUTCOMES);
    expect(lockedForMs(taken, 0)).toBe(0);
    expect(commit(taken, "1.n", 0, MAX_OUTCOMES)).toEqual({ kind: "not_locked", why: "lock_expired" });
    const extended = extend(taken, "1.n", 5000, hourMs);
    expect(extended.kind === "done" && lockedForMs(extended.state, hourMs)).toBe(5000);
  });

  // shows: events/read-and-commit/fencing
  it("start a token with the epoch, which grows with every lock", () => {
    const batch = { batch: [[0, 1]] as const, ttlMs: 1, autoCommit: false, nonce: "n" };
    const first = acquire(unread(1), batch, 0, MAX_OUTCOMES);
    const second = acquire(first, batch, 10, MAX_OUTCOMES);
    expect([first.lock!.token, second.lock!.token]).toEqual(["1.n", "2.n"]);
  });
});

describe("delivery counts", () => {
  it("agree with counting each event, up to the number of steps", () => {
    const read = fc.record({ length: fc.integer({ min: 1, max: 6 }), committed: fc.nat(6) });
    fc.assert(
      fc.property(fc.array(read, { maxLength: 40 }), (reads) => {
        let deliveries: DeliveryCounts = [];
        let cursor = 0;
        const counts = new Map<number, number>();
        for (const { length, committed } of reads) {
          for (let seq = cursor + 1; seq <= cursor + length; seq++) counts.set(seq, (counts.get(seq) ?? 0) + 1);
          deliveries = countBatch(deliveries, cursor + length, 16);
          cursor += Math.min(committed, length);
          deliveries = withoutCommitted(deliveries, cursor);
          for (let seq = cursor + 1; seq <= cursor + 8; seq++)
            expect(deliveryCount(deliveries, seq)).toBe(counts.get(seq) ?? 0);
        }
      }),
    );
  });

  it("keep a bounded number of steps and never count too few", () => {
    let deliveries: DeliveryCounts = [];
    for (let end = 1; end <= 50; end++) deliveries = countBatch(deliveries, end, 4);
    expect(deliveries.length).toBe(4);
    expect(deliveryCount(deliveries, 1)).toBe(50);
    expect(deliveryCount(deliveries, 50)).toBeGreaterThanOrEqual(1);
  });
});

describe("the prefetch buffer", () => {
  /** Appends a log's answer that ends after its last segment. */
  const append = (ahead: PrefetchBuffer, shard: number, segments: Segment[]) =>
    ahead.append(shard, segments, segments.at(-1)!.lastSeq);
  const limits = { maxEvents: 100, maxPayloadBytes: 1000, maxChars: 1000 };
  const segment = (firstSeq: number, texts: string[], createdAtMs = 0, payloadBytes = 1) => ({
    firstSeq,
    lastSeq: firstSeq + texts.length - 1,
    createdAtMs,
    events: texts.join("\n"),
    payloadBytes: texts.map(() => payloadBytes).join(","),
  });

  it("merges shards by time and keeps the order of each", () => {
    const ahead = new PrefetchBuffer();
    ahead.align([0, 0]);
    append(ahead, 0, [segment(1, ["a1", "a2"], 10), segment(3, ["a3"], 30)]);
    append(ahead, 1, [segment(1, ["b1"], 5), segment(2, ["b2"], 20)]);
    expect(ahead.take(limits)).toMatchObject({
      texts: ["b1", "a1", "a2", "b2", "a3"],
      batch: [
        [1, 1],
        [0, 2],
        [1, 2],
        [0, 3],
      ],
      first: { shard: 1, seq: 1 },
      lost: 0,
    });
  });

  it("starts in the middle of a segment", () => {
    const ahead = new PrefetchBuffer();
    ahead.align([2]);
    append(ahead, 0, [segment(1, ["1", "2", "3", "4"])]);
    expect(ahead.take({ ...limits, maxEvents: 1 })).toMatchObject({ texts: ["3"], batch: [[0, 3]] });
    expect(ahead.align([3])).toBe(true);
    expect(ahead.take(limits)).toMatchObject({ texts: ["4"], batch: [[0, 4]] });
  });

  // shows: events/read-and-commit/5-mib
  it("returns an event over the limits by itself, and stops before the next", () => {
    const ahead = new PrefetchBuffer();
    ahead.align([0]);
    append(ahead, 0, [segment(1, ["1", "2"], 0, 5000)]);
    expect(ahead.take(limits)).toMatchObject({ texts: ["1"] });
    append(ahead, 0, [segment(3, ["x".repeat(2000)])]);
    expect(ahead.take(limits)).toMatchObject({ texts: ["2"] });
  });

  it("counts events removed by retention", () => {
    const ahead = new PrefetchBuffer();
    ahead.align([2]);
    append(ahead, 0, [segment(6, ["6", "7"])]);
    expect(ahead.take(limits)).toMatchObject({ texts: ["6", "7"], batch: [[0, 7]], lost: 3 });
  });

  it("begins at the start of the log in a shard that was never read: nothing was lost there", () => {
    const ahead = new PrefetchBuffer();
    const { cursor } = unread(3);
    ahead.align(cursor);
    expect(ahead.cursor).toEqual([-1, -1, -1]);
    append(ahead, 0, [segment(6, ["6"])]);
    ahead.append(1, [], 9);
    expect(ahead.cursor).toEqual([5, 9, -1]);
    expect(ahead.align(cursor)).toBe(true);
    expect(ahead.align([5, 9, -1])).toBe(true);
    expect(ahead.take(limits)).toMatchObject({ texts: ["6"], batch: [[0, 6]], lost: 0 });
    // The batch was not stored, so the cursor is still at the beginning, which the buffer has left.
    expect(ahead.align(cursor)).toBe(false);
    expect(ahead.endOf(0)).toBe(0);
  });

  it("counts events removed after the last one if none is left", () => {
    const ahead = new PrefetchBuffer();
    ahead.align([2, 4]);
    ahead.append(0, [], 7);
    ahead.append(1, [], 4);
    expect([ahead.count, ahead.lost, ahead.endOf(0)]).toEqual([0, 5, 7]);
    append(ahead, 0, [segment(8, ["8"])]);
    expect(ahead.take(limits)).toMatchObject({ texts: ["8"], lost: 5 });
  });

  it("drops a shard whose cursor is elsewhere", () => {
    const ahead = new PrefetchBuffer();
    ahead.align([0, 0]);
    append(ahead, 0, [segment(1, ["a"])]);
    append(ahead, 1, [segment(1, ["b"])]);
    expect(ahead.align([0, 1])).toBe(false);
    expect(ahead.take(limits)).toMatchObject({ texts: ["a"], batch: [[0, 1]] });
  });

  it("drops the farthest events when it holds too much, and fetches them again", () => {
    const ahead = new PrefetchBuffer();
    ahead.align([0]);
    append(ahead, 0, [segment(1, ["111", "222", "333"])]);
    expect(ahead.shrink(9)).toBe(false);
    expect(ahead.shrink(7)).toBe(true);
    expect(ahead.endOf(0)).toBe(2);
    append(ahead, 0, [segment(1, ["111", "222", "333"])]);
    expect(ahead.take(limits)).toMatchObject({ texts: ["111", "222", "333"] });
  });
});
