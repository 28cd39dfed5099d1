const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Steps of a series: their length, and how long they are kept. */
export const STEPS = {
  minute: { ms: MINUTE_MS, keptMs: 2 * DAY_MS },
  hour: { ms: 60 * MINUTE_MS, keptMs: 90 * DAY_MS },
  day: { ms: DAY_MS, keptMs: 731 * DAY_MS },
} as const;
export type Step = keyof typeof STEPS;
export const STEP_NAMES = Object.keys(STEPS) as readonly Step[];

export const startOf = (step: Step, atMs: number): number => Math.floor(atMs / STEPS[step].ms) * STEPS[step].ms;

export const LIMITS = {
  /** An isolate sends at most this often, and what it counted at most this late. */
  flushMs: 10_000,
  fullFlushMs: 1_000,
  /** A batch with so many tenants is sent sooner. Further tenants count only in the sums of everybody. */
  batchTenants: 2_000,
  /** Minutes that an isolate holds while nobody takes them. */
  heldMinutes: 10,
  /** A send that takes longer counts as lost, since its request may be over. */
  sendMs: 30_000,
  /** Collectors: an isolate picks one of them. */
  collectors: 8,
  /** A collector passes on what it has this often, or when somebody reads. */
  passOnMs: 300_000,
  /** Characters that a collector holds for one isolate before it passes everything on. */
  heldChars: 256 * 1024,
  /** Tenants of one message to a store. */
  messageTenants: 300,
  /** Messages that wait for a store that does not answer; more are dropped. */
  waitingMessages: 2_000,
  /** How long a sender is remembered, so that a repeat of its last message counts once. */
  senderMs: 8 * DAY_MS,
  /** Readers let the collectors pass on what they hold, at most this often. */
  freshMs: 2_000,
  /** An isolate counts at most this often what all tenants store. */
  storedMs: 10_000,
  /** A value that was measured longer ago is not the current one. */
  peakMs: { usual: 5 * MINUTE_MS, hourly: 130 * MINUTE_MS },
  /** Points of one answer, and values in all. */
  points: 1_500,
  values: 300_000,
  /** Steps that are added up for the busiest tenants, and tenants of one answer. */
  topSteps: 62,
  topTenants: 100,
  /** Objects that store tenants' counts, and rows of each for a stretch of time. */
  stores: 16,
  groups: 16,
  /** A row of an object's SQLite may have 2 MB. */
  packChars: 1_500_000,
} as const;
