import { env } from "cloudflare:workers";
import { inject } from "vitest";

const settings = env as unknown as Record<string, string | undefined>;

/** The number of cases of a property that `npm test` has time for, times `RUNS`. */
export const runs = (byDefault: number): number => Math.ceil(byDefault * Number(settings["RUNS"] || 1));

/** The cases that `npm test` has time for: the first `few`. A search tries all of them. */
export const casesOf = <T>(all: readonly T[], few: number): readonly T[] =>
  inject("isSearch") ? all : all.slice(0, few);

/** Which calls fail in a test that lets one after the other fail: every `few`-th in `npm test`, each one in a search. */
export const strideOf = (few: number): number => (inject("isSearch") ? 1 : few);

/** False in `npm test`. For a test that is too long for it, beside a shorter one of the same kind. */
export const isSearch = inject("isSearch");

/**
 * How many schedules a model test runs: `setting` from outside, or the number that `npm test` has time for. A failure prints
 * its seed and its path: `MODEL_SEED` and `MODEL_PATH` run it again.
 */
export function modelRuns(setting: string, byDefault: number): { numRuns: number; seed?: number; path?: string } {
  const { MODEL_SEED: seed, MODEL_PATH: path } = settings;
  return {
    numRuns: Number(settings[setting] || runs(byDefault)),
    ...(seed ? { seed: Number(seed) } : {}),
    ...(path ? { path } : {}),
  };
}
