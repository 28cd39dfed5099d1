/** The source of time. Rules take `nowMs` as a number; only wiring and Durable Objects hold a clock. */
export interface Clock {
  nowMs(): number;
}

export const systemClock: Clock = { nowMs: () => Date.now() };

export const toSec = (ms: number): number => Math.floor(ms / 1000);
