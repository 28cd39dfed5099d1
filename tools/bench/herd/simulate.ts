import { Database } from "./database.ts";
import { simulateIsolate } from "./isolate.ts";
import { memoryCache } from "./location.ts";
import { VirtualTime } from "./virtual-time.ts";

export interface Herd {
  readonly isolates: number;
  readonly requestsPerSec: number;
  readonly stallMs: number;
  readonly seed: number;
  /** Time after the stall. */
  readonly afterMs: number;
}

/** One second of the run. */
export interface Second {
  requests: number;
  refused: number;
  /** The sum over requests of the time that they waited. */
  waitedMs: number;
  queries: number;
}

export interface HerdResult extends Herd {
  readonly seconds: readonly Second[];
  readonly stallsAtSec: number;
  /** The database's queue at the end, in ms. */
  readonly queueMs: number;
}

/** The share of requests that publish. */
export const PUBLISHES = 0.7;
/** The number of tenants. Every isolate serves all of them, so their records are in every cache. */
const TENANTS = 10;
const ISOLATES_OF_LOCATION = 20;
/** The time before the stall, in which caches fill and refreshes spread. */
const WARM_UP_MS = 60_000;
/** A request without an answer by then counts as refused. */
const PATIENCE_MS = 10_000;
const DATABASE = { queriesPerSec: 700, othersPerSec: 300, roundTripMs: 40 } as const;

/** Runs requests on isolates over a database that stops for a while, in virtual time. The same seed, the same run. */
export async function simulate(herd: Herd): Promise<HerdResult> {
  const { isolates: count, requestsPerSec, stallMs, seed, afterMs } = herd;
  const chance = mulberry32(seed);
  const time = new VirtualTime();
  const database = new Database(time, { ...DATABASE, stallsAtMs: WARM_UP_MS, stallMs });
  const caches = Array.from({ length: Math.ceil(count / ISOLATES_OF_LOCATION) }, () => memoryCache(time));
  const isolates = Array.from({ length: count }, (_, n) =>
    simulateIsolate(time, database, caches[n % caches.length]!, chance),
  );
  const endMs = WARM_UP_MS + stallMs + afterMs;
  const seconds: Second[] = Array.from({ length: endMs / 1000 }, () => ({
    requests: 0,
    refused: 0,
    waitedMs: 0,
    queries: 0,
  }));

  const note = async (answered: Promise<boolean>, second: Second, beganAtMs: number): Promise<void> => {
    const isAnswered = await answered;
    const waitedMs = time.nowMs() - beganAtMs;
    second.waitedMs += waitedMs;
    // A client would not have waited that long.
    if (!isAnswered || waitedMs > PATIENCE_MS) second.refused += 1;
  };
  const request = (nowMs: number): void => {
    const isolate = isolates[Math.floor(chance() * count)]!;
    const tenant = Math.floor(chance() * TENANTS);
    const kind = chance();
    const second = seconds[Math.floor(nowMs / 1000)]!;
    second.requests += 1;
    const answered =
      kind < PUBLISHES
        ? isolate.publish(tenant, nowMs)
        : kind < 0.9
          ? isolate.gateway(tenant, nowMs)
          : isolate.token(tenant, nowMs);
    void note(answered, second, nowMs);
  };

  let owed = 0;
  for (let nowMs = 0; nowMs < endMs; nowMs++) {
    await time.runTo(nowMs);
    // Isolates start over the first five seconds.
    owed += (requestsPerSec / 1000) * Math.min(1, (nowMs + 1) / 5_000);
    for (; owed >= 1; owed--) request(nowMs);
  }
  const { queueMs } = database;
  // Lets requests that still wait be answered or refused.
  await time.runTo(endMs + 20_000);
  seconds.forEach((second, at) => (second.queries = database.perSec[at] ?? 0));
  return { ...herd, seconds, stallsAtSec: WARM_UP_MS / 1000, queueMs };
}

/** A small generator of pseudorandom numbers in [0, 1). */
function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
