import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { findFaults, makePage, readOutline, readTags } from "./lib/coverage.ts";
import { ROOT } from "./lib/root.ts";

/**
 * `npm run coverage` writes docs/coverage.md; with `--check` it only compares. Each row needs a tagged test or a
 * reason, and each tag a row. The test stages say whether the tests pass.
 */
const TESTS = join(ROOT, "test");
const PAGE = join(ROOT, "docs", "coverage.md");

const rows = readOutline(readFileSync(join(TESTS, "specification.txt"), "utf8"));
const read = globSync(join(TESTS, "**/*.ts"))
  .toSorted()
  .map((path) => readTags(readFileSync(path, "utf8"), relative(TESTS, path)));
const tags = read.flatMap((file) => file.tags);
const faults = [...read.flatMap((file) => file.faults), ...findFaults(rows, tags)];
const page = makePage(rows, tags);
if (!process.argv.includes("--check")) writeFileSync(PAGE, page);
else if (readFileSync(PAGE, "utf8") !== page)
  faults.push("docs/coverage.md is stale: run npm run coverage and commit it");
for (const fault of faults) console.error(`✗ ${fault}`);
if (faults.length > 0) process.exitCode = 1;
else console.log(`${rows.length} rows, ${tags.length} tags`);
