/** Everything a deployed platform is billed for, and a few other numbers. `cost/counter.ts` counts most of them. */
export interface Counts {
  /** Invocations of the Worker: requests, batches of the queue, runs of the cron. */
  readonly workerRequests: number;
  /** Processor time of the whole local runtime with databases and bucket, so more than a Worker is billed for. */
  readonly cpuMs: number;
  readonly d1Statements: number;
  readonly d1RoundTrips: number;
  readonly d1RowsRead: number;
  readonly d1RowsWritten: number;
  /** Calls of objects' methods, and alarms. */
  readonly objectRequests: number;
  /** From call to answer, and alarms. Concurrent calls of one object count each. */
  readonly objectMs: number;
  readonly objectRowsRead: number;
  readonly objectRowsWritten: number;
  readonly r2ClassA: number;
  readonly r2ClassB: number;
  /** Messages written, read and deleted; all are below 64 KB. */
  readonly queueOperations: number;
  /** Calls of the Images binding; each is a transformation. */
  readonly images: number;
  /** One for each logged line; wrangler.toml turns off those of invocations. */
  readonly logEvents: number;
  /** The bytes of these lines, as they were written. */
  readonly logBytes: number;
}

/** Rows that are deleted. A deleted row is billed like a written one. */
export type Deleted = Pick<Counts, "d1RowsWritten" | "objectRowsWritten">;

export type Counted = keyof Counts;

export const NO_COUNTS: Counts = {
  workerRequests: 0,
  cpuMs: 0,
  d1Statements: 0,
  d1RoundTrips: 0,
  d1RowsRead: 0,
  d1RowsWritten: 0,
  objectRequests: 0,
  objectMs: 0,
  objectRowsRead: 0,
  objectRowsWritten: 0,
  r2ClassA: 0,
  r2ClassB: 0,
  queueOperations: 0,
  images: 0,
  logEvents: 0,
  logBytes: 0,
};

export const COUNTED = Object.keys(NO_COUNTS) as readonly Counted[];

export const mapCounts = (value: (what: Counted) => number): Counts =>
  Object.fromEntries(COUNTED.map((what) => [what, value(what)])) as unknown as Counts;

/** The counting Worker answers the bench at this path. */
export const CONTROL_PATH = "/bench-cost";

/** Its answer. */
export interface Controlled {
  /** Since the isolate began, without processor time, which a Worker cannot measure. */
  readonly counts: Counts;
  /** Bytes stored by the objects that are awake. */
  readonly objectBytes: number;
}
