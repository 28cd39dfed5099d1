import {
  appendFileSync,
  closeSync,
  constants,
  existsSync,
  ftruncateSync,
  openSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { ENV_FILE, readTextIfThere } from "../client/env-file.ts";

export type Values = Readonly<Record<string, string>>;

/** Names that `.env` already has, with other values. */
export function findConflicts(folder: string, values: Values): string[] {
  const found = parseEnv(readTextIfThere(join(folder, ENV_FILE)));
  return Object.keys(values).filter((name) => found[name] !== undefined && found[name] !== values[name]);
}

/** True if values can be written: `.env` is a file, or there is none. */
export const mayBeWritten = (folder: string): boolean =>
  statSync(join(folder, ENV_FILE), { throwIfNoEntry: false })?.isFile() ?? true;

/**
 * Sets the values, wherever the file has them, and leaves everything else in it as it is. Only its owner can read a new
 * file. It is not emptied first: if the disk is full, what was in it stays.
 */
export function writeEnvFile(folder: string, values: Values): void {
  const file = join(folder, ENV_FILE);
  let text = readTextIfThere(file);
  for (const [name, value] of Object.entries(values)) {
    const line = `${name}="${value}"`;
    const known = new RegExp(`^(?:export +)?${name}[ \t]*=.*$`, "gm");
    if (text.search(known) >= 0) text = text.replaceAll(known, () => line);
    else text += `${text === "" || text.endsWith("\n") ? "" : "\n"}${line}\n`;
  }
  const opened = openSync(file, constants.O_WRONLY | constants.O_CREAT, 0o600);
  try {
    writeFileSync(opened, text);
    ftruncateSync(opened, Buffer.byteLength(text));
  } finally {
    closeSync(opened);
  }
}

/** Keeps `.env` out of version control. Returns true if this call added it to `.gitignore`. */
export function ignoreEnvFile(folder: string): boolean {
  const file = join(folder, ".gitignore");
  const text = readTextIfThere(file);
  if (/^\/?\.env(\*|\.\*)?\s*$/m.test(text)) return false;
  if (text === "" && !isInRepository(folder)) return false;
  appendFileSync(file, `${text === "" || text.endsWith("\n") ? "" : "\n"}${ENV_FILE}\n`);
  return true;
}

function isInRepository(folder: string): boolean {
  const above = join(folder, "..");
  return existsSync(join(folder, ".git")) || (above !== folder && isInRepository(above));
}
