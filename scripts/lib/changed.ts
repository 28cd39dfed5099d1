import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./root.ts";
import { run } from "./run.ts";
import { UserError } from "./user-error.ts";

/** Path prefixes of tests for each vitest project. An empty list runs nothing of that project. */
export interface ChosenTests {
  readonly worker: readonly string[];
  readonly acceptance: readonly string[];
  readonly nightly: readonly string[];
}

/** Files that differ from a commit, including untracked ones. */
export async function changedFiles(since: string): Promise<readonly string[]> {
  const difference = await run("git", ["diff", "--name-only", "--no-renames", since, "--"]);
  if (difference.code !== 0) throw new UserError(`git does not know ${since}.`);
  const untracked = await run("git", ["ls-files", "--others", "--exclude-standard"]);
  return `${difference.output}\n${untracked.output}`.split("\n").filter((path) => path !== "");
}

/** Programs outside the Worker, and the prefixes of the paths of their tests. */
const PRODUCTS: readonly (readonly [folder: string, test: string])[] = [
  ["cli/", "acceptance/plat"],
  ["cli/", "nightly/plat"],
  ["cli/", "nightly/browser"],
  ["src/ui/", "nightly/browser"],
  ["cli/app/", "nightly/init"],
  ["cli/completion/", "acceptance/shells"],
  ["docs/", "acceptance/samples"],
  ["tools/bench/", "nightly/bench"],
  ["tools/soak/", "nightly/soak"],
  ["tools/corpora/", "nightly/corpora"],
  ["examples/tour/", "nightly/tour"],
  ["examples/", "nightly/example"],
  ["examples/quickstarts/", "nightly/quickstarts"],
  ["packages/python/", "nightly/quickstarts"],
  ["packages/sdk/", "acceptance/sdk"],
  ["packages/sdk/", "nightly/sdk"],
  ["tools/deploy/", "nightly/deploy"],
  ["docs/", "nightly/site"],
  ["scripts/site/", "nightly/site"],
  ["src/backup/", "nightly/backup"],
  ["src/restore/", "nightly/backup"],
  ["console/", "acceptance/console"],
  ["console/", "nightly/console"],
  ["scripts/console/", "acceptance/console"],
  ["api/", "acceptance/openapi"],
  ["api/", "nightly/typed-client"],
  ["migrations/", "acceptance/start"],
  ["migrations/", "acceptance/released"],
  ["migrations/", "nightly/upgrade"],
  ["test/upgrade/", "acceptance/released"],
  ["test/upgrade/", "nightly/upgrade"],
];

/**
 * Finds the tests beside the changed files. test/ mirrors src/: `src/events/push/x.ts` has its tests in
 * `test/events/push/`; without such a folder, directly in the one above. Only `npm test` finds other breakage.
 */
export function testsFor(changed: readonly string[]): ChosenTests {
  const paths = new Set<string>();
  for (const path of changed) {
    if (path.startsWith("test/") && !path.startsWith("test/upgrade/"))
      for (const test of isTest(path) ? [path] : testsIn(folderHelpedBy(path))) paths.add(test);
    else if (path.startsWith("src/"))
      for (const test of [...mirrorsOf(path), "test/architecture.test.ts"]) paths.add(test);
    else if (path.startsWith("migrations/")) paths.add("test/statements.test.ts");
    for (const [folder, test] of PRODUCTS) if (path.startsWith(folder)) paths.add(`test/${test}`);
  }
  const all = [...paths].toSorted();
  const acceptance = all.filter((path) => path.startsWith("test/acceptance/"));
  const nightly = all.filter((path) => path.startsWith("test/nightly/"));
  return { worker: all.filter((path) => !acceptance.includes(path) && !nightly.includes(path)), acceptance, nightly };
}

const isTest = (path: string): boolean => path.endsWith(".test.ts");
const folderOf = (path: string): string => path.slice(0, path.lastIndexOf("/") + 1);

/** Helpers of a service lie in its folder's support/. A helper of acceptance tests helps nearly all: none is chosen. */
const folderHelpedBy = (path: string): string =>
  folderOf(path).replace(/^(test\/(?!acceptance\/)\w+\/)support\/.*/, "$1");

/** Tests of the deepest folder that mirrors the source's folder and has tests. */
function mirrorsOf(path: string): readonly string[] {
  for (
    let folder = folderOf(path.replace(/^src\//, "test/"));
    folder !== "test/";
    folder = folderOf(folder.slice(0, -1))
  ) {
    const tests = testsIn(folder);
    if (tests.length > 0) return tests;
  }
  // For app.ts, deps.ts and the like.
  return ["test/http/"];
}

/** The folder as a prefix. If it has folders, its own files one by one, since the prefix would include theirs. */
function testsIn(folder: string): readonly string[] {
  if (!existsSync(join(ROOT, folder))) return [];
  const all = readdirSync(join(ROOT, folder), { recursive: true }).map(String).filter(isTest);
  const loose = all.filter((name) => !name.includes("/"));
  return loose.length === all.length && all.length > 0 ? [folder] : loose.map((name) => folder + name);
}
