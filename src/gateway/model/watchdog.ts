import { systemClock } from "../../platform/runtime/clock.ts";

/**
 * Calls back when a wait takes too long. One timer serves many waits, since setting a timer costs some per cent of a
 * small request. The timer stays when a wait ends, and is set again if it fires during a later wait.
 */
export interface Watchdog {
  /** Starts a wait, or restarts the current one. */
  begin(): void;
  end(): void;
}

export function watchdog(waitMs: number, onTimeout: () => void): Watchdog {
  let untilMs: number | undefined;
  let isSet = false;
  const set = (ms: number): void => {
    isSet = true;
    setTimeout(check, ms);
  };
  const check = (): void => {
    isSet = false;
    if (untilMs === undefined) return;
    const leftMs = untilMs - systemClock.nowMs();
    // More remaining time than `waitMs` means that the clock was set back: the wait ends now.
    if (leftMs > 0 && leftMs <= waitMs) return set(leftMs);
    untilMs = undefined;
    onTimeout();
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
