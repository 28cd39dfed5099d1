import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { cpus, loadavg, release, totalmem, type } from "node:os";

/** The processor cores that a bench uses. Binding and processor time need Linux. */
export interface Cores {
  readonly servers: number;
  readonly generator: number;
}

/** One core for the servers and one for the load generator; undefined if processes cannot be bound to cores. */
export function chooseCores(): Cores | undefined {
  if (process.platform !== "linux" || spawnSync("taskset", ["--version"]).error !== undefined) return undefined;
  const list = /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "";
  const allowed = list.split(",").flatMap((range) => {
    const [first = 0, last = first] = range.split("-").map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
  const [servers, generator] = allowed;
  return servers === undefined || generator === undefined ? undefined : { servers, generator };
}

/** Binds this process with its threads to a core. */
export function bindTo(core: number): void {
  spawnSync("taskset", ["--all-tasks", "--cpu-list", "--pid", String(core), String(process.pid)]);
}

/** Linux counts processor time in hundredths of a second (`USER_HZ`). */
const TICKS_PER_SEC = 100;

/** Processor time of a process and its living descendants in milliseconds; undefined if unknown. */
export function processorMs(root: number): number | undefined {
  if (process.platform !== "linux") return undefined;
  const all = new Map<number, { parent: number; ticks: number }>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const stat = readStat(name);
    if (stat !== undefined) all.set(Number(name), stat);
  }
  const isOfRoot = (pid: number): boolean => {
    for (let at = pid; at > 1; at = all.get(at)?.parent ?? 0) if (at === root) return true;
    return false;
  };
  let ticks = 0;
  for (const [pid, stat] of all) if (isOfRoot(pid)) ticks += stat.ticks;
  return (ticks * 1_000) / TICKS_PER_SEC;
}

/** `<pid> (<name>) <state> <parent> …`; user and system time are fields 14 and 15 (proc_pid_stat(5)). */
function readStat(pid: string): { parent: number; ticks: number } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return { parent: Number(fields[1]), ticks: Number(fields[11]) + Number(fields[12]) };
  } catch {
    return undefined;
  }
}

/** Memory of a server's runtime in megabytes; undefined if unknown. */
export function residentMegabytes(leader: number): number | undefined {
  const sizes = runtimesOf(leader, (pid) => {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 976.5625;
  });
  return sizes.length === 0 ? undefined : Math.max(...sizes);
}

/** Files that a server's runtime has open, and the most that it may have; undefined if unknown. */
export function openFiles(leader: number): { readonly open: number; readonly most: number } | undefined {
  const [files] = runtimesOf(leader, (pid) => ({
    open: readdirSync(`/proc/${pid}/fd`).length,
    most: Number(/^Max open files\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/limits`, "utf8"))?.[1]),
  }));
  return files;
}

/** Reads a value of each runtime in a server's process group. */
function runtimesOf<T>(leader: number, read: (pid: string) => T): T[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc").flatMap((pid) => {
    try {
      const [, name, group] = /\((.*)\) \S \d+ (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, "utf8")) ?? [];
      return name === "workerd" && Number(group) === leader ? [read(pid)] : [];
    } catch {
      return [];
    }
  });
}

/** The machine of the measurement. */
export interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly system: string;
  readonly node: string;
  /** Load average of the minute before the start; near 0 on an idle machine. */
  readonly loadBefore: number;
  readonly bound: Cores | undefined;
}

export function describeMachine(bound: Cores | undefined): Machine {
  const all = cpus();
  return {
    processor: all[0]?.model ?? "unknown",
    cores: all.length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()}`,
    node: process.versions.node,
    loadBefore: Math.round((loadavg()[0] ?? 0) * 100) / 100,
    bound,
  };
}
