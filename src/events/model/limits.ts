import { ENDPOINT } from "../../platform/delivery/limits.ts";
import { DAY_MS, HOUR_MS } from "../../platform/runtime/clock.ts";

/** Limits of events. Sizes are UTF-8 bytes unless the name says characters. */

export const TOPIC = {
  minShards: 1,
  /** Event ids are computed with this number (log/event-id.ts), so it cannot change. */
  maxShards: 16,
  defaultShards: 1,
  /** Our choice. Each takes a row of the directory, and up to 16 objects. */
  mostOfClient: 10_000,
  /** About a paragraph. */
  maxDescriptionChars: 1024,
  /** The same age as cached records of clients. */
  recordTtlMs: 30_000,
  /** From this age on, a request reloads the topic after its answer. */
  recordAheadMs: 10_000,
  /** Maximum age of a copy that the isolates of a location share. */
  locationAgeMs: 10_000,
  /**
   * Maximum age while D1 does not respond. It may exceed that of other records: no right depends on it, and the
   * objects of a deleted topic answer "gone".
   */
  recordKeptMs: 60_000,
  /** About 2 MB of an isolate's memory. */
  maxRecords: 5_000,
} as const;

export const PUBLISH = {
  maxEvents: 1000,
  maxPayloadBytes: 256 * 1024,
  maxRequestBytes: 5 * 1024 * 1024,
  /** An event fits into a row of 2 MB even if every character of its payload is escaped. */
  maxMetadataBytes: 16 * 1024,
  idempotencyMs: DAY_MS,
} as const;

/** `Idempotency-Key` of publishing and reading. */
export const IDEMPOTENCY_KEY = {
  maxChars: 255,
} as const;

/** Storage of a log. */
export const LOG = {
  /** Size of a row: it holds about a hundred small events, and reading one event reads the whole row. */
  segmentChars: 64 * 1024,
  /** Characters that one call scans for one tenant's events; this takes about 100 ms. */
  skippedChars: 16 * 1024 * 1024,
  /** Expired idempotency keys that a publish removes, twice as many as it can add. */
  keysClearedAPublish: 2,
  /** Share of a log's maximum size for keys. Beyond it the oldest keys are removed early. */
  keysPart: 1 / 8,
  /**
   * Time for which an expired key is kept: a repeat accepted by the home shard at the last moment reaches the other
   * shards slightly later.
   */
  keyGraceMs: 60_000,
  /** Work of one retention step, about 30 ms; the next step follows at once. */
  rowsTrimmedAStep: 500,
  bytesTrimmedAStep: 32 * 1024 * 1024,
  /** Delay after a failed step. */
  trimRetryMs: 60_000,
  /** The next publish sets the alarm again if it is this late, since the runtime may have given up. */
  alarmLostMs: 60_000,
  /** The runtime's limit for an alarm. */
  alarmRunMs: 900_000,
  /** A log reads its size again after storing this much, or this share of the maximum. */
  unseenChars: 1024 * 1024,
  unseenPart: 1 / 64,
  /** A log refuses to publish at this size. At 10 GB, writes to the object would fail. */
  fullBytes: 9_500_000_000,
} as const;

/** How a log wakes push subscriptions. */
export const WAKE = {
  waitMs: 5_000,
  /** Backoff after a failure, doubled with each further one. */
  minRetryMs: 5_000,
  maxRetryMs: 60_000,
  /** Calls in flight, and how many of them to subscribers that failed last time. */
  atOnce: 16,
  failingAtOnce: 4,
  /** A busy log wakes a subscription at most once per round. */
  roundMs: 50,
  /** Wakes per alarm, which may take 15 minutes and make 1,000 calls; the next alarm follows at once. */
  aRun: 500,
} as const;

export const READ = {
  defaultEvents: 1,
  maxEvents: 1000,
  minTtlMs: 1_000,
  maxTtlMs: HOUR_MS,
  defaultTtlMs: 60_000,
  maxPayloadBytes: 5 * 1024 * 1024,
  /** A payload of escapes grows sixfold as JSON, and an object's response may have 32 MiB. */
  maxAnswerChars: 8 * 1024 * 1024,
  /** One event of escapes only. */
  maxEventChars: 6 * (PUBLISH.maxPayloadBytes + PUBLISH.maxMetadataBytes) + 1_024,
  /** Characters that a consumer keeps in memory between two reads; many share the 128 MB of an isolate. */
  prefetchChars: 1024 * 1024,
  /** Prefetch at a new place: one segment. Each fetch that continues from there takes more. */
  firstPrefetchChars: LOG.segmentChars,
  prefetchGrowth: 4,
  /** A shard that takes longer counts as failed. */
  logWaitMs: 5_000,
  /**
   * Number of times in a row that a read responds with `rel="more"` while a shard fails. Then it is 503, so clients
   * stop.
   */
  failedFetches: 4,
  /** Number of ended batches whose outcome is kept, so that a repeated commit gets the right answer. */
  outcomes: 16,
  /** Named consumers of a caller on a topic. */
  namedConsumers: 100,
  /** Steps kept for the delivery counts of one shard (consume/delivery-counts.ts). */
  deliveryCountSteps: 16,
} as const;

/** Reads that wait (`Prefer: wait`). */
export const WAIT = {
  maxSec: 30,
  /** Minimum time of the first round that finds nothing; doubled with each further round. */
  minRoundMs: 20,
  maxRoundMs: 1_000,
  /** Last bytes of an answer that are sent one by one: a closed connection fails at the second write (hand-over.ts). */
  probes: 2,
} as const;

