import type { Table } from "../lib/study.ts";
import { billOfAMillion, largestOf, totalOf, type Bill } from "./bill.ts";
import { COUNTED, type Counted, type Counts, type Deleted } from "./counts.ts";
import { LOGS_BY_GB, PRICES, type Priced } from "./prices.ts";

/** One operation and its counts. */
export interface Row {
  readonly label: string;
  readonly counts: Counts;
  /** Rows of the operation that are deleted when they expire. Undefined: they do not expire. */
  readonly later?: Deleted;
}

/** The counts with later deletions, which are billed as rows written. */
export const withLater = ({ counts, later }: Row): Counts =>
  later === undefined
    ? counts
    : {
        ...counts,
        d1RowsWritten: counts.d1RowsWritten + later.d1RowsWritten,
        objectRowsWritten: counts.objectRowsWritten + later.objectRowsWritten,
      };

const deletedOf = ({ later }: Row): number => (later?.d1RowsWritten ?? 0) + (later?.objectRowsWritten ?? 0);

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
  logBytes: "log bytes",
};

/** Times depend on the machine; counts do not. */
const TIMES: ReadonlySet<Counted> = new Set(["cpuMs", "objectMs"]);

/** The counts of one of each operation. A column without counts is left out. */
export function countsTable(title: string, rows: readonly Row[]): Table {
  const columns = COUNTED.filter((what) => rows.some(({ counts }) => counts[what] !== 0));
  const hasLater = rows.some(({ later }) => later !== undefined);
  return {
    head: [title, ...columns.map((what) => HEADS[what]), ...(hasLater ? ["rows deleted later"] : [])],
    rows: rows.map((row) => [
      row.label,
      ...columns.map((what) => (TIMES.has(what) ? row.counts[what].toFixed(1) : number(row.counts[what]))),
      ...(hasLater ? [number(deletedOf(row))] : []),
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
  const bills = rows.map((row) => ({ ...row, bill: billOfAMillion(withLater(row)) }));
  const hasLogs = rows.some(({ counts }) => counts.logEvents > 0);
  const shareOf = (bill: Bill, parts: readonly Priced[]): number => parts.reduce((sum, part) => sum + bill[part], 0);
  const shares = Object.entries(SHARES).filter(([, parts]) => bills.some(({ bill }) => shareOf(bill, parts) !== 0));
  return {
    head: [
      title,
      "US$ a million",
      ...shares.map(([name]) => name),
      ...(hasLogs ? ["logs by the GB"] : []),
      "largest part",
    ],
    rows: bills.map(({ label, counts, bill }) => [
      label,
      money(totalOf(bill)),
      ...shares.map(([, parts]) => money(shareOf(bill, parts))),
      ...(hasLogs ? [money(logsByGb(counts))] : []),
      PRICES[largestOf(bill)].unit,
    ]),
  };
}

/** US$ for the logs of a million, as they are billed from `LOGS_BY_GB.from` on. */
export function logsByGb({ logEvents, logBytes }: Pick<Counts, "logEvents" | "logBytes">): number {
  const { usdPerGb, usdPerGbMonth, keptDays, bytesBesides } = LOGS_BY_GB;
  const gb = ((logBytes + logEvents * bytesBesides) * 1_000_000) / 1e9;
  return gb * (usdPerGb + usdPerGbMonth * (keptDays / 30));
}

const number = (value: number): string => value.toLocaleString("en", { maximumFractionDigits: 2 });

export const money = (usd: number): string =>
  usd.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
