import { describe, expect, test } from "vitest";
import { billOfAMillion, billOfAMonth, largestOf, totalOf } from "../../tools/bench/cost/bill.ts";
import { NO_COUNTS } from "../../tools/bench/cost/counts.ts";
import type { Table } from "../../tools/bench/lib/study.ts";
import { logsByGb, withLater } from "../../tools/bench/cost/tables.ts";
import { runBench } from "../acceptance/support/bench-run.ts";

describe("the price of operations", () => {
  test("prices a million of an operation by its counts", () => {
    const bill = billOfAMillion({ ...NO_COUNTS, workerRequests: 2, d1Statements: 9, d1RowsWritten: 3, r2ClassA: 0.5 });
    expect(bill).toMatchObject({ workerRequests: 0.6, d1RowsWritten: 3, r2ClassA: 2.25, images: 0 });
    expect(totalOf(bill)).toBeCloseTo(5.85);
    expect(largestOf(bill)).toBe("d1RowsWritten");
  });

  test("prices a million tokens at most at US$ 0.50 in all: no line is logged for one", () => {
    // As counted (docs/benchmarks/data/cost.csv), with CPU rounded up.
    const token = { ...NO_COUNTS, workerRequests: 1, cpuMs: 2, logEvents: 0 };
    expect(totalOf(billOfAMillion(token))).toBeLessThanOrEqual(0.5);
    expect(totalOf(billOfAMillion({ ...token, logEvents: 1 }))).toBeGreaterThan(0.5);
  });

  test("prices logs by their bytes and those beside each line, from December on", () => {
    // 500 bytes and 2 × 1,000 beside: 2.5 GB a million, at 0.25 and a week of 0.10 a month.
    expect(logsByGb({ logEvents: 2, logBytes: 500 })).toBeCloseTo(2.5 * (0.25 + (0.1 * 7) / 30));
    expect(logsByGb({ logEvents: 0, logBytes: 0 })).toBe(0);
  });

  test("prices a row that is deleted later as one that is written", () => {
    const counts = { ...NO_COUNTS, d1RowsWritten: 3, objectRowsWritten: 1 };
    const row = { label: "", counts, later: { d1RowsWritten: 2, objectRowsWritten: 0.5 } };
    expect(billOfAMillion(withLater(row))).toMatchObject({ d1RowsWritten: 5, objectRowsWritten: 1.5 });
    expect(withLater({ label: "", counts })).toEqual(counts);
  });

  test("prices an object's time by its 128 MB", () => {
    // 0.1 s of 0.128 GB are 0.0128 GB-s, of which a million cost US$ 12.50.
    expect(totalOf(billOfAMillion({ ...NO_COUNTS, objectMs: 100 }))).toBeCloseTo(0.16);
  });

  test("prices a month without the plan's included units", () => {
    const counts = { ...NO_COUNTS, workerRequests: 1, objectRequests: 1 };
    expect(totalOf(billOfAMonth(counts, 1_000_000))).toBe(0);
    const bill = billOfAMonth(counts, 11_000_000);
    expect(bill.workerRequests).toBeCloseTo(0.3);
    expect(bill.objectRequests).toBeCloseTo(1.5);
  });
});

test("npm run bench -- cost counts and prices publishing", async () => {
  const { report, markdown } = await runBench("cost", ["--rounds", "1", "--only", "publish"]);
  const [counts, dollars] = report.findings[0]?.tables ?? [];
  const cell = (table: Table | undefined, row: string, column: string) =>
    table?.rows.find(([label]) => label === row)?.[table.head.indexOf(column)];
  // One call of the topic's object, which writes one row for few events and two for many; nothing in D1.
  for (const [row, rowsWritten] of [
    ["publish 1", "1"],
    ["publish 100", "2"],
  ] as const) {
    expect(cell(counts, row, "Worker requests")).toBe("1");
    expect(cell(counts, row, "object requests")).toBe("1");
    expect(cell(counts, row, "object rows written")).toBe(rowsWritten);
    // Each segment goes when its time is over.
    expect(cell(counts, row, "rows deleted later")).toBe(rowsWritten);
    expect(cell(dollars, row, "Worker")).toBe("0.30");
    expect(cell(dollars, row, "object rows")).toBe(`${2 * Number(rowsWritten)}.00`);
  }
  expect(counts?.head).not.toContain("D1 statements");
  // A publish logs nothing.
  expect(counts?.head).not.toContain("log events");
  expect(markdown).toMatch(/^\| publish 1 +\|/m);
});
