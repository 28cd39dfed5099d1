import { PUBLISHES, type HerdResult, type Second } from "./simulate.ts";

export interface Outcome {
  readonly refusedBeforePercent: number;
  readonly refusedInStallPercent: number;
  /** Seconds after the stall until no request was refused any more; Infinity if that did not happen. */
  readonly wholeAfterSec: number;
  /** Queries a second of all isolates, the mean over ten seconds: before the stall, in it, and the most after it. */
  readonly queriesBefore: number;
  readonly queriesInStall: number;
  readonly queriesAfter: number;
  /** The most in one second, from the stall on. */
  readonly queriesWorstSec: number;
}

const WINDOW_SEC = 10;

export function outcomeOf({ seconds, stallsAtSec, stallMs }: HerdResult): Outcome {
  const endsAtSec = stallsAtSec + stallMs / 1000;
  const [before, during, after] = [
    // Leaves out the first seconds, in which all isolates start at once.
    seconds.slice(stallsAtSec / 2, stallsAtSec),
    seconds.slice(stallsAtSec, endsAtSec),
    seconds.slice(endsAtSec),
  ];
  const lastRefusal = after.findLastIndex(({ refused }) => refused > 0);
  return {
    refusedBeforePercent: refusedPercent(before),
    refusedInStallPercent: refusedPercent(during),
    wholeAfterSec: lastRefusal === after.length - 1 ? Infinity : lastRefusal + 1,
    queriesBefore: mostQueries(before),
    queriesInStall: mostQueries(during),
    queriesAfter: mostQueries(after),
    queriesWorstSec: Math.max(0, ...[...during, ...after].map(({ queries }) => queries)),
  };
}

/** The share of requests that no copy may serve: copies are valid for 60 s (publish) or 30 s (the others). */
export function mustRefusePercent(stallMs: number): number {
  const overSec = (graceMs: number) => Math.max(0, stallMs - graceMs) / stallMs;
  return 100 * (PUBLISHES * overSec(60_000) + (1 - PUBLISHES) * overSec(30_000));
}

/** The results that are over their bounds, as sentences. Empty if the platform held. */
export function missed(isolates: number, stallMs: number, outcome: Outcome): readonly string[] {
  const mayRefuse = mustRefusePercent(stallMs) + 10;
  const mayAsk = isolates / 3 + 50;
  const bounds: readonly (readonly [string, number, number])[] = [
    ["% refused before the stall", outcome.refusedBeforePercent, 0],
    ["% refused in the stall", outcome.refusedInStallPercent, mayRefuse],
    ["s until whole after the stall", outcome.wholeAfterSec, 40],
    ["queries a second before the stall", outcome.queriesBefore, mayAsk],
    ["queries a second in the stall", outcome.queriesInStall, mayAsk],
    ["queries a second after the stall", outcome.queriesAfter, mayAsk],
  ];
  return bounds
    .filter(([, value, bound]) => value > bound)
    .map(([what, value, bound]) => `${value.toFixed(1)} ${what}, bound ${bound.toFixed(1)}`);
}

function refusedPercent(seconds: readonly Second[]): number {
  const sum = (count: (second: Second) => number) => seconds.reduce((total, second) => total + count(second), 0);
  return (
    (100 * sum(({ refused }) => refused)) /
    Math.max(
      1,
      sum(({ requests }) => requests),
    )
  );
}

function mostQueries(seconds: readonly Second[]): number {
  const length = Math.min(WINDOW_SEC, seconds.length);
  const means = seconds.slice(0, seconds.length - length + 1).map((_, at) => {
    const window = seconds.slice(at, at + length);
    return window.reduce((total, { queries }) => total + queries, 0) / length;
  });
  return Math.max(0, ...means);
}
