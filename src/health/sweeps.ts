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
