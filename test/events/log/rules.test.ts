import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { newEventIds, packIds, positionOf, unpackIds } from "../../../src/events/log/event-id.ts";
import { packSegments, unpackSegment } from "../../../src/events/log/segments.ts";
import { shardFor } from "../../../src/events/model/topic.ts";
import { systemRandom } from "../../../src/platform/runtime/random.ts";
import { anyText } from "../../support/any-text.ts";

describe("segments", () => {
  const anyEvents = fc.array(
    anyText({ maxLength: 40 }).map((payload) => ({
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
        fc.option(fc.constant(`00-${"a".repeat(32)}-${"b".repeat(16)}-01`), { nil: undefined }),
        (events, maxChars, from, skip, trace) => {
          const ids = events.map((_, index) => `id${index}`);
          const segments = packSegments({ events, ids, firstSeq: from + 1, createdAtMs: 7, trace }, maxChars);
          const unpacked = segments.flatMap((segment) => unpackSegment(segment, from + skip));
          expect(unpacked.map((event) => event.seq)).toEqual(events.map((_, at) => from + 1 + at).slice(skip));
          expect(unpacked.map((event) => event.text)).toEqual(
            events.map((event, at) => `{"id":"id${at}","createdAt":7,${event.text}`).slice(skip),
          );
          expect(unpacked.map((event) => event.payloadBytes)).toEqual(
            events.map((event) => event.payloadBytes).slice(skip),
          );
          for (const event of unpacked) expect(event.trace).toBe(trace);
          for (const segment of segments)
            if (segment.lastSeq > segment.firstSeq) expect(segment.events.length).toBeLessThanOrEqual(maxChars);
        },
      ),
    );
  });
});

describe("event ids", () => {
  // shows: events/event/id
  it("differ between positions, shards and calls", () => {
    const rounds = [0, 1, 0, 1].flatMap((shard) => newEventIds(500, shard, 1, systemRandom));
    expect(new Set(rounds).size).toBe(2000);
    for (const id of rounds) expect(id).toMatch(/^[0-9a-f]{16}-[0-9a-z]+$/);
  });

  it("of one call unpack from one text", () => {
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

  it("lead back to shard and position; other texts are rejected", () => {
    for (const [shard, seq] of [
      [0, 1],
      [15, 1],
      [3, 1_000_000_007],
    ] as const)
      expect(positionOf(newEventIds(1, shard, seq, systemRandom)[0]!)).toEqual({ shard, seq });
    // An id from long ago: its meaning never changes.
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
