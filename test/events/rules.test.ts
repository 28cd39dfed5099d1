import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { newEventIds, packIds, positionOf, unpackIds } from "../../src/events/log/event-id.ts";
import { forgetCommitted, handOut, timesHandedOut, type Handouts } from "../../src/events/consume/delivery-counts.ts";
import { unread } from "../../src/events/consume/lock.ts";
import { ReadAhead } from "../../src/events/consume/prefetch-buffer.ts";
import { packSegments, unpackSegment, type Segment } from "../../src/events/log/segments.ts";
import { shardFor } from "../../src/events/model/topic.ts";
import { systemRandom } from "../../src/platform/random.ts";

describe("segments", () => {
  const anyEvents = fc.array(
    fc.string({ unit: "binary", maxLength: 40 }).map((payload) => ({
      text: `"payload":${JSON.stringify(payload)}}`,
      payloadBytes: payload.length,
    })),
    { maxLength: 30 },
  );

  it("give back the events that were packed, in order, from any position", () => {
    fc.assert(
      fc.property(
        anyEvents,
        fc.integer({ min: 1, max: 400 }),
        fc.nat(50),
        fc.nat(30),
        (events, maxChars, from, skip) => {
          const ids = events.map((_, index) => `id${index}`);
          const segments = packSegments(events, ids, from + 1, 7, maxChars);
          const unpacked = segments.flatMap((segment) => unpackSegment(segment, from + skip));
          expect(unpacked.map((event) => event.seq)).toEqual(events.map((_, at) => from + 1 + at).slice(skip));
          expect(unpacked.map((event) => event.text)).toEqual(
            events.map((event, at) => `{"id":"id${at}","createdAt":7,${event.text}`).slice(skip),
          );
          expect(unpacked.map((event) => event.payloadBytes)).toEqual(
            events.map((event) => event.payloadBytes).slice(skip),
          );
          for (const segment of segments)
            if (segment.lastSeq > segment.firstSeq) expect(segment.events.length).toBeLessThanOrEqual(maxChars);
        },
      ),
    );
  });
});

describe("event ids", () => {
  it("differ between positions, shards and rounds", () => {
    const rounds = [0, 1, 0, 1].flatMap((shard) => newEventIds(500, shard, 1, systemRandom));
    expect(new Set(rounds).size).toBe(2000);
    for (const id of rounds) expect(id).toMatch(/^[0-9a-f]{16}-[0-9a-z]+$/);
  });

  it("of one call come back from one text", () => {
    for (const count of [0, 1, 2, 37, 1000])
      for (const [shard, seq] of [
        [0, 1],
        [7, 2_241],
        [15, 1_000_000_007],
      ] as const) {
        const ids = newEventIds(count, shard, seq, systemRandom);
        expect(unpackIds(packIds(ids))).toEqual(ids);
        expect(packIds(ids).length).toBeLessThanOrEqual(count * 16 + 11);
      }
  });

  it("lead back to shard and position; what is no id leads nowhere", () => {
    for (const [shard, seq] of [
      [0, 1],
      [15, 1],
      [3, 1_000_000_007],
    ] as const)
      expect(positionOf(newEventIds(1, shard, seq, systemRandom)[0]!)).toEqual({ shard, seq });
    // One that was handed out long ago: what it says never changes.
    expect(positionOf("0123456789abcdef-2t")).toEqual({ shard: 5, seq: 6 });
    const odd = [
      "",
      "x",
      "0123456789abcdef",
      "0123456789abcdef-",
      "0123456789abcdef-0",
      "0123456789abcdef-f",
      "0123456789ABCDEF-1a",
    ];
    for (const id of [...odd, "0123456789abcdef-zzzzzzzzzzzzzzz", "0123456789abcdef-1a\n", "\ud800"])
      expect(positionOf(id)).toBeUndefined();
  });
});

describe("the shard of a tenant", () => {
  it("never changes", () => {
    expect(["demo", "tenant1", "tenant2", "acme"].map((tenant) => shardFor(tenant, 16))).toEqual([13, 8, 6, 5]);
  });

  it("spreads tenants evenly", () => {
    const counts = Array.from({ length: 16 }, () => 0);
    for (let at = 0; at < 16_000; at++) counts[shardFor(`tenant${at}`, 16)]! += 1;
    for (const count of counts) expect(Math.abs(count - 1000)).toBeLessThan(200);
  });
});

