import { expect, test } from "vitest";
import { mediaBench } from "../../tools/bench/media/bench.ts";
import { runBench } from "../acceptance/support/bench-run.ts";

/** Checks that everything runs; the measured values do not matter. */
test("npm run bench -- media compares Plinth with the bare Worker and sharp, and grows an archive", async () => {
  // Covers each kind once.
  const kinds = ["upload-by-16", "link-by-1", "redirect-by-16", "not-modified-by-16", "content-private-by-16"];
  const operations = [...kinds, "content-missed-by-16", "content-cached-by-1", "list-by-1", "list-query-by-16"];
  const only = [...operations, "variants", "growth"].join(",");
  const little = ["--seconds", "0.05", "--rounds", "1", "--events", "2000", "--only", only];
  const { report, markdown } = await runBench("media", little);

  expect(report.results.map(({ operation, subject }) => `${operation} ${subject}`)).toEqual(
    operations.flatMap((operation) => ["plinth", "bare"].map((subject) => `${operation} ${subject}`)),
  );
  for (const result of report.results) expect(result.clients).toBe(Number(result.operation.split("-by-")[1]));
  expect(report.ratios.map(({ operation, mark: asked }) => [operation, asked?.atLeast])).toEqual(
    operations.map((operation) => [operation, 0.7]),
  );
  expect(report.findings.map(({ id }) => id)).toEqual(["variants", "growth"]);
  for (const { tables } of report.findings)
    for (const [, ...numbers] of tables.flatMap(({ rows }) => rows))
      for (const cell of numbers) expect(Number.parseFloat(cell), cell).toBeGreaterThan(0);
  const growing = report.findings.at(-1);
  expect(growing?.marks).toHaveLength(growing?.tables[0]?.rows.length ?? 0);
  for (const { label } of mediaBench.studies ?? []) expect(markdown).toContain(`### ${label}`);
});
