import type { Counts } from "./counts.ts";
import { PRICES, type Price, type Priced } from "./prices.ts";

/** US$ by billed item, beyond what the plan includes. */
export type Bill = Readonly<Record<Priced, number>>;

const PRICED = Object.keys(PRICES) as readonly Priced[];

/** The price of a million operations with these counts each. */
export const billOfAMillion = (counts: Counts): Bill =>
  forAllPriced((what) => unitsOf(what, counts) * PRICES[what].usdPerMillion);

/** The price of so many operations in a month with nothing else, without the plan's price. */
export const billOfAMonth = (counts: Counts, times: number): Bill =>
  forAllPriced((what) => {
    const { includedAMonth, usdPerMillion } = PRICES[what];
    return (Math.max(0, unitsOf(what, counts) * times - includedAMonth) * usdPerMillion) / 1_000_000;
  });

export const totalOf = (bill: Bill): number => PRICED.reduce((sum, what) => sum + bill[what], 0);

/** The billed item that uses the largest share of the plan's monthly amount. */
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
