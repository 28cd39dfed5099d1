/** The source of time. Rules take `nowMs` as a number; only wiring and Durable Objects hold a clock. */
export interface Clock {
  nowMs(): number;
}

export const systemClock: Clock = { nowMs: () => Date.now() };

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

export const toSec = (ms: number): number => Math.floor(ms / 1000);
