import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../platform/runtime/clock.ts";

/** Steps of a series: their length, and the time for which they are kept. */
export const STEPS = {
  minute: { ms: MINUTE_MS, keptMs: 2 * DAY_MS },
  hour: { ms: HOUR_MS, keptMs: 90 * DAY_MS },
  day: { ms: DAY_MS, keptMs: 731 * DAY_MS },
} as const;
export type Step = keyof typeof STEPS;
export const STEP_NAMES = Object.keys(STEPS) as readonly Step[];

export const startOf = (step: Step, atMs: number): number => Math.floor(atMs / STEPS[step].ms) * STEPS[step].ms;

export const LIMITS = {
  /** Minimum time between two sends of an isolate, and between two of full batches. */
  flushMs: 10_000,
  fullFlushMs: 1_000,
  /** Maximum tenants of a batch. Further tenants count only in the sums of everybody. */
  batchTenants: 2_000,
  /** Maximum minutes that an isolate holds while no collector takes them. */
  heldMinutes: 10,
  /** A send that takes longer counts as lost, since its request may be over. */
  sendMs: 30_000,
  /** Number of collectors. An isolate sends to one of them. */
  collectors: 8,
  /** Time after which a collector passes its counts on, unless somebody reads before. */
  passOnMs: 300_000,
  /** Maximum characters that a collector holds for one isolate before it makes messages of them. */
  heldChars: 256 * 1024,
  /** Maximum tenants of one message to a store, summed over its minutes. */
  messageTenants: 300,
  /** Maximum messages that wait for a store that does not answer. More are dropped. */
  waitingMessages: 2_000,
  /** Time for which the number of a sender is kept, so that a repeat of its last message counts once. */
  senderMs: 8 * DAY_MS,
  /** Minimum time between two reads of an isolate that make the collectors pass their counts on. */
  freshMs: 2_000,
  /** Maximum age of an isolate's sum of the files and bytes of all tenants. */
  storedMs: 10_000,
  /** Maximum age of a peak that still counts as the current value. */
  peakMs: { usual: 5 * MINUTE_MS, hourly: 130 * MINUTE_MS },
  /** Maximum points of a series in one answer, and values of all its series. */
  points: 1_500,
  values: 300_000,
  /** Maximum steps that are added up for the busiest tenants, and tenants of one answer. */
  topSteps: 62,
  topTenants: 100,
  /** Number of objects that store the counts of tenants, and of the packs of each for one step. */
  stores: 16,
  groups: 16,
  /** Size from which a pack takes no more tenants: a row of an object's SQLite may have 2 MB. */
  packChars: 1_500_000,
} as const;
