import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";

export const ENV_FILE = ".env";

/** The `PLINTH_…` variables of the folder's `.env`, as `init` writes them; empty without a file. */
export function readEnvFile(folder: string): Readonly<Record<string, string>> {
  const found = parseEnv(readTextIfThere(join(folder, ENV_FILE)));
  return Object.fromEntries(
    Object.entries(found).flatMap(([name, value]) => (name.startsWith("PLINTH_") && value ? [[name, value]] : [])),
  );
}

/** Empty without a file. A folder is none: `.env` may be an environment of Python. Nor is a pipe, which may never end. */
export function readTextIfThere(file: string): string {
  return statSync(file, { throwIfNoEntry: false })?.isFile() === true ? readFileSync(file, "utf8") : "";
}

/** A pipe, as managers of secrets make one: it is neither read nor written. */
export const isEnvPipe = (folder: string): boolean =>
  statSync(join(folder, ENV_FILE), { throwIfNoEntry: false })?.isFIFO() === true;
