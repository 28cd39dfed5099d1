import { DAY_MS, HOUR_MS, MINUTE_MS } from "../platform/runtime/clock.ts";

/** The values from which a check warns or fails. */
export const LIMITS = {
  /** Time of an answer of D1, R2 or an object. Usually it is 5 to 50 ms. */
  slowMs: 1_000,
  /** Time since the last success of a sweep: two periods of the cron, and an hour. */
  sweepWarnMs: 10 * MINUTE_MS,
  sweepFailMs: HOUR_MS,
  /** Age of the oldest event in the outbox. The cron tries to publish it every five minutes. */
  outboxWarnMs: 10 * MINUTE_MS,
  outboxFailMs: HOUR_MS,
  /** Age of the oldest waiting job, in the queue or as a row that the sweep should have sent again. */
  jobWarnMs: 15 * MINUTE_MS,
  jobFailMs: 2 * HOUR_MS,
  /** Time since a variant failed by an outage. Its job is sent again after 15 minutes, and fails minutes later. */
  outageMs: 30 * MINUTE_MS,
  /** Time since when the next step or the proof of a deletion has been due. */
  erasureWarnMs: HOUR_MS,
  erasureFailMs: DAY_MS,
  /** Time since when a sweep of a tenant object has been due. Its alarm comes again each hour, so a job may be lost. */
  objectWarnMs: 2 * HOUR_MS,
  objectFailMs: DAY_MS,
  /** Age of the newest backup: a night's backup that was left out. */
  backupWarnMs: 36 * HOUR_MS,
  /** D1 refuses writes beyond 10 GB. */
  databaseWarnBytes: 7e9,
  databaseFailBytes: 9.5e9,
} as const;
