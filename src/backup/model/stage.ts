import type { Counts, Facts, Finding, JobRecord } from "./job.ts";
import type { Part } from "./part.ts";

/**
 * A stage of a job. `step` does a bounded amount of work from `position` on, and returns the next position.
 *
 * A step may run twice, since the object may be stopped before it stores the result. So everything that a step writes
 * elsewhere can be written again without harm. Its progress is only in its result, which is stored in one transaction.
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

/** The place that a position names, as JSON; the empty one names the first. */
export const placeIn = <T>(position: string, first: T): T => (position === "" ? first : (JSON.parse(position) as T));

/** The lists of a job. They grow with the platform, so they are not in the record. */
export interface JobLists {
  /** The parts of the backup after a number; numbers begin with 1. */
  parts(from: number, limit: number): readonly Part[];
  /** The parts of a section from a number on, that number included. */
  partsOf(section: string, from: number, limit: number): readonly NumberedPart[];
  /** Parts of an earlier backup that hold events of a log, in order. */
  known(log: string): readonly Part[];
  /** The number of the last part; 0: there is none. */
  lastPart(): number;
  /** Marks are those of the running job: all are gone when it ends. */
  isMarked(key: string): boolean;
  /**
   * Returns true if this job still runs in this object. A step asks directly before it deletes anything or makes a
   * backup whole, since after each `await` the job may be cancelled, and its lists empty.
   */
  stillRuns(job: JobRecord): boolean;
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
  /** Parts after this number are removed from the list. */
  readonly keepParts?: number;
  /** Added to the list of parts. */
  readonly parts?: readonly Part[];
  readonly known?: readonly Part[];
  readonly marks?: readonly string[];
}

/** Fails the job, since repeating the step would not help. The message is for the operator. */
export class Refused extends Error {
  override name = "Refused";
}
