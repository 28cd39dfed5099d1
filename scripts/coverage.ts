import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { check, placesOf, rowsOf } from "./lib/coverage.ts";
import { ROOT } from "./lib/root.ts";
import { titlesIn } from "./lib/test-titles.ts";

/**
 * `node scripts/coverage.ts` holds docs/coverage.md to its word: it has every row of the specifications and no other, each
 * names the tests that show it, and each of these tests stands in the sources under that name and runs. Whether they
 * pass, their own stages say.
 */
const TESTS = join(ROOT, "test");

const { rows, faults: faultsOfPage } = rowsOf(readFileSync(join(ROOT, "docs", "coverage.md"), "utf8"));
const places = placesOf(readFileSync(join(ROOT, "scripts", "data", "specification.txt"), "utf8"));
const found = [...reachable(globSync(join(TESTS, "**/*.test.ts")))].map((path) =>
  titlesIn(readFileSync(path, "utf8"), relative(TESTS, path).replace(/(\.test)?\.ts$/, "")),
);
const titles = new Set(found.flatMap((file) => [...file.titles]));
const { faults, named, withoutTest } = check(rows, places, titles);
const all = [...found.flatMap((file) => file.faults), ...faultsOfPage, ...faults];
for (const fault of all) console.error(`✗ ${fault}`);
if (all.length > 0) process.exitCode = 1;
else console.log(`${rows.length} rows, ${named} names of tests, ${withoutTest} rows without a test`);

/** Tests may stand in modules that a test file imports. */
function reachable(paths: readonly string[]): Set<string> {
  const seen = new Set<string>();
  const visit = (path: string): void => {
    if (seen.has(path) || !path.startsWith(TESTS)) return;
    seen.add(path);
    for (const [, to] of readFileSync(path, "utf8").matchAll(/from "(\.[^"]+\.ts)"/g)) visit(join(dirname(path), to!));
  };
  for (const path of paths) visit(path);
  return seen;
}
