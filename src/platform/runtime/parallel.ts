/**
 * Runs `work` for every item, at most `limit` at a time. Rejects at the first failure. The work on the other items then
 * continues, including those that have not begun.
 */
export async function inParallel<T>(
  items: readonly T[],
  limit: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = items.values();
  const lane = async (): Promise<void> => {
    for (const item of waiting) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, lane));
}

/** Like `inParallel`, and returns the results in the order of the items. */
export async function mapInParallel<T, R>(
  items: readonly T[],
  limit: number,
  work: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = [];
  await inParallel([...items.entries()], limit, async ([at, item]) => {
    results[at] = await work(item);
  });
  return results;
}
