/**
 * Repeats a call once that failed or whose answer was lost: only for calls that change nothing the second time.
 * `isRepeat` is true for the second call.
 */
export async function retryOnce<T>(run: (isRepeat: boolean) => Promise<T>): Promise<T> {
  try {
    return await run(false);
  } catch {
    return await run(true);
  }
}
