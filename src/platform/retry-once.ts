/**
 * Tries once more what failed, or whose answer was lost: only for what changes nothing the second time. `isRepeat` says
 * that this is the second time.
 */
export async function retryOnce<T>(run: (isRepeat: boolean) => Promise<T>): Promise<T> {
  try {
    return await run(false);
  } catch {
    return await run(true);
  }
}
