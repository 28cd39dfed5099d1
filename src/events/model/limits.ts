/** Every limit of events with its source. Sizes are UTF-8 bytes unless the name says characters. */

/** Contract 3.2. */
export const TOPIC = {
  minShards: 1,
  /** Is in every event id that was ever handed out (log/event-id.ts), so it stays as it is. */
  maxShards: 16,
  defaultShards: 1,
  /** Our choice: a paragraph. */
  maxDescriptionChars: 1024,
  /** Our choice: as old as other records that decide may be (contract 2.1). */
  recordTtlMs: 30_000,
  /** Our choice: some 2 MB of an isolate's memory. */
  maxRecords: 5_000,
} as const;

/** Contract 3.2. */
export const PUBLISH = {
  maxEvents: 1000,
  maxPayloadBytes: 256 * 1024,
  maxRequestBytes: 5 * 1024 * 1024,
  /** Our choice: with a payload of nothing but escapes an event still fits a row of 2 MB. */
  maxMetadataBytes: 16 * 1024,
  idempotencyMs: 86_400_000,
} as const;

/** Our choice, for publishing and reading. */
export const IDEMPOTENCY_KEY = {
  maxChars: 255,
} as const;

/** How a log stores. */
export const LOG = {
  /** Our choice: a hundred small events are one row written, and whoever wants one of them reads no more than this. */
  segmentChars: 64 * 1024,
  /** Our choice: how much one call reads through for a reader of one tenant's events, which takes some 100 ms. */
  passedChars: 16 * 1024 * 1024,
  /** Our choice: expired idempotency keys that a publish clears away on its way, twice what it can add. */
  keysClearedAPublish: 2,
  /** Our choice: the part of a log's maximum that keys may take; beyond it the oldest go before their time. */
  keysPart: 1 / 8,
  /**
   * Our choice: how long a key that is over is still kept: a repeat that its home knew in the last moment finds it in
   * the other shards a moment later.
   */
  keyGraceMs: 60_000,
  /** Our choice: what one step of retention removes, which takes some 30 ms; the next step follows at once. */
  rowsTrimmedAStep: 500,
  bytesTrimmedAStep: 32 * 1024 * 1024,
  /** Our choice: how long after a failed step the next one is tried. */
  trimRetryMs: 60_000,
  /** Our choice: an alarm that is so late is set again by the next publish: the runtime may have given it up. */
  alarmLostMs: 60_000,
  /** So long the runtime lets an alarm run. */
  alarmRunMs: 900_000,
  /** Our choice: so much, and such a part of the maximum, is stored before a log looks at its size again. */
  unseenChars: 1024 * 1024,
  unseenPart: 1 / 64,
  /** Our choice: at this size nothing is published. An object's database ends at 10 GB, where a write would fail. */
  fullBytes: 9_500_000_000,
} as const;

/** Our choice: how a log wakes push subscriptions. */
export const WAKE = {
  waitMs: 5_000,
  /** After a failure, doubled with each one that follows. */
  minRetryMs: 5_000,
  maxRetryMs: 60_000,
  /** In flight, and how many of them may be such as failed the last time. */
  atOnce: 16,
  failingAtOnce: 4,
  /** A subscription is woken at most once in such a time while a log is busy. */
  roundMs: 50,
  /** Bound of one alarm, which may take 15 minutes and make 1,000 calls; the next one follows at once. */
  aRun: 500,
} as const;

/** Specification "Limits", contract 3.4. */
export const READ = {
  defaultEvents: 1,
  maxEvents: 1000,
  minTtlMs: 1_000,
  maxTtlMs: 3_600_000,
  defaultTtlMs: 60_000,
  maxPayloadBytes: 5 * 1024 * 1024,
  /** Our choice: a payload of escapes grows sixfold as JSON, and an answer of an object may have 32 MiB. */
  maxAnswerChars: 8 * 1024 * 1024,
  /** Our choice: what a consumer keeps in memory between two reads; many of them share the 128 MB of an isolate. */
  aheadChars: 1024 * 1024,
  /** Our choice: what it takes at first behind a new place, a segment; each look that goes on from there takes more. */
  firstAheadChars: LOG.segmentChars,
  aheadGrowth: 4,
  /** Our choice: a shard that takes longer counts as one that could not be looked at. */
  logWaitMs: 5_000,
  /** Our choice: how often in a row `rel="more"` is the answer while a shard fails; then it is 503, so following it ends. */
  failedLooks: 4,
  /** Our choice: batches whose end is remembered, so that a repeated commit is told what became of it. */
  outcomes: 16,
  /** Our choice: how finely "how often was this event handed out" is kept for one shard. */
  handoutSteps: 16,
} as const;

/** Contract 3.2; the numbers are those of paging (contract 1.3). */
export const PEEK = {
  defaultEvents: 16,
  maxEvents: 1000,
} as const;

