/**
 * Tables whose rows expire in no order of their keys are swept without an index by time, which each row would pay for.
 * Keys are hashes in hex, so a part of the hashes is a part of the rows. Each run of the cron walks through one part:
 *
 *   run 0 ▸ 00… to 15…   run 1 ▸ 15… to 2a…   …   run n ▸ ea… to ff…   run n + 1 ▸ 00… to 15…
 *
 * The time says which part is next. A run that is missed leaves its part to the next round.
 */
export interface Slice {
  readonly from: string;
  /** Exclusive. */
  readonly to: string;
}

/** The cron of wrangler.toml. */
export const RUN_MS = 5 * 60_000;
export const RUNS_OF_AN_HOUR = 12;
export const RUNS_OF_A_DAY = 24 * RUNS_OF_AN_HOUR;

/** The part of a run at this time, if `rounds` runs walk through the whole table. */
export function sliceAt(nowMs: number, rounds: number): Slice {
  const run = Math.floor(nowMs / RUN_MS) % rounds;
  return { from: boundary(run, rounds), to: run + 1 === rounds ? "g" : boundary(run + 1, rounds) };
}

const boundary = (part: number, parts: number): string =>
  Math.floor((part * 0x1_0000) / parts)
    .toString(16)
    .padStart(4, "0");
