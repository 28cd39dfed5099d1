import { DAY_MS, MINUTE_MS } from "../../platform/runtime/clock.ts";

/**
 * The rules for failed sign-ins of one account. Attempts by strangers are counted together. Each browser in which the
 * user signed in before is counted by itself, by the same rules.
 *
 *   clear ──wrong password──▶ counting(1) ──wrong, within 15 min of the last──▶ counting(n + 1), 15 min from now on
 *   counting(14) ──wrong──▶ blocked: 15 min the first time, then 30 min, 2 h, 8 h
 *   counting, 30 failures since a block, at any distance ──▶ blocked, as for the second time; 15 after the first block
 *   blocked ──time is over──▶ counting(0): 15 more        an attempt while blocked: refused unseen, nothing changes
 *   anything ──right password, a day without failures, or an operator──▶ clear
 *
 * Each change is one attempt whose password was checked. So at most 15 passwords are tried before a block, 90 within
 * the first day and 45 on each later day (NIST SP 800-63B 3.2.2 asks for at most 100).
 */
export interface Attempts {
  /** Consecutive failures, each within the interval of the one before. */
  readonly failures: number;
  /** End of the interval, or of the block. */
  readonly untilMs: number;
  /** Failures since the last block, at any distance. */
  readonly sinceBlock: number;
  /** Consecutive blocks. */
  readonly blocks: number;
  /** From this time on the account is clear. */
  readonly forgetAtMs: number;
}

/** 15 failures block for 15 minutes. Later blocks are longer, so slow guessing stays below the limit of NIST. */
const ATTEMPTS = {
  limit: 15,
  intervalMs: 15 * MINUTE_MS,
  blocksMs: [15, 30, 120, 480].map((minutes) => minutes * MINUTE_MS),
  quietMs: DAY_MS,
} as const;

const CLEAR: Attempts = { failures: 0, untilMs: 0, sinceBlock: 0, blocks: 0, forgetAtMs: 0 };

/** `undefined`: an account without failures. */
export const isBlocked = (attempts: Attempts | undefined, nowMs: number): boolean =>
  attempts !== undefined && attempts.failures >= ATTEMPTS.limit && nowMs < attempts.untilMs;

/** After a wrong password. The account was not blocked. */
export function afterFailure(attempts: Attempts | undefined, nowMs: number): Attempts {
  const known = attempts !== undefined && nowMs < attempts.forgetAtMs ? attempts : CLEAR;
  const failures = (nowMs < known.untilMs ? known.failures : 0) + 1;
  const sinceBlock = known.sinceBlock + 1;
  const slowly = sinceBlock >= (known.blocks === 0 ? 2 : 1) * ATTEMPTS.limit;
  if (failures < ATTEMPTS.limit && !slowly) {
    const untilMs = nowMs + ATTEMPTS.intervalMs;
    return { failures, untilMs, sinceBlock, blocks: known.blocks, forgetAtMs: nowMs + ATTEMPTS.quietMs };
  }
  const blocks = Math.max(known.blocks, slowly ? 1 : 0) + 1;
  const untilMs = nowMs + (ATTEMPTS.blocksMs[Math.min(blocks, ATTEMPTS.blocksMs.length) - 1] ?? 0);
  return { failures: ATTEMPTS.limit, untilMs, sinceBlock: 0, blocks, forgetAtMs: untilMs + ATTEMPTS.quietMs };
}
