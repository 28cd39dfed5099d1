/** Every subject publishes this: 512 bytes of JSON, like an order. */
export const PAYLOAD_BYTES = 512;
export const BATCH = 100;
/** Readers go through so many events, again and again. */
const STORED_EVENTS = 100_000;
export const storedBatches = (maxEvents: number): number => Math.ceil(Math.min(STORED_EVENTS, maxEvents) / BATCH);
/** Clients that publish or read at the same time. */
export const MANY = 16;

const beginning = '{"order":"4711","customer":"c-1","currency":"EUR","total":"129.90","note":"';
export const PAYLOAD = `${beginning}${"x".repeat(PAYLOAD_BYTES - beginning.length - 2)}"}`;

export const batchOf = <T>(count: number, item: T): T[] => Array.from({ length: count }, () => item);

/** Operations of every subject: events at once, and clients. */
export const SIZES = [1, BATCH] as const;
export const CLIENTS = [1, MANY] as const;
export type Kind = "publish" | "read";
export const operationId = (kind: Kind, events: number, clients: number): string => `${kind}-${events}-by-${clients}`;

/** One maker for each operation. */
export function forAllOperations<T>(make: (kind: Kind, events: number) => T): Record<string, T> {
  const made: Record<string, T> = {};
  for (const kind of ["publish", "read"] as const)
    for (const events of SIZES)
      for (const clients of CLIENTS) made[operationId(kind, events, clients)] = make(kind, events);
  return made;
}

/** Runs once and shares the result. */
export function once<T>(run: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => (running ??= run());
}
