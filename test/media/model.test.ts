import * as fc from "fast-check";
import { describe, it } from "vitest";
import { modelRuns } from "../support/model-runs.ts";
import { adversarySchedules, BESIDE, expectWorld, runAdversaries } from "./support/adversary.ts";
import { runSchedule, schedule } from "./model-schedules.ts";

/** These schedules run first, because schedules with faults empty the tables. */
describe("strangers in random schedules", () => {
  const runs = modelRuns("MEDIA_ADVERSARY_SCHEDULES", 8);
  it("change nothing of a client's file and learn nothing of it, with any token", { timeout: 3_600_000 }, async () => {
    await expectWorld();
    const some = { ...runs, numRuns: Math.ceil(runs.numRuns / BESIDE), endOnFailure: true };
    await fc.assert(fc.asyncProperty(adversarySchedules, runAdversaries), some);
  });
});

/**
 * Random schedules of clients, the queue, the sweep, the operator and time, in sequence and in parallel, in several
 * tenants, while calls of D1, R2 and the queue fail or lose their answers. The model (file-model.ts) must allow every
 * answer and state, and the final state must equal it. A failure prints the seed, the path and the schedule;
 * `MODEL_SEED` and `MODEL_PATH` repeat it.
 */
describe("random schedules with faults", () => {
  // shows: media/upload-and-immutability/the-row-before-the-link
  it.each(["worker", "r2"] as const)(
    "lose nothing acknowledged, restore nothing deleted, and leave no bytes without a row (%s)",
    { timeout: 3_600_000 },
    async (uploads) => {
      const property = fc.asyncProperty(schedule, (steps) => runSchedule(uploads, steps));
      await fc.assert(property, { ...modelRuns("MEDIA_SCHEDULES", 1), endOnFailure: true });
    },
  );
});
