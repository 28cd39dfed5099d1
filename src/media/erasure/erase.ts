import { LIMITS } from "../model/limits.ts";
import { settleRemoved, type PurgeDeps } from "./purge.ts";
import type { Erasure, ErasureStore } from "./erasure-store.ts";
import type { JobQueue } from "../model/job.ts";

export interface EraseDeps extends PurgeDeps {
  readonly erasures: ErasureStore;
  readonly queue: JobQueue;
}

/**
 * One step of a deletion: a page of its files. May run twice, at once too, or break off at any place: what a step leaves
 * undone is due, and the sweep sends the deletion again.
 */
export async function eraseStep(deps: EraseDeps, id: string, nowMs: number): Promise<undefined> {
  const files = await deps.erasures.takePage(id, nowMs, LIMITS.erasePage);
  await settleRemoved(deps, files, nowMs);
  const isMore = files.length === LIMITS.erasePage || (await deps.erasures.finishPages(id, nowMs));
  if (isMore) await deps.queue.send([{ work: "erase", id }]);
  return undefined;
}

/** Work after the answer of a deletion: few files at once, many by the queue. */
export const startErasing = (deps: EraseDeps, erasure: Erasure, nowMs: number): Promise<void> =>
  erasure.files <= LIMITS.erasePage
    ? eraseStep(deps, erasure.id, nowMs)
    : deps.queue.send([{ work: "erase", id: erasure.id }]);
