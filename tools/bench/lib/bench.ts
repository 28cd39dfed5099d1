import type { ServerModule } from "./server-module.ts";
import type { Work } from "./load.ts";
import type { Server } from "./server.ts";
import type { Study } from "./study.ts";

/**
 * What a bench compares: subjects (servers) at operations (requests). A bench is data; `run.ts` measures it, `report.ts`
 * prints it, and a new one is a file that says what is asked of whom.
 */
export interface Bench {
  readonly summary: string;
  readonly subjects: readonly Subject[];
  readonly operations: readonly Operation[];
  readonly ratios: readonly Ratio[];
  readonly levels?: readonly Level[];
  /** What is no comparison; measured last. */
  readonly studies?: readonly Study[];
  /** What a reader of the numbers has to know. */
  readonly notes: readonly string[];
}

export interface Operation {
  readonly id: string;
  readonly label: string;
  /** Clients that do it at the same time; as many as the run is asked for where absent. */
  readonly clients?: number;
  /** What one request moves, where that is more than the request. */
  readonly events?: number;
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
  setUp(server: Server, options: SetUpOptions): Promise<Readonly<Record<string, () => Promise<Work>>>>;
}

export interface SetUpOptions {
  /** At most so many are to be stored beforehand (`--events`). */
  readonly events: number;
  readonly stopping: AbortSignal;
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

/** What is asked of one subject by itself. */
export interface Level {
  readonly operation: string;
  readonly subject: string;
  readonly eventsPerSecAtLeast: number;
}
