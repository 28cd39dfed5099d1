import * as fc from "fast-check";
import { describe, it } from "vitest";
import { modelRuns } from "../support/model-runs.ts";
import { adversarySchedules, BESIDE, expectWorld, runAdversaries } from "./adversary.ts";
import { runSchedule, schedule } from "./model-schedules.ts";

/** First: those with faults empty what these found. */
describe("strangers in random schedules", () => {
  const runs = modelRuns("MEDIA_ADVERSARY_SCHEDULES", 300);
  it("change nothing of a client's file and learn nothing of it, with any token", { timeout: 3_600_000 }, async () => {
    await expectWorld();
    const some = { ...runs, numRuns: Math.ceil(runs.numRuns / BESIDE), endOnFailure: true };
    await fc.assert(fc.asyncProperty(adversarySchedules, runAdversaries), some);
  });
});

/**
 * Random schedules of what clients, the queue, the sweep, the operator and time do, one after the other and at once, by
 * several clients in several tenants, while calls of D1, R2 and the queue fail or lose their answers: every answer and
 * every state is one that the model (file-model.ts) allows, and what is left in the end is what it says. A failure
 * prints the seed, the path and the schedule; `MODEL_SEED` and `MODEL_PATH` run it again.
 */
describe("random schedules with faults", () => {
  // shows: media/upload-and-immutability/the-row-before-the-link
  it("lose nothing acknowledged, restore nothing deleted, and leave no bytes without a row", { timeout: 600_000 }, () =>
    fc.assert(fc.asyncProperty(schedule, runSchedule), { ...modelRuns("MEDIA_SCHEDULES", 8), endOnFailure: true }),
  );
});
