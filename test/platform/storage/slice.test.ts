import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RUN_MS, sliceAt } from "../../../src/platform/storage/slice.ts";

describe("The slices of a table that the cron reads", () => {
  it("hold each key exactly once in a round, whenever the round begins", () => {
    const key = fc.stringMatching(/^[0-9a-f]{64}$/);
    fc.assert(
      fc.property(key, fc.nat(), fc.constantFrom(1, 12, 288), (hash, startMs, rounds) => {
        const runs = Array.from({ length: rounds }, (_, run) => sliceAt(startMs + run * RUN_MS, rounds));
        expect(runs.filter(({ from, to }) => from <= hash && hash < to)).toHaveLength(1);
      }),
    );
  });
});
