import { summarize } from "./log.ts";

/**
 * Does every piece of work in order, each even if others fail. Tells each failure at once, and throws all of them
 * together at the end, so that the caller's caller sees that something was left undone.
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

/** Throws nothing, or all of them as one. */
export function throwTogether(failures: readonly unknown[]): void {
  if (failures.length > 0) throw new AggregateError(failures, `failed: ${failures.map(summarize).join("; ")}`);
}
