import { expect, test } from "vitest";
import { eventsBench } from "../../tools/bench/events/bench.ts";
import { runBench } from "../acceptance/support/bench-run.ts";

/** Checks that everything runs; the measured values do not matter. */
test("npm run bench -- events compares Plinth with bare Workers, and runs its studies", async () => {
  // Covers each kind, size and number of clients once.
  const operations = ["publish-1-by-1", "publish-100-by-16", "read-1-by-16", "read-100-by-1"];
  const only = [...operations, "whole", "growth", "push", "wait", "crowd"].join(",");
  const little = ["--seconds", "0.05", "--rounds", "1", "--events", "200", "--only", only];
  const { report, markdown } = await runBench("events", ["--subjects", "plinth,bare,bare-one", ...little]);

  expect(report.results.map(({ operation, subject }) => `${operation} ${subject}`)).toEqual(
    operations.flatMap((operation) => ["plinth", "bare", "bare-one"].map((subject) => `${operation} ${subject}`)),
  );
  for (const result of report.results) expect(result.clients).toBe(Number(result.operation.split("-by-")[1]));
  expect(report.ratios.map(({ operation, mark: asked }) => [operation, asked?.atLeast])).toEqual(
    operations.flatMap((operation) => [
      [operation, 0.7],
      [operation, undefined],
    ]),
  );
  const [level] = report.levels;
  expect(level?.eventsPerSec.median).toBeCloseTo(
    100 * report.results.find((result) => result.operation === level?.operation)!.requestsPerSec.median,
  );
  expect(report.findings.map(({ id, marks }) => [id, marks.length])).toEqual([
    ["whole", 1],
    ["growth", 2],
    ["push", 0],
    ["wait", 1],
    ["crowd", 4],
  ]);
  for (const { tables } of report.findings)
    for (const [, ...numbers] of tables.flatMap(({ rows }) => rows))
      for (const cell of numbers) expect(Number.parseFloat(cell), cell).toBeGreaterThanOrEqual(0);
  for (const { label } of eventsBench.studies ?? []) expect(markdown).toContain(`### ${label}`);
});
