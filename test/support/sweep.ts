import { RUN_MS, RUNS_OF_A_DAY, sliceAt } from "../../src/platform/storage/slice.ts";

/** Returns the next time at which the cron checks a row with this key, if `rounds` runs together check all rows. */
export function sweptAt(key: string, nowMs: number, rounds: number = RUNS_OF_A_DAY): number {
  for (let run = 0; run < rounds; run++) {
    const { from, to } = sliceAt(nowMs + run * RUN_MS, rounds);
    if (from <= key && key < to) return nowMs + run * RUN_MS;
  }
  throw new Error(`no run looks at ${key}`);
}
