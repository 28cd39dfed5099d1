/**
 * Who guesses at many accounts, as a pure rule: so many accounts may fail from one network, or with one password, within
 * a time. An account that failed already may go on: its own limit holds it (attempts.ts).
 */
export interface GuessLimit {
  readonly accounts: number;
  readonly withinMs: number;
}

const HOUR_MS = 3_600_000;

/**
 * Our choice (decision 407). A network may be an office or a carrier's: only browsers that nobody signed in by before are
 * counted, and of them those that failed. Ten people who mistype one password alike within a day are rarer than a guesser.
 */
export const GUESS_LIMITS = {
  network: { accounts: 30, withinMs: HOUR_MS },
  password: { accounts: 10, withinMs: 24 * HOUR_MS },
} as const satisfies Record<string, GuessLimit>;

export type GuessKind = keyof typeof GUESS_LIMITS;

/**
 * When the account may be tried; at once where that is now. `failed`: up to when each account's failure counts;
 * `underWay`: accounts that are being tried.
 */
export function allowedAtMs(
  account: string,
  { failed, underWay }: { readonly failed: ReadonlyMap<string, number>; readonly underWay: ReadonlySet<string> },
  limit: GuessLimit,
  nowMs: number,
): number {
  const counting = [...failed].filter(([, untilMs]) => nowMs < untilMs);
  const counted = new Set([...counting.map(([name]) => name), ...underWay]);
  if (counted.has(account) || counted.size < limit.accounts) return nowMs;
  const ends = counting.map(([, untilMs]) => untilMs).sort((a, b) => a - b);
  // As many of them have to be over as there are too many; what is under way may still turn out right, soon.
  return ends[counted.size - limit.accounts] ?? nowMs + UNDER_WAY_MS;
}

/** An attempt that is not heard of for so long has ended somehow. */
export const UNDER_WAY_MS = 30_000;
