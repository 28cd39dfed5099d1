import type { Fault } from "../ledgers/faults.ts";

/** A fault that happened inside a platform. */
export interface HappenedFault {
  readonly fault: Fault;
  readonly way: string;
}

const MARK = "soak fault:";

/** The log line of a fault. */
export const faultLine = (happened: HappenedFault): string => `${MARK} ${JSON.stringify(happened)}`;

/** Parses a log line; undefined if it is another line. */
export function readFaultLine(line: string): HappenedFault | undefined {
  const at = line.indexOf(MARK);
  return at < 0 ? undefined : (JSON.parse(line.slice(at + MARK.length)) as HappenedFault);
}

/** Pseudo crons with which the process that owns the runtime switches faults on and off. */
export const FAULTS_ON = "soak: faults on";
export const FAULTS_OFF = "soak: faults off";

/** The shares and the seed of faults, passed as JSON in SOAK_FAULTS. */
export interface FaultPlan extends FaultShares {
  readonly seed: number;
  /** On from the first moment, because waiting callers come at once when a dead platform listens again. */
  readonly isOn: boolean;
  /** Number of earlier starts. */
  readonly starts: number;
}

export interface FaultShares {
  /** Share of an object's calls and alarms that may abort it. */
  readonly aborts: number;
  /** Share of the queue's batches that are delivered again, in part or completely. */
  readonly batches: number;
}
