import type { Counted } from "./counts.ts";

/** The day on which Cloudflare's pages were read. */
export const PRICES_READ = "2026-11-22";

const WORKERS = "https://developers.cloudflare.com/workers/platform/pricing/";
const OBJECTS = "https://developers.cloudflare.com/durable-objects/platform/pricing/";
const D1 = "https://developers.cloudflare.com/d1/platform/pricing/";
const R2 = "https://developers.cloudflare.com/r2/pricing/";
const QUEUES = "https://developers.cloudflare.com/queues/platform/pricing/";
const IMAGES = "https://developers.cloudflare.com/images/pricing/";
const LOGS = "https://developers.cloudflare.com/workers/observability/logs/workers-logs/";

/** Prices of the Workers Paid plan, in US$ without taxes. */
export interface Price {
  /** The unit of the price. */
  readonly unit: string;
  readonly usdPerMillion: number;
  /** Units included each month. */
  readonly includedAMonth: number;
  readonly page: string;
  /** Units in one count; 1 where absent. */
  readonly unitsEach?: number;
}

/** "Duration billing charges for the 128 MB of memory your Durable Object is allocated, regardless of actual usage." */
const OBJECT_GB = 0.128;

const ROWS_READ = { usdPerMillion: 0.001, includedAMonth: 25_000_000_000 };
const ROWS_WRITTEN = { usdPerMillion: 1, includedAMonth: 50_000_000 };

/** Counts without a price are free: statements and round trips of D1. */
export const PRICES = {
  workerRequests: {
    unit: "Worker request",
    usdPerMillion: 0.3,
    includedAMonth: 10_000_000,
    page: WORKERS,
  },
  cpuMs: { unit: "Worker CPU ms", usdPerMillion: 0.02, includedAMonth: 30_000_000, page: WORKERS },
  d1RowsRead: { unit: "D1 row read", ...ROWS_READ, page: D1 },
  d1RowsWritten: { unit: "D1 row written", ...ROWS_WRITTEN, page: D1 },
  objectRequests: {
    unit: "Durable Object request (call or alarm)",
    usdPerMillion: 0.15,
    includedAMonth: 1_000_000,
    page: OBJECTS,
  },
  objectMs: {
    unit: "Durable Object GB-s",
    usdPerMillion: 12.5,
    includedAMonth: 400_000,
    page: OBJECTS,
    unitsEach: OBJECT_GB / 1_000,
  },
  objectRowsRead: { unit: "Durable Object row read", ...ROWS_READ, page: OBJECTS },
  objectRowsWritten: { unit: "Durable Object row written", ...ROWS_WRITTEN, page: OBJECTS },
  r2ClassA: { unit: "R2 class A operation", usdPerMillion: 4.5, includedAMonth: 1_000_000, page: R2 },
  r2ClassB: { unit: "R2 class B operation", usdPerMillion: 0.36, includedAMonth: 10_000_000, page: R2 },
  queueOperations: { unit: "Queues operation", usdPerMillion: 0.4, includedAMonth: 1_000_000, page: QUEUES },
  images: { unit: "Images transformation", usdPerMillion: 500, includedAMonth: 5_000, page: IMAGES },
  /** The price until `LOGS_BY_GB.from`. */
  logEvents: { unit: "Workers Logs event", usdPerMillion: 0.6, includedAMonth: 20_000_000, page: LOGS },
} as const satisfies Partial<Record<Counted, Price>>;

/**
 * The price of logs from that day on: by the GB ingested, beyond 50 GB, and by the GB-month stored, beyond 12. Our
 * assumption: with each line, Cloudflare counts the request's address, ids, times and location, some 1,000 bytes.
 */
export const LOGS_BY_GB = {
  from: "2026-12-01",
  usdPerGb: 0.25,
  usdPerGbMonth: 0.1,
  keptDays: 7,
  bytesBesides: 1_000,
  page: LOGS,
} as const;

export type Priced = keyof typeof PRICES;

/** US$ a month. */
export const PLAN = { usd: 5, page: WORKERS } as const;

/** US$ a GB-month, beyond the included GB. */
export const STORAGE = [
  { unit: "D1", usdPerGbMonth: 0.75, includedGb: 5, page: D1 },
  { unit: "Durable Objects (SQLite)", usdPerGbMonth: 0.2, includedGb: 5, page: OBJECTS },
  { unit: "R2", usdPerGbMonth: 0.015, includedGb: 10, page: R2 },
] as const;
