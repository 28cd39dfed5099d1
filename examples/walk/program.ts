import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { ROOT } from "../../scripts/lib/root.ts";
import { UserError } from "../../scripts/lib/user-error.ts";

/** A program that ends with this one. */
export interface Program {
  /** Its output so far. */
  output(): string;
  /** Sends a signal, SIGTERM by default, and waits for the end. */
  stop(signal?: NodeJS.Signals): Promise<void>;
  readonly ended: Promise<unknown>;
}

export interface ProgramOptions {
  readonly env: NodeJS.ProcessEnv;
  /** Shows its stderr as it comes. */
  readonly showLog?: boolean;
  /** Keeps the terminal's Ctrl-C from it: it ends by `stop`, or when this process is gone. */
  readonly ownGroup?: boolean;
  /** Called before it is ready. */
  onStart?(program: Program): void;
  readonly patienceMs: number;
}

const END_WITH_PARENT = new URL("end-with-parent.ts", import.meta.url).href;
const STOP_MS = 5_000;

/** Runs a TypeScript file of the checkout until it prints a line that starts with `ready`. */
export async function startProgram(file: string, options: ProgramOptions): Promise<Program> {
  const { env, showLog = false, ownGroup = false, patienceMs } = options;
  const args = [...process.execArgv, "--import", END_WITH_PARENT, join(ROOT, file)];
  const stdio: ["ignore", "pipe", "pipe"] = ["ignore", "pipe", "pipe"];
  const child = spawn(process.execPath, args, { cwd: ROOT, env, detached: ownGroup, stdio });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    output += text;
    if (showLog) process.stderr.write(text);
  });
  const ended = once(child, "close");
  const ready = Promise.withResolvers<boolean>();
  child.stdout.on("data", () => /^ready /m.test(output) && ready.resolve(true));
  void ended.then(() => ready.resolve(false));
  const timer = setTimeout(() => ready.resolve(false), patienceMs);
  const program: Program = {
    output: () => output,
    ended,
    async stop(signal = "SIGTERM") {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill(signal);
      const late = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
      await ended;
      clearTimeout(late);
    },
  };
  options.onStart?.(program);
  const isReady = await ready.promise;
  clearTimeout(timer);
  if (isReady) return program;
  await program.stop();
  throw new UserError(`${file} did not start:\n${output}`);
}
