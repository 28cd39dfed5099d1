import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { ROOT } from "../root.ts";
import { run } from "../run.ts";

/** packages/python. Its tests run in an environment of their own, `.build/python`, with packages from PyPI. */
export const PYTHON_PACKAGE = join(ROOT, "packages", "python");
const VENV = join(ROOT, ".build", "python");
const INSTALL_MS = 280_000;

const isNewEnough = "import sys; sys.exit(sys.version_info < (3, 10))";

/** Finds Python 3.10 or later on this machine. */
export const findPython = (): string | undefined =>
  ["python3", "python"].find((name) => spawnSync(name, ["-c", isNewEnough]).status === 0);

/** The path of a program in the environment. */
export const inVenv = (name: string): string => join(VENV, process.platform === "win32" ? "Scripts" : "bin", name);

/** Makes the environment and returns its Python; undefined without Python or PyPI. `show` prints the output of pip. */
export async function makePython(show = false): Promise<string | undefined> {
  const python = findPython();
  if (python === undefined) return undefined;
  const install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-e", `${PYTHON_PACKAGE}[test]`];
  for (const [program, args] of [
    [python, ["-m", "venv", VENV]],
    [inVenv("python"), install],
  ] as const)
    if ((await run(program, args, { show, timeoutMs: INSTALL_MS })).code !== 0) return undefined;
  return inVenv("python");
}
