import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { ROOT } from "../../scripts/lib/root.ts";
import { UserError } from "../../scripts/lib/user-error.ts";
import { type FaultPlan, type FaultShares, readFaultLine } from "./faulty/plan.ts";
import type { FaultsLedger } from "./ledgers/faults.ts";
import type { Random } from "./lib/random.ts";

const START_MS = 60_000;
/** Lines of output kept for an error message. */
const KEPT_LINES = 200;
const KEPT_ERRORS = 10_000;

export interface OwnPlatformDeps {
  readonly env: NodeJS.ProcessEnv;
  readonly faults: FaultsLedger;
  /** Frequency of inner faults; undefined runs `npm start` unchanged. */
  readonly shares: FaultShares | undefined;
  readonly random: Random;
}

/** `npm start` in its own process group, which can be killed and started again on the same state. */
export class OwnPlatform {
  readonly #deps: OwnPlatformDeps;
  #child: ChildProcess | undefined;
  readonly #lines: string[] = [];
  /** Error lines of its log. */
  readonly errors: string[] = [];
  #starts = 0;
  #isFailing = false;
  #isOver = false;

  constructor(deps: OwnPlatformDeps) {
    this.#deps = deps;
  }

  async start(): Promise<void> {
    if (this.#isOver) throw new UserError("The run is over.");
    const { env, shares } = this.#deps;
    const plan = shares && this.#plan(shares);
    const program = plan === undefined ? "scripts/start.ts" : "tools/soak/faulty/start.ts";
    const child = spawn(process.execPath, [...process.execArgv, join(ROOT, program)], {
      cwd: ROOT,
      env: { ...env, ...(plan !== undefined && { SOAK_FAULTS: JSON.stringify(plan) }) },
      detached: true,
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    this.#child = child;
    const isReady = this.#listen(child);
    for (const endMs = performance.now() + START_MS; !isReady(); await sleep(20)) {
      if (child.exitCode === null && child.signalCode === null && performance.now() < endMs) continue;
      await this.kill();
      throw new UserError(`The platform did not start:\n${this.#lines.join("\n")}`);
    }
    if (this.#isFailing) await this.#tell(true);
  }

  /** Switches inner faults on or off, now and after each start. */
  async setFailing(isFailing: boolean): Promise<void> {
    this.#isFailing = isFailing;
    await this.#tell(isFailing);
  }

  /** Kills it for good. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.kill();
  }

  /** Sends `kill -9` to the whole group; returns when it is gone. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined) return;
    this.#child = undefined;
    const isGone = child.exitCode !== null || child.signalCode !== null;
    const gone = isGone ? undefined : once(child, "exit");
    try {
      process.kill(-child.pid, "SIGKILL");
    } catch {
      // The group is gone already.
    }
    await gone;
  }

  #plan(shares: FaultShares): FaultPlan {
    return { ...shares, seed: this.#deps.random.below(2 ** 32), starts: this.#starts++, isOn: this.#isFailing };
  }

  async #tell(isFailing: boolean): Promise<void> {
    const child = this.#child;
    if (child === undefined || this.#deps.shares === undefined) return;
    const answered = Promise.race([once(child, "message"), once(child, "exit")]);
    child.send(isFailing);
    await answered;
  }

  /** Collects lines and faults; returns a function that tells whether it is ready. */
  #listen({ stdout, stderr }: ChildProcess): () => boolean {
    let isReady = false;
    for (const input of [stdout, stderr])
      createInterface({ input: input! }).on("line", (line) => {
        isReady ||= line.startsWith("ready ");
        const happened = readFaultLine(line);
        if (happened !== undefined) return this.#deps.faults.happened(happened.fault, happened.way);
        if (line.startsWith('{"level":"error"') && this.errors.length < KEPT_ERRORS) this.errors.push(line);
        this.#lines.push(line);
        if (this.#lines.length > KEPT_LINES) this.#lines.shift();
      });
    return () => isReady;
  }
}
