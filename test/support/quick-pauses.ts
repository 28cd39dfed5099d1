import { onTestFinished, vi } from "vitest";

/**
 * Until the test ends, pauses (`scheduler.wait`) take a twentieth of their time, those of the Worker too. Timeouts stay
 * as they are, because a busy machine needs them, and so does the clock.
 */
export function quickPauses(): void {
  const { wait } = scheduler;
  const spy = vi.spyOn(scheduler, "wait").mockImplementation((ms, options) => wait.call(scheduler, ms / 20, options));
  onTestFinished(() => spy.mockRestore());
}
