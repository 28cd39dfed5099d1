import { Attempts } from "./attempts.ts";
import type { Clock } from "../runtime/clock.ts";
import { chance, type Random } from "../runtime/random.ts";
import type { WaitUntil } from "../runtime/wait-until.ts";

/** Time, randomness and lifetime of an isolate, for work that one request starts and others use. */
export interface Isolate extends Clock {
  /** A random number in [0, 1), to spread work that many isolates would do at the same time. */
  chance(): number;
  pause(ms: number): Promise<void>;
  /** Runs something later, unless the function that it returns is called before. */
  after(ms: number, run: () => void): () => void;
  /** The attempts to ask the database, shared by all caches of the isolate. */
  readonly database: Attempts;
  /** Lets work continue after its request was answered or cancelled. The runtime ends it after 30 s. */
  keepAlive(work: Promise<unknown>): void;
}

/** `waitUntil`: the runtime's, for the request that is running now. */
export const createIsolate = (clock: Clock, random: Random, waitUntil: WaitUntil): Isolate =>
  withDatabase({
    nowMs: () => clock.nowMs(),
    chance: () => chance(random),
    pause: (ms) => scheduler.wait(ms),
    after(ms, run) {
      const timer = setTimeout(run, ms);
      return () => clearTimeout(timer);
    },
    keepAlive: (work) => waitUntil(work.catch(() => undefined)),
  });

export const withDatabase = (isolate: Omit<Isolate, "database">): Isolate => ({
  ...isolate,
  database: new Attempts(isolate),
});
