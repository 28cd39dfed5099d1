import type { Counts, Facts, Finding, JobRecord } from "./job.ts";
import type { Part } from "./part.ts";

/**
 * A stage of a job: does a step of bounded work behind `position` and says where the next one begins.
 *
 * A step may run twice: the object that runs it may end before it stores the result. So a step writes to the outside
 * only what a repeat writes again without harm, and everything about its own progress is in its result, which is
 * stored in one transaction.
 */
export interface Stage {
  readonly name: string;
  step(context: StepContext): Promise<StepResult>;
}

export interface StepContext {
  readonly job: JobRecord;
  readonly position: string;
  readonly lists: JobLists;
  readonly nowMs: number;
}

/** The lists of a job, which grow with the platform and so are no part of its record. */
export interface JobLists {
  /** The parts of the backup, from a number on. */
  parts(from: number, limit: number): readonly Part[];
  partsOf(section: string, from: number, limit: number): readonly NumberedPart[];
  /** Parts of an earlier backup that hold events of a log, in order. */
  known(log: string): readonly Part[];
  isMarked(key: string): boolean;
}

export interface NumberedPart extends Part {
  readonly number: number;
}

export interface StepResult {
  /** Undefined: the stage is done. */
  readonly next: string | undefined;
  readonly counts?: Partial<Counts>;
  readonly facts?: Partial<Facts>;
  readonly findings?: readonly Finding[];
  /** Added to the list of parts. */
  readonly parts?: readonly Part[];
  readonly known?: readonly Part[];
  readonly marks?: readonly string[];
}

/** A step that no repeat helps: the job has failed. The message is for the operator. */
export class Refused extends Error {
  override name = "Refused";
}
