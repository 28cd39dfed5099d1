import type { Table } from "../lib/study.ts";
import { billOfAMillion, largestOf, totalOf, type Bill } from "./bill.ts";
import { COUNTED, type Counted, type Counts } from "./counts.ts";
import { PRICES, type Priced } from "./prices.ts";

/** One operation and its counts. */
export interface Row {
  readonly label: string;
  readonly counts: Counts;
}

const HEADS: Readonly<Record<Counted, string>> = {
  workerRequests: "Worker requests",
  cpuMs: "CPU ms",
  d1Statements: "D1 statements",
  d1RoundTrips: "round trips",
  d1RowsRead: "rows read",
  d1RowsWritten: "rows written",
  objectRequests: "object requests",
  objectMs: "object ms",
  objectRowsRead: "object rows read",
  objectRowsWritten: "object rows written",
  r2ClassA: "R2 class A",
  r2ClassB: "R2 class B",
  queueOperations: "queue",
  images: "Images",
  logEvents: "log events",
};

/** Times depend on the machine; counts do not. */
const TIMES: ReadonlySet<Counted> = new Set(["cpuMs", "objectMs"]);

/** The counts of one of each operation. A column without counts is left out. */
export function countsTable(title: string, rows: readonly Row[]): Table {
  const columns = COUNTED.filter((what) => rows.some(({ counts }) => counts[what] !== 0));
  return {
    head: [title, ...columns.map((what) => HEADS[what])],
    rows: rows.map(({ label, counts }) => [
      label,
      ...columns.map((what) => (TIMES.has(what) ? counts[what].toFixed(1) : number(counts[what]))),
    ]),
  };
}

/** Columns of the bill. */
const SHARES = {
  Worker: ["workerRequests"],
  CPU: ["cpuMs"],
  "D1 rows": ["d1RowsRead", "d1RowsWritten"],
  objects: ["objectRequests", "objectMs"],
  "object rows": ["objectRowsRead", "objectRowsWritten"],
  R2: ["r2ClassA", "r2ClassB"],
  queue: ["queueOperations"],
  Images: ["images"],
  logs: ["logEvents"],
} as const satisfies Record<string, readonly Priced[]>;

export function dollarsTable(title: string, rows: readonly Row[]): Table {
  const bills = rows.map(({ label, counts }) => ({ label, bill: billOfAMillion(counts) }));
  const shareOf = (bill: Bill, parts: readonly Priced[]): number => parts.reduce((sum, part) => sum + bill[part], 0);
  const shares = Object.entries(SHARES).filter(([, parts]) => bills.some(({ bill }) => shareOf(bill, parts) !== 0));
  return {
    head: [title, "US$ a million", ...shares.map(([name]) => name), "largest part"],
    rows: bills.map(({ label, bill }) => [
      label,
      money(totalOf(bill)),
      ...shares.map(([, parts]) => money(shareOf(bill, parts))),
      PRICES[largestOf(bill)].unit,
    ]),
  };
}

const number = (value: number): string => value.toLocaleString("en", { maximumFractionDigits: 2 });

export const money = (usd: number): string =>
  usd.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
