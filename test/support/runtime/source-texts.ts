import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vitest/config";

const ROOT = join(import.meta.dirname, "..", "..", "..");
const NAME = "virtual:source-texts";
const SOURCES = ["{src,api,cli,examples,scripts,tools}/**/*.ts", "migrations/*.sql"];

/**
 * Gives tests inside the Workers runtime the texts of all sources, by their paths from the root, as one module. A glob
 * import of Vite would make a module of each file, and take ten seconds.
 */
export const sourceTexts = (): Plugin => ({
  name: NAME,
  resolveId: (id) => (id === NAME ? `\0${NAME}` : undefined),
  load: (id) => (id === `\0${NAME}` ? `export default ${JSON.stringify(readTexts())}` : undefined),
});

function readTexts(): Readonly<Record<string, string>> {
  const paths = globSync(SOURCES, { cwd: ROOT, exclude: ["**/node_modules/**"] }).toSorted();
  return Object.fromEntries(paths.map((path) => [path, readFileSync(join(ROOT, path), "utf8")]));
}
