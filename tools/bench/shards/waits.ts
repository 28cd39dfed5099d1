/**
 * How long operations wait for databases that are far away, and what a `placement` of the Worker changes. The waits of
 * an operation, one after the other, are counted by test/http/waits-far.test.ts; distances are assumptions.
 */
export interface Waits {
  readonly operation: string;
  /** Waits for the directory. */
  readonly directory: number;
  /** Waits for the tenant's shard, or for the home of the person. */
  readonly own: number;
  /** Waits for Durable Objects of topics, and for the one that counts guesses. */
  readonly objects: number;
  /** More waits for the directory in an isolate that has not been called for half a minute. */
  readonly stale: number;
}

const waits = (operation: string, directory: number, own: number, objects: number, stale: number): Waits => ({
  operation,
  directory,
  own,
  objects,
  stale,
});

export const WAITS: readonly Waits[] = [
  waits("token of a service", 0, 0, 0, 1),
  waits("tokeninfo", 1, 0, 0, 0),
  waits("sign-in page", 0, 0, 0, 2),
  waits("sign-in form", 1, 1, 1, 1),
  waits("redeem a code", 1, 1, 0, 2),
  waits("sign-in while signed in", 1, 1, 0, 1),
  waits("refresh", 1, 1, 0, 2),
  waits("userinfo", 1, 0, 0, 0),
  waits("through the gateway", 0, 0, 0, 2),
  waits("publish an event", 0, 0, 1, 1),
  waits("read events", 0, 0, 1, 1),
  waits("commit them", 0, 0, 1, 1),
  waits("create a file", 0, 1, 0, 1),
  waits("upload its bytes", 0, 1, 0, 0),
  waits("commit it", 0, 1, 0, 2),
  waits("a page of a list", 0, 2, 0, 1),
  waits("link to a private file", 0, 1, 0, 1),
  waits("its content", 0, 1, 0, 0),
  waits("delete a file", 0, 1, 0, 2),
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

/** An object of a topic lies near the Worker that called it first, so near every later one of that place. */
export function latencyOf({ operation, directory, own, objects, stale }: Waits): Latency {
  const { farMs, userMs, nearMs } = DISTANCES;
  return {
    operation,
    beforeMs: userMs + (directory + own + stale) * farMs + objects * nearMs,
    placedMs: farMs + (directory + own + stale + objects) * nearMs,
    objectMs: userMs + (directory + stale) * farMs + (own + objects) * nearMs,
  };
}
