import type { Clock } from "../../platform/runtime/clock.ts";
import { withTimeout } from "../../platform/runtime/with-timeout.ts";
import { LIMITS } from "../model/limits.ts";

/**
 * Limits how long attempts at variants hold the places of the queue's consumers, which deletions need too, while Images
 * or the bucket does not answer:
 *
 *   patient ── an attempt gets no answer, and no variant was made meanwhile ──▶ paused: attempts fail at once
 *      ▲                                                                           │        ▲
 *      └───── a variant is made ──────── on trial: attempts get less time ◀── a while       │
 *                                              └───────────── no answer ────────────────────┘
 *
 * So an outage without answers holds up others as little as one that fails at once. One image that gets no answer
 * pauses nothing while others are made. Each isolate finds out for itself.
 */
export interface Patience {
  /** Runs an attempt. Throws if it gets no answer in time, or may not begin now. */
  attempt<T>(work: () => Promise<T>): Promise<T>;
  /** Notes that a variant was made. */
  noteMade(): void;
}

export function createPatience(clock: Clock): Patience {
  let made = 0;
  /** Undefined: patient. */
  let pausedUntil: number | undefined;
  return {
    async attempt(work) {
      if (pausedUntil !== undefined && clock.nowMs() < pausedUntil)
        throw new Error("another variant got no answer just now");
      const madeBefore = made;
      let hasEnded = false;
      const working = work().finally(() => (hasEnded = true));
      try {
        return await withTimeout(pausedUntil === undefined ? LIMITS.attemptMs : LIMITS.trialMs, working);
      } catch (thrown) {
        if (!hasEnded && made === madeBefore) pausedUntil = clock.nowMs() + LIMITS.pauseMs;
        throw thrown;
      }
    },
    noteMade() {
      made++;
      pausedUntil = undefined;
    },
  };
}
