import { describe, expect, it } from "vitest";
import { outcomeOf } from "../../tools/bench/herd/outcome.ts";
import { simulate } from "../../tools/bench/herd/simulate.ts";

/** The same as `npm run bench -- herd`, smaller. */
describe("A database that stalls", () => {
  it("is no outage: isolates ask it less, and all is well soon after", async () => {
    const isolates = 20;
    const herd = { isolates, requestsPerSec: 400, stallMs: 30_000, seed: 1, afterMs: 50_000 };
    const outcome = outcomeOf(await simulate(herd));
    expect(outcome.refusedBeforePercent).toBe(0);
    expect(outcome.refusedInStallPercent).toBeLessThan(10);
    expect(outcome.wholeAfterSec).toBeLessThanOrEqual(40);
    for (const perSec of [outcome.queriesBefore, outcome.queriesInStall, outcome.queriesAfter])
      expect(perSec).toBeLessThan(isolates / 3 + 50);
  });
});
