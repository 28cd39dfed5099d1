import { spawn } from "node:child_process";
import { ROOT } from "./root.ts";

export interface Finished {
  readonly code: number;
  /** Both output streams in order; empty if they were shown. */
  readonly output: string;
}

export interface RunOptions {
  readonly env?: NodeJS.ProcessEnv;
  /** Prints the output as it comes instead of keeping it. */
  readonly show?: boolean;
  readonly timeoutMs?: number;
  /** Ends the program, which then counts as failed. */
  readonly signal?: AbortSignal;
}

/** Runs a program in the checkout to its end. After the time limit it is killed and counts as failed. */
export function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<Finished> {
  const { env = process.env, show = false, timeoutMs, signal: stop } = options;
  const stdio = show ? "inherit" : "pipe";
  const child = spawn(command, args, {
    cwd: ROOT,
    env,
    stdio: ["ignore", stdio, stdio],
    timeout: timeoutMs,
    signal: stop,
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8");
    stream?.on("data", (text: string) => (output += text));
  }
  return new Promise((resolve, reject) => {
    // A stopped program reports an error, and closes when it has ended.
    child.on("error", (error) => error.name !== "AbortError" && reject(error));
    child.on("close", (code, signal) => {
      if (signal !== null) output += `\nended by ${signal}\n`;
      resolve({ code: code ?? 1, output });
    });
  });
}
