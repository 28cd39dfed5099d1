import { env } from "cloudflare:workers";

/**
 * How many schedules a model test runs: `setting` from outside, or the number that `npm test` has time for. A failure prints
 * its seed and its path: `MODEL_SEED` and `MODEL_PATH` run it again.
 */
export function modelRuns(setting: string, byDefault: number): { numRuns: number; seed?: number; path?: string } {
  const settings = env as unknown as Record<string, string | undefined>;
  const { MODEL_SEED: seed, MODEL_PATH: path } = settings;
  return {
    numRuns: Number(settings[setting] || byDefault),
    ...(seed ? { seed: Number(seed) } : {}),
    ...(path ? { path } : {}),
  };
}