describe("how often an event was handed out", () => {
  it("agrees with counting each event, up to the number of steps that are kept", () => {
    const step = fc.record({ length: fc.integer({ min: 1, max: 6 }), commit: fc.nat(6) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        let handouts: Handouts = [];
        let cursor = 0;
        const counts = new Map<number, number>();
        for (const { length, commit } of steps) {
          for (let seq = cursor + 1; seq <= cursor + length; seq++) counts.set(seq, (counts.get(seq) ?? 0) + 1);
          handouts = handOut(handouts, cursor + length, 16);
          cursor += Math.min(commit, length);
          handouts = forgetCommitted(handouts, cursor);
          for (let seq = cursor + 1; seq <= cursor + 8; seq++)
            expect(timesHandedOut(handouts, seq)).toBe(counts.get(seq) ?? 0);
        }
      }),
    );
  });

  it("keeps a bounded number of steps and never counts too few", () => {
    let handouts: Handouts = [];
    for (let end = 1; end <= 50; end++) handouts = handOut(handouts, end, 4);
    expect(handouts.length).toBe(4);
    expect(timesHandedOut(handouts, 1)).toBe(50);
    expect(timesHandedOut(handouts, 50)).toBeGreaterThanOrEqual(1);
  });
});

describe("the read-ahead", () => {
  /** What a look at a log gave that ends behind its last segment. */
  const append = (ahead: ReadAhead, shard: number, segments: Segment[]) =>
    ahead.append(shard, segments, segments.at(-1)!.lastSeq);
  const limits = { maxEvents: 100, maxPayloadBytes: 1000, maxChars: 1000 };
  const segment = (firstSeq: number, texts: string[], createdAtMs = 0, payloadBytes = 1) => ({
    firstSeq,
    lastSeq: firstSeq + texts.length - 1,
    createdAtMs,
    events: texts.join("\n"),
    payloadBytes: texts.map(() => payloadBytes).join(","),
  });

  it("merges shards by time and keeps each one's order", () => {
    const ahead = new ReadAhead();
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

  it("begins in the middle of a segment", () => {
    const ahead = new ReadAhead();
    ahead.align([2]);
    append(ahead, 0, [segment(1, ["1", "2", "3", "4"])]);
    expect(ahead.take({ ...limits, maxEvents: 1 })).toMatchObject({ texts: ["3"], batch: [[0, 3]] });
    expect(ahead.align([3])).toBe(true);
    expect(ahead.take(limits)).toMatchObject({ texts: ["4"], batch: [[0, 4]] });
  });

  it("gives one event that is over the limits alone, and stops before the next", () => {
    const ahead = new ReadAhead();
    ahead.align([0]);
    append(ahead, 0, [segment(1, ["1", "2"], 0, 5000)]);
    expect(ahead.take(limits)).toMatchObject({ texts: ["1"] });
    append(ahead, 0, [segment(3, ["x".repeat(2000)])]);
    expect(ahead.take(limits)).toMatchObject({ texts: ["2"] });
  });

  it("counts what retention removed", () => {
    const ahead = new ReadAhead();
    ahead.align([2]);
    append(ahead, 0, [segment(6, ["6", "7"])]);
    expect(ahead.take(limits)).toMatchObject({ texts: ["6", "7"], batch: [[0, 7]], lost: 3 });
  });

  it("begins where the log does in a shard that was never looked at: nothing was lost there before", () => {
    const ahead = new ReadAhead();
    const { cursor } = unread(3);
    ahead.align(cursor);
    expect(ahead.cursor).toEqual([-1, -1, -1]);
    append(ahead, 0, [segment(6, ["6"])]);
    ahead.append(1, [], 9);
    expect(ahead.cursor).toEqual([5, 9, -1]);
    expect(ahead.align(cursor)).toBe(true);
    expect(ahead.align([5, 9, -1])).toBe(true);
    expect(ahead.take(limits)).toMatchObject({ texts: ["6"], batch: [[0, 6]], lost: 0 });
    // A batch that was not written down: from the beginning, and now that is known to be elsewhere.
    expect(ahead.align(cursor)).toBe(false);
    expect(ahead.endOf(0)).toBe(0);
  });

  it("counts what retention removed behind the last event, when there is none", () => {
    const ahead = new ReadAhead();
    ahead.align([2, 4]);
    ahead.append(0, [], 7);
    ahead.append(1, [], 4);
    expect([ahead.count, ahead.lost, ahead.endOf(0)]).toEqual([0, 5, 7]);
    append(ahead, 0, [segment(8, ["8"])]);
    expect(ahead.take(limits)).toMatchObject({ texts: ["8"], lost: 5 });
  });

  it("forgets a shard whose cursor is elsewhere", () => {
    const ahead = new ReadAhead();
    ahead.align([0, 0]);
    append(ahead, 0, [segment(1, ["a"])]);
    append(ahead, 1, [segment(1, ["b"])]);
    expect(ahead.align([0, 1])).toBe(false);
    expect(ahead.take(limits)).toMatchObject({ texts: ["a"], batch: [[0, 1]] });
  });

  it("lets go of the far end when it holds too much, and asks for it again", () => {
    const ahead = new ReadAhead();
    ahead.align([0]);
    append(ahead, 0, [segment(1, ["111", "222", "333"])]);
    expect(ahead.shrink(9)).toBe(false);
    expect(ahead.shrink(7)).toBe(true);
    expect(ahead.endOf(0)).toBe(2);
    append(ahead, 0, [segment(1, ["111", "222", "333"])]);
    expect(ahead.take(limits)).toMatchObject({ texts: ["111", "222", "333"] });
  });
});
