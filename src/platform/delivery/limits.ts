import { DAY_MS, HOUR_MS } from "../runtime/clock.ts";

/** The rules for deliveries to endpoints outside the platform, and for their retries. Times in ms. */
export const ENDPOINT = {
  /** Maximum attempts in flight per endpoint. */
  window: 6,
  attemptMs: 15_000,
  /** Delays between failed attempts. After the last one a delivery is dead. */
  retryMs: [5_000, 30_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000, 36_000_000],
  /** Random extra share of each delay, so that deliveries that failed together do not retry together. */
  jitter: 0.2,
  /**
   * Number of times that an endpoint may set a delivery's next attempt by `Retry-After` without using up a step of its
   * schedule.
   */
  namedTimes: 10,
  minRetryAfterMs: 1_000,
  maxRetryAfterMs: DAY_MS,
  /** Maximum time that one response's `Retry-After` pauses the other deliveries. */
  maxRetryAfterPauseMs: HOUR_MS,
  /** After this many attempts in a row without a response, the endpoint is tried ever more rarely. */
  silentAttempts: 6,
  minSilentPauseMs: 5_000,
  maxSilentPauseMs: HOUR_MS,
  /** Maximum bytes of a refusal's body that are kept, and maximum time to read them. */
  saidBytes: 500,
  saidMs: 1_000,
  /** Time for which dead letters are kept. */
  deadKeptMs: 30 * DAY_MS,
} as const;
