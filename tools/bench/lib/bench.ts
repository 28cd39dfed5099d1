import type { ServerModule } from "./server-module.ts";
import type { Work } from "./load.ts";
import type { Server } from "./server.ts";
import type { Study } from "./study.ts";

/**
 * Subjects (servers) compared at operations (requests). A bench is data: `run.ts` measures it and `report.ts` reports
 * it.
 */
export interface Bench {
  readonly summary: string;
  readonly subjects: readonly Subject[];
  readonly operations: readonly Operation[];
  readonly ratios: readonly Ratio[];
  readonly levels?: readonly Level[];
  /** Measurements without a comparison; they run last. */
  readonly studies?: readonly Study[];
  /** Facts that a reader of the numbers needs. */
  readonly notes: readonly string[];
}

export interface Operation {
  readonly id: string;
  readonly label: string;
  /** Concurrent clients; the run's `--connections` where absent. */
  readonly clients?: number;
  /** Events that one request moves, if more than one. */
  readonly events?: number;
}

export interface Subject {
  readonly id: string;
  readonly label: string;
  /** The server of the subject. Subjects may share one. */
  readonly server: ServerModule;
  /**
   * Prepares a subject. Returns a maker of the work for each operation id; it is called before each measurement,
   * because tokens expire and caches forget.
   */
  setUp(server: Server, options: SetUpOptions): Promise<Readonly<Record<string, () => Promise<Work>>>>;
}

export interface SetUpOptions {
  /** The most that may be stored beforehand (`--events`). */
  readonly events: number;
  readonly stopping: AbortSignal;
}

/** One subject compared with another at one operation. */
export interface Ratio {
  readonly operation: string;
  readonly of: string;
  readonly to: string;
  /** The required ratio; without a mark the ratio is only printed. */
  readonly mark?: { readonly measure: Measure; readonly atLeast: number };
}

export type Measure = "requestsPerSec" | "requestsPerCpuSec";

/** A requirement for one subject by itself. */
export interface Level {
  readonly operation: string;
  readonly subject: string;
  readonly eventsPerSecAtLeast: number;
}
