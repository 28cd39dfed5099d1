import { createElsewhere } from "../../src/oauth/homes/elsewhere.ts";
import type { Shards } from "../../src/platform/storage/shards.ts";
import { RUN_MS, RUNS_OF_A_DAY, sliceAt } from "../../src/platform/storage/slice.ts";

/** Returns the next time at which the cron checks a row with this key, if `rounds` runs together check all rows. */
export function sweptAt(key: string, nowMs: number, rounds: number = RUNS_OF_A_DAY): number {
  for (let run = 0; run < rounds; run++) {
    const { from, to } = sliceAt(nowMs + run * RUN_MS, rounds);
    if (from <= key && key < to) return nowMs + run * RUN_MS;
  }
  throw new Error(`no run looks at ${key}`);
}

/** Checks the sign-ins in all shards but the first, as a run of the cron at this time does. */
export async function checkElsewhere(shards: Shards, nowMs: number): Promise<void> {
  const limit = 500;
  for (const check of createElsewhere(shards).checks(nowMs, Math.random)) while ((await check(limit)) === limit);
}
