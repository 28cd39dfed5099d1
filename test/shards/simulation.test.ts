import { expect, it } from "vitest";
import { csvOf } from "../../tools/bench/shards/csv.ts";
import { capacityOf, SHARDS } from "../../tools/bench/shards/simulate.ts";
import { latencyOf, WAITS } from "../../tools/bench/shards/waits.ts";

/** A function of Vite, which runs the tests. */
interface Glob {
  glob(pattern: string, options: object): Record<string, string>;
}
const data = (import.meta as unknown as Glob).glob("../../docs/benchmarks/data/*.csv", {
  query: "?raw",
  import: "default",
  eager: true,
});
const shown = (name: string) => data[`../../docs/benchmarks/data/${name}`];

it("the documents show what the simulation and the counted waits give", () => {
  expect(shown("shards.csv")).toBe(csvOf(SHARDS.map((shards) => capacityOf(shards, 1))));
  expect(shown("waits.csv")).toBe(csvOf(WAITS.map(latencyOf)));
});

it("more shards carry more files and uploads, a skewed load less than an even one, and sign-ins at most twice as many", () => {
  const found = SHARDS.map((shards) => capacityOf(shards, 7));
  for (const [at, one] of found.entries()) {
    const before = found[at - 1];
    if (before === undefined) continue;
    expect(one.uploadsPerSec).toBeGreaterThan(before.uploadsPerSec);
    expect(one.uploadsPerSec).toBeLessThan(one.uploadsPerSecEven);
    expect(one.files / before.files).toBe(one.shards / before.shards);
    // Each sign-in asks the directory for the person.
    expect(one.signInsPerSec).toBeGreaterThan(before.signInsPerSec);
    expect(one.signInsPerSec).toBeLessThanOrEqual(2 * found[0]!.signInsPerSec);
  }
});
