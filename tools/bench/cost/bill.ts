import type { Counts } from "./counts.ts";
import { PRICES, type Price, type Priced } from "./prices.ts";

/** US$ for what was counted, beyond what the plan includes, by what it is for. */
export type Bill = Readonly<Record<Priced, number>>;

const PRICED = Object.keys(PRICES) as readonly Priced[];

/** What a million of an operation costs, if one of it is `counts`. */
export const billOfAMillion = (counts: Counts): Bill =>
  forAllPriced((what) => unitsOf(what, counts) * PRICES[what].usdPerMillion);

/** What `times` of it cost in a month in which nothing else is done, the plan's price left out. */
export const billOfAMonth = (counts: Counts, times: number): Bill =>
  forAllPriced((what) => {
    const { includedAMonth, usdPerMillion } = PRICES[what];
    return (Math.max(0, unitsOf(what, counts) * times - includedAMonth) * usdPerMillion) / 1_000_000;
  });

export const totalOf = (bill: Bill): number => PRICED.reduce((sum, what) => sum + bill[what], 0);

/** What takes the largest part of what the plan includes, if `times` of it are done in a month. */
export function largestShare(counts: Counts, times: number): { readonly what: Priced; readonly part: number } {
  const shares = forAllPriced((what) => (unitsOf(what, counts) * times) / PRICES[what].includedAMonth);
  const what = largestOf(shares);
  return { what, part: shares[what] };
}

export const largestOf = (bill: Bill): Priced =>
  PRICED.reduce((largest, what) => (bill[what] > bill[largest] ? what : largest));

function unitsOf(what: Priced, counts: Counts): number {
  const { unitsEach = 1 }: Price = PRICES[what];
  return counts[what] * unitsEach;
}

const forAllPriced = (value: (what: Priced) => number): Bill =>
  Object.fromEntries(PRICED.map((what) => [what, value(what)])) as unknown as Bill;
