import { spawn } from "node:child_process";
import { ROOT } from "./root.ts";

export interface Finished {
  readonly code: number;
  /** What it printed, both streams in their order. Empty when it was shown. */
  readonly output: string;
}

export interface RunOptions {
  readonly env?: NodeJS.ProcessEnv;
  /** Printed as it comes, instead of kept. */
  readonly show?: boolean;
  readonly timeoutMs?: number;
}

/** Runs a program in the checkout to its end. A program that does not end in time is killed and counts as failed. */
export function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<Finished> {
  const { env = process.env, show = false, timeoutMs } = options;
  const stdio = show ? "inherit" : "pipe";
  const child = spawn(command, args, { cwd: ROOT, env, stdio: ["ignore", stdio, stdio], timeout: timeoutMs });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8");
    stream?.on("data", (text: string) => (output += text));
  }
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => {
      if (signal !== null) output += `\nended by ${signal}\n`;
      resolve({ code: code ?? 1, output });
    });
  });
}
