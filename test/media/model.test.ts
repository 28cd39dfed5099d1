import * as fc from "fast-check";
import { env } from "cloudflare:workers";
import { describe, it } from "vitest";
import { adversarySchedule, runAdversary } from "./adversary.ts";
import { runSchedule, schedule } from "./model-schedules.ts";

/**
 * Random schedules of what clients, the queue, the sweep, the operator and time do, one after the other and at once, by
 * several clients in several tenants, while calls of D1, R2 and the queue fail or lose their answers: every answer and
 * every state is one that the model (file-model.ts) allows, and what is left in the end is what it says. A failure
 * prints the seed and the schedule; `fc.assert(…, { seed, path })` runs it again.
 */
describe("random schedules with faults", () => {
  const numRuns = Number((env as unknown as { MEDIA_SCHEDULES: string }).MEDIA_SCHEDULES || 8);
  it("nothing acknowledged is lost, nothing deleted comes back, no bytes without a row", { timeout: 600_000 }, () =>
    fc.assert(fc.asyncProperty(schedule, runSchedule), { numRuns, endOnFailure: true }),
  );
});

describe("random schedules beside strangers", () => {
  const numRuns = Number((env as unknown as { MEDIA_ADVERSARY_SCHEDULES: string }).MEDIA_ADVERSARY_SCHEDULES || 100);
  it(
    "a stranger with whatever token changes nothing of a client's file and learns nothing of it",
    { timeout: 3_600_000 },
    () => fc.assert(fc.asyncProperty(adversarySchedule, runAdversary), { numRuns, endOnFailure: true }),
  );
});
