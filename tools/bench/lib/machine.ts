import { cpus, loadavg, release, totalmem, type } from "node:os";
import type { Cores } from "./processor.ts";

/** What the numbers were measured on. */
export interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly system: string;
  readonly node: string;
  /** Of the last minute before the start; near 0 on a machine that does nothing else. */
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
