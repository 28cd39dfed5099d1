import { systemClock } from "../../platform/clock.ts";

/**
 * Ends what takes too long. One timer serves many waits, since each costs some per cent of a small request: it stays when a
 * wait ends, and when it goes off under a later one it is set again for what is left of that. Nobody has to clear it: with
 * its request it goes.
 */
export interface Watchdog {
  /** A wait begins, anew where one was under way. */
  begin(): void;
  end(): void;
}

export function watchdog(waitMs: number, late: () => void): Watchdog {
  let untilMs: number | undefined;
  let isSet = false;
  const set = (ms: number): void => {
    isSet = true;
    setTimeout(look, ms);
  };
  const look = (): void => {
    isSet = false;
    if (untilMs === undefined) return;
    const leftMs = untilMs - systemClock.nowMs();
    // The second half: a clock that was set back is no reason to wait longer.
    if (leftMs > 0 && leftMs <= waitMs) return set(leftMs);
    untilMs = undefined;
    late();
  };
  return {
    begin() {
      untilMs = systemClock.nowMs() + waitMs;
      if (!isSet) set(waitMs);
    },
    end() {
      untilMs = undefined;
    },
  };
}
