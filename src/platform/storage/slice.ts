import { MINUTE_MS } from "../runtime/clock.ts";

/**
 * Slices of a table, for a sweep without an index by time, which would cost a write for each row. Keys are hashes in
 * hex, so a range of hashes has its share of the rows. Each run of the cron reads one range:
 *
 *   run 0 ▸ 00… to 15…   run 1 ▸ 15… to 2a…   …   run n ▸ ea… to ff…   run n + 1 ▸ 00… to 15…
 *
 * The time determines the range. If a run is missed, its range waits for the next round.
 */
export interface Slice {
  readonly from: string;
  /** Exclusive. */
  readonly to: string;
}

/** The interval of the cron in wrangler.toml. */
export const RUN_MS = 5 * MINUTE_MS;
export const RUNS_OF_AN_HOUR = 12;
export const RUNS_OF_A_DAY = 24 * RUNS_OF_AN_HOUR;

/** The slice of the run at this time, if `rounds` runs read the whole table. */
export function sliceAt(nowMs: number, rounds: number): Slice {
  const run = Math.floor(nowMs / RUN_MS) % rounds;
  return { from: boundary(run, rounds), to: run + 1 === rounds ? "g" : boundary(run + 1, rounds) };
}

/** The beginning of that slice, a key within, and its end. `chance`: a number in [0, 1), the place of the key. */
export function keysAt(nowMs: number, rounds: number, chance: number) {
  const { from, to } = sliceAt(nowMs, rounds);
  return [from, boundary((Math.floor(nowMs / RUN_MS) % rounds) + chance, rounds), to] as const;
}

const boundary = (part: number, parts: number): string =>
  Math.floor((part * 0x1_0000) / parts)
    .toString(16)
    .padStart(4, "0");
