/** Moves the clock of the counted platform on, because some of its work waits for a day. */
let aheadMs = 0;

export function moveClock(byMs: number): void {
  aheadMs += byMs;
}

/** The real time for an alarm: the runtime's own clock cannot be moved. */
export const realMs = (timeMs: number): number => timeMs - aheadMs;

const realNow = Date.now;
Date.now = () => realNow() + aheadMs;
