/**
 * Sign-in attempts (specification, "User account"; contract 2.6), as pure rules. What strangers try at an account is
 * counted together; what each browser tries that signed in as its user before is counted by itself, by the same rules.
 *
 *   clear ──wrong password──▶ counting(1) ──wrong, within 15 min of the last──▶ counting(n + 1), 15 min from now on
 *   counting(14) ──wrong──▶ blocked: 15 min the first time, then 30 min, 2 h, 8 h
 *   counting, 30 wrong ones since a block, however far apart ──▶ blocked, as if for the second time; 15 after the first
 *   blocked ──over──▶ counting(0): 15 more        any attempt while blocked: refused unseen, nothing changes
 *   anything ──right password, a day without a wrong one, or an operator──▶ clear
 *
 * Every change is one attempt whose password was looked at, so at most 15 passwords are tried before a block, and 90
 * within the first day, 45 on each that follows (NIST SP 800-63B 3.2.2 asks for at most 100).
 */
export interface Attempts {
  /** Wrong passwords in a row, each within the interval of the one before. */
  readonly failures: number;
  /** Up to here the failures count as a row, or the block lasts. */
  readonly untilMs: number;
  /** Wrong ones since the last block, however far apart. */
  readonly sinceBlock: number;
  /** Blocks in a row. */
  readonly blocks: number;
  /** Up to here anything counts. */
  readonly forgetAtMs: number;
}

const MINUTE_MS = 60_000;

/** Specification, Limits; what follows the first block is ours (decision 406). */
export const ATTEMPTS = {
  limit: 15,
  intervalMs: 15 * MINUTE_MS,
  blocksMs: [15, 30, 120, 480].map((minutes) => minutes * MINUTE_MS),
  quietMs: 24 * 60 * MINUTE_MS,
} as const;

const CLEAR: Attempts = { failures: 0, untilMs: 0, sinceBlock: 0, blocks: 0, forgetAtMs: 0 };

/** `undefined` is an account that nothing is known of: clear. */
export const isBlocked = (attempts: Attempts | undefined, nowMs: number): boolean =>
  attempts !== undefined && attempts.failures >= ATTEMPTS.limit && nowMs < attempts.untilMs;

/** After a wrong password; the account was not blocked. */
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
