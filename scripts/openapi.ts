import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { makeClient } from "../api/client.ts";
import { lint } from "../api/lint.ts";
import { makeDocument } from "../api/index.ts";
import { makeScopesPage } from "../api/scopes-page.ts";
import { ROOT } from "./lib/root.ts";

/**
 * `npm run openapi` writes api/openapi.json from the route tables and api/, and generates api/plinth.ts and
 * docs/reference/scopes.md from it. With `--check` it only compares. The document must be complete and pass two
 * validators.
 */
const isCheck = process.argv.includes("--check");

const { document, faults } = await makeDocument(ROOT);
const text = `${JSON.stringify(document, null, 2)}\n`;
const found = [...(faults.length > 0 ? faults : await lint(text))];
if (found.length === 0) {
  const files = {
    "api/openapi.json": text,
    "api/plinth.ts": await clientOf(text),
    "docs/reference/scopes.md": makeScopesPage(document),
  };
  for (const [file, content] of Object.entries(files)) {
    if (!isCheck) write(join(ROOT, file), content);
    else if (readIfThere(join(ROOT, file)) !== content)
      found.push(`${file} is stale: run npm run openapi, look at the difference and commit it`);
  }
}
for (const fault of found) console.error(`✗ ${fault}`);
if (found.length > 0) process.exitCode = 1;

async function clientOf(content: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "plinth-openapi-"));
  try {
    const file = join(folder, "openapi.json");
    writeFileSync(file, content);
    return await makeClient(file);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function write(file: string, content: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  console.log(`wrote ${relative(ROOT, file)}, ${Math.round(content.length / 1024)} KiB`);
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
