import { onTestFinished, vi } from "vitest";

/**
 * Until the test ends, timers that begin take a part of their time, those of the Worker too: a wait of a second takes
 * 50 ms. The clock does not go faster.
 */
export function quickTimers(part = 1 / 20): void {
  const { wait } = scheduler;
  const { timeout } = AbortSignal;
  const set = globalThis.setTimeout as (run: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) => unknown;
  const spies = [
    vi.spyOn(scheduler, "wait").mockImplementation((ms, options) => wait.call(scheduler, ms * part, options)),
    vi.spyOn(AbortSignal, "timeout").mockImplementation((ms) => timeout.call(AbortSignal, ms * part)),
    vi
      .spyOn(globalThis, "setTimeout")
      .mockImplementation(((run: () => void, ms = 0, ...args: unknown[]) => set(run, ms * part, ...args)) as never),
  ];
  onTestFinished(() => {
    for (const spy of spies) spy.mockRestore();
  });
}
