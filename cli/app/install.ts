import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { UserError } from "../../scripts/lib/user-error.ts";

/** A program that installs packages, with its arguments. */
export interface Install {
  readonly program: string;
  readonly args: readonly string[];
}

/** Package managers by their lock file. Without one of these files, it is npm. */
const MANAGERS: readonly (readonly [lockFile: string, program: string])[] = [
  ["pnpm-lock.yaml", "pnpm"],
  ["yarn.lock", "yarn"],
  ["bun.lock", "bun"],
];

/** Installs packages of npm with the folder's own package manager. */
export function npmInstall(folder: string, packages: readonly string[]): Install {
  const [, program] = MANAGERS.find(([lockFile]) => existsSync(join(folder, lockFile))) ?? [];
  return program === undefined
    ? { program: "npm", args: ["install", ...packages] }
    : { program, args: ["add", ...packages] };
}

export const pipInstall = (packages: readonly string[]): Install => ({
  program: "pip",
  args: ["install", ...packages],
});

/** The command as a line for a shell. */
export const shownInstall = ({ program, args }: Install): string =>
  [program, ...args]
    .map((word) => (/^[\w@./:=^~+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`))
    .join(" ");

/** Runs the installation in the folder. Its output goes to the standard error, for the person to see. */
export async function runInstall(install: Install, folder: string): Promise<void> {
  const { program, args } = install;
  const failure = await new Promise<string | undefined>((resolve) => {
    const child = spawn(program, args, {
      cwd: folder,
      // The standard output of `init` holds only its answer.
      stdio: ["ignore", process.stderr, process.stderr],
      shell: process.platform === "win32",
    });
    child.once("error", ({ message }) => resolve(message));
    child.once("close", (code) => resolve(code === 0 ? undefined : `it ended with ${code}`));
  });
  if (failure !== undefined)
    throw new UserError(`${shownInstall(install)} failed: ${failure}. The application is made; run that line again.`);
}