/** The same numbers as paging. */
export const PEEK = {
  defaultEvents: 16,
  maxEvents: 1000,
} as const;

/** Limits of the operator's view of a topic. */
export const OPERATED = {
  /** Consumers shown; the object of each is asked. */
  consumers: 50,
  /** A search reads this many events a page, and at most this many pages until some match. */
  searchedAtOnce: 500,
  pagesASearch: 10,
  /** Events that the preview of a moved cursor shows. */
  previewed: 5,
  /** Subscriptions in trouble that are read of each kind and shard, and objects that are asked. */
  inTrouble: 40,
  /** Dead letters that one request schedules again; the object does nothing else meanwhile. */
  redelivered: 500,
} as const;

/** Limits of one request or sweep that clears topics; the next sweep continues. */
export const DELETE = {
  topicsASweep: 20,
  /**
   * Time that the sweep waits for one topic. The calls of one invocation take a few seconds. All topics together leave
   * a third of a cron's 15 minutes for the sweep that follows.
   */
  topicWaitMs: 30_000,
  consumersAStep: 50,
  subscribersAStep: 50,
  /** Objects removed in parallel. */
  atOnce: 10,
  /**
   * Start nothing new after this many calls; work in progress may make about 100 more. An invocation may make 1,000,
   * shared with other sweeps.
   */
  calls: 400,
} as const;

export const SUBSCRIPTION = {
  minNameChars: 3,
  maxNameChars: 256,
  maxEndpointChars: 512,
  /** As long as a name. */
  maxUsernameChars: 256,
  /** How long a replaced signing secret signs beside the new one: default and maximum. */
  previousSecretMs: DAY_MS,
  maxPreviousSecretMs: 7 * DAY_MS,
  previousSecrets: 4,
  /** The `Authorization` header stays far below the limits of common servers. */
  maxPasswordChars: 1024,
  /** Low enough for a list without pages. */
  ofClient: 100,
  /** Number of subscriptions that a log wakes after a publish. */
  ofTopic: 1000,
  /** Time that a response waits for an object that it does not depend on. */
  objectWaitMs: 5_000,
  /** Retries of an update after losing to another one. */
  updateAttempts: 10,
  /** Number of subscriptions that get their own audit row when they end with their topic or client. */
  endedNamed: 100,
  /** Limits of one sweep: objects woken, how many of them at once, and credentials sealed again. */
  wokenASweep: 250,
  wokenAtOnce: 50,
  resealedASweep: 50,
} as const;

/** The handshake that asks an endpoint whether it wants the events of a subscription. */
export const HANDSHAKE = {
  /** Delays between failed pings; the last ping decides. */
  retryMs: [5_000, 30_000, 300_000, 1_800_000, 7_200_000, 18_000_000],
  lastAgainMs: 30_000,
  /** Maximum of a `Retry-After`. */
  maxWaitMs: DAY_MS,
  /** Bytes read of a response. */
  maxAnswerBytes: 4_096,
} as const;

/** Cached rights of clients, for subscriptions whose records lie in another database than the directory. */
export const RIGHT_COPY = { ttlMs: 5_000, maxEntries: 10_000 } as const;

/** Delivery of events to an endpoint. */
export const DELIVERY = {
  ...ENDPOINT,
  /** Attempts shown per delivery; all are counted. */
  attemptsKept: 20,
  /** A delivery that is pending after this many attempts shows that its endpoint fails. */
  failingTries: 3,
  /** Maximum number of pending deliveries and of stored bytes; beyond it events stay in the log. */
  maxPending: 10_000,
  maxStoredBytes: 2_000_000_000,
  takenAtOnce: 1_000,
  /**
   * `unsaved`: deliveries kept in memory before a save; twice as many while an undelivered event blocks the save.
   * `packed`: deliveries per row.
   */
  unsaved: 16,
  packed: 64,
  /** Event texts kept in memory. */
  textChars: 1024 * 1024,
  deliveredKept: 1_000,
  deliveredKeptMs: 7 * DAY_MS,
  deadKept: 10_000,
  clearedAStep: 500,
  /** Expired deliveries are removed this much later, many at once. */
  clearGraceMs: HOUR_MS,
  /** Maximum age of the record for an attempt, and its maximum age while D1 does not answer. */
  recordTtlMs: 10_000,
  recordKeptMs: 60_000,
  recordWaitMs: 5_000,
  /**
   * When the record is read again if D1 failed, it does not exist yet, rights or key are missing, or it is disabled.
   */
  failedAgainMs: 10_000,
  missingAgainMs: 5_000,
  refusedAgainMs: 300_000,
  disabledAgainMs: 300_000,
  /** Interval at which an idle object checks that its record still exists. */
  restMs: DAY_MS,
  /** Time after `open` within which the record must appear. */
  openingMs: 600_000,
  /** Limits of one alarm, which may take 15 minutes and make 1,000 calls; the next alarm follows at once. */
  callsARun: 800,
  runMs: 300_000,
  maxRunMs: 900_000,
  /** When an interrupted run is repeated. */
  safetyMs: 60_000,
  /** An alarm this late was given up by the runtime and is set again. */
  alarmLostMs: 60_000,
  testEveryMs: 1_000,
} as const;
