import { randomBytes } from "node:crypto";
import { appendFileSync, readFileSync } from "node:fs";
import { parseEnv } from "node:util";

/** Generators of the local secrets that `.dev.vars` lacks. */
const SECRETS: Readonly<Record<string, () => string>> = {
  OPERATOR_CLIENT_SECRET: secret,
  SEAL_KEYS: () => `k1:${randomBytes(32).toString("base64")}`,
  DEMO_USER_PASSWORD: () => randomBytes(9).toString("base64url"),
  DEMO_OPERATOR_PASSWORD: () => randomBytes(9).toString("base64url"),
  DEMO_CLIENT_SECRET: secret,
};

function secret(): string {
  return randomBytes(32).toString("base64url");
}

/**
 * Reads `.dev.vars` and adds missing local secrets. The file is only appended to, with one write, and the first line
 * of a name counts, so that concurrent starts agree on the secrets.
 */
export function ensureDevVars(path: string): Record<string, string> {
  const known = readDevVars(path);
  const missing = Object.entries(SECRETS).filter(([name]) => known[name] === undefined);
  if (missing.length === 0) return known;
  const lines = missing.map(([name, make]) => `${name}="${make()}"\n`).join("");
  const head = Object.keys(known).length === 0 ? "# Local secrets, made by npm start. Not committed.\n" : "\n";
  appendFileSync(path, head + lines, { mode: 0o600 });
  return readDevVars(path);
}

/** The contents of `.dev.vars`; empty without a file. An empty value counts as absent. */
export function readDevVars(path: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const line of readIfThere(path).split("\n"))
    for (const [name, value] of Object.entries(parseEnv(line))) if (value) found[name] ??= value;
  return found;
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error;
  }
}
