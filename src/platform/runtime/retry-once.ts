import { systemRandom, type Random } from "./random.ts";

/** The shortest pause before a repeat. It is up to twice as long by chance, so that what failed together is spread. */
export const REPEAT_AFTER_MS = 100;

/**
 * Repeats a call once that failed or whose answer was lost: only for calls that change nothing the second time.
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
