import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import type { SealKey } from "../../../src/platform/secrets/seal.ts";
import { UserError } from "../user-error.ts";

const SQLITE_BUSY = 5;
/** Right after a stop, the old processes may still be ending. */
const PATIENCE_MS = 3_000;

/**
 * Locks the state directory for this process: two runtimes on one state would corrupt it. SQLite's lock is freed by
 * the system however the process ends.
 */
export async function lockState(stateDir: string): Promise<void> {
  const lock = openLock(stateDir);
  const taken = await patiently(() => {
    try {
      lock.exec("BEGIN EXCLUSIVE");
      return true;
    } catch (error) {
      if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return false;
      throw unusable(stateDir, error);
    }
  });
  if (!taken) throw new UserError(`${stateDir} is in use by another npm start. Stop it, or set STATE_DIR.`);
  held.push(lock);
}
/** Keeps the lock from being garbage collected. */
const held: DatabaseSync[] = [];

function openLock(stateDir: string): DatabaseSync {
  try {
    mkdirSync(stateDir, { recursive: true });
    return new DatabaseSync(join(stateDir, "in-use"), { timeout: 0 });
  } catch (error) {
    throw unusable(stateDir, error);
  }
}

const unusable = (stateDir: string, error: unknown): UserError =>
  new UserError(`STATE_DIR must be a directory that can be made or written to, not ${stateDir}: ${String(error)}`);

export async function requireFreePort(
  host: string,
  port: number,
  otherwise = `PORT=${port + 1} npm start`,
): Promise<void> {
  if (!(await patiently(() => isFree(host, port))))
    throw new UserError(`Port ${port} is in use. Stop what uses it, or choose another: ${otherwise}`);
}

function isFree(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(false));
    probe.listen(port, host, () => probe.close(() => resolve(true)));
  });
}

async function patiently(attempt: () => boolean | Promise<boolean>): Promise<boolean> {
  for (const deadline = Date.now() + PATIENCE_MS; ; await sleep(100)) {
    if (await attempt()) return true;
    if (Date.now() > deadline) return false;
  }
}

/**
 * Refuses to start if a key is missing that this state was ever run with, because its data could not be opened. The
 * key may be anywhere in the list.
 */
export function requireKnownSealKeys(stateDir: string, keys: readonly SealKey[]): void {
  const path = join(stateDir, "seal-keys.json");
  const known = readFingerprints(path);
  const now: Record<string, string> = {};
  for (const key of keys) now[key.id] = createHash("sha256").update(key.bytes).digest("hex").slice(0, 16);
  const lost = Object.keys(known).filter((id) => known[id] !== now[id]);
  if (lost.length > 0) {
    const mayBeForgotten = lost.every((id) => now[id] === undefined);
    throw new UserError(
      `The state in ${stateDir} was sealed under another key "${lost.join('", "')}" than SEAL_KEYS holds.\n` +
        `Either put the old key back (behind the new one: SEAL_KEYS=new,old; each key with an id of its own),\n` +
        (mayBeForgotten ? `or, if "npm run plat -- seal-key list" said MAY GO of it: rm ${path}\n` : "") +
        `or begin with an empty state: rm -r ${stateDir}`,
    );
  }
  writeFileSync(`${path}.new`, JSON.stringify({ ...known, ...now }));
  renameSync(`${path}.new`, path);
}

/**
 * Refuses to start on a damaged database, whose errors would come from within the runtime. Looks at the beginning and
 * the schema; a complete check would read everything.
 */
export function requireSoundDatabase(stateDir: string): void {
  const folder = join(stateDir, "d1", "miniflare-D1DatabaseObject");
  const files = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(".sqlite")) : [];
  for (const file of files.map((name) => join(folder, name))) {
    try {
      const database = new DatabaseSync(file, { readOnly: true });
      database.prepare("SELECT name, sql FROM sqlite_schema").all();
      database.close();
    } catch (error) {
      throw new UserError(
        `The database in ${file} is damaged (${(error as Error).message}).\n` +
          `Either put back a copy of ${stateDir}, or begin with an empty state: rm -r ${stateDir}\n` +
          "A backup of everything (npm run plat -- platform backup) can be restored into an empty state.",
      );
    }
  }
}

function readFingerprints(path: string): Record<string, string> {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Record<string, string>;
  } catch {
    return {};
  }
}
