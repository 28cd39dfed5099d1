import { randomBytes } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { UserError } from "./user-error.ts";

export interface Build {
  /** The folder with a folder for each digest. */
  readonly home: string;
  /** The digest of everything that the result depends on: 24 hexadecimal digits. */
  readonly digest: string;
  /** `the documentation`, for messages. */
  readonly what: string;
  /** Writes the result to `out` in the given folder. Other files there are ignored. */
  readonly make: (making: string) => Promise<void>;
}

const LOCK_WAIT_MS = 180_000;
/** Results that are kept: a platform may still serve an older one. */
const KEPT = 4;

/** Returns the folder of a digest, which is made once. One process makes it at a time; the others wait for it. */
export async function builtOnce({ home, digest, what, make }: Build, say: (line: string) => void): Promise<string> {
  const folder = join(home, digest);
  if (isThere(folder)) return folder;
  mkdirSync(home, { recursive: true });
  const release = await takeLock(join(home, "lock"), what);
  try {
    if (isThere(folder)) return folder;
    say(`Building ${what} (after a change of it, some seconds)…`);
    const startedMs = performance.now();
    const making = join(home, `making-${randomBytes(4).toString("hex")}`);
    try {
      await make(making);
      renameSync(join(making, "out"), folder);
    } finally {
      rmSync(making, { recursive: true, force: true });
    }
    removeOld(home);
    say(`Built in ${((performance.now() - startedMs) / 1000).toFixed(0)} s.`);
    return folder;
  } finally {
    release();
  }
}

function isThere(folder: string): boolean {
  if (!existsSync(folder)) return false;
  const now = new Date();
  utimesSync(folder, now, now);
  return true;
}

function removeOld(home: string): void {
  const results = readdirSync(home).filter((name) => /^[0-9a-f]{24}$/.test(name));
  const byAge = results.map((name) => ({ name, usedMs: statSync(join(home, name)).mtimeMs }));
  for (const { name } of byAge.toSorted((one, other) => other.usedMs - one.usedMs).slice(KEPT))
    rmSync(join(home, name), { recursive: true, force: true });
}

async function takeLock(lock: string, what: string): Promise<() => void> {
  for (let waitedMs = 0; ; waitedMs += 200) {
    try {
      writeFileSync(lock, String(process.pid), { flag: "wx" });
      return () => rmSync(lock, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    if (!isRunning(readLock(lock))) rmSync(lock, { force: true });
    if (waitedMs > LOCK_WAIT_MS) throw new UserError(`Another build of ${what} runs. If none does, remove ${lock}.`);
    await sleep(200);
  }
}

function readLock(lock: string): number | undefined {
  try {
    return Number(readFileSync(lock, "utf8")) || undefined;
  } catch {
    return undefined;
  }
}

/** Tells whether the process of a lock runs. A lock file without a number is just being written. */
function isRunning(pid: number | undefined): boolean {
  if (pid === undefined) return true;
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
