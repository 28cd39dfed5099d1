import { summarize } from "./log.ts";

/**
 * Attempts every item in order, even if others fail. Reports each failure at once and throws all of them together at
 * the end, so that the caller learns that something is left undone.
 */
export async function attemptEach<T>(
  items: Iterable<T>,
  attempt: (item: T) => Promise<void>,
  onFailure: (item: T, thrown: unknown) => void,
): Promise<void> {
  const failures: unknown[] = [];
  for (const item of items) {
    try {
      await attempt(item);
    } catch (thrown) {
      onFailure(item, thrown);
      failures.push(thrown);
    }
  }
  throwTogether(failures);
}

/** Throws all failures as one error; nothing if there are none. */
export function throwTogether(failures: readonly unknown[]): void {
  if (failures.length > 0) throw new AggregateError(failures, `failed: ${failures.map(summarize).join("; ")}`);
}
