import { env } from "cloudflare:workers";
import { inject, it } from "vitest";

const settings = env as unknown as Record<string, string | undefined>;

/** Returns the number of cases of a property: the number that fits `npm test`, times `RUNS`. */
export const runs = (byDefault: number): number => Math.ceil(byDefault * Number(settings["RUNS"] || 1));

/** Returns the cases to try: in `npm test` the first `few`, in a search all. */
export const casesOf = <T>(all: readonly T[], few: number): readonly T[] =>
  inject("isSearch") ? all : all.slice(0, few);

/** Returns the distance of the calls that a test lets fail one after the other: `few` in `npm test`, 1 in a search. */
export const strideOf = (few: number): number => (inject("isSearch") ? 1 : few);

/** False in `npm test`. */
export const isSearch = inject("isSearch");

/**
 * A test that `npm test` leaves out: of a long wait, of thousands of rows, or of a rare case of a rule that a quicker
 * test shows too. It runs in a search.
 */
export const itAtNight = isSearch ? it : it.skip;

/**
 * Returns the number of schedules of a model test: `setting` from outside, or the number that fits `npm test`. A
 * failure prints its seed and its path: `MODEL_SEED` and `MODEL_PATH` run it again.
 */
export function modelRuns(setting: string, byDefault: number): { numRuns: number; seed?: number; path?: string } {
  const { MODEL_SEED: seed, MODEL_PATH: path } = settings;
  return {
    numRuns: Number(settings[setting] || runs(byDefault)),
    ...(seed ? { seed: Number(seed) } : {}),
    ...(path ? { path } : {}),
  };
}
