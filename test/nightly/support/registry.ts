import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "../../../scripts/lib/root.ts";
import { makePython } from "../../../scripts/lib/local/python.ts";

/**
 * Packages that are too big for everybody's node_modules, from the registries, kept in `.build/foreign` from night to
 * night. Undefined where a registry does not answer: the test says so and is skipped.
 */
const run = promisify(execFile);
const FOLDER = join(ROOT, ".build", "foreign");
const ASK_MS = 20_000;
const INSTALL_MS = 280_000;

/** The folder in whose node_modules the packages are, each in the given version. */
export async function fromNpm(name: string, packages: Readonly<Record<string, string>>): Promise<string | undefined> {
  const folder = join(FOLDER, name);
  const done = join(folder, "installed.json");
  const wanted = JSON.stringify(packages);
  if (existsSync(done) && readFileSync(done, "utf8") === wanted) return folder;
  if (!(await npmAnswers())) return undefined;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{ "private": true, "type": "module" }');
  const exact = Object.entries(packages).map(([one, version]) => `${one}@${version}`);
  await run("npm", ["install", "--no-audit", "--no-fund", ...exact], { cwd: folder, timeout: INSTALL_MS });
  writeFileSync(done, wanted);
  return folder;
}

export const npmAnswers = (): Promise<boolean> =>
  run("npm", ["view", "hono", "version"], { cwd: ROOT, timeout: ASK_MS }).then(
    () => true,
    () => false,
  );

/** A Python with packages/python and these packages. */
export async function pythonWith(...packages: string[]): Promise<string | undefined> {
  const python = await makePython();
  if (python === undefined) return undefined;
  const install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", ...packages];
  const has = await run(python, install, { timeout: INSTALL_MS }).then(
    () => true,
    () => packages.length === 0,
  );
  return has ? python : undefined;
}
