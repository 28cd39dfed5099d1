import { DAY_MS, HOUR_MS } from "../../platform/runtime/clock.ts";

/**
 * The rule against guessing at many accounts: the number of accounts that may fail from one network or with one
 * password within a time. An account that failed already may go on, because its own limit applies (account-block.ts).
 */
export interface GuessLimit {
  readonly accounts: number;
  readonly withinMs: number;
}

/**
 * A network may be an office or a carrier, so only failures of unknown browsers count. Ten people who mistype a
 * password alike within a day are rarer than a guesser.
 */
export const GUESS_LIMITS = {
  network: { accounts: 30, withinMs: HOUR_MS },
  password: { accounts: 10, withinMs: DAY_MS },
} as const satisfies Record<string, GuessLimit>;

export type GuessKind = keyof typeof GUESS_LIMITS;

/**
 * Returns when the account may be tried. `failed`: the time until which each account's failure counts. `inProgress`:
 * accounts that are being tried.
 */
export function allowedAtMs(
  account: string,
  { failed, inProgress }: { readonly failed: ReadonlyMap<string, number>; readonly inProgress: ReadonlySet<string> },
  limit: GuessLimit,
  nowMs: number,
): number {
  const counting = [...failed].filter(([, untilMs]) => nowMs < untilMs);
  const counted = new Set([...counting.map(([name]) => name), ...inProgress]);
  if (counted.has(account) || counted.size < limit.accounts) return nowMs;
  const ends = counting.map(([, untilMs]) => untilMs).sort((a, b) => a - b);
  // The excess must expire first. Attempts in progress may still succeed soon.
  return ends[counted.size - limit.accounts] ?? nowMs + IN_PROGRESS_MS;
}

/** An attempt without a result has ended after this time. */
export const IN_PROGRESS_MS = 30_000;
