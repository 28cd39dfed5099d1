/** What a deployed platform is billed for, and what else tells about an operation. `cost/counter.ts` counts most of it. */
export interface Counts {
  /** Invocations of the Worker: requests, batches of the queue, runs of the cron. */
  readonly workerRequests: number;
  /** Of the whole local runtime, the databases' and the bucket's included: more than a Worker is billed for. */
  readonly cpuMs: number;
  readonly d1Statements: number;
  readonly d1RoundTrips: number;
  readonly d1RowsRead: number;
  readonly d1RowsWritten: number;
  /** Calls of objects' methods, and alarms. */
  readonly objectRequests: number;
  /** From a call to its answer, and of alarms; calls of one object at the same time count each. */
  readonly objectMs: number;
  readonly objectRowsRead: number;
  readonly objectRowsWritten: number;
  readonly r2ClassA: number;
  readonly r2ClassB: number;
  /** Messages written, read and deleted: all are below 64 KB. */
  readonly queueOperations: number;
  /** Calls of the Images binding: each is a transformation. */
  readonly images: number;
  /** One an invocation of the Worker or of an object, and one a line that is logged. */
  readonly logEvents: number;
}

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
};

export const COUNTED = Object.keys(NO_COUNTS) as readonly Counted[];

export const mapCounts = (value: (what: Counted) => number): Counts =>
  Object.fromEntries(COUNTED.map((what) => [what, value(what)])) as unknown as Counts;

/** Where the counting Worker answers the bench; no route of the platform. */
export const CONTROL_PATH = "/bench-cost";

/** Its answer. */
export interface Controlled {
  /** Since the isolate began, without processor time, of which a Worker knows nothing. */
  readonly counts: Counts;
  /** What the objects that are awake store. */
  readonly objectBytes: number;
}
