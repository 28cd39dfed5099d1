import { readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { lint } from "../interface/lint.ts";
import { makeDocument } from "../interface/index.ts";
import { ROOT } from "./lib/root.ts";

/**
 * `npm run openapi` writes docs/openapi.json, made from the route tables and interface/; with `--check` it only says
 * whether the file is what it would write. Either way the document must be whole and pass two validators.
 */
const FILE = join(ROOT, "docs", "openapi.json");
const isCheck = process.argv.includes("--check");

const { document, faults } = await makeDocument(ROOT);
const text = `${JSON.stringify(document, null, 2)}\n`;
const found = [...(faults.length > 0 ? faults : await lint(text))];
if (isCheck && found.length === 0 && readIfThere(FILE) !== text)
  found.push(`${relative(ROOT, FILE)} is stale: run npm run openapi, look at the difference and commit it`);
for (const fault of found) console.error(`✗ ${fault}`);
if (found.length > 0) process.exitCode = 1;
else if (!isCheck) {
  writeFileSync(FILE, text);
  console.log(`wrote ${relative(ROOT, FILE)}, ${Math.round(text.length / 1024)} KiB`);
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
