import type { Clock } from "../../platform/clock.ts";
import { createLog, describeError } from "../../platform/log.ts";
import { withTimeout } from "../../platform/with-timeout.ts";
import { WAKE } from "../model/limits.ts";
import type { SubscriberTable } from "./subscriber-table.ts";
import type { WakeOutcome } from "./subscriber.ts";

export interface NotifierPorts {
  readonly subscribers: SubscriberTable;
  readonly clock: Clock;
  /** The end of the log; undefined when it is not open any more. */
  endSeq(): number | undefined;
  wake(name: string): Promise<WakeOutcome>;
}

/**
 * Tells the push subscriptions of a log that there are new events.
 *
 * Who is behind is seen in the table, so nothing is forgotten with an instance: at worst somebody is woken twice. Several
 * are woken at once, and whoever takes long holds up nobody else. What is written afterwards is the end that the log had
 * before the call: of what came later, the subscription may know nothing.
 */
export class Notifier {
  readonly #ports: NotifierPorts;

  constructor(ports: NotifierPorts) {
    this.#ports = ports;
  }

  /**
   * Wakes whoever is behind until nobody is left who could be woken now, also of what is published meanwhile. Each round
   * takes a while, so that a subscription of a busy log is woken some times a second and not after each publish. Ends
   * early after many, for a next run. `between` is called whenever some were woken: other work of the log does not wait
   * for the end of a run, which a busy log may put off for long.
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
