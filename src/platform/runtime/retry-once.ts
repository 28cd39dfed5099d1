import { systemRandom, type Random } from "./random.ts";

/** Minimum pause before a repeat. A random pause of up to twice that spreads calls that failed together. */
export const REPEAT_AFTER_MS = 100;

/**
 * Runs a call, and once more if it fails or its answer is lost. Only for calls that change nothing the second time.
 * `isRepeat` is true for the second call.
 */
export async function retryOnce<T>(
  run: (isRepeat: boolean) => Promise<T>,
  wait: (ms: number) => Promise<unknown> = (ms) => scheduler.wait(ms),
  random: Random = systemRandom,
): Promise<T> {
  try {
    return await run(false);
  } catch {
    const [part = 0] = random.bytes(1);
    await wait(REPEAT_AFTER_MS * (1 + part / 255));
    return await run(true);
  }
}
