import { systemClock } from "../../platform/runtime/clock.ts";
import { createLog, describeError } from "../../platform/runtime/log.ts";
import { withTimeout } from "../../platform/runtime/with-timeout.ts";
import { WAKE } from "../model/limits.ts";
import type { SubscriberTable } from "./subscriber-table.ts";
import type { WakeOutcome } from "./subscriber.ts";

interface NotifierDeps {
  readonly subscribers: SubscriberTable;
  /** The end of the log; undefined if it is not open. */
  readonly endSeq: () => number | undefined;
  readonly wake: (name: string) => Promise<WakeOutcome>;
}

/**
 * Wakes the push subscriptions of a log until none is behind, including events published during the run.
 *
 * The table stores which subscriptions are behind, so a new instance misses none; at worst one is woken twice. Several
 * are woken at once, and a slow one does not delay the others. Each round takes a minimum time, so a busy log wakes a
 * subscription at most once a round, not after every publish. A run ends after a maximum number of wakes; the next run
 * continues. `between` is called during and after each round, so that other work of the log does not wait for long.
 */
export async function notifySubscribers(deps: NotifierDeps, between: () => void): Promise<void> {
  const inFlight = new Map<string, Promise<void>>();
  for (let started = 0; started < WAKE.aRun;) {
    const endSeq = deps.endSeq();
    const behind = endSeq === undefined ? [] : deps.subscribers.due(endSeq, systemClock.nowMs(), inFlight);
    const due = behind.slice(0, WAKE.aRun - started);
    if (due.length === 0 && inFlight.size === 0) return;
    const rested = scheduler.wait(WAKE.roundMs);
    for (const name of due) {
      while (inFlight.size >= WAKE.atOnce) {
        await Promise.race(inFlight.values());
        between();
      }
      inFlight.set(
        name,
        wakeOne(deps, name).finally(() => inFlight.delete(name)),
      );
    }
    started += due.length;
    await rested;
    between();
  }
  await Promise.all(inFlight.values());
}

/** Reads the end of the log before the call: the subscription may miss events that are published during it. */
async function wakeOne({ subscribers, endSeq, wake }: NotifierDeps, name: string): Promise<void> {
  const seq = endSeq();
  if (seq === undefined || !subscribers.has(name)) return;
  try {
    const outcome = await withTimeout(WAKE.waitMs, wake(name));
    if (endSeq() === undefined) return;
    if (outcome === "gone") subscribers.remove(name);
    else subscribers.woken(name, seq);
  } catch (thrown) {
    createLog("warn").warn("push subscription not woken", { push: name, error: describeError(thrown) });
    subscribers.failed(name, systemClock.nowMs());
  }
}
