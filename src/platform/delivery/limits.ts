/** The rules by which the platform calls endpoints of others until they have what they are to get. Times in ms. */
export const ENDPOINT = {
  /** Attempts in flight per endpoint. */
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
  maxRetryAfterMs: 86_400_000,
  /** Maximum time that one response's `Retry-After` pauses the other deliveries. */
  maxRetryAfterPauseMs: 3_600_000,
  /** After this many attempts in a row without a response, the endpoint is tried ever more rarely. */
  silentAttempts: 6,
  minSilentPauseMs: 5_000,
  maxSilentPauseMs: 3_600_000,
  /** The part of a refusing endpoint's answer that is kept, and waited for. */
  saidBytes: 500,
  saidMs: 1_000,
  /** How long dead letters are kept. */
  deadKeptMs: 30 * 86_400_000,
} as const;
