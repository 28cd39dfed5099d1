import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ROOT } from "../lib/root.ts";
import { UserError } from "../lib/user-error.ts";

const START_MS = 60_000;
/** What is kept of what it printed, for a message. */
const KEPT_CHARS = 20_000;

/** `npm start`, in a process group of its own, that can be killed and started again on the same state. */
export class OwnPlatform {
  readonly #env: NodeJS.ProcessEnv;
  #child: ChildProcess | undefined;
  #output = "";
  #isOver = false;

  constructor(env: NodeJS.ProcessEnv) {
    this.#env = env;
  }

  /** The end of what it printed. */
  get output(): string {
    return this.#output;
  }

  async start(): Promise<void> {
    if (this.#isOver) throw new UserError("The run is over.");
    const child = spawn(process.execPath, [...process.execArgv, join(ROOT, "scripts", "start.ts")], {
      cwd: ROOT,
      env: this.#env,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    const state = { isReady: false };
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => {
        this.#output = `${this.#output}${text}`.slice(-KEPT_CHARS);
        state.isReady ||= /^ready /m.test(text);
      });
    for (const endMs = performance.now() + START_MS; !state.isReady; await sleep(20)) {
      if (child.exitCode === null && child.signalCode === null && performance.now() < endMs) continue;
      await this.kill();
      throw new UserError(`The platform did not start:\n${this.#output}`);
    }
  }

  /** Kills it for good. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.kill();
  }

  /** `kill -9` of all of it; returns when it is gone. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined) return;
    this.#child = undefined;
    const isGone = child.exitCode !== null || child.signalCode !== null;
    const gone = isGone ? undefined : once(child, "exit");
    try {
      process.kill(-child.pid, "SIGKILL");
    } catch {
      // Nobody is left of the group.
    }
    await gone;
  }
}
