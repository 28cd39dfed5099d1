import type { Exchange } from "./exchange.ts";
import type { Server } from "./server.ts";

/**
 * What a bench compares: subjects (servers) at operations (requests). A bench is data; `run.ts` measures it, `report.ts`
 * prints it, and a new one is a file that says what is asked of whom.
 */
export interface Bench {
  readonly summary: string;
  readonly subjects: readonly Subject[];
  readonly operations: readonly Operation[];
  readonly ratios: readonly Ratio[];
  /** What a reader of the numbers has to know. */
  readonly notes: readonly string[];
}

export interface Operation {
  readonly id: string;
  readonly label: string;
}

export interface Subject {
  readonly id: string;
  readonly label: string;
  /** Subjects may share one. */
  readonly server: ServerModule;
  /**
   * Makes what the requests need. Returns a maker for each operation that this subject takes part in, by operation id;
   * it is called again before each measurement, since tokens expire and caches forget.
   */
  setUp(server: Server): Promise<Readonly<Record<string, () => Promise<Exchange>>>>;
}

/** A program that serves. */
export interface ServerModule {
  readonly id: string;
  /** Relative to the checkout; it calls `offer` (offer.ts). */
  readonly module: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** One subject against another at one operation. */
export interface Ratio {
  readonly operation: string;
  readonly of: string;
  readonly to: string;
  /** What is asked of the ratio; without a mark it is only printed. */
  readonly mark?: { readonly measure: Measure; readonly atLeast: number };
}

export type Measure = "requestsPerSec" | "requestsPerCpuSec";
