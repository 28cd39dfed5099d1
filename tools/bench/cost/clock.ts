/** The clock of the counted platform: some of its work waits for a day. */
let aheadMs = 0;

export function moveClock(byMs: number): void {
  aheadMs += byMs;
}

/** When the runtime, whose clock is nobody's to move, has to do what the platform wants done at a time. */
export const realMs = (timeMs: number): number => timeMs - aheadMs;

const realNow = Date.now;
Date.now = () => realNow() + aheadMs;
