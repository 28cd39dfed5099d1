import { expect, it } from "vitest";
import { LIMITS } from "../../../src/media/model/limits.ts";
import { heardLog } from "../../support/runtime/heard-log.ts";
import { mediaApp, START_MS } from "../support/media-app.ts";
import { principal } from "../support/principal.ts";
import { stored } from "../support/stored-file.ts";
import { everywhere } from "../../support/shards.ts";
import { shardOfId } from "../../../src/media/model/file.ts";
import { HOUR_MS } from "../../../src/platform/runtime/clock.ts";

it("Long work that fails in every attempt is logged with a count, and sent again later each time", async () => {
  const errors: object[] = [];
  const app = mediaApp({ log: { ...heardLog, error: (_, fields) => void errors.push(fields ?? {}) } });
  const as = principal();
  await stored(app, new Uint8Array(3), { as });
  expect((await app.call(`/media/v2/files?tenant=${as.tenant}`, { as, method: "DELETE" })).status).toBe(202);
  await app.settle();
  app.longJobs.splice(0);
  const { id } = (await everywhere.prepare("SELECT id FROM erasure ORDER BY requested_at DESC LIMIT 1").first<{
    id: string;
  }>())!;
  const job = { work: "erase", id, shard: shardOfId(id) } as const;
  const sendsAgain = async (atMs: number): Promise<boolean> => {
    await everywhere.prepare("UPDATE erasure SET due_at = 0, verified_at = NULL WHERE id = ?1").bind(id).run();
    await app.media.sweep(atMs);
    return app.longJobs.splice(0).some((sent) => sent.id === id);
  };
  expect(await sendsAgain(START_MS)).toBe(true);
  let atMs = START_MS;
  for (const [failures, waitMs] of [
    [1, HOUR_MS / 4],
    [2, HOUR_MS / 2],
    [3, HOUR_MS],
  ] as const) {
    app.clock.nowMs = atMs;
    expect(await app.consume({ jobs: [job], dead: true })).toEqual({ acked: 1, retried: 0 });
    expect(errors.splice(0)).toEqual([{ ...job, failures }]);
    expect(await sendsAgain(atMs + waitMs - 1)).toBe(false);
    expect(await sendsAgain(atMs + waitMs)).toBe(true);
    atMs += waitMs;
  }
  await everywhere.prepare("UPDATE dead_work SET failures = 1000").run();
  app.clock.nowMs = atMs;
  await app.consume({ jobs: [job], dead: true });
  expect(await sendsAgain(atMs + LIMITS.deadWork.mostMs - 1)).toBe(false);
  expect(await sendsAgain(atMs + LIMITS.deadWork.mostMs)).toBe(true);
  await app.media.sweep(atMs + LIMITS.deadWork.keptMs + LIMITS.deadWork.mostMs);
  expect(await everywhere.prepare("SELECT count(*) AS n FROM dead_work").first("n")).toBe(0);
});
