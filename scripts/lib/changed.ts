import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./root.ts";
import { run } from "./run.ts";
import { UserError } from "./user-error.ts";

/** Path prefixes of tests for each vitest project. An empty list runs nothing of that project. */
export interface ChosenTests {
  readonly worker: readonly string[];
  readonly acceptance: readonly string[];
}

/** Files that differ from a commit, including untracked ones. */
export async function changedFiles(since: string): Promise<readonly string[]> {
  const difference = await run("git", ["diff", "--name-only", "--no-renames", since, "--"]);
  if (difference.code !== 0) throw new UserError(`git does not know ${since}.`);
  const untracked = await run("git", ["ls-files", "--others", "--exclude-standard"]);
  return `${difference.output}\n${untracked.output}`.split("\n").filter((path) => path !== "");
}

/** Programs outside the Worker, and the name prefixes of their acceptance tests. */
const PRODUCTS: readonly (readonly [folder: string, test: string])[] = [
  ["cli/", "plat"],
  ["tools/bench/", "bench"],
  ["tools/soak/", "soak"],
  ["tools/corpora/", "corpora"],
  ["examples/tour/", "tour"],
  ["examples/", "example"],
  ["packages/sdk/", "sdk"],
  ["console/", "console"],
  ["scripts/console/", "console"],
  ["api/", "openapi"],
  ["api/", "typed-client"],
  ["migrations/", "start"],
  ["migrations/", "released"],
  ["migrations/", "upgrade"],
  ["test/upgrade/", "released"],
  ["test/upgrade/", "upgrade"],
];

/**
 * The tests beside the changed files. test/ mirrors src/: `src/events/push/x.ts` has its tests in `test/events/push/`,
 * or in its service's folder if there is none. Other breakage is found by `npm test`.
 */
export function testsFor(changed: readonly string[]): ChosenTests {
  const worker = new Set<string>();
  const acceptance = new Set<string>();
  for (const path of changed) {
    if (path.startsWith("test/acceptance/")) acceptance.add(isTest(path) ? path : folderOf(path));
    else if (path.startsWith("test/") && !path.startsWith("test/upgrade/"))
      worker.add(isTest(path) ? path : folderOf(path));
    else if (path.startsWith("src/")) worker.add(mirrorOf(path)).add("test/architecture.test.ts");
    else if (path.startsWith("migrations/")) worker.add("test/statements.test.ts");
    for (const [folder, test] of PRODUCTS) if (path.startsWith(folder)) acceptance.add(`test/acceptance/${test}`);
  }
  return { worker: [...worker].toSorted(), acceptance: [...acceptance].toSorted() };
}

const isTest = (path: string): boolean => path.endsWith(".test.ts");
const folderOf = (path: string): string => path.slice(0, path.lastIndexOf("/") + 1);

/** The deepest test folder that mirrors the source's folder. */
function mirrorOf(path: string): string {
  for (
    let folder = folderOf(path.replace(/^src\//, "test/"));
    folder !== "test/";
    folder = folderOf(folder.slice(0, -1))
  )
    if (existsSync(join(ROOT, folder)) && readdirSync(join(ROOT, folder), { recursive: true }).some(hasTests))
      return folder;
  // For app.ts, deps.ts and the like.
  return "test/http/";
}

const hasTests = (name: string | Buffer): boolean => isTest(String(name));
