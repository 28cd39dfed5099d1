import * as fc from "fast-check";
import { afterEach, expect, it } from "vitest";
import { LIMITS } from "../../../src/media/model/limits.ts";
import { encodePng, gradient } from "../../support/images.ts";
import { modelRuns } from "../../support/model-runs.ts";
import { expectJson } from "../../support/platform/call.ts";
import { unique } from "../../support/platform/unique.ts";
import { everywhere } from "../../support/shards.ts";
import { mediaApp } from "../support/media-app.ts";
import { principal } from "../support/principal.ts";
import { stored, type StoredFile } from "../support/stored-file.ts";

const PICTURE = await encodePng(gradient(8, 8));
const MOST = 2;

const { sentPerLane } = LIMITS;
afterEach(() => void Object.assign(LIMITS, { sentPerLane }));

const step = fc.record({
  do: fc.constantFrom(
    "store",
    "store",
    "add",
    "delete variants",
    "delete all variants",
    "delete file",
    "delete files",
    "bulk add",
    "bulk delete",
    "lose a message",
    "sweep",
    "sweep late",
    "deliver",
    "deliver",
    "deliver twice",
    "give up",
  ),
  /** Of two clients of the tenant. */
  by: fc.nat({ max: 1 }),
  which: fc.nat({ max: 9 }),
});

// shows: media/variants/turns
it("A tenant has no more messages than its lane has places, whatever it does, and each variant ends", async () => {
  const runs = { ...modelRuns("MEDIA_LANE_SCHEDULES", 6), endOnFailure: true };
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 40 }), run), runs);
});

async function run(steps: readonly { do: string; by: number; which: number }[]): Promise<void> {
  Object.assign(LIMITS, { sentPerLane: MOST });
  const app = mediaApp();
  const tenant = unique("t");
  const callers = [principal({ tenant }), principal({ tenant })];
  let files: { readonly file: StoredFile; readonly by: number }[] = [];
  const laneRows = async () => {
    const sql = "SELECT nonce, state, waits FROM variant WHERE lane = ? AND due_at IS NOT NULL";
    return (await everywhere.prepare(sql).bind(tenant).all<{ nonce: string; state: string; waits: number }>()).results;
  };
  const lost = new Set<string>();
  const change = async (path: string, by: number, method: string): Promise<void> => {
    await app.call(path, { as: callers[by]!, method });
  };
  const work = async (): Promise<void> => {
    while (app.longJobs.length > 0) await app.consume({ jobs: app.longJobs.splice(0) });
  };
  for (const { do: what, by, which } of steps) {
    app.clock.nowMs += 1;
    const sizes = `clip=${1 + (which % 3)}x1,${5 + (which % 2)}x2`;
    const chosen = files[which % Math.max(files.length, 1)];
    const bulk = `/media/v2/bulk/variants?tenant=${tenant}&${sizes}&pageSize=9`;
    switch (what) {
      case "store":
        files.push({ file: await stored(app, PICTURE, { as: callers[by]!, query: `?${sizes}` }), by });
        break;
      case "add":
        if (chosen) await change(`${chosen.file.path}/variants?${sizes}&crop=3x3`, chosen.by, "POST");
        break;
      case "delete variants":
        if (chosen) await change(`${chosen.file.path}/variants?${sizes}`, chosen.by, "DELETE");
        break;
      case "delete all variants":
        if (chosen) await change(`${chosen.file.path}/variants`, chosen.by, "DELETE");
        break;
      case "delete file":
        if (chosen) await change(chosen.file.path, chosen.by, "DELETE");
        files = files.filter((one) => one !== chosen);
        break;
      case "delete files":
        await change(`/media/v2/files?tenant=${tenant}`, by, "DELETE");
        files = files.filter((one) => one.by !== by);
        break;
      case "bulk add":
        await change(bulk, by, "POST");
        break;
      case "bulk delete":
        await change(bulk, by, "DELETE");
        break;
      case "lose a message":
        for (const { nonce } of app.jobs.splice(which % Math.max(app.jobs.length, 1), 1)) lost.add(nonce);
        break;
      case "sweep late":
      case "sweep":
        app.clock.nowMs += what === "sweep" ? 0 : LIMITS.variantResendMs;
        await app.media.sweep(app.clock.nowMs);
        break;
      default: {
        await work();
        const jobs = app.jobs.splice(0, 1 + (which % 3));
        await app.consume({ jobs: what === "deliver twice" ? [...jobs, ...jobs] : jobs, dead: what === "give up" });
      }
    }
    await app.settle();
    const rows = await laneRows();
    const sent = rows.filter(({ waits }) => waits === 0);
    expect(sent.length).toBeLessThanOrEqual(MOST);
    const messages = app.jobs.map(({ nonce }) => nonce);
    expect(sent.filter(({ nonce }) => !messages.includes(nonce) && !lost.has(nonce))).toEqual([]);
    expect(rows.filter(({ state }) => state !== "pending" && state !== "removed")).toEqual([]);
  }
  for (let round = 0; (await laneRows()).length > 0; round++) {
    expect(round).toBeLessThan(50);
    app.clock.nowMs += LIMITS.variantResendMs;
    await app.media.sweep(app.clock.nowMs);
    while (app.jobs.length > 0) await app.consume();
    await work();
  }
  for (const { file, by } of files) {
    const list = await expectJson<{ state: string }[]>(
      await app.call(`${file.path}/variants`, { as: callers[by]! }),
      200,
    );
    expect(list.filter(({ state }) => state === "pending")).toEqual([]);
  }
}
