import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./lib/local/free-port.ts";
import { findPython, inVenv, makePython, PYTHON_PACKAGE } from "./lib/local/python.ts";
import { ROOT } from "./lib/root.ts";

/**
 * `npm run test:python`: checks the types of packages/python with mypy, then runs its tests against a platform of its
 * own. Packages come from PyPI into `.build/python`. Without Python 3.10 it says so and ends with success.
 */
const OPERATOR_SECRET = "an-operator-secret-for-python-tests";
const READY_MS = 120_000;

if (findPython() === undefined) {
  console.log("skipped: Python 3.10 or later is not on this machine");
  process.exit(0);
}
const python = await makePython(true);
if (python === undefined) throw new Error("The packages could not be installed from PyPI.");
const types = code(inVenv("mypy"), [], {});
if (types !== 0) process.exit(types);
process.exitCode = await withPlatform((url) =>
  code(python, ["-m", "pytest", "-q"], { PLINTH_URL: url, OPERATOR_CLIENT_SECRET: OPERATOR_SECRET }),
);

/** Starts a platform, runs the work, and ends the platform with its state. */
async function withPlatform(work: (url: string) => number): Promise<number> {
  const stateDir = mkdtempSync(join(tmpdir(), "plinth-python-"));
  const platform = spawn(process.execPath, [join(ROOT, "scripts", "start.ts")], {
    env: {
      ...process.env,
      PORT: String(await freePort("127.0.0.1")),
      STATE_DIR: stateDir,
      SITE: "none",
      OPERATOR_CLIENT_SECRET: OPERATOR_SECRET,
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise<void>((resolve) => platform.once("exit", () => resolve()));
  try {
    return work(await readyUrl(platform.stdout));
  } finally {
    platform.kill();
    await ended;
    rmSync(stateDir, { recursive: true, force: true });
  }
}

async function readyUrl(output: NodeJS.ReadableStream): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const timer = setTimeout(() => reject(new Error("The platform did not start.")), READY_MS);
  let said = "";
  output.on("data", (chunk: Buffer) => {
    said += chunk.toString();
    const url = /^ready (\S+)$/m.exec(said)?.[1];
    if (url !== undefined) resolve(url);
  });
  output.once("end", () => reject(new Error(`The platform ended:\n${said}`)));
  return promise.finally(() => clearTimeout(timer));
}

function code(command: string, args: readonly string[], env: Record<string, string>): number {
  const { status } = spawnSync(command, args, {
    cwd: PYTHON_PACKAGE,
    env: { ...process.env, ...env },
    stdio: "inherit",
  });
  return status ?? 1;
}
