/** Random numbers from a seed; equal seeds give equal numbers (mulberry32). */
export interface Random {
  /** From 0 to below 1. */
  share(): number;
  /** A whole number from 0 to below `limit`. */
  below(limit: number): number;
  chance(share: number): boolean;
  pick<T>(from: readonly T[]): T;
  /** A generator for concurrent work, so that draws of one do not affect the other. */
  fork(): Random;
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const share = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number): number => Math.floor(share() * limit);
  return {
    share,
    below,
    chance: (part) => share() < part,
    pick: (from) => from[below(from.length)]!,
    fork: () => createRandom(below(2 ** 32)),
  };
}
