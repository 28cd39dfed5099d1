const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Our choice: the values from which a check warns or fails. */
export const LIMITS = {
  /** An answer of D1, R2 or an object. Usual are some 5 to 50 ms. */
  slowMs: 1_000,
  /** Since the last success of a sweep: two of its periods, and an hour. */
  sweepWarnMs: 10 * MINUTE_MS,
  sweepFailMs: HOUR_MS,
  /** The oldest event of a subscription that no drain could publish. The cron tries every five minutes. */
  outboxWarnMs: 10 * MINUTE_MS,
  outboxFailMs: HOUR_MS,
  /** The oldest job that waits, in the queue or as a row that the sweep should have sent again. */
  jobWarnMs: 15 * MINUTE_MS,
  jobFailMs: 2 * HOUR_MS,
  /** A deletion whose next step or proof has been due for so long. */
  erasureWarnMs: HOUR_MS,
  erasureFailMs: 24 * HOUR_MS,
  /** D1 refuses writes beyond 10 GB. */
  databaseWarnBytes: 7e9,
  databaseFailBytes: 9.5e9,
} as const;
