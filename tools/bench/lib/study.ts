import type { ServerModule } from "./server-module.ts";
import type { Server } from "./server.ts";

/** A measurement of its own kind: it prints tables, and marks with what was reached. */
export interface Study {
  readonly id: string;
  readonly label: string;
  run(context: StudyContext): Promise<Finding>;
}

export interface StudyContext {
  /** The running server of a module; it is started where no subject needed it. */
  serverOf(module: ServerModule): Promise<Server>;
  /** At most so many events are stored (`--events`). */
  readonly maxEvents: number;
  /** Of one measurement. */
  readonly seconds: number;
  readonly rounds: number;
  readonly stopping: AbortSignal;
  progress(line: string): void;
}

export interface Finding {
  readonly tables: readonly Table[];
  readonly marks: readonly StudyMark[];
}

/** The first column is text, the others are numbers. */
export interface Table {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export interface StudyMark {
  /** What was measured, what came out and what was asked. */
  readonly text: string;
  readonly reached: boolean;
}
