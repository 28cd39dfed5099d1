import type { WaitUntil } from "../runtime/wait-until.ts";

/**
 * Every metric of the platform, and the port by which code counts. Adding is a step in memory: no await, no I/O.
 *
 * - `counter`: a sum.
 * - `histogram`: counts by upper bound (`BOUNDS`, and `inf`), and the `sum` of the values.
 * - `peak`: the largest value in a period.
 *
 * Each value belongs to a service, to one value of the metric's label if it has one, and to a tenant if one is known.
 * The values of labels are words of the code or numbers of shards, never a caller's text, so the number of series is
 * bounded.
 */
export interface Metric {
  readonly kind: "counter" | "histogram" | "peak";
  readonly unit: "1" | "bytes" | "ms" | "byte hours";
  /** The name of the label; absent if the metric has none. */
  readonly label?: string;
  readonly help: string;
  /** True if it is counted once an hour, not as it happens. */
  readonly isHourly?: boolean;
}

export const METRICS = {
  requests: { kind: "counter", unit: "1", label: "status", help: "Requests, by the class of their status." },
  request_time: {
    kind: "histogram",
    unit: "ms",
    help: "Time from a request to the headers of its response, without its wait.",
  },
  wait_time: { kind: "histogram", unit: "ms", help: "Time that a request waited for an event (`Prefer: wait`)." },
  refusals: {
    kind: "counter",
    unit: "1",
    label: "type",
    help: "Requests that were refused, by the type of the error.",
  },
  received_bytes: { kind: "counter", unit: "bytes", help: "Bytes of bodies that came in." },
  sent_bytes: { kind: "counter", unit: "bytes", help: "Bytes of bodies that went out." },
  tokens_issued: { kind: "counter", unit: "1", label: "grant", help: "Access tokens issued, by grant." },
  tokens_refused: { kind: "counter", unit: "1", label: "error", help: "Token requests that were refused, by error." },
  events_published: { kind: "counter", unit: "1", help: "Events that clients published." },
  events_read: { kind: "counter", unit: "1", help: "Events that readers got." },
  events_pushed: { kind: "counter", unit: "1", label: "outcome", help: "Attempts to push an event, by outcome." },
  logouts_told: {
    kind: "counter",
    unit: "1",
    label: "outcome",
    help: "Attempts to tell a client of a logout, by outcome.",
  },
  consumer_lag: { kind: "peak", unit: "1", help: "The most events that a reader had before it when it read." },
  service_failures: {
    kind: "counter",
    unit: "1",
    label: "service",
    help: "Requests that a service behind the gateway did not answer, or not whole, by service.",
  },
  variants_made: { kind: "counter", unit: "1", label: "outcome", help: "Variants of images, by outcome." },
  jobs: { kind: "counter", unit: "1", label: "outcome", help: "Messages of the media queue, by outcome." },
  job_age: { kind: "peak", unit: "ms", help: "The longest time that a message of the media queue waited." },
  sweeps_failed: { kind: "counter", unit: "1", label: "sweep", help: "Sweeps of the cron that failed." },
  d1_round_trips: { kind: "counter", unit: "1", help: "Round trips to D1." },
  d1_failures: { kind: "counter", unit: "1", help: "Round trips to D1 that failed." },
  d1_rows_read: { kind: "counter", unit: "1", help: "Rows that D1 read, as it bills them." },
  d1_rows_written: { kind: "counter", unit: "1", help: "Rows that D1 wrote, as it bills them." },
  shard_round_trips: {
    kind: "counter",
    unit: "1",
    label: "shard",
    help: "Round trips to D1, by shard; 0: `DB`, 240: all objects of tenants.",
  },
  stored_files: { kind: "peak", unit: "1", isHourly: true, help: "The most files stored, counted in D1 once an hour." },
  stored_bytes: {
    kind: "peak",
    unit: "bytes",
    isHourly: true,
    help: "The most bytes stored, counted in D1 once an hour.",
  },
  stored_byte_hours: { kind: "counter", unit: "byte hours", isHourly: true, help: "Bytes stored, times the hours." },
} as const satisfies Record<string, Metric>;

export type MetricName = keyof typeof METRICS;
type OfKind<Kind extends Metric["kind"]> = {
  [Name in MetricName]: (typeof METRICS)[Name]["kind"] extends Kind ? Name : never;
}[MetricName];

/** Upper bounds of a histogram's buckets, in the metric's unit. */
export const BOUNDS = [5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000] as const;

/** `platform`: pages, documents and addresses that nothing answers. */
export const METERED_SERVICES = ["oauth", "events", "media", "gateway", "admin", "platform"] as const;
export type MeteredService = (typeof METERED_SERVICES)[number];

interface MeteredBy {
  readonly service: MeteredService;
  /** The value of the metric's label. */
  readonly label?: string | undefined;
  /** Absent or empty if none is known. */
  readonly tenant?: string | undefined;
}

/** The port by which code counts. Counts are sent after a later response, and lost if the isolate ends before. */
export interface Meter {
  add(name: OfKind<"counter">, by: MeteredBy, amount?: number): void;
  observe(name: OfKind<"histogram">, by: MeteredBy, value: number): void;
  peak(name: OfKind<"peak">, by: MeteredBy, value: number): void;
  /** Sends the counts in the background if they are due. If not, one request waits in the background until they are. */
  flushBeside(waitUntil: WaitUntil): void;
  /** Sends the counts in the background if they are due. It does not wait, which would keep an object in memory. */
  flushIfDue(waitUntil: WaitUntil): void;
}

/** Counts nothing. */
export const noMeter: Meter = { add() {}, observe() {}, peak() {}, flushBeside() {}, flushIfDue() {} };
