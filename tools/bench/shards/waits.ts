/**
 * How long operations wait for databases that are far away, and what a `placement` of the Worker changes. The waits of
 * an operation, one after the other, are counted by test/http/waits-far.test.ts; distances are assumptions.
 */
export interface Waits {
  readonly operation: string;
  /** Waits for the tenant's shard. For sign-ins: for the directory. */
  readonly own: number;
  /** More waits for the directory in an isolate that has not been called for some seconds. */
  readonly stale: number;
}

export const WAITS: readonly Waits[] = [
  { operation: "create a file", own: 1, stale: 1 },
  { operation: "upload its bytes", own: 1, stale: 0 },
  { operation: "commit it", own: 1, stale: 1 },
  { operation: "a page of a list", own: 2, stale: 1 },
  { operation: "link to a private file", own: 1, stale: 1 },
  { operation: "its content", own: 1, stale: 0 },
  { operation: "delete a file", own: 1, stale: 1 },
];

/** Sydney to Frankfurt and back; within a location; from a Worker to a database in its own region. */
export const DISTANCES = { farMs: 280, userMs: 10, nearMs: 5 } as const;

export interface Latency {
  readonly operation: string;
  /** The Worker runs near the caller, every database is far. */
  readonly beforeMs: number;
  /** `placement`: the Worker runs near the databases, far from the caller. */
  readonly placedMs: number;
  /** The Worker and the tenant's shard, an object, are near the caller; the directory is far. */
  readonly objectMs: number;
}

export function latencyOf({ operation, own, stale }: Waits): Latency {
  const { farMs, userMs, nearMs } = DISTANCES;
  return {
    operation,
    beforeMs: userMs + (own + stale) * farMs,
    placedMs: farMs + (own + stale) * nearMs,
    objectMs: userMs + own * nearMs + stale * farMs,
  };
}
