import { randomUUID } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import type { Report } from "../../../tools/bench/lib/report.ts";
import { npm, type Program } from "./process/program.ts";

/** The output and the files of a bench. */
export interface BenchRun {
  readonly printed: string;
  /** `<name>.json` as text and parsed. */
  readonly json: string;
  readonly report: Report;
  /** `<name>.md` */
  readonly markdown: string;
}

/** Runs `npm run bench -- <name> --json`, which must succeed and leave no process. */
export async function runBench(name: string, options: readonly string[]): Promise<BenchRun> {
  const out = mkdtempSync(join(tmpdir(), "plinth-bench-test-"));
  try {
    const { bench, processes } = startBench([name, "--json", ...options, "--out", out]);
    expect(await bench.ended, bench.output()).toBe(0);
    expect(processes()).toEqual([]);
    const json = readFileSync(join(out, `${name}.json`), "utf8");
    const markdown = readFileSync(join(out, `${name}.md`), "utf8");
    return { printed: bench.output(), json, report: JSON.parse(json) as Report, markdown };
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}

/** `processes`: names of the processes that it started and that still run. */
export function startBench(args: readonly string[]): { bench: Program; processes: () => string[] } {
  const mark = randomUUID();
  const bench = npm("bench", { BENCH_TEST: mark }, ["--", ...args]);
  return { bench, processes: () => processesWith(`BENCH_TEST=${mark}`) };
}

/** Processes with this variable in their environment: all descendants of a process that was started with it. */
function processesWith(variable: string): string[] {
  return readdirSync("/proc").flatMap((pid) => {
    try {
      const isOurs = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").includes(variable);
      return isOurs ? [readFileSync(`/proc/${pid}/comm`, "utf8").trim()] : [];
    } catch {
      return [];
    }
  });
}
