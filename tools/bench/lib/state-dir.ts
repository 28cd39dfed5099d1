import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "../../../scripts/lib/root.ts";
import type { ServerModule } from "./server-module.ts";

/**
 * Places for the servers' state: memory where a disk would only disturb (tokens), a disk where durability is measured.
 */
export interface StateDirs {
  /** Makes an empty directory for a server. */
  of(module: ServerModule): string;
  /** Names of the file systems. */
  readonly fileSystems: FileSystems;
  remove(): void;
}

export interface FileSystems {
  readonly memory: string;
  readonly disk: string;
}

const MEMORY_DIR_BYTES = 2 ** 30;
export function makeStateDirs(): StateDirs {
  const [memory, disk] = [memoryDir(), diskDir()];
  const dirs = [memory, disk].map((parent) => mkdtempSync(join(parent, "plinth-bench-"))) as [string, string];
  return {
    of({ id, stateOn = "memory" }) {
      const dir = join(stateOn === "memory" ? dirs[0] : dirs[1], id);
      mkdirSync(dir);
      return dir;
    },
    fileSystems: { memory: fileSystemOf(memory), disk: fileSystemOf(disk) },
    remove: () => dirs.forEach((dir) => rmSync(dir, { recursive: true, force: true })),
  };
}

function memoryDir(): string {
  try {
    const { bavail, bsize } = statfsSync("/dev/shm");
    if (bavail * bsize >= MEMORY_DIR_BYTES) return "/dev/shm";
  } catch {}
  return tmpdir();
}

/** On many systems the temporary directory is in memory. */
function diskDir(): string {
  if (fileSystemOf(tmpdir()) !== "tmpfs") return tmpdir();
  const ours = join(ROOT, ".build");
  mkdirSync(ours, { recursive: true });
  return ours;
}

/** Names the file system, by stat(1) of the GNU tools. */
function fileSystemOf(dir: string): string {
  const { stdout } = spawnSync("stat", ["--file-system", "--format=%T", dir], { encoding: "utf8" });
  return stdout?.trim() || "unknown";
}