/** Our choice: bounds of the work that one request or one sweep does to clear topics away; the next sweep goes on. */
export const DELETE = {
  topicsASweep: 20,
  /**
   * So long the sweep waits for one of them: what can be cleared in one invocation takes some seconds. All of them together
   * leave a third of the 15 minutes that a cron may take to the sweep behind this one.
   */
  topicWaitMs: 30_000,
  consumersAStep: 50,
  subscribersAStep: 50,
  /** Objects that are removed at the same time. */
  atOnce: 10,
  /**
   * Calls after which nothing new is begun; what is begun may take some 100 more. An invocation may make 1,000, which
   * this sweep shares with the others.
   */
  calls: 400,
} as const;

/** Specification "Limits" where no other source is named. */
export const SUBSCRIPTION = {
  minNameChars: 3,
  maxNameChars: 256,
  maxEndpointChars: 512,
  /** Our choice: as long as a name. */
  maxUsernameChars: 256,
  /** Our choice: as a header in base64 it stays far below what servers take. */
  maxPasswordChars: 1024,
  /** Our choice: a list of them needs no pages. */
  ofClient: 100,
  /** Our choice: what a log wakes after a publish. */
  ofTopic: 1000,
  /** Our choice: how long an answer waits for the object, where it can do without. */
  objectWaitMs: 5_000,
  /** Our choice: how often an update that loses to another one is tried again. */
  updateAttempts: 10,
  /** Our choice: so many have a row each in the audit log when they end with their topic or client. */
  endedNamed: 100,
  /** Our choice: what one sweep wakes, and what it seals anew. */
  wokenASweep: 50,
  resealedASweep: 50,
} as const;

/** Our choice: how an endpoint is asked whether it wants the events of a subscription. */
export const HANDSHAKE = {
  /** From each ping that failed to the next one; the one behind the last of them decides. */
  retryMs: [5_000, 30_000, 300_000, 1_800_000, 7_200_000, 18_000_000],
  lastAgainMs: 30_000,
  /** As long as a `Retry-After` may be. */
  maxWaitMs: 86_400_000,
  /** What is read of an answer. */
  maxAnswerBytes: 4_096,
} as const;

/** Contract 3.5; what it does not say is our choice. */
export const DELIVERY = {
  /** Attempts in flight of one subscription. */
  window: 6,
  attemptMs: 15_000,
  /** From each failed attempt to the next one; after the last of them a delivery is dead. */
  retryMs: [5_000, 30_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000, 36_000_000],
  /** Each of them is longer by up to this part, so that what failed together does not come back together. */
  jitter: 0.2,
  /** How often an endpoint may name the time of an event's next attempt without using up a step of its schedule. */
  namedTimes: 10,
  minRetryAfterMs: 1_000,
  maxRetryAfterMs: 86_400_000,
  /** How long one answer's `Retry-After` holds up the other events. */
  maxRetryAfterPauseMs: 3_600_000,
  /** From so many attempts in a row without any answer on the endpoint is asked ever more rarely. */
  silentAttempts: 6,
  minSilentPauseMs: 5_000,
  maxSilentPauseMs: 3_600_000,
  /** Attempts that are shown of one delivery; all are counted. */
  attemptsKept: 20,
  /** As many pending ones, or bytes, as an object holds before it leaves events in the log. */
  maxPending: 10_000,
  maxStoredBytes: 2_000_000_000,
  takenAtOnce: 1_000,
  /** Texts of events in memory. */
  textChars: 1024 * 1024,
  deliveredKept: 1_000,
  deliveredKeptMs: 7 * 86_400_000,
  deadKept: 10_000,
  deadKeptMs: 30 * 86_400_000,
  clearedAStep: 500,
  /** What is over is cleared this much later, much of it at once. */
  clearGraceMs: 3_600_000,
  /** How old the record may be that an attempt goes by, and how old when D1 does not answer. */
  recordTtlMs: 10_000,
  recordKeptMs: 60_000,
  recordWaitMs: 5_000,
  /** When the record is looked at again: D1 failed; it is not there yet; no rights or no key; disabled. */
  failedAgainMs: 10_000,
  missingAgainMs: 5_000,
  refusedAgainMs: 300_000,
  disabledAgainMs: 300_000,
  /** How often an object that has nothing to do looks whether it still has a record. */
  restMs: 86_400_000,
  /** A record may come so long after the object was opened. */
  openingMs: 600_000,
  /** Bounds of one alarm, which may take 15 minutes and make 1,000 calls; the next one follows at once. */
  callsARun: 800,
  runMs: 300_000,
  maxRunMs: 900_000,
  /** When a run that was cut off is repeated. */
  safetyMs: 60_000,
  /** An alarm that is so much overdue was given up by the runtime, and is set again. */
  alarmLostMs: 60_000,
  testEveryMs: 1_000,
} as const;
