import { expect, test } from "vitest";
import { runBench } from "../acceptance/support/bench-run.ts";

/** Checks that everything runs; the measured values do not matter. */
test("npm run bench -- gateway compares forwarding and rewriting, and measures memory", async () => {
  const little = ["--seconds", "0.02", "--rounds", "1", "--only", "open-by-16,token-by-1,sparse,gigabyte"];
  const { report, markdown } = await runBench("gateway", little);

  expect(report.ratios.map(({ operation, of, to, mark: asked }) => [operation, of, to, asked?.atLeast])).toEqual([
    ["open-by-16", "plinth", "bare", 0.7],
    ["open-by-16", "plinth", "bare-gateway", undefined],
    ["open-by-16", "plinth", "guarded-gateway", undefined],
    ["token-by-1", "plinth", "bare", 0.7],
    ["token-by-1", "plinth", "bare-gateway", undefined],
    ["token-by-1", "plinth", "guarded-gateway", undefined],
    ["sparse", "plinth", "untouched", 0.5],
  ]);
  expect(report.results).toHaveLength(10);
  const [memory] = report.findings;
  expect([memory?.id, memory?.marks.length]).toEqual(["gigabyte", 1]);
  for (const cell of memory?.tables[0]?.rows[0]?.slice(1) ?? []) expect(Number(cell)).toBeGreaterThan(0);
  expect(markdown).toContain(`### ${memory?.label}`);
});
