import { setTimeout as sleep } from "node:timers/promises";
import { processorMs } from "../lib/machine.ts";
import type { Server } from "../lib/server.ts";
import type { StudyContext } from "../lib/study.ts";
import { CONTROL_PATH, COUNTED, mapCounts, type Controlled, type Counts, type Deleted } from "./counts.ts";
import type { Row } from "./tables.ts";

export interface Measured {
  readonly label: string;
  /** The counts are those of one repetition. */
  readonly repetitions: number;
  /** One operation. Number 0 is not counted: it fills the isolate's caches. */
  step(index: number): Promise<unknown>;
}

/** Measures the rows of an operation that are removed when they expire. */
export interface Ending {
  readonly repetitions: number;
  /** Gets new tokens, since the old ones have expired, and returns the operation. */
  begin(): Promise<() => Promise<unknown>>;
  /** Moves the clock past every expiry, and lets the platform remove the rows. */
  end(): Promise<unknown>;
  /** Rows that `begin` leaves behind. */
  readonly besides?: Deleted;
  readonly quietMs?: number;
}

/** Longer than any cache lives, so that number 0 fills all of them. */
const COPIES_OLD_MS = 61_000;
/** An operation counts as finished after so long without activity. The queue waits for a second. */
const QUIET_MS = 300;
export const QUEUE_QUIET_MS = 1_500;
const POLL_MS = 50;
/** Runs of `end` before the first one that counts. */
const SETTLING = 3;
const PATIENCE_MS = 60_000;

/** How far the clock of each platform is ahead; shared by all meters of the platform. */
const aheadMs = new WeakMap<Server, number>();

/** Counts an operation with everything that follows it: alarms, deliveries, messages of the queue. */
export class Meter {
  readonly #server: Server;
  readonly #context: StudyContext;

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

  /**
   * The rows of one repetition that are deleted later. An `end` with rows to delete is compared with one without, since
   * the cron and the clock cause work of their own.
   */
  async deletedLater({ repetitions, begin, end, besides, quietMs }: Ending): Promise<Deleted> {
    // Signing keys expire in three steps, so after three runs each `end` does the same work.
    for (let times = 0; times < SETTLING; times++) await end();
    const step = await begin();
    for (let index = 0; index < repetitions; index++) {
      this.#context.stopping.throwIfAborted();
      await step();
    }
    const something = await this.count(1, end, quietMs);
    const nothing = await this.count(1, end, quietMs);
    const of = (what: keyof Deleted): number =>
      Math.max(0, something[what] - nothing[what] - (besides?.[what] ?? 0)) / repetitions;
    return { d1RowsWritten: of("d1RowsWritten"), objectRowsWritten: of("objectRowsWritten") };
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
    return Date.now() + (aheadMs.get(this.#server) ?? 0);
  }

  /** Moves the platform's clock on. */
  async advance(ms: number): Promise<void> {
    await this.#control(`?ms=${ms}`);
    aheadMs.set(this.#server, (aheadMs.get(this.#server) ?? 0) + ms);
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
