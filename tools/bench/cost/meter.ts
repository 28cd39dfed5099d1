import { setTimeout as sleep } from "node:timers/promises";
import { processorMs } from "../lib/machine.ts";
import type { Server } from "../lib/server.ts";
import type { StudyContext } from "../lib/study.ts";
import { CONTROL_PATH, COUNTED, mapCounts, type Controlled, type Counts } from "./counts.ts";
import type { Row } from "./tables.ts";

export interface Measured {
  readonly label: string;
  /** The counts are those of one repetition. */
  readonly repetitions: number;
  /** One operation. Number 0 is not counted: it fills the isolate's caches. */
  step(index: number): Promise<unknown>;
}

/** Longer than any cache lives, so that number 0 fills all of them. */
const COPIES_OLD_MS = 61_000;
/** An operation counts as finished after so long without activity. The queue waits for a second. */
const QUIET_MS = 300;
export const QUEUE_QUIET_MS = 1_500;
const POLL_MS = 50;
const PATIENCE_MS = 60_000;

/** Counts an operation with everything that follows it: alarms, deliveries, messages of the queue. */
export class Meter {
  readonly #server: Server;
  readonly #context: StudyContext;
  #aheadMs = 0;

  constructor(server: Server, context: StudyContext) {
    this.#server = server;
    this.#context = context;
  }

  async measure({ label, repetitions, step }: Measured): Promise<Row> {
    this.#context.progress(label);
    await this.advance(COPIES_OLD_MS);
    await step(0);
    const counts = await this.count(repetitions, async () => {
      for (let index = 1; index <= repetitions; index++) {
        this.#context.stopping.throwIfAborted();
        await step(index);
      }
    });
    return { label, counts };
  }

  /** The counts of one of the repetitions in `run`. */
  async count(repetitions: number, run: () => Promise<unknown>, quietMs?: number): Promise<Counts> {
    const before = await this.quiet(quietMs);
    await run();
    const after = await this.quiet(quietMs);
    return mapCounts((what) => (after[what] - before[what]) / repetitions);
  }

  /** The platform's time. */
  nowMs(): number {
    return Date.now() + this.#aheadMs;
  }

  /** Moves the platform's clock on. */
  async advance(ms: number): Promise<void> {
    await this.#control(`?ms=${ms}`);
    this.#aheadMs += ms;
  }

  /** Waits until nothing happens for a while, then returns the counts. */
  async quiet(quietMs: number = QUIET_MS): Promise<Counts> {
    let [counts, sinceMs] = [await this.#now(), performance.now()];
    for (const startedMs = sinceMs; performance.now() - sinceMs < quietMs; await sleep(POLL_MS)) {
      this.#context.stopping.throwIfAborted();
      const now = await this.#now();
      if (COUNTED.some((what) => what !== "cpuMs" && now[what] !== counts[what]))
        [counts, sinceMs] = [now, performance.now()];
      if (performance.now() - startedMs > PATIENCE_MS) throw new Error("the platform does not come to rest");
    }
    return counts;
  }

  /** Bytes stored by the objects that are awake. */
  async objectBytes(): Promise<number> {
    return (await this.#control("")).objectBytes;
  }

  async #now(): Promise<Counts> {
    const { counts } = await this.#control("");
    return { ...counts, cpuMs: processorMs(this.#server.pid) ?? 0 };
  }

  async #control(query: string): Promise<Controlled> {
    const response = await fetch(`${this.#server.origin}${CONTROL_PATH}${query}`);
    return (await response.json()) as Controlled;
  }
}
