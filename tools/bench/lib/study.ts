import type { ServerModule } from "./server-module.ts";
import type { Server } from "./server.ts";

/** A measurement without a comparison: tables, and marks with the result. */
export interface Study {
  readonly id: string;
  readonly label: string;
  run(context: StudyContext): Promise<Finding>;
}

export interface StudyContext {
  /** Returns the running server of a module; starts it if no subject needed it. */
  serverOf(module: ServerModule): Promise<Server>;
  /** The most events that are stored (`--events`). */
  readonly maxEvents: number;
  /** The length of one measurement. */
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
  /** The measurement, its result and the requirement. */
  readonly text: string;
  readonly reached: boolean;
}
