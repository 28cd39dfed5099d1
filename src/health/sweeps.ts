/** The sweeps of the cron, in the order of `schedule.ts`. */
export const SWEEPS = [
  "outbox",
  "logouts",
  "subscriptions",
  "seals",
  "oauthSeals",
  "revocations",
  "keys",
  "copies",
  "audit",
  "usage",
  "shards",
  "moves",
  "topics",
  "media",
] as const;
export type SweepName = (typeof SWEEPS)[number];

/** How often they run, by the cron of wrangler.toml. */
export const SWEEP_PERIOD_MS = 300_000;
