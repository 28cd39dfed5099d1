import type { Clock } from "../../platform/clock.ts";
import { createLog, describeError } from "../../platform/log.ts";
import { withTimeout } from "../../platform/with-timeout.ts";
import { WAKE } from "../model/limits.ts";
import type { SubscriberTable } from "./subscriber-table.ts";
import type { WakeOutcome } from "./subscriber.ts";

export interface NotifierPorts {
  readonly subscribers: SubscriberTable;
  readonly clock: Clock;
  /** The end of the log; undefined if it is not open. */
  endSeq(): number | undefined;
  wake(name: string): Promise<WakeOutcome>;
}

/**
 * Tells the push subscriptions of a log about new events.
 *
 * The table tells who is behind, so a new instance forgets nobody; at worst a subscription is woken twice. Several are
 * woken at once, and a slow one delays nobody else. After a call, the position stored is the end of the log before the
 * call, since the subscription may not know of later events.
 */
export class Notifier {
  readonly #ports: NotifierPorts;

  constructor(ports: NotifierPorts) {
    this.#ports = ports;
  }

  /**
   * Wakes subscriptions until none is behind, including for events published meanwhile. Each round takes a minimum
   * time, so a busy log wakes a subscription a few times a second, not after every publish. Ends after a maximum
   * number; the next run continues. Calls `between` after each group, so that other work of the log need not wait for
   * the end of a long run.
   */
  async run(between: () => void): Promise<void> {
    const inFlight = new Map<string, Promise<void>>();
    for (let started = 0; started < WAKE.aRun;) {
      const due = this.#due(inFlight).slice(0, WAKE.aRun - started);
      if (due.length === 0 && inFlight.size === 0) return;
      const rested = scheduler.wait(WAKE.roundMs);
      for (const name of due) {
        while (inFlight.size >= WAKE.atOnce) {
          await Promise.race(inFlight.values());
          between();
        }
        inFlight.set(
          name,
          this.#wake(name).finally(() => inFlight.delete(name)),
        );
      }
      started += due.length;
      await rested;
      between();
    }
    await Promise.all(inFlight.values());
  }

  #due(inFlight: ReadonlyMap<string, unknown>): string[] {
    const { subscribers, clock } = this.#ports;
    const endSeq = this.#ports.endSeq();
    return endSeq === undefined ? [] : subscribers.due(endSeq, clock.nowMs(), inFlight);
  }

  async #wake(name: string): Promise<void> {
    const { subscribers, clock } = this.#ports;
    const seq = this.#ports.endSeq();
    if (seq === undefined || !subscribers.has(name)) return;
    try {
      const outcome = await withTimeout(WAKE.waitMs, this.#ports.wake(name));
      if (this.#ports.endSeq() === undefined) return;
      if (outcome === "gone") subscribers.remove(name);
      else subscribers.woken(name, seq);
    } catch (thrown) {
      createLog("warn").warn("push subscription not woken", { push: name, error: describeError(thrown) });
      subscribers.failed(name, clock.nowMs());
    }
  }
}
