import { setTimeout as sleep } from "node:timers/promises";
import type { FaultsLedger } from "./ledgers/faults.ts";
import type { OwnPlatform } from "./platform.ts";
import type { Random } from "./lib/random.ts";
import type { Operation } from "./load/operation.ts";

export interface Drive {
  readonly seconds: number;
  /** Arrivals a second. */
  readonly rate: number;
  readonly choice: Choice;
  readonly random: Random;
  readonly stopping: AbortSignal;
}

/**
 * The open loop: arrivals come by the clock (Poisson), however long answers take. Returns when all of them have ended.
 */
export async function drive({ seconds, rate, choice, random, stopping }: Drive): Promise<void> {
  const startedMs = performance.now();
  const work: Promise<void>[] = [];
  const failures: unknown[] = [];
  for (let dueMs = startedMs; ; dueMs += (-Math.log(1 - random.share()) * 1_000) / rate) {
    if (dueMs > startedMs + seconds * 1_000 || stopping.aborted) break;
    const own = random.fork();
    const waitMs = dueMs - performance.now();
    if (waitMs > 0) await sleep(waitMs);
    work.push(
      choice
        .next(own)
        .run({ dueMs, random: own })
        .catch((error: unknown) => void failures.push(error)),
    );
  }
  await Promise.all(work);
  // An error of the load itself. Faults of the platform are noted, not thrown.
  if (failures.length > 0) throw failures[0];
}

const LATE_MS = 8_000;
const LATE_PAUSE_MS = 20;

/**
 * Continues for some seconds, one operation at a time, until each was done and nothing is missing: a short run on a
 * busy machine may end before every operation came up.
 */
export async function complete(
  { choice, random, stopping }: Pick<Drive, "choice" | "random" | "stopping">,
  isLacking: () => boolean,
): Promise<void> {
  const endMs = performance.now() + LATE_MS;
  while ((!choice.isComplete || isLacking()) && performance.now() < endMs && !stopping.aborted) {
    const own = random.fork();
    await choice.next(own).run({ dueMs: performance.now(), random: own });
    await sleep(LATE_PAUSE_MS);
  }
}

export interface Kill {
  /** ms since the load began. */
  readonly atMs: number;
  readonly readyMs: number;
}

/** Kills the platform and starts it again, once in each equal share of the run. */
export async function killAtTimes(
  platform: OwnPlatform,
  {
    kills,
    seconds,
    random,
    stopping,
    faults,
  }: Pick<Drive, "seconds" | "random" | "stopping"> & {
    readonly kills: number;
    readonly faults: FaultsLedger;
  },
): Promise<Kill[]> {
  const startedMs = performance.now();
  const shareMs = (seconds * 1_000) / kills;
  const done: Kill[] = [];
  for (let kill = 0; kill < kills; kill++) {
    // Early in its share, because a start takes time.
    const atMs = (kill + 0.1 + 0.6 * random.share()) * shareMs;
    const waitMs = startedMs + atMs - performance.now();
    if (waitMs > 0) await sleep(waitMs, undefined, { signal: stopping }).catch(() => undefined);
    // On a busy machine a start may have taken the rest of the run.
    if (stopping.aborted || performance.now() > startedMs + seconds * 1_000) break;
    const killedMs = performance.now() - startedMs;
    await platform.kill();
    faults.happened("platform killed");
    await platform.start();
    done.push({ atMs: killedMs, readyMs: performance.now() - startedMs });
  }
  return done;
}

/** Chooses the next operation by weight among those that are ready; untried ones go first. */
export class Choice {
  readonly #operations: readonly Operation[];
  readonly #untried: Set<Operation>;

  constructor(operations: readonly Operation[]) {
    this.#operations = operations;
    this.#untried = new Set(operations);
  }

  /** True once each operation was chosen. */
  get isComplete(): boolean {
    return this.#untried.size === 0;
  }

  next(random: Random): Operation {
    const ready = this.#operations.filter((operation) => operation.isReady?.() ?? true);
    const fresh = ready.filter((operation) => this.#untried.has(operation));
    const able = fresh.length > 0 ? fresh : ready;
    let left = random.share() * able.reduce((sum, { weight }) => sum + weight, 0);
    const chosen = able.find(({ weight }) => (left -= weight) < 0) ?? able[0]!;
    this.#untried.delete(chosen);
    return chosen;
  }
}
