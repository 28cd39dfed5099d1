import { describe, expect } from "vitest";
import { missed, outcomeOf } from "../../../tools/bench/herd/outcome.ts";
import { simulate } from "../../../tools/bench/herd/simulate.ts";
import { itAtNight } from "../../support/model-runs.ts";

/** A smaller run of `npm run bench -- herd`. */
describe("A database that stalls", () => {
  itAtNight("is no outage: isolates ask it less, and requests succeed again soon after", async () => {
    const isolates = 20;
    const herd = { isolates, requestsPerSec: 400, stallMs: 30_000, seed: 1, afterMs: 50_000 };
    const outcome = outcomeOf(await simulate(herd));
    expect(missed(isolates, herd.stallMs, outcome)).toEqual([]);
  });
});
