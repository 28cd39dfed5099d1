/**
 * Sign-in attempts of one account (specification, "User account"; contract 2.6), as pure rules.
 *
 *   clear ──wrong password──▶ counting(1) ──wrong, within 15 min of the last──▶ counting(n + 1), 15 min from now on
 *   counting(14) ──wrong──▶ blocked for 15 min        any attempt while blocked: refused unseen, nothing changes
 *   counting ──right password, or 15 min without a wrong one──▶ clear
 *   blocked ──15 min over, or an operator──▶ clear
 *
 * Every change is one attempt whose password was looked at, so at most 15 passwords are tried before a block.
 */
export interface Attempts {
  /** Wrong passwords in a row, each within the interval of the one before. */
  readonly failures: number;
  /** Up to here the failures count, or the block lasts. */
  readonly untilMs: number;
}

/** Specification, Limits. */
export const ATTEMPTS = { limit: 15, intervalMs: 15 * 60_000, blockMs: 15 * 60_000 } as const;

/** `undefined` is an account that nothing is known of: clear. */
export const isBlocked = (attempts: Attempts | undefined, nowMs: number): boolean =>
  attempts !== undefined && attempts.failures >= ATTEMPTS.limit && nowMs < attempts.untilMs;

/** After a wrong password; the account was not blocked. */
export function afterFailure(attempts: Attempts | undefined, nowMs: number): Attempts {
  const counted = attempts !== undefined && nowMs < attempts.untilMs ? attempts.failures : 0;
  const failures = counted + 1;
  return { failures, untilMs: nowMs + (failures >= ATTEMPTS.limit ? ATTEMPTS.blockMs : ATTEMPTS.intervalMs) };
}
