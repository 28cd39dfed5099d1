import { afterEach, beforeEach, vi } from "vitest";
import { DAY_MS } from "../../../../src/platform/runtime/clock.ts";

/** The clock stands still, a day ahead, so that no alarm rings by itself. */
export function stopTheClock(): void {
  vi.useFakeTimers({ toFake: ["Date"] });
  vi.setSystemTime(Date.now() + DAY_MS);
}

export const pass = (ms: number): void => void vi.setSystemTime(Date.now() + ms);

/** Stops the clock before each test of the file. After the test time continues, and spies are removed. */
export function stopTheClockBeforeEach(): void {
  beforeEach(stopTheClock);
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });
}
