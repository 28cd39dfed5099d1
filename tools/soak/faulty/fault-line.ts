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
