import type { Fault } from "../ledgers/faults.ts";

/** A fault that happened inside a platform. */
export interface HappenedFault {
  readonly fault: Fault;
  readonly way: string;
}

const MARK = "soak fault:";

/** The line of the log that tells of it. */
export const faultLine = (happened: HappenedFault): string => `${MARK} ${JSON.stringify(happened)}`;

/** What a line of the log tells of; undefined when it tells of something else. */
export function readFaultLine(line: string): HappenedFault | undefined {
  const at = line.indexOf(MARK);
  return at < 0 ? undefined : (JSON.parse(line.slice(at + MARK.length)) as HappenedFault);
}

/** "Crons" by which the process that owns the runtime says when faults begin and end. */
export const FAULTS_ON = "soak: faults on";
export const FAULTS_OFF = "soak: faults off";

/** How often things go wrong, and from which numbers; the soak's own variable SOAK_FAULTS, as JSON. */
export interface FaultPlan extends FaultShares {
  readonly seed: number;
  /** From the first moment: who waited for a dead platform comes at once when it listens again. */
  readonly isOn: boolean;
  /** How often the platform was started before. */
  readonly starts: number;
}

export interface FaultShares {
  /** Share of the calls of an object, its alarms among them, that its end is drawn for. */
  readonly aborts: number;
  /** Share of the queue's batches that come again, of a part or all of them. */
  readonly batches: number;
}
