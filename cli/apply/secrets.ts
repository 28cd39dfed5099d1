import { randomBytes } from "node:crypto";
import { closeSync, fsyncSync, openSync, readFileSync, statSync, writeSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { UserError } from "../../scripts/lib/user-error.ts";
import type { Step } from "./difference.ts";
import { KIND, labelOf } from "./kinds.ts";
import { START, type Mistake } from "./mistake.ts";
import type { Rules } from "./rules.ts";

/**
 * The file of `--secrets`: generated client secrets, one JSON object a line, `{platform, client, clientSecret}`.
 *
 * A secret is on disk before it is sent, so the next run after a crash finds it and sends it again. A client that was
 * removed and is made again gets the secret of the file too, which nothing here can tell apart. The file is only
 * appended to, and the first of two lines for a client counts, so that concurrent runs agree.
 */
export interface SecretsFile {
  /** True if an earlier run has stored a secret for this client. */
  has(client: string): boolean;
  /** Stores secrets for these clients; existing ones stay. */
  keep(clients: readonly string[]): ReadonlyMap<string, string>;
}

/** Refuses a file that others can read, or that has other contents. The file may be missing. */
export function openSecretsFile(path: string, platform: string): SecretsFile {
  const read = (): Map<string, string> => readSecrets(path, platform);
  const atFirst = read();
  return {
    has: (client) => atFirst.has(client),
    keep(clients) {
      const before = read();
      const missing = clients.filter((client) => !before.has(client));
      if (missing.length > 0) {
        const lines = missing.map((client) => {
          const clientSecret = randomBytes(32).toString("base64url");
          return `${JSON.stringify({ platform, client, clientSecret })}\n`;
        });
        append(path, lines.join(""));
      }
      const kept = read();
      return new Map(
        clients.map((client) => {
          const secret = kept.get(client);
          if (secret === undefined)
            throw new UserError(`Nothing was sent: ${path} does not keep what is written to it.`);
          return [client, secret];
        }),
      );
    },
  };
}

function readSecrets(path: string, platform: string): Map<string, string> {
  const secrets = new Map<string, string>();
  const text = readIfThere(path);
  // Text after the last line break was left by a crash. That secret was never sent, so it is ignored.
  for (const [index, line] of text.split("\n").slice(0, -1).entries()) {
    if (line === "") continue;
    const secret = parseLine(line);
    if (secret === undefined) {
      // A crash cut off this line, and the next run appended its own line to the rest.
      if (isCut(line)) continue;
      throw new UserError(`${path}:${index + 1}:1: this is no file of secrets. Name another one for --secrets.`);
    }
    if (secret.platform === platform && !secrets.has(secret.client)) secrets.set(secret.client, secret.clientSecret);
  }
  return secrets;
}

const isCut = (line: string): boolean => line.startsWith('{"platform":') && !line.endsWith("}");

function parseLine(line: string): { platform: string; client: string; clientSecret: string } | undefined {
  try {
    const { platform, client, clientSecret } = JSON.parse(line) as Record<string, unknown>;
    if (typeof platform !== "string" || typeof client !== "string" || typeof clientSecret !== "string")
      return undefined;
    return { platform, client, clientSecret };
  } catch {
    return undefined;
  }
}

function readIfThere(path: string): string {
  try {
    const { mode } = statSync(path);
    if (process.platform !== "win32" && (mode & 0o077) !== 0)
      throw new UserError(`${path} can be read by others than its owner: chmod 600 ${path}`);
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error instanceof UserError ? error : new UserError(`${path} cannot be read: ${(error as Error).message}`);
  }
}

function append(path: string, lines: string): void {
  const before = readIfThere(path);
  try {
    const file = openSync(path, "a", 0o600);
    try {
      writeSync(file, before === "" || before.endsWith("\n") ? lines : `\n${lines}`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    const directory = openSync(dirname(resolve(path)), "r");
    fsyncSync(directory);
    closeSync(directory);
  } catch (error) {
    throw new UserError(`Nothing was sent: ${path} cannot be written: ${(error as Error).message}`);
  }
}

/**
 * Reads the secrets of these steps from the environment, with their mistakes. `needs`: secrets that are missing for
 * sending, which is no mistake of the file.
 */
export function readGivenSecrets(
  steps: readonly Step[],
  rules: Rules,
  env: NodeJS.ProcessEnv,
  hasSecretsFile: boolean,
): {
  readonly secrets: ReadonlyMap<Step, string>;
  readonly mistakes: readonly Mistake[];
  readonly needs: readonly Mistake[];
} {
  const secrets = new Map<Step, string>();
  const mistakes: Mistake[] = [];
  const needs: Mistake[] = [];
  for (const step of steps) {
    const { wanted, kind, id } = step;
    const name = KIND[kind].secret;
    if (wanted === undefined || name === undefined || step.secret === "none") continue;
    const { secretFrom } = wanted;
    if (step.secret === "made") {
      const reason = `${labelOf(step)} needs a secret: name a file that keeps the one that is made, --secrets <file>, or write clientSecret: { env: NAME }.`;
      if (!hasSecretsFile) needs.push({ place: wanted.place ?? START, reason });
      continue;
    }
    if (secretFrom === undefined) {
      mistakes.push({ place: wanted.place, reason: `${labelOf(step)} needs a ${name}: write ${name}: { env: NAME }.` });
      continue;
    }
    const { variable, place } = secretFrom;
    const value = env[variable];
    if (value === undefined || value === "") {
      needs.push({
        place,
        reason: `the variable ${variable} of the environment is not set; it holds the ${name} of ${labelOf(step)}.`,
      });
      continue;
    }
    const { faults } = rules.body(kind, id, { ...wanted.fields, [name]: value });
    for (const { field, message } of faults)
      if (field === name) mistakes.push({ place, reason: `what ${variable} holds is no ${name}: ${message}` });
    secrets.set(step, value);
  }
  return { secrets, mistakes, needs };
}
